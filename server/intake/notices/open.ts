import type { NoticesTask, Opened } from '../../../workers/notices.ts'
import { type Database, databaseUnavailable, type Queryable, type Transaction } from '../../db/database.ts'
import type { OAuthParts } from '../../oauth/parts.ts'
import type { Notice } from '../../providers/notices.ts'
import type { NoticeBodies } from './bodies.ts'
import { type DueNotice, dueOf, hasDue, holdLane, type Lane, type LaneKind } from './lanes.ts'
import { GRANTS_SQL, type NoticedGrant, Plan, storePlans } from './plan.ts'
import { repeatsAmong } from './repeats.ts'
import { slotOf } from './slots.ts'

// Opens notices in their turns (lanes.ts): what they carry becomes parcels, what they name becomes tasks; deletions and
// withdrawals of access are believed if they are signed, otherwise the provider is asked.

/** What is opened in one transaction at most. */
const BYTES = 4 * 1024 * 1024

/**
 * The same while few people have many: what others send meanwhile waits for it. Of many people it is larger, since a batch
 * takes the longer the more people it is about, however little of each.
 */
const BYTES_OF_FEW = 1024 * 1024

/** So many of one person, in the mean, are many. */
const MANY_OF_ONE = 20

/** The same in the lane of those who had nothing waiting. */
const BYTES_OF_FIRST = 512 * 1024

/** When a notice of an account that nobody has connected is looked at again; after the last time it is forgotten. */
const HELD_SECONDS: readonly number[] = [60, 300, 900]

/** Notices of a provider that may be held. */
const MAX_HELD = 10_000

/** Notices of a provider that are kept though they cannot be read: anybody may send such a one where none are signed. */
const MAX_MALFORMED = 1_000

/** How often a notice is tried that fails. */
const MAX_ATTEMPTS = 3

/** What opening works with. */
export interface OpenMeans {
  readonly db: Database
  readonly parts: Pick<OAuthParts, 'clients' | 'settings' | 'log' | 'metrics'>
  /** Received by this process. */
  readonly bodies: NoticeBodies
  /** Reads bodies by the provider's connector. */
  readonly read: (task: NoticesTask) => Promise<Opened[]>
}

interface NoticeRow extends DueNotice {
  readonly body: Uint8Array
}

/** A lane of a provider. */
export const laneOf = (provider: string, kind: LaneKind): Lane => ({
  ...{ provider, kind, bytes: kind === 'first' ? BYTES_OF_FIRST : BYTES },
})

/** Opens notices of a lane that are due, or `only` these. Returns how many: 0 as well while another process is at it. */
async function openBatch(means: OpenMeans, lane: Lane, only?: readonly number[]): Promise<number> {
  return means.db.transaction(async (tx) => {
    // So that the order of receipt holds.
    const held = await holdLane(tx, lane)
    if (held === null) return 0
    const rows = await withBodies(tx, means.bodies, await dueOf(tx, lane, held, only))
    if (rows.length === 0) return 0
    const people = await openRows(tx, means, lane.provider, rows)
    // All of the turns before the last one, of which there may be more, are opened now.
    const isInTurns = held === 'rest' || held === 'both'
    await tx.query(OPENED_SQL, [lane.provider, isInTurns ? (rows.at(-1)?.turn ?? 1) - 1 : 0])
    if (lane.kind !== 'first') lane.bytes = rows.length > people * MANY_OF_ONE ? BYTES_OF_FEW : BYTES
    return rows.length
  })
}

// Bytes would come as twice as many digits, which takes long to read.
const BODIES_SQL = `select id, encode(body, 'base64') as body64 from notification where id = any ($1)`

async function withBodies(tx: Queryable, atHand: NoticeBodies, due: readonly DueNotice[]): Promise<NoticeRow[]> {
  const bodies = new Map(due.flatMap(({ id }) => [[id, atHand.get(id)] as const]))
  const missing = due.map(({ id }) => id).filter((id) => !bodies.get(id))
  const read = missing.length > 0 ? await tx.query<{ id: number; body64: string }>(BODIES_SQL, [missing]) : []
  for (const { id, body64 } of read) bodies.set(id, Buffer.from(body64, 'base64'))
  atHand.forget(due.map(({ id }) => id))
  return due.map((row) => ({ ...row, body: bodies.get(row.id) ?? new Uint8Array() }))
}

/** Whether there may be more of a lane, all of it was opened, or nothing was found. */
export type Found = 'more' | 'all' | 'none'

/** Opens what is due of a lane. One notice that fails stops no other. */
export async function openDue(means: OpenMeans, lane: Lane): Promise<Found> {
  try {
    if ((await openBatch(means, lane)) === 0) return 'none'
  } catch (error) {
    if (databaseUnavailable(error)) throw error
    means.parts.log.warn({ err: error, provider: lane.provider }, 'notices could not be opened together')
    const due = await dueOf(means.db, lane, lane.kind)
    for (const half of halves(due.map(({ id }) => id))) await openApart(means, lane, half)
  }
  return (await hasDue(means.db, lane)) ? 'more' : 'all'
}

/** Opens these together, or else in two parts; what cannot be opened alone is tried again later. */
async function openApart(means: OpenMeans, lane: Lane, ids: readonly number[]): Promise<void> {
  try {
    await openBatch(means, lane, ids)
  } catch (error) {
    if (databaseUnavailable(error)) throw error
    const [first] = ids
    if (ids.length > 1) for (const half of halves(ids)) await openApart(means, lane, half)
    else if (first !== undefined) await setAside(means, lane.provider, first, error)
  }
}

function halves(ids: readonly number[]): (readonly number[])[] {
  const middle = Math.ceil(ids.length / 2)
  return [ids.slice(0, middle), ids.slice(middle)].filter((half) => half.length > 0)
}

const FAILED_SQL = `
  update notification
  set attempts = attempts + 1, due_at = now() + interval '1 minute',
      state = case when attempts + 1 >= ${MAX_ATTEMPTS} then 'malformed' else state end, waiting_sha256 = null
  where id = $1
  returning state`

async function setAside({ db, parts }: OpenMeans, provider: string, id: number, error: unknown): Promise<void> {
  const [row] = await db.query<{ state: string }>(FAILED_SQL, [id])
  parts.log.error({ err: error, provider, notice: id }, 'a notice could not be opened')
  if (row?.state === 'malformed') parts.metrics.noticesOpened.labels(provider, 'malformed').inc()
}

const OPENED_SQL = `
  insert into notice_source as s (provider, opened_at, turn)
  values ($1, now(), $2)
  on conflict (provider) do update set opened_at = excluded.opened_at, turn = greatest(s.turn, excluded.turn)`

/** Returns about how many people they are. */
async function openRows(
  tx: Transaction,
  means: OpenMeans,
  provider: string,
  rows: readonly NoticeRow[],
): Promise<number> {
  const repeated = await repeatsAmong(
    tx,
    provider,
    rows.map(({ id }) => id),
  )
  const said = [
    ...(await readRows(
      tx,
      means,
      provider,
      rows.filter(({ id }) => !repeated.has(id)),
    )),
    ...rows.filter(({ id }) => repeated.has(id)).map((row) => ({ row, isMalformed: false, notices: [] })),
  ]
  const accounts = new Set(said.flatMap(({ notices }) => notices.map(({ account }) => account)))
  const grants = await tx.query<NoticedGrant>(GRANTS_SQL, [provider, [...accounts]])
  const byAccount = new Map(grants.map((grant) => [grant.account_id, grant]))
  const plans = new Map<string, Plan>()
  for (const { row, notices } of said) {
    for (const notice of notices) {
      const grant = byAccount.get(notice.account)
      if (!grant) continue
      const plan = plans.get(grant.id) ?? new Plan(means.parts, provider, grant)
      plans.set(grant.id, plan)
      plan.add(notice, row)
    }
  }
  await storePlans(tx, [...plans.values()])
  await settleRows(tx, { means, provider }, said, new Set(byAccount.keys()))
  return accounts.size
}

/** What is being opened. */
interface Opening {
  readonly means: OpenMeans
  readonly provider: string
}

/** A row and what it says; of one that waits for an account, what it says of that. */
interface Said {
  readonly row: NoticeRow
  readonly isMalformed: boolean
  readonly notices: readonly Notice[]
}

async function readRows(
  tx: Queryable,
  { read, parts }: OpenMeans,
  provider: string,
  rows: readonly NoticeRow[],
): Promise<Said[]> {
  const subscribed = await tx.query<{ subscription_id: string }>(
    'select subscription_id from provider_subscription where provider = $1 and subscription_id is not null',
    [provider],
  )
  const opened = await read({
    provider,
    subscriptionIds: subscribed.map(({ subscription_id }) => subscription_id),
    wantsSamples: parts.settings.ingestWorkoutSamples,
    bodies: rows.map(({ body, at_ms }) => ({ body, atMs: Math.floor(at_ms) })),
  })
  return rows.map((row, at) => {
    const notices = opened[at] ?? 'malformed'
    if (notices === 'malformed') return { row, isMalformed: true, notices: [] }
    const ofAccount = ({ account }: Notice) => row.account === null || row.account === account
    return { row, isMalformed: false, notices: notices.filter(ofAccount) }
  })
}

/** An account that nobody has connected, which a notice is about. */
interface Unknown {
  readonly id: number
  readonly account: string
  /** How often it was looked at before. */
  readonly attempts: number
}

/** Removes what was opened, holds what nobody has connected yet, and keeps what cannot be read. */
async function settleRows(
  tx: Transaction,
  { means: { parts }, provider }: Opening,
  said: readonly Said[],
  known: ReadonlySet<string>,
): Promise<void> {
  const malformed = said.filter(({ isMalformed }) => isMalformed).map(({ row }) => row.id)
  const unknown = said.flatMap(({ row, notices }): Unknown[] => {
    const accounts = new Set(notices.map(({ account }) => account).filter((account) => !known.has(account)))
    const attempts = row.account === null ? 0 : row.attempts
    return [...accounts].map((account) => ({ id: row.id, account, attempts }))
  })
  const held = await hold(tx, provider, unknown)
  const kept = await keepMalformed(tx, provider, malformed)
  if (malformed.length > 0) {
    const about = { provider, notices: malformed.slice(0, 10), count: malformed.length, kept: kept.length }
    parts.log.error(about, 'notices cannot be read; they are kept for a week')
  }
  const gone = said.map(({ row }) => row.id).filter((id) => !kept.includes(id))
  await tx.query('delete from notification where id = any ($1)', [gone])
  const empty = said.filter(({ isMalformed, notices }) => !isMalformed && notices.length === 0)
  const outcomes = {
    malformed: malformed.length,
    held: held.filter(({ attempts }) => attempts === 0).length,
    ignored: unknown.length - held.length + empty.length,
    opened: said.filter(({ notices }) => notices.some(({ account }) => known.has(account))).length,
  }
  for (const [outcome, n] of Object.entries(outcomes)) parts.metrics.noticesOpened.labels(provider, outcome).inc(n)
}

/** Keeps notices that cannot be read; returns those that are: not too many. */
async function keepMalformed(tx: Transaction, provider: string, malformed: readonly number[]): Promise<number[]> {
  if (malformed.length === 0) return []
  const { before } = await tx.one<{ before: number }>(
    `select count(*) as before from notification where provider = $1 and state = 'malformed'`,
    [provider],
  )
  const kept = malformed.slice(0, Math.max(0, MAX_MALFORMED - before))
  await tx.query(`update notification set state = 'malformed', waiting_sha256 = null where id = any ($1)`, [kept])
  return kept
}

// What is about several accounts waits for each of them that is unknown, in a row of its own.
const HOLD_SQL = `
  insert into notification (provider, state, account, signed, body, received_at, due_at, attempts, turn, slots)
  select n.provider, 'held', h.account, n.signed, n.body, n.received_at, now() + make_interval(secs => h.seconds), h.attempts,
         n.turn, array[h.slot]
  from unnest($1::int8[], $2::text[], $3::float8[], $4::int2[], $5::int2[])
    with ordinality h (id, account, seconds, attempts, slot, place)
  join notification n on n.id = h.id
  order by h.place`

/** Holds notices of unknown accounts; returns those that are: not what was looked at for the last time, or too many. */
async function hold(tx: Transaction, provider: string, unknown: readonly Unknown[]): Promise<Unknown[]> {
  if (unknown.length === 0) return []
  const { held } = await tx.one<{ held: number }>(
    `select count(*) as held from notification where provider = $1 and state = 'held'`,
    [provider],
  )
  const again = unknown.filter(({ attempts }) => attempts > 0).length
  const room = Math.max(0, MAX_HELD + again - held)
  const holding = unknown.filter(({ attempts }) => attempts < HELD_SECONDS.length).slice(0, room)
  await tx.query(HOLD_SQL, [
    holding.map(({ id }) => id),
    holding.map(({ account }) => account),
    holding.map(({ attempts }) => HELD_SECONDS[attempts] ?? 0),
    holding.map(({ attempts }) => attempts + 1),
    holding.map(({ account }) => slotOf(account)),
  ])
  return holding
}
