import type { Queryable } from '../../db/database.ts'

// Notices wait in three lanes of each provider, which are opened beside each other:
//  first  of people who had nothing waiting, and what was held for an account: nobody waits for what others have sent,
//  rest   behind others of the same person, in turns of the people,
//  large  what takes long to read, in the order of receipt.
// What is about one account is opened in the order of receipt, but for large ones: its turns grow, `first` is what has a turn
// that was opened already (notice_source.turn), and `rest` passes over accounts of which something waits there.

/** A lane of a provider. */
export type LaneKind = 'first' | 'rest' | 'large'
export const LANE_KINDS: readonly LaneKind[] = ['first', 'rest', 'large']

/** Notices of a provider that are opened one after the other. */
export interface Lane {
  readonly provider: string
  readonly kind: LaneKind
  /** Opened in one transaction at most; changes with whom notices are about. */
  bytes: number
}

/** A notice that is due. */
export interface DueNotice {
  readonly id: number
  /** Null: it is large. */
  readonly turn: number | null
  readonly signed: boolean
  /** The account that it was held for. */
  readonly account: string | null
  readonly attempts: number
  /** When it was received. */
  readonly at_ms: number
}

/** Notices that are opened in one transaction at most. */
const ROWS = 500

const OPENED = 'coalesce((select s.turn from notice_source s where s.provider = $1), 0)'

// Not by the index of what is due, which is nearly everything.
const DUE = `n.due_at + interval '0' <= now()`

/** What is in a lane, as conditions of rows of `notification n`; $1: the provider. */
const IN_LANE: Readonly<Record<LaneKind, readonly string[]>> = {
  first: [
    `n.state = 'waiting' and n.turn <= ${OPENED} and ${DUE}`,
    `n.state = 'held' and n.turn is not null and n.due_at <= now()`,
  ],
  rest: [`n.state = 'waiting' and n.turn > ${OPENED} and ${DUE}`],
  large: [
    `n.state = 'waiting' and n.turn is null and ${DUE}`,
    `n.state = 'held' and n.turn is null and n.due_at <= now()`,
  ],
}

/** Notices of a lane in their turns; of more than these it is not looked for what is due. */
const NEXT = 2 * ROWS

const inTurns = (columns: string, conditions: readonly string[]) =>
  conditions
    .map(
      (condition) =>
        `(select ${columns} from notification n where n.provider = $1 and ${condition} order by n.turn, n.id limit ${NEXT})`,
    )
    .join(' union all ')

/** `busy`: the slots of which something is in `first`. Of any account, or much: everybody waits for that. */
const BUSY_SQL = `
  before as materialized (${inTurns('n.slots', IN_LANE.first)}),
  busy as materialized (select distinct slot from before, unnest(before.slots) slot),`

const IS_BUSY = `
  (select count(*) = ${NEXT} or count(*) > count(slots) from before)
  or exists (select from unnest(n.slots) slot where (slot in (select busy.slot from busy)) is true)`

// Behind what is passed over and is about others, too, nothing is taken: it is about one of them, perhaps.
const dueSql = (conditions: readonly string[], behind?: 'first') => `
  with ${behind ? BUSY_SQL : ''} due as (
    select n.*
    from (
      select n.*, bool_or(n.is_busy and cardinality(n.slots) <> 1) over (order by n.turn, n.id) as is_behind
      from (
        select n.*, ${behind ? IS_BUSY : 'false'} as is_busy
        from (${inTurns('n.id, n.turn, n.slots, n.signed, n.account, n.attempts, n.received_at, octet_length(n.body) as bytes', conditions)}) n
      ) n
    ) n
    where not n.is_busy and n.is_behind is not true and ($2::int8[] is null or n.id = any ($2))
    order by n.turn, n.id
    limit ${ROWS}
  )
  select d.id, d.turn, d.signed, d.account, d.attempts, date_part('epoch', d.received_at) * 1000 as at_ms
  from (
    select due.*, sum(bytes) over w as all_bytes, row_number() over w as place
    from due
    window w as (order by turn, id rows unbounded preceding)
  ) d
  where d.all_bytes <= $3 or d.place = 1
  order by d.place`

const DUE_SQL: Readonly<Record<Held, string>> = {
  first: dueSql(IN_LANE.first),
  both: dueSql([`n.state = 'waiting' and n.turn is not null and ${DUE}`, ...IN_LANE.first.slice(1)]),
  rest: dueSql(IN_LANE.rest, 'first'),
  large: dueSql(IN_LANE.large),
}

/** What is to be opened next in a lane that is held, or those of `only` that are. */
export const dueOf = (tx: Queryable, { provider, bytes }: Lane, held: Held, only?: readonly number[]) =>
  tx.query<DueNotice>(DUE_SQL[held], [provider, only ?? null, bytes])

const IS_ANY = Object.fromEntries(
  LANE_KINDS.map((kind) => {
    const found = IN_LANE[kind].map(
      (condition) => `(select true from notification n where n.provider = $1 and ${condition} order by n.turn limit 1)`,
    )
    return [kind, `coalesce(${found.join(', ')}, false)`]
  }),
)

/** Whether something is due in a lane. */
export async function hasDue(db: Queryable, { provider, kind }: Lane): Promise<boolean> {
  return (await db.one<{ due: boolean }>(`select ${IS_ANY[kind]} as due`, [provider])).due
}

// One look at the index for each, however much waits.
const PROVIDERS_SQL = `
  with recursive p as (
    select min(provider) as provider from notification
    union all
    select (select min(n.provider) from notification n where n.provider > p.provider) from p where p.provider is not null
  )
  select provider from p where provider is not null`

const KINDS_SQL = `select ${LANE_KINDS.map((kind) => `${IS_ANY[kind]} as ${kind}`).join(', ')}`

/** The lanes in which something is due. */
export async function dueLanes(db: Queryable): Promise<Pick<Lane, 'provider' | 'kind'>[]> {
  const lanes: Pick<Lane, 'provider' | 'kind'>[] = []
  for (const { provider } of await db.query<{ provider: string }>(PROVIDERS_SQL)) {
    const due = await db.one<Record<LaneKind, boolean>>(KINDS_SQL, [provider])
    for (const kind of LANE_KINDS) if (due[kind]) lanes.push({ provider, kind })
  }
  return lanes
}

/** A lane that is held, or `both` first and rest. */
export type Held = LaneKind | 'both'

/** So little of `rest` is opened with `first`: what was received together is opened together while nobody has much. */
const LITTLE = 20

const lockOf = (kind: LaneKind) =>
  `pg_try_advisory_xact_lock(hashtextextended('notices:' || $1${kind === 'rest' ? '' : ` || ' ${kind}'`}, 0))`

const LOCK_SQL = Object.fromEntries(
  LANE_KINDS.map((kind) => [kind, `select case when ${lockOf(kind)} then '${kind}' end as held`]),
)

const LOCK_FIRST_SQL = `
  select case
    when not ${lockOf('first')} then null
    -- In this order: whoever has much is not to be held up.
    when case when (
      select count(*)
      from (select from notification n where n.provider = $1 and ${IN_LANE.rest[0]} limit ${LITTLE + 1}) few
    ) <= ${LITTLE} then ${lockOf('rest')} end then 'both'
    else 'first'
  end as held`

/**
 * Holds a lane until the transaction ends, so that one process at a time opens it; a process that dies holds nothing. Null:
 * somebody else does.
 */
export async function holdLane(tx: Queryable, { provider, kind }: Lane): Promise<Held | null> {
  const sql = kind === 'first' ? LOCK_FIRST_SQL : (LOCK_SQL[kind] as string)
  return (await tx.one<{ held: Held | null }>(sql, [provider])).held
}
