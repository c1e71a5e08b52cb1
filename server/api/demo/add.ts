import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { beginDemo } from './begin.ts'
import { DemoData, demoExample, readDemo } from './demo.ts'

/** Adds three invented people with a year of data that ends now, or what is new since the last time. */
export const addDemo = route(
  {
    method: 'POST',
    path: '/api/v1/demo',
    operationId: 'addDemo',
    summary: 'Add demo data: three invented people, one year',
    description:
      'The answer comes at once; the data follows within about half a minute, the newest days first. `GET` says how far it is.',
    tag: 'Demo',
    guard: 'developer',
    status: 202,
    response: DemoData,
    example: { ...demoExample, progress: 0, people: [] },
    errors: { 409: 'The demo data is being removed, or several processes serve' },
  },
  async ({ auth, ctx }, deps) => {
    if (deps.demo.state().doing === 'remove') throw errors.conflict('The demo data is being removed.')
    await beginDemo('add', auth, ctx, deps)
    return readDemo(deps.db, deps.demo)
  },
)
