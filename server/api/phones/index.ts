import type { Route } from '../../http/route.ts'
import { createInvitationCode } from './create-invitation-code.ts'
import { issueUserToken } from './issue-user-token.ts'
import { listPhones } from './list.ts'
import { redeemInvitationCode } from './redeem-invitation-code.ts'
import { signOutPhone } from './sign-out.ts'
import { signOutPhones } from './sign-out-all.ts'

/** How phones get and lose the tokens of their user; they renew and revoke them like developers do. */
export const phoneRoutes: readonly Route[] = [
  issueUserToken,
  createInvitationCode,
  redeemInvitationCode,
  listPhones,
  signOutPhones,
  signOutPhone,
]
