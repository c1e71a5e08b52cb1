import { route } from '../../http/route.ts'
import { developerOf } from '../auth/developer.ts'
import {
  hashInvitationToken,
  INVITATION_COLUMNS,
  InvitationPath,
  InvitationWithToken,
  invitationTokenExample,
  newInvitationToken,
  refuseInvitation,
} from './invitation.ts'

/** Gives an invitation a new token and another 7 days; the previous token stops working (contract 11). */
export const resendInvitation = route(
  {
    method: 'POST',
    path: '/api/v1/invitations/{invitation_id}/resend',
    operationId: 'resendInvitation',
    summary: 'Renew an invitation; the answer shows the new token to pass on',
    description: 'Valid for 7 days again. The previous token stops working. No mail is sent.',
    tag: 'Invitations',
    guard: 'developer',
    params: InvitationPath,
    response: InvitationWithToken,
    example: invitationTokenExample,
    errors: { 400: 'Accepted or revoked', 404: 'Unknown invitation' },
  },
  async ({ auth, params }, { db }) => {
    const token = newInvitationToken()
    const [row] = await db.query<object>(
      `update invitation
       set token_hash = $2, invited_by_id = $3, expires_at = now() + interval '7 days'
       where id = $1 and status = 'pending'
       returning ${INVITATION_COLUMNS}`,
      [params.invitation_id, hashInvitationToken(token), developerOf(auth)],
    )
    if (!row) return refuseInvitation(db, params.invitation_id, 'resend')
    return { ...row, token }
  },
)
