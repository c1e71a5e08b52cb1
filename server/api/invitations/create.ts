import { Type } from 'typebox'
import { addEntry } from '../../db/bounded.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { developerOf, EMAIL_TAKEN } from '../auth/developer.ts'
import {
  hashInvitationToken,
  INVITATION_COLUMNS,
  INVITED_ALREADY,
  InvitationWithToken,
  invitationTokenExample,
  newInvitationToken,
} from './invitation.ts'

const OPEN_INVITATIONS = {
  name: 'open invitations',
  countSql: `select count(*) as count from invitation where status = 'pending'`,
}

// An expired one is replaced by the new one.
const CREATE_SQL = `
  insert into invitation as i (email, token_hash, invited_by_id)
  values ($1, $2, $3)
  on conflict (lower(email)) where status = 'pending' do update
  set id = excluded.id, email = excluded.email, token_hash = excluded.token_hash,
      invited_by_id = excluded.invited_by_id, created_at = excluded.created_at, expires_at = excluded.expires_at
  where i.expires_at <= now()
  returning ${INVITATION_COLUMNS}`

/** Invites a developer and shows the token, once: the inviter passes it on, since no mail is sent (contract 11). */
export const createInvitation = route(
  {
    method: 'POST',
    path: '/api/v1/invitations',
    operationId: 'createInvitation',
    summary: 'Invite a developer; the answer shows the token to pass on',
    description: 'Valid for 7 days. No mail is sent.',
    tag: 'Invitations',
    guard: 'developer',
    body: Type.Object({ email: Type.String({ format: 'email' }) }),
    bodyExample: { email: 'grace@example.org' },
    status: 201,
    response: InvitationWithToken,
    example: invitationTokenExample,
    errors: {
      400: 'A developer has this email address, or a pending invitation',
      409: 'There are 1000 open invitations already',
    },
  },
  async ({ auth, body }, { db }) => {
    const [taken] = await db.query('select 1 from developer where lower(email) = lower($1)', [body.email])
    if (taken) throw errors.badRequest(EMAIL_TAKEN)
    const token = newInvitationToken()
    const [row] = await addEntry(db, OPEN_INVITATIONS, (tx) =>
      tx.query<object>(CREATE_SQL, [body.email, hashInvitationToken(token), developerOf(auth)]),
    )
    if (!row) throw errors.badRequest(INVITED_ALREADY)
    return { ...row, token }
  },
)
