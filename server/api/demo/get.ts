import { route } from '../../http/route.ts'
import { DemoData, demoExample, readDemo } from './demo.ts'

/** Whether there is demo data, and how far adding or removing it is. */
export const getDemo = route(
  {
    method: 'GET',
    path: '/api/v1/demo',
    operationId: 'getDemo',
    summary: 'Whether there is demo data',
    description: '`progress` and `error` are those of the process that answers.',
    tag: 'Demo',
    guard: 'developer',
    response: DemoData,
    example: demoExample,
  },
  async (_, { db, demo }) => readDemo(db, demo),
)
