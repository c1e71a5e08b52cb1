import { Type } from 'typebox'
import { addEntry } from '../../db/bounded.ts'
import { type Queryable, violatedConstraint } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { route } from '../../http/route.ts'
import { Secret } from '../../http/schema.ts'
import { DEVELOPER_COLUMNS, Developer, developerExample, EMAIL_TAKEN } from '../auth/developer.ts'
import { callerOf } from '../auth/hash-turns.ts'
import { MIN_PASSWORD_LENGTH } from '../auth/passwords.ts'
import { countAttempt } from '../auth/throttle.ts'
import { hashInvitationToken, INVITATION_COLUMNS } from './invitation.ts'

const Name = () => Type.String({ minLength: 1, maxLength: 100 })

const DEVELOPERS = { name: 'developers', countSql: 'select count(*) as count from developer' }

const SPEND_SQL = `
  update invitation set status = 'accepted'
  where token_hash = $1 and status = 'pending' and expires_at > now()
  returning email`

/** Creates the account of an invited developer, once (contract 11); attempts are limited like logins (D-36). */
export const acceptInvitation = route(
  {
    method: 'POST',
    path: '/api/v1/invitations/accept',
    operationId: 'acceptInvitation',
    summary: 'Accept an invitation: creates the account of a developer',
    tag: 'Invitations',
    guard: 'public',
    share: 'login',
    body: Type.Object({
      token: Secret(),
      first_name: Name(),
      last_name: Name(),
      password: Secret({ minLength: MIN_PASSWORD_LENGTH }),
    }),
    bodyExample: {
      token: 'inv-Zk0XbVxwB6i1W9sYc3mTq7LrPz5nHd2JfGuEaKoMtQy',
      first_name: 'Grace',
      last_name: 'Hopper',
      password: 'correct horse battery',
    },
    status: 201,
    response: Developer,
    example: developerExample,
    errors: {
      400: 'Accepted, revoked or expired, or a developer has this email address by now',
      404: 'Unknown token',
      409: 'There are 1000 developers already',
      429: 'Too many attempts; Retry-After says when to try again',
    },
  },
  async ({ body, ctx }, deps) => {
    const { db, config, passwords } = deps
    const perAddress = { name: 'accept address', attempts: config.loginAttemptsPerMinute, windowSeconds: 60 }
    const perInvitation = { name: 'accept invitation', attempts: config.loginAttemptsPerAccount, windowSeconds: 900 }
    await countAttempt(deps, perAddress, clientNetwork(ctx.ip))
    const tokenHash = hashInvitationToken(body.token)
    // Nobody can make us hash passwords without a valid invitation.
    await countAttempt(deps, perInvitation, await requirePending(db, tokenHash))
    const passwordHash = await passwords.hash(body.password, callerOf(ctx, true))
    try {
      return await addEntry(db, DEVELOPERS, async (tx) => {
        const [spent] = await tx.query<{ email: string }>(SPEND_SQL, [tokenHash])
        // If two accept at once, the later one waits here and then sees the first one's result.
        if (!spent) {
          await requirePending(tx, tokenHash)
          throw errors.missing('Invitation not found')
        }
        return tx.one(
          `insert into developer (email, first_name, last_name, password_hash)
           values ($1, $2, $3, $4)
           returning ${DEVELOPER_COLUMNS}`,
          [spent.email, body.first_name, body.last_name, passwordHash],
        )
      })
    } catch (error) {
      if (violatedConstraint(error) !== 'developer_email_key') throw error
      throw errors.badRequest(EMAIL_TAKEN)
    }
  },
)

/**
 * Accepts only the token of a pending invitation, and returns the invitation's id.
 * @throws AppError not_found, or bad_request with the invitation's status
 */
async function requirePending(db: Queryable, tokenHash: Buffer): Promise<string> {
  const [row] = await db.query<{ id: string; status: string }>(
    `select ${INVITATION_COLUMNS} from invitation where token_hash = $1`,
    [tokenHash],
  )
  if (!row) throw errors.missing('Invitation not found')
  if (row.status === 'expired') throw errors.badRequest('Invitation has expired')
  if (row.status !== 'pending') throw errors.badRequest(`Invitation is ${row.status}`)
  return row.id
}
