import { Type } from 'typebox'
import { route } from '../../http/route.ts'

/** Says that something answers here (contract 1.1). */
export const root = route(
  {
    method: 'GET',
    path: '/',
    operationId: 'getRoot',
    summary: 'Root probe',
    tag: 'Health',
    guard: 'public',
    share: 'own',
    response: Type.Object({ message: Type.String() }),
    example: { message: 'Server is running!' },
  },
  async () => ({ message: 'Server is running!' }),
)
