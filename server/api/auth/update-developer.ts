import { type Static, Type } from 'typebox'
import { violatedConstraint } from '../../db/database.ts'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { Nullable, Secret } from '../../http/schema.ts'
import { DEVELOPER_COLUMNS, EMAIL_TAKEN } from './developer.ts'
import type { Caller } from './hash-turns.ts'
import { MIN_PASSWORD_LENGTH } from './passwords.ts'
import { changePassword } from './sessions.ts'

const COLUMNS = ['first_name', 'last_name', 'email'] as const

/** DeveloperUpdate of contract 11. */
export const DeveloperUpdate = Type.Object(
  {
    first_name: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
    last_name: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
    email: Type.Optional(Type.String({ format: 'email' })),
    password: Type.Optional(
      Secret({ minLength: MIN_PASSWORD_LENGTH, description: 'Ends every session, including this one' }),
    ),
  },
  { title: 'DeveloperFields' },
)

/**
 * Changes a developer and returns it: absent fields stay, null clears a name.
 * @throws AppError conflict when the email address belongs to another developer
 */
export async function updateDeveloper(
  { db, passwords }: Pick<Dependencies, 'db' | 'passwords'>,
  id: string,
  body: Static<typeof DeveloperUpdate>,
  caller: Caller,
) {
  const given = COLUMNS.filter((column) => body[column] !== undefined)
  const passwordHash = body.password === undefined ? undefined : await passwords.hash(body.password, caller)
  const changes = given.map((column, index) => `${column} = $${index + 2}, `).join('')
  try {
    return await db.transaction(async (tx) => {
      if (passwordHash) await changePassword(tx, id, passwordHash)
      const [row] = await tx.query(
        `update developer set ${changes}updated_at = now() where id = $1 returning ${DEVELOPER_COLUMNS}`,
        [id, ...given.map((column) => body[column] ?? null)],
      )
      // Deleted at this moment.
      if (!row) throw errors.notDeveloper()
      return row
    })
  } catch (error) {
    if (violatedConstraint(error) !== 'developer_email_key') throw error
    throw errors.conflict(EMAIL_TAKEN)
  }
}
