import type { Route } from '../../http/route.ts'
import { createInvitationCode } from './create-invitation-code.ts'
import { issueUserToken } from './issue-user-token.ts'
import { redeemInvitationCode } from './redeem-invitation-code.ts'

/** How phones get the tokens of their user; they renew and revoke them like developers do. */
export const phoneRoutes: readonly Route[] = [issueUserToken, createInvitationCode, redeemInvitationCode]
