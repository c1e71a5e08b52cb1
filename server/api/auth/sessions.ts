import { createHash, createHmac, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Database, Transaction } from '../../db/database.ts'
import type { Dependencies } from '../../dependencies.ts'
import { Secret } from '../../http/schema.ts'
import { ACCESS_TOKEN_SECONDS, type Keys, signAccessToken } from '../../http/tokens.ts'
import { rememberNetwork } from './known-networks.ts'

/** The answer of every route that opens or renews a session (contract 9.5 to 9.8). */
export const TokenResponse = Type.Object(
  {
    access_token: Type.String({ description: 'JWT for the Authorization header, valid for an hour' }),
    token_type: Type.Literal('bearer'),
    refresh_token: Type.String({ description: 'For POST /api/v1/token/refresh, once; valid for 30 days' }),
    expires_in: Type.Integer({ description: 'Seconds the access token lives' }),
  },
  { title: 'TokenResponse' },
)

/** The body of every route that takes a refresh token. */
export const RefreshTokenBody = Type.Object({ refresh_token: Secret() }, { title: 'RefreshTokenBody' })

/** A `TokenResponse` for the API description. */
export const tokenExample = {
  access_token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzY29wZSI6ImRldmVsb3BlciJ9.c2lnbmF0dXJl',
  token_type: 'bearer',
  refresh_token: 'rt-0123456789abcdef0123456789abcdef',
  expires_in: 3600,
}

/** The phone of a user, and who let it in: an application, or a developer by hand or by an invitation. */
export interface Phone {
  user_id: string
  /** Claim of its access tokens: `app_…`, `admin:{developer id}` or `invite:{developer id}` (sdk-payload 2.2). */
  app_id: string
  /** Row of that application; null for a developer. */
  application_id: string | null
  /** That developer; null for an application. */
  let_in_by: string | null
}

type Holder = ({ developer_id: string } & Record<keyof Phone, null>) | ({ developer_id: null } & Phone)

interface Session {
  holder: Holder
  familyId: string
  /** Epoch seconds before which no access token of this holder is valid. */
  validFrom: number
  refreshToken: string
}

const hashOf = (token: string) => createHash('sha256').update(token).digest()

const newToken = () => `rt-${randomBytes(16).toString('hex')}`

/**
 * The token that follows a rotated one, the first (0) or a later one. Only a holder of our key can compute it, and it is
 * the same each time: a client that lost our answer and asks again at once gets the same token, so a family never has
 * two heads that live on side by side.
 */
function successorOf(keys: Keys, token: string, successor: number): string {
  const key = Buffer.from(hkdfSync('sha256', keys.developer, '', 'pulsebase refresh token successor', 32))
  const text = successor === 0 ? token : `${token} ${successor}`
  return `rt-${createHmac('sha256', key).update(text).digest('hex').slice(0, 32)}`
}

/**
 * Instant from which on tokens of a developer are valid, epoch seconds. A change of the password moves it, so that it
 * also says whether a password is still the one that was verified; its hash may be replaced by one of another cost.
 */
export const VALID_FROM = `date_part('epoch', tokens_valid_from) as valid_from`

/**
 * Everything that opens, renews or ends sessions of a developer first locks the developer, so that a revocation
 * cannot miss a token that is being issued.
 */
export async function lockDeveloper(tx: Transaction, id: string): Promise<{ valid_from: number } | undefined> {
  const [row] = await tx.query<{ valid_from: number }>(
    `select ${VALID_FROM} from developer where id = $1 for no key update`,
    [id],
  )
  return row
}

/**
 * Keeps the holder of a session from being deleted and returns its `validFrom`, undefined when it no longer exists.
 * Call it before touching any of its tokens: a deletion, too, locks the user, the application or the developer before
 * their tokens.
 */
async function lockHolder(tx: Transaction, holder: Holder): Promise<number | undefined> {
  if (holder.developer_id !== null) return (await lockDeveloper(tx, holder.developer_id))?.valid_from
  const [user] = await tx.query('select 1 from app_user where id = $1 for key share', [holder.user_id])
  if (!user) return undefined
  const [issuer] = holder.application_id
    ? await tx.query('select 1 from application where id = $1 for key share', [holder.application_id])
    : await tx.query('select 1 from developer where id = $1 for key share', [holder.let_in_by])
  return issuer ? 0 : undefined
}

/** Rotated tokens stay until they expire, so that their reuse is noticed; the job `prune` deletes them. */
async function storeToken(tx: Transaction, holder: Holder, familyId: string, token: string): Promise<void> {
  const { developer_id, user_id, app_id, application_id, let_in_by } = holder
  await tx.query(
    `insert into refresh_token
       (developer_id, user_id, app_id, application_id, let_in_by, family_id, token_hash, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, now() + interval '30 days')`,
    [developer_id, user_id, app_id, application_id, let_in_by, familyId, hashOf(token)],
  )
}

async function answer(keys: Keys, { holder, familyId, validFrom, refreshToken }: Session) {
  // A change of password moves `validFrom` up to a second ahead: tokens issued after it must not count as older.
  const issuedAt = Math.max(Math.floor(Date.now() / 1000), Math.ceil(validFrom))
  const accessToken =
    holder.developer_id !== null
      ? signAccessToken(keys, 'developer', holder.developer_id, { issuedAt })
      : signAccessToken(keys, 'sdk', holder.user_id, { issuedAt, appId: holder.app_id, sessionId: familyId })
  return {
    access_token: await accessToken,
    token_type: 'bearer' as const,
    refresh_token: refreshToken,
    expires_in: ACCESS_TOKEN_SECONDS,
  }
}

async function startSession(tx: Transaction, holder: Holder, validFrom: number): Promise<Session> {
  const session = { holder, validFrom, familyId: randomUUID(), refreshToken: newToken() }
  await storeToken(tx, holder, session.familyId, session.refreshToken)
  return session
}

/** A developer whose password of that time was verified, and where it called from. */
export interface Verified {
  id: string
  valid_from: number
  networkHash: Buffer
}

/** Opens a session after a login; undefined when the password was changed while it was being verified. */
export async function openSession({ db, keys }: Dependencies, { id, valid_from, networkHash }: Verified) {
  const session = await db.transaction(async (tx): Promise<Session | undefined> => {
    const developer = await lockDeveloper(tx, id)
    if (developer?.valid_from !== valid_from) return undefined
    await rememberNetwork(tx, id, networkHash)
    const holder = { developer_id: id, user_id: null, app_id: null, application_id: null, let_in_by: null }
    return startSession(tx, holder, developer.valid_from)
  })
  return session && answer(keys, session)
}

/**
 * Opens the session of a phone in the caller's transaction; answer with it once that is committed. Undefined when its
 * user, or whoever let it in, was deleted.
 */
export async function openPhoneSession(tx: Transaction, keys: Keys, phone: Phone) {
  const holder: Holder = { developer_id: null, ...phone }
  const validFrom = await lockHolder(tx, holder)
  if (validFrom === undefined) return undefined
  return answer(keys, await startSession(tx, holder, validFrom))
}

/** A refresh token: unused, rotated within the last minute, rotated before that, or of no use; and its last successor. */
interface TokenState {
  state: 'fresh' | 'repeatable' | 'spent' | 'dead'
  successor: number
}

// clock_timestamp(): the transaction may have waited for a lock. The grace is that of sdk-payload 2.4.
const STATE_SQL = `
  select
    case
      when revoked_at is not null or expires_at <= clock_timestamp() then 'dead'
      when rotated_at is null then 'fresh'
      when rotated_at > clock_timestamp() - interval '60 seconds' then 'repeatable'
      else 'spent'
    end as state,
    successor
  from refresh_token
  where token_hash = $1`

/** Every caller that renews or ends the session f holds this lock, so that none of its tokens is missed. */
const LOCK_FAMILY = `pg_advisory_xact_lock(hashtextextended('session:' || f.family_id, 0))`

/** Finds a refresh token and locks its holder and its family; the state is the one after the locks. */
async function findToken(tx: Transaction, token: string) {
  const [found] = await tx.query<Holder & { family_id: string }>(
    `select family_id, developer_id, user_id, app_id, application_id, let_in_by
     from refresh_token
     where token_hash = $1`,
    [hashOf(token)],
  )
  if (!found) return undefined
  const { family_id: familyId, ...holder } = found
  const validFrom = await lockHolder(tx, holder)
  if (validFrom === undefined) return undefined
  await tx.query(`select ${LOCK_FAMILY} from (select $1::uuid as family_id) f`, [familyId])
  const state = await stateOf(tx, token)
  return state && { token, holder, validFrom, familyId, ...state }
}

async function stateOf(tx: Transaction, token: string): Promise<TokenState | undefined> {
  const [row] = await tx.query<TokenState>(STATE_SQL, [hashOf(token)])
  return row
}

async function revokeFamily(tx: Transaction, familyId: string): Promise<void> {
  await tx.query('update refresh_token set revoked_at = now() where family_id = $1 and revoked_at is null', [familyId])
}

/** The last token of the chain that starts behind a rotated one, undefined when the chain is broken. */
async function headOf(tx: Transaction, keys: Keys, rotated: string, successor: number): Promise<string | undefined> {
  const next = successorOf(keys, rotated, successor)
  const found = await stateOf(tx, next)
  if (found?.state === 'fresh') return next
  return found?.state === 'repeatable' ? headOf(tx, keys, next, found.successor) : undefined
}

type Found = NonNullable<Awaited<ReturnType<typeof findToken>>>

const ROTATE_SQL = 'update refresh_token set rotated_at = clock_timestamp(), successor = $2 where token_hash = $1'

/** Spends a token, and returns its first successor (0) or a later one. */
async function rotate(tx: Transaction, keys: Keys, { token, holder, familyId }: Found, successor: number) {
  const next = successorOf(keys, token, successor)
  await tx.query(ROTATE_SQL, [hashOf(token), successor])
  await storeToken(tx, holder, familyId, next)
  return next
}

/**
 * Answers a token that was spent a while ago. If its successor is unused, the answer was lost: another one takes its
 * place, so that of two who hold the spent token, one is noticed. If the successor was used, or is one that was
 * replaced, somebody else holds these tokens: the family is revoked.
 */
async function replaceSuccessor(tx: Transaction, keys: Keys, found: Found): Promise<string | undefined> {
  const unused = successorOf(keys, found.token, found.successor)
  if ((await stateOf(tx, unused))?.state !== 'fresh') {
    await revokeFamily(tx, found.familyId)
    return undefined
  }
  await tx.query(`update refresh_token set rotated_at = '-infinity' where token_hash = $1`, [hashOf(unused)])
  return rotate(tx, keys, found, found.successor + 1)
}

/**
 * Exchanges a refresh token for a new pair (contract 9.8, D-33); undefined when it is unknown, expired or revoked. For
 * 60 seconds a rotated token returns its successor again, later another one, as long as its successor is unused: the
 * answer may have been lost. Otherwise it was stolen, and its whole family is revoked.
 */
export async function renewSession({ db, keys }: Dependencies, token: string) {
  const session = await db.transaction(async (tx): Promise<Session | undefined> => {
    const found = await findToken(tx, token)
    if (!found) return undefined
    const refreshToken = await nextToken(tx, keys, found)
    return refreshToken === undefined ? undefined : { ...found, refreshToken }
  })
  return session && answer(keys, session)
}

async function nextToken(tx: Transaction, keys: Keys, found: Found): Promise<string | undefined> {
  switch (found.state) {
    case 'fresh':
      return rotate(tx, keys, found, 0)
    case 'repeatable':
      return headOf(tx, keys, found.token, found.successor)
    case 'spent':
      return replaceSuccessor(tx, keys, found)
    default:
      return undefined
  }
}

/**
 * Ends the session of a refresh token, with every token of its family; with `developerId` only a session of that
 * developer. False when it is unknown, expired or revoked before.
 */
export async function endSession(db: Database, token: string, developerId?: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const found = await findToken(tx, token)
    if (!found || found.state === 'dead' || (developerId && found.holder.developer_id !== developerId)) return false
    await revokeFamily(tx, found.familyId)
    return true
  })
}

/** Sessions that are ended in one transaction, each with its own lock. */
const ENDED_AT_ONCE = 100

const LOCK_PHONES_SQL = `
  select f.family_id, ${LOCK_FAMILY}
  from (
    select distinct family_id
    from refresh_token
    where user_id = $1 and revoked_at is null and expires_at > now() and ($2::uuid is null or family_id = $2)
    order by family_id
    limit ${ENDED_AT_ONCE}
  ) f`

/**
 * Ends the sessions of a user's phones, or the one with this id, and returns how many. Their access tokens stop at
 * once, since the guard looks up the session.
 */
export async function endPhoneSessions(db: Database, userId: string, id?: string): Promise<number> {
  let ended = 0
  let batch: number
  do {
    batch = await db.transaction(async (tx) => {
      const families = await tx.query<{ family_id: string }>(LOCK_PHONES_SQL, [userId, id ?? null])
      for (const { family_id } of families) await revokeFamily(tx, family_id)
      return families.length
    })
    ended += batch
  } while (batch === ENDED_AT_ONCE)
  return ended
}

/**
 * Stores a new password and ends every session of the developer: refresh tokens are revoked, access tokens issued so
 * far stop working, and sign-ins and codes of the console are gone. With `verifiedFrom`, only if `VALID_FROM` is still
 * that; otherwise returns false.
 */
export async function changePassword(
  tx: Transaction,
  developerId: string,
  passwordHash: string,
  verifiedFrom?: number,
): Promise<boolean> {
  const developer = await lockDeveloper(tx, developerId)
  if (!developer || (verifiedFrom !== undefined && developer.valid_from !== verifiedFrom)) return false
  // Tokens carry whole seconds: the next one, even by our own clock, is later than every token so far.
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
  await tx.query('delete from console_session where developer_id = $1', [developerId])
  await tx.query('delete from console_code where developer_id = $1', [developerId])
  return true
}
