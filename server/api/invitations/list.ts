import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { INVITATION_COLUMNS, Invitation, invitationExample } from './invitation.ts'

/** The invitations nobody has accepted or revoked, newest first, without their tokens (contract 11). */
export const listInvitations = route(
  {
    method: 'GET',
    path: '/api/v1/invitations',
    operationId: 'listInvitations',
    summary: 'List the open invitations',
    description: 'Pending ones, and expired ones for another 30 days, which can be sent again.',
    tag: 'Invitations',
    guard: 'developer',
    response: Type.Array(Invitation),
    example: [invitationExample],
  },
  async (_, { db }) =>
    db.query(`select ${INVITATION_COLUMNS} from invitation i where i.status = 'pending' order by created_at desc, id`),
)
