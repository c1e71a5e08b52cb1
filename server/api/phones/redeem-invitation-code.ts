import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { route } from '../../http/route.ts'
import { Secret, Uuid } from '../../http/schema.ts'
import { openPhoneSession, TokenResponse, tokenExample } from '../auth/sessions.ts'
import { countAttempt } from '../auth/throttle.ts'
import { CODE_PATTERN, hashInvitationCode } from './invitation-code.ts'

/** Exchanges an invitation code for tokens, once; attempts are limited per address (contract 9.7). */
export const redeemInvitationCode = route(
  {
    method: 'POST',
    path: '/api/v1/invitation-code/redeem',
    operationId: 'redeemInvitationCode',
    summary: 'Exchange an invitation code for the tokens of a phone',
    tag: 'Phones',
    guard: 'public',
    share: 'login',
    body: Type.Object({ code: Secret({ pattern: CODE_PATTERN }) }),
    bodyExample: { code: 'ABCD2345' },
    response: Type.Object({ ...TokenResponse.properties, user_id: Uuid() }),
    example: { ...tokenExample, user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11' },
    errors: {
      404: 'Unknown, used, replaced and expired codes alike',
      429: 'Too many attempts; Retry-After says when to try again',
    },
  },
  async ({ body, ctx }, deps) => {
    const { db, keys, config } = deps
    const limit = { name: 'redeem address', attempts: config.loginAttemptsPerMinute, windowSeconds: 60 }
    await countAttempt(deps, limit, clientNetwork(ctx.ip))
    const redeemed = await db.transaction(async (tx) => {
      const [code] = await tx.query<{ id: string; user_id: string; created_by: string }>(
        'select id, user_id, created_by from invitation_code where code_hash = $1 and expires_at > now()',
        [hashInvitationCode(keys, body.code)],
      )
      if (!code) throw unknownCode()
      const issuer = { app_id: `invite:${code.created_by}`, application_id: null, let_in_by: code.created_by }
      const tokens = await openPhoneSession(tx, keys, { user_id: code.user_id, ...issuer })
      // After locking the user, like its deletion. Of two redemptions only one finds the code.
      const [spent] = await tx.query('delete from invitation_code where id = $1 returning id', [code.id])
      if (!tokens || !spent) throw unknownCode()
      return { ...tokens, user_id: code.user_id }
    })
    return redeemed
  },
)

const unknownCode = () => errors.missing('Invalid or expired invitation code')
