import { Type } from 'typebox'
import { violatedConstraint } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Nullable } from '../../http/schema.ts'
import { DEVELOPER_COLUMNS, Developer, developerExample, developerOf } from './developer.ts'
import { hashPassword, MIN_PASSWORD_LENGTH } from './passwords.ts'
import { changePassword } from './sessions.ts'

const COLUMNS = ['first_name', 'last_name', 'email'] as const

const DeveloperUpdate = Type.Object({
  first_name: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
  last_name: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
  email: Type.Optional(Type.String({ format: 'email' })),
  password: Type.Optional(
    Type.String({ minLength: MIN_PASSWORD_LENGTH, description: 'Ends every session, this one too' }),
  ),
})

/** Changes the developer whose token it is (contract 11): absent fields stay, null clears a name. */
export const updateMe = route(
  {
    method: 'PATCH',
    path: '/api/v1/auth/me',
    operationId: 'updateMe',
    summary: 'Change the developer that is logged in',
    tag: 'Auth',
    guard: 'developer',
    body: DeveloperUpdate,
    bodyExample: { first_name: 'Ada' },
    response: Developer,
    example: developerExample,
    errors: { 409: 'The email address belongs to another developer' },
  },
  async ({ auth, body }, { db }) => {
    const id = developerOf(auth)
    const given = COLUMNS.filter((column) => body[column] !== undefined)
    const passwordHash = body.password === undefined ? undefined : await hashPassword(body.password)
    const changes = given.map((column, index) => `${column} = $${index + 2}, `).join('')
    try {
      return await db.transaction(async (tx) => {
        if (passwordHash) await changePassword(tx, id, passwordHash)
        return tx.one(
          `update developer set ${changes}updated_at = now() where id = $1 returning ${DEVELOPER_COLUMNS}`,
          [id, ...given.map((column) => body[column] ?? null)],
        )
      })
    } catch (error) {
      if (violatedConstraint(error) !== 'developer_email_key') throw error
      throw errors.conflict('A developer with this email already exists')
    }
  },
)
