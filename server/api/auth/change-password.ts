import { Type } from 'typebox'
import { errors, HIDDEN } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Confirmation, Secret } from '../../http/schema.ts'
import { developerOf } from './developer.ts'
import { callerOf } from './hash-turns.ts'
import { MIN_PASSWORD_LENGTH } from './passwords.ts'
import { changePassword as storePassword, VALID_FROM } from './sessions.ts'

const NewPassword = () => Secret({ minLength: MIN_PASSWORD_LENGTH })
const MISMATCH = 'The confirmation password does not match the new password'

/** Changes the password (contract 11) and ends every session of the developer, the caller's included. */
export const changePassword = route(
  {
    method: 'POST',
    path: '/api/v1/auth/change-password',
    operationId: 'changePassword',
    summary: 'Change the password and end every session',
    tag: 'Auth',
    guard: 'developer',
    share: 'login',
    body: Type.Object({
      current_password: Secret(),
      new_password: NewPassword(),
      confirm_password: NewPassword(),
    }),
    bodyExample: {
      current_password: 'correct horse battery',
      new_password: 'staple of the horse',
      confirm_password: 'staple of the horse',
    },
    response: Confirmation,
    example: { message: 'Password updated successfully' },
    errors: { 400: 'Incorrect current password' },
  },
  async ({ auth, body, ctx }, { db, passwords }) => {
    if (body.new_password !== body.confirm_password) {
      const issue = { type: 'value_error', msg: `Value error, ${MISMATCH}`, input: HIDDEN }
      throw errors.invalid([{ ...issue, loc: ['body', 'confirm_password'], ctx: { error: MISMATCH } }])
    }
    const id = developerOf(auth)
    const current = await db.one<{ password_hash: string; valid_from: number }>(
      `select password_hash, ${VALID_FROM} from developer where id = $1`,
      [id],
    )
    const caller = callerOf(ctx, true)
    const fits = await passwords.verify(body.current_password, current.password_hash, caller)
    const passwordHash = fits && (await passwords.hash(body.new_password, caller))
    const changed =
      passwordHash && (await db.transaction((tx) => storePassword(tx, id, passwordHash, current.valid_from)))
    if (!changed) throw errors.badRequest('Incorrect current password')
    return { message: 'Password updated successfully' }
  },
)
