import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Developer, developerExample, developerOf } from '../auth/developer.ts'
import { callerOf } from '../auth/hash-turns.ts'
import { DeveloperUpdate, updateDeveloper } from '../auth/update-developer.ts'
import { DeveloperPath } from './get.ts'

/** Changes a developer, which only that developer may do (contract 11). */
export const updateDeveloperById = route(
  {
    method: 'PATCH',
    path: '/api/v1/developers/{developer_id}',
    operationId: 'updateDeveloper',
    summary: 'Change your own developer account',
    tag: 'Developers',
    guard: 'developer',
    share: 'login',
    params: DeveloperPath,
    body: DeveloperUpdate,
    bodyExample: { first_name: 'Ada' },
    response: Developer,
    example: developerExample,
    errors: { 403: 'Not your own account', 409: 'The email address belongs to another developer' },
  },
  async ({ auth, params, body, ctx }, deps) => {
    if (params.developer_id !== developerOf(auth)) {
      throw errors.forbidden('You can only update your own developer account')
    }
    return updateDeveloper(deps, params.developer_id, body, callerOf(ctx, true))
  },
)
