import type { Route } from '../../http/route.ts'
import { acceptInvitation } from './accept.ts'
import { createInvitation } from './create.ts'
import { listInvitations } from './list.ts'
import { resendInvitation } from './resend.ts'
import { revokeInvitation } from './revoke.ts'

/** Invitations of other developers. */
export const invitationRoutes: readonly Route[] = [
  listInvitations,
  createInvitation,
  revokeInvitation,
  resendInvitation,
  acceptInvitation,
]
