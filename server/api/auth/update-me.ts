import { route } from '../../http/route.ts'
import { Developer, developerExample, developerOf } from './developer.ts'
import { callerOf } from './hash-turns.ts'
import { DeveloperUpdate, updateDeveloper } from './update-developer.ts'

/** Changes the developer who owns the token (contract 11): absent fields stay, null clears a name. */
export const updateMe = route(
  {
    method: 'PATCH',
    path: '/api/v1/auth/me',
    operationId: 'updateMe',
    summary: 'Change the logged-in developer',
    tag: 'Auth',
    guard: 'developer',
    share: 'login',
    body: DeveloperUpdate,
    bodyExample: { first_name: 'Ada' },
    response: Developer,
    example: developerExample,
    errors: { 409: 'The email address belongs to another developer' },
  },
  async ({ auth, body, ctx }, deps) => updateDeveloper(deps, developerOf(auth), body, callerOf(ctx, true)),
)
