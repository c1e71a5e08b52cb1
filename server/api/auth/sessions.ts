import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import type { Dependencies } from '../../app.ts'
import type { Database, Transaction } from '../../db/database.ts'
import { ACCESS_TOKEN_SECONDS, type Keys, signAccessToken } from '../../http/tokens.ts'

/** Answer of the login and of a refresh (contract 9.5, 9.8). */
export const TokenResponse = Type.Object({
  access_token: Type.String({ description: 'JWT for the Authorization header, valid for an hour' }),
  token_type: Type.Literal('bearer'),
  refresh_token: Type.String({ description: 'For POST /api/v1/token/refresh, once; valid for 30 days' }),
  expires_in: Type.Integer({ description: 'Seconds the access token lives' }),
})

/** A `TokenResponse` for the API description. */
export const tokenExample = {
  access_token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzY29wZSI6ImRldmVsb3BlciJ9.c2lnbmF0dXJl',
  token_type: 'bearer',
  refresh_token: 'rt-0123456789abcdef0123456789abcdef',
  expires_in: 3600,
}

interface Session {
  developerId: string
  /** Epoch seconds before which no access token of this developer is valid. */
  validFrom: number
  refreshToken: string
}

const hashOf = (token: string) => createHash('sha256').update(token).digest()

/**
 * The token that follows a rotated one. Only a holder of our key can compute it, and it is the same each time: a client
 * that lost our answer and asks again is told the same token, so a family never has two heads that live on side by side.
 */
function successorOf(keys: Keys, token: string): string {
  const key = Buffer.from(hkdfSync('sha256', keys.developer, '', 'pulsebase refresh token successor', 32))
  return `rt-${createHmac('sha256', key).update(token).digest('hex').slice(0, 32)}`
}

/**
 * Everything that opens, renews or ends sessions of a developer first locks the developer, so that a revocation
 * cannot miss a token that is being issued.
 */
async function lockDeveloper(
  tx: Transaction,
  id: string,
): Promise<{ password_hash: string; valid_from: number } | undefined> {
  const [row] = await tx.query<{ password_hash: string; valid_from: number }>(
    `select password_hash, date_part('epoch', tokens_valid_from) as valid_from
     from developer
     where id = $1
     for no key update`,
    [id],
  )
  return row
}

/** Rotated tokens stay until they expire, because their reuse has to be noticed; the job `prune` clears them. */
async function storeToken(tx: Transaction, developerId: string, familyId: string | null, token: string): Promise<void> {
  await tx.query(
    `insert into refresh_token (developer_id, family_id, token_hash, expires_at)
     values ($1, coalesce($2, gen_random_uuid()), $3, now() + interval '30 days')`,
    [developerId, familyId, hashOf(token)],
  )
}

async function answer(keys: Keys, session: Session | undefined) {
  if (!session) return undefined
  // A change of password moves `validFrom` up to a second ahead: what follows it must not count as older.
  const issuedAt = Math.max(Math.floor(Date.now() / 1000), Math.ceil(session.validFrom))
  return {
    access_token: await signAccessToken(keys, 'developer', session.developerId, { issuedAt }),
    token_type: 'bearer' as const,
    refresh_token: session.refreshToken,
    expires_in: ACCESS_TOKEN_SECONDS,
  }
}

/** Opens a session after a login; undefined when the password was changed while it was being verified. */
export async function openSession({ db, keys }: Dependencies, developerId: string, verifiedHash: string) {
  const session = await db.transaction(async (tx): Promise<Session | undefined> => {
    const developer = await lockDeveloper(tx, developerId)
    if (developer?.password_hash !== verifiedHash) return undefined
    const refreshToken = `rt-${randomBytes(16).toString('hex')}`
    await storeToken(tx, developerId, null, refreshToken)
    return { developerId, validFrom: developer.valid_from, refreshToken }
  })
  return answer(keys, session)
}

type TokenState = 'fresh' | 'repeatable' | 'reused' | 'dead'

// clock_timestamp(): the transaction may have waited for the developer's lock.
const STATE_SQL = `
  select family_id,
    case
      when revoked_at is not null or expires_at <= clock_timestamp() then 'dead'
      when rotated_at is null then 'fresh'
      when rotated_at > clock_timestamp() - interval '30 seconds' then 'repeatable'
      else 'reused'
    end as state
  from refresh_token
  where token_hash = $1`

/** Finds a refresh token and locks its developer; the state is the one after the lock. */
async function findToken(tx: Transaction, token: string) {
  const [found] = await tx.query<{ developer_id: string }>(
    'select developer_id from refresh_token where token_hash = $1',
    [hashOf(token)],
  )
  const developer = found && (await lockDeveloper(tx, found.developer_id))
  const [row] = await tx.query<{ family_id: string; state: TokenState }>(STATE_SQL, [hashOf(token)])
  if (!developer || !row) return undefined
  return { developerId: found.developer_id, validFrom: developer.valid_from, familyId: row.family_id, state: row.state }
}

async function revokeFamily(tx: Transaction, familyId: string): Promise<void> {
  await tx.query('update refresh_token set revoked_at = now() where family_id = $1 and revoked_at is null', [familyId])
}

/** The last token of the chain that starts behind a rotated one, undefined when the chain is broken. */
async function headOf(tx: Transaction, keys: Keys, rotated: string): Promise<string | undefined> {
  const next = successorOf(keys, rotated)
  const [row] = await tx.query<{ state: TokenState }>(STATE_SQL, [hashOf(next)])
  if (row?.state === 'fresh') return next
  return row?.state === 'repeatable' ? headOf(tx, keys, next) : undefined
}

/**
 * Exchanges a refresh token for a new pair (contract 9.8, D-33); undefined when it is unknown, expired or revoked.
 * A token that was rotated less than 30 seconds ago answers with its successor again, since the first answer may have
 * been lost; later its reuse means that it was stolen, and its whole family is revoked.
 */
export async function renewSession({ db, keys }: Dependencies, token: string) {
  const session = await db.transaction(async (tx): Promise<Session | undefined> => {
    const found = await findToken(tx, token)
    if (!found || found.state === 'dead') return undefined
    const { developerId, validFrom, familyId, state } = found
    if (state === 'reused') {
      await revokeFamily(tx, familyId)
      return undefined
    }
    if (state === 'repeatable') {
      const refreshToken = await headOf(tx, keys, token)
      return refreshToken ? { developerId, validFrom, refreshToken } : undefined
    }
    const refreshToken = successorOf(keys, token)
    await tx.query('update refresh_token set rotated_at = clock_timestamp() where token_hash = $1', [hashOf(token)])
    await storeToken(tx, developerId, familyId, refreshToken)
    return { developerId, validFrom, refreshToken }
  })
  return answer(keys, session)
}

/**
 * Ends the session of a refresh token, with every token of its family; with `developerId` only one of that developer.
 * False when the token would not have been accepted anyway.
 */
export async function endSession(db: Database, token: string, developerId?: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const found = await findToken(tx, token)
    if (!found || found.state === 'dead' || (developerId && found.developerId !== developerId)) return false
    await revokeFamily(tx, found.familyId)
    return found.state !== 'reused'
  })
}

/**
 * Stores a new password and ends every session of the developer: refresh tokens are revoked, and access tokens issued
 * so far stop working. With `verifiedHash` only when that still is the stored one; false when it is not.
 */
export async function changePassword(
  tx: Transaction,
  developerId: string,
  passwordHash: string,
  verifiedHash?: string,
): Promise<boolean> {
  const developer = await lockDeveloper(tx, developerId)
  if (!developer || (verifiedHash && developer.password_hash !== verifiedHash)) return false
  // Tokens carry whole seconds: the next one, also after our own clock, is later than every token so far.
  await tx.query(
    `update developer
     set password_hash = $2, updated_at = now(),
         tokens_valid_from = greatest(date_trunc('second', now()), tokens_valid_from, to_timestamp($3)) + interval '1 second'
     where id = $1`,
    [developerId, passwordHash, Math.floor(Date.now() / 1000)],
  )
  await tx.query('update refresh_token set revoked_at = now() where developer_id = $1 and revoked_at is null', [
    developerId,
  ])
  return true
}
