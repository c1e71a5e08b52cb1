import { createHash, randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import type { Queryable } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { Enum, Instant, Uuid } from '../../http/schema.ts'

/** InvitationRead of contract 11, without its token. No mail is sent, so none is `sent` or `failed`. */
export const Invitation = Type.Object(
  {
    id: Uuid(),
    email: Type.String(),
    status: Enum(['pending', 'accepted', 'expired', 'revoked']),
    expires_at: Instant(),
    created_at: Instant(),
    invited_by_id: Uuid({ description: 'The developer who last saw the token' }),
  },
  { title: 'Invitation' },
)

/** An `Invitation` with its token, which only the answers to create and resend show. */
export const InvitationWithToken = Type.Object(
  { ...Invitation.properties, token: Type.String() },
  { title: 'InvitationWithToken' },
)

/** The columns of `Invitation`. */
export const INVITATION_COLUMNS = `
  id, email, case when status = 'pending' and expires_at <= now() then 'expired' else status end as status,
  expires_at, created_at, invited_by_id`

/** Path parameter of the routes of one invitation. */
export const InvitationPath = Type.Object({ invitation_id: Uuid() })

/** A new token: 256 random bits. */
export const newInvitationToken = () => `inv-${randomBytes(32).toString('base64url')}`

/** SHA-256 of a token, which is stored and compared. */
export const hashInvitationToken = (token: string) => createHash('sha256').update(token).digest()

/** The error for an email address that was already invited (contract 11). */
export const INVITED_ALREADY = 'A pending invitation already exists for this email'

/**
 * The reason why an invitation cannot be revoked or resent.
 * @throws AppError not_found, or bad_request that names its status
 */
export async function refuseInvitation(db: Queryable, id: string, action: 'revoke' | 'resend'): Promise<never> {
  const [row] = await db.query<{ status: string }>(`select ${INVITATION_COLUMNS} from invitation where id = $1`, [id])
  if (!row) throw errors.missing('Invitation not found')
  throw errors.badRequest(`Cannot ${action} invitation with status: ${row.status}`)
}

/** An `Invitation` for the API description. */
export const invitationExample = {
  id: '5a1f0c3e-2b4d-4e6f-8a90-b1c2d3e4f506',
  email: 'grace@example.org',
  status: 'pending',
  expires_at: '2026-03-03T10:00:00Z',
  created_at: '2026-02-24T10:00:00Z',
  invited_by_id: 'd0b7f6a4-3c55-4a53-9f5e-0e8f3c1f7a11',
}

/** An `InvitationWithToken` for the API description. */
export const invitationTokenExample = {
  ...invitationExample,
  token: 'inv-Zk0XbVxwB6i1W9sYc3mTq7LrPz5nHd2JfGuEaKoMtQy',
}
