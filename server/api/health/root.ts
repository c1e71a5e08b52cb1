import { route } from '../../http/route.ts'
import { Confirmation } from '../../http/schema.ts'

/** Shows that the service answers (contract 1.1). */
export const root = route(
  {
    method: 'GET',
    path: '/',
    operationId: 'getRoot',
    summary: 'Root probe',
    description: 'Leads browsers, which ask for a page, to the web console.',
    tag: 'Health',
    guard: 'public',
    share: 'own',
    redirects: 'The web console, for a browser',
    response: Confirmation,
    example: { message: 'Server is running!' },
  },
  async () => ({ message: 'Server is running!' }),
)
