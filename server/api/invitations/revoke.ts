import { route } from '../../http/route.ts'
import { INVITATION_COLUMNS, Invitation, InvitationPath, invitationExample, refuseInvitation } from './invitation.ts'

/** Withdraws an invitation (contract 11). */
export const revokeInvitation = route(
  {
    method: 'DELETE',
    path: '/api/v1/invitations/{invitation_id}',
    operationId: 'revokeInvitation',
    summary: 'Revoke an invitation',
    tag: 'Invitations',
    guard: 'developer',
    params: InvitationPath,
    response: Invitation,
    example: { ...invitationExample, status: 'revoked' },
    errors: { 400: 'Accepted, or revoked before', 404: 'Unknown invitation' },
  },
  async ({ params }, { db }) => {
    const [row] = await db.query(
      `update invitation set status = 'revoked' where id = $1 and status = 'pending' returning ${INVITATION_COLUMNS}`,
      [params.invitation_id],
    )
    return row ?? refuseInvitation(db, params.invitation_id, 'revoke')
  },
)
