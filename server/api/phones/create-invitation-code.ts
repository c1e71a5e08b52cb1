import { Type } from 'typebox'
import { violatedConstraint } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Instant, UserPath, Uuid } from '../../http/schema.ts'
import { developerOf } from '../auth/developer.ts'
import { hashInvitationCode, newInvitationCode } from './invitation-code.ts'

// A user has at most one open code: a new one replaces it.
const STORE_SQL = `
  insert into invitation_code (user_id, code_hash, created_by)
  values ($1, $2, $3)
  on conflict (user_id) do update
  set id = excluded.id, code_hash = excluded.code_hash, created_by = excluded.created_by,
      created_at = excluded.created_at, expires_at = excluded.expires_at
  returning id, user_id, expires_at, created_at`

/** Creates a code that a person types into an app without a backend; it lets one phone in (contract 9.7). */
export const createInvitationCode = route(
  {
    method: 'POST',
    path: '/api/v1/users/{user_id}/invitation-code',
    operationId: 'createInvitationCode',
    summary: 'Create an invitation code for the phone of a user',
    description: 'Valid for 7 days, for one phone. An earlier unused code of the user stops working.',
    tag: 'Phones',
    guard: 'developer',
    params: UserPath,
    status: 201,
    response: Type.Object({
      id: Uuid(),
      code: Type.String(),
      user_id: Uuid(),
      expires_at: Instant(),
      created_at: Instant(),
    }),
    example: {
      id: '0d4c1e5a-6b7f-4a83-9c21-7e8f9a0b1c2d',
      code: 'ABCD2345',
      user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11',
      expires_at: '2026-03-03T10:00:00Z',
      created_at: '2026-02-24T10:00:00Z',
    },
  },
  async ({ auth, params }, { db, keys }) => {
    const code = newInvitationCode()
    try {
      const row = await db.one<object>(STORE_SQL, [params.user_id, hashInvitationCode(keys, code), developerOf(auth)])
      return { ...row, code }
    } catch (error) {
      if (violatedConstraint(error) === 'invitation_code_user_id_fkey') throw errors.notFound('User', params.user_id)
      throw error
    }
  },
)
