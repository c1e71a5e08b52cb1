import { route } from '../../http/route.ts'
import { beginDemo } from './begin.ts'
import { DemoData, demoExample, readDemo } from './demo.ts'

/** Removes the three people with everything of theirs, and their application; ends adding them. */
export const removeDemo = route(
  {
    method: 'DELETE',
    path: '/api/v1/demo',
    operationId: 'removeDemo',
    summary: 'Remove the demo data',
    description: 'The answer comes at once; `GET` says when the three people are gone. Other users are not touched.',
    tag: 'Demo',
    guard: 'developer',
    status: 202,
    response: DemoData,
    example: { ...demoExample, state: 'removing', progress: 0 },
    errors: { 409: 'Several processes serve' },
  },
  async ({ auth, ctx }, deps) => {
    await beginDemo('remove', auth, ctx, deps)
    return readDemo(deps.db, deps.demo)
  },
)
