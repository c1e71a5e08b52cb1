import { MAX_STAGE_MS, type SleepStageName } from '../../batch/columns.ts'
import type { Transaction } from '../../db/database.ts'
import { type EventTarget, planned } from '../event-items.ts'
import { groupBy } from '../group-by.ts'
import { type Chain, chainsOf, SESSION_GAP_MS, type Stage, sessionKey } from './sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

/** What an upload or a deletion does to the stored stages. */
export interface StageChanges {
  /** New stages, and stored ones of which more than the time changed. */
  written: Stage[]
  removed: Stage[]
}

/** The result for the stages of an upload. */
export interface ComparedStages extends StageChanges {
  inserted: number
  updated: number
  unchanged: number
  duplicates: number
}

/** The key of a stored stage. */
export const stageKey = ({ sourceId, session, startMs, endMs, stage }: Stage): string =>
  `${sourceId} ${startMs} ${endMs} ${stage} ${session}`

/** Identifies a stage of a session given by the platform by its id; undefined if only the interval identifies it. */
const idKey = (stage: Stage) =>
  stage.session === '' || stage.externalId === null ? undefined : `${sessionKey(stage)}\0${stage.externalId}`

/**
 * Computes what the stages of an upload change in the stored ones, which must include every stage of the same interval
 * and every given session that is touched; `stored.whole` holds the keys of those that came whole. Intervals count: an
 * interval that arrives under several ids keeps the smallest id, so their order does not matter. In a session given by
 * the platform, an id that arrives with another interval or stage was rewritten: its old interval is removed, and so are
 * those it overlaps, unless they are in the upload as well. A whole session that arrives whole again loses the stages it
 * no longer has. Everything else is added, since a session may be divided among uploads in any order.
 */
export function compareStages(
  incoming: readonly Stage[],
  { stages: stored, whole }: { stages: readonly Stage[]; whole: ReadonlySet<string> },
): ComparedStages {
  const items = withoutRepeatedIds(incoming)
  const latest = new Map<string, Stage>()
  for (const item of items) {
    const same = latest.get(stageKey(item))
    latest.set(stageKey(item), same ? { ...item, externalId: smaller(same.externalId, item.externalId) } : item)
  }
  const { rewritten, replaced } = rewrittenOf(items, stored)
  const sent = new Set(items.map(idKey))
  const wasSent = (stage: Stage) => idKey(stage) !== undefined && sent.has(idKey(stage))
  const storedByKey = new Map(stored.map((stage) => [stageKey(stage), stage]))

  const written: Stage[] = []
  const counts = { inserted: 0, updated: 0, unchanged: 0, duplicates: incoming.length - latest.size }
  for (const [key, item] of latest) {
    const before = storedByKey.get(key)
    // An id that the upload assigns to another interval is not kept.
    const kept = before && !(wasSent(before) && before.externalId !== item.externalId) ? before.externalId : null
    const stage = { ...item, externalId: smaller(kept, item.externalId) }
    if (before && sameDetails(before, stage)) counts.unchanged += 1
    else {
      written.push(stage)
      counts[before || rewritten.has(key) ? 'updated' : 'inserted'] += 1
    }
  }
  const gone = new Set(replaced)
  for (const stage of overlapping(stored, [...rewritten.values()])) if (!wasSent(stage)) gone.add(stage)
  for (const stage of noMoreIn(items, stored, whole)) gone.add(stage)
  return { written, removed: [...gone].filter((stage) => !latest.has(stageKey(stage))), ...counts }
}

/**
 * The stored stages that may go: those of sessions that came whole before and come whole now, and items that are a session
 * without stages when its stages arrive. The received ones among them stay.
 */
function noMoreIn(items: readonly Stage[], stored: readonly Stage[], whole: ReadonlySet<string>): Stage[] {
  const sentWhole = new Set(items.filter((item) => item.whole).map(sessionKey))
  const staged = new Set(items.filter((item) => isGiven(item) && !isSessionItself(item)).map(sessionKey))
  return stored.filter((stage) => {
    const key = sessionKey(stage)
    return (sentWhole.has(key) && whole.has(key)) || (isSessionItself(stage) && staged.has(key))
  })
}

/** Whether an item is a session without stages (sdk-payload 4.7). */
const isSessionItself = ({ session, externalId }: Stage) => session !== '' && externalId === session

/**
 * For each given session that an upload changes or contains whole, by key: whether the upload contained it whole and
 * brought everything that is stored of it from now on.
 */
export function wholeAfter(
  incoming: readonly Stage[],
  stored: readonly Stage[],
  changes: StageChanges,
): Map<string, boolean> {
  const sentWhole = new Set(incoming.filter((item) => item.whole).map(sessionKey))
  const sent = new Set(incoming.map(stageKey))
  const isElse = (stage: Stage) => isGiven(stage) && !sent.has(stageKey(stage))
  const partly = new Set(changedStages(stored, changes).filter(isElse).map(sessionKey))
  const changed = [...changes.written, ...changes.removed].filter(isGiven).map(sessionKey)
  return new Map([...changed, ...sentWhole].map((key) => [key, sentWhole.has(key) && !partly.has(key)]))
}

/** The keys of the sessions that come whole in `stages` and whose stored stages came whole, too. */
export async function readWhole(tx: Transaction, stages: readonly Stage[]): Promise<Set<string>> {
  const sent = stages.filter(({ whole }) => whole)
  if (sent.length === 0) return new Set()
  const rows = await planned<Pick<Stage, 'sourceId' | 'session'>>(
    tx,
    `select source_id as "sourceId", session
     from sleep
     where session <> '' and whole and source_id = any ($1) and session = any ($2)`,
    [[...new Set(sent.map(({ sourceId }) => sourceId))], [...new Set(sent.map(({ session }) => session))]],
  )
  return new Set(rows.map(sessionKey))
}

/** The items without those of a given session whose id a later one repeats. */
function withoutRepeatedIds(items: readonly Stage[]): Stage[] {
  const last = new Map(items.map((item) => [idKey(item), item]))
  return items.filter((item) => idKey(item) === undefined || last.get(idKey(item)) === item)
}

/** The items, by key, whose id had another interval or stage before, with what is stored of it. */
function rewrittenOf(items: readonly Stage[], stored: readonly Stage[]) {
  const storedById = new Map(stored.map((stage) => [idKey(stage), stage]))
  const rewritten = new Map<string, Stage>()
  const replaced: Stage[] = []
  for (const item of items) {
    const before = idKey(item) === undefined ? undefined : storedById.get(idKey(item))
    if (!before || stageKey(before) === stageKey(item)) continue
    rewritten.set(stageKey(item), item)
    replaced.push(before)
  }
  return { rewritten, replaced }
}

const smaller = (one: string | null, other: string | null) =>
  one === null || (other !== null && other < one) ? other : one

const sameDetails = (one: Stage, other: Stage) =>
  one.externalId === other.externalId && one.zoneMin === other.zoneMin && one.score === other.score

/** The stored stages that overlap one of `changed` of the same session. */
function overlapping(stored: readonly Stage[], changed: readonly Stage[]): Stage[] {
  const ranges = new Map(
    [...groupBy(changed, sessionKey)].map(([key, stages]) => [
      key,
      union(stages.map(({ startMs, endMs }): Range => [startMs, endMs])),
    ]),
  )
  return stored.filter((stage) => {
    const changes = ranges.get(sessionKey(stage)) ?? []
    const [startMs] = changes[firstEndingAfter(changes, stage.startMs)] ?? [Number.POSITIVE_INFINITY]
    return startMs < stage.endMs
  })
}

/** The stored stages after `changes`. */
export function changedStages(stored: readonly Stage[], { written, removed }: StageChanges): Stage[] {
  const stages = new Map(stored.map((stage) => [stageKey(stage), stage]))
  for (const stage of removed) stages.delete(stageKey(stage))
  for (const stage of written) stages.set(stageKey(stage), stage)
  return [...stages.values()]
}

/** Stored stages around others, and the ranges of time in which all stages without a given session were read. */
export interface Surroundings {
  stored: Stage[]
  ranges: Range[]
}

/** How far around a stage to look for others at first; sessions are hardly ever longer. */
const REACH_MS = 24 * 3_600_000

/**
 * Reads the given sessions that `stages` belong to, and everything that any source of the user and provider has without
 * a given session, from `reachMs` before to `reachMs` after the others. One statement for any number of `stages`.
 */
export async function readAround(
  tx: Transaction,
  { userId, provider }: EventTarget,
  stages: readonly Stage[],
  reachMs = REACH_MS,
): Promise<Surroundings> {
  const given = [...groupBy(stages.filter(isGiven), sessionKey).values()].map(([stage]) => stage as Stage)
  const ranges = union(
    stages
      .filter((stage) => !isGiven(stage))
      .map(({ startMs, endMs }) => [
        startMs - reachMs - SESSION_GAP_MS - MAX_STAGE_MS,
        endMs + reachMs + SESSION_GAP_MS,
      ]),
  )
  const rows = await planned<StageRow>(tx, READ_STAGES_SQL, [
    userId,
    provider,
    ranges.map(([startMs]) => startMs / 1000),
    ranges.map(([, endMs]) => endMs / 1000),
    given.map(({ sourceId }) => sourceId),
    given.map(({ session }) => session),
  ])
  return { stored: rows.map(stageOf), ranges }
}

/**
 * Reads on until the chains that `touched` belong to are known from end to end. Nearly always they are at once; a
 * source without a gap for weeks takes some statements, each of which looks twice as far.
 */
export async function readChains(
  tx: Transaction,
  target: EventTarget,
  touched: readonly Stage[],
  around: Surroundings,
): Promise<Surroundings> {
  for (let reachMs = 2 * REACH_MS; !isComplete(around, touched); reachMs *= 2) {
    around = await readAround(tx, target, touched, reachMs)
  }
  return around
}

/** Whether nothing unread can belong to a chain of a touched stage. */
function isComplete({ stored, ranges }: Surroundings, touched: readonly Stage[]): boolean {
  return touchedChains([...stored, ...touched], touched).every(({ startMs, endMs }) => {
    const range = ranges[firstEndingAfter(ranges, startMs)]
    return range && range[0] <= startMs - SESSION_GAP_MS - MAX_STAGE_MS && range[1] >= endMs + SESSION_GAP_MS
  })
}

/** The chains of `stages` without a given session that have a touched one. */
export function touchedChains(stages: readonly Stage[], touched: readonly Stage[]): Chain[] {
  const keys = new Set(touched.map(stageKey))
  return chainsOf(stages.filter((stage) => !isGiven(stage))).filter((chain) =>
    chain.stages.some((stage) => keys.has(stageKey(stage))),
  )
}

/** Whether the platform said which session a stage belongs to. */
export const isGiven = ({ session }: Stage): boolean => session !== ''

interface StageRow {
  source_id: number
  session: string
  stage: SleepStageName
  start_s: number
  end_s: number
  zone_offset_min: number | null
  external_id: string | null
  score: number | null
}

const stageOf = (row: StageRow): Stage => ({
  sourceId: row.source_id,
  session: row.session,
  stage: row.stage,
  startMs: Math.round(row.start_s * 1000),
  endMs: Math.round(row.end_s * 1000),
  zoneMin: row.zone_offset_min,
  externalId: row.external_id,
  score: row.score,
})

const COLUMNS = `
  s.source_id, s.session, s.stage, date_part('epoch', s.start_at) as start_s, date_part('epoch', s.end_at) as end_s,
  s.zone_offset_min, s.external_id, s.score`

// "offset 0" keeps the planner from joining whole sources, or the whole table, and filtering afterwards. Sessions and
// ids are looked up in one go: for each by itself, the planner may scan the table every time while its statistics
// expect few (15 s for 10,000 ids among 20,000 stages). An id that two sources have does no harm.
const READ_STAGES_SQL = `
  select ${COLUMNS}
  from data_source d
  cross join unnest($3::float8[], $4::float8[]) around (lo, hi)
  cross join lateral (
    select * from sleep_stage
    where source_id = d.id and session = '' and start_at >= to_timestamp(around.lo) and start_at <= to_timestamp(around.hi)
    offset 0
  ) s
  where d.user_id = $1 and d.provider = $2
  union all
  select ${COLUMNS}
  from sleep_stage s
  where s.source_id = any ($5) and s.session = any ($6)`

/**
 * Reads the stages that platform ids refer to: a stage's own id, a session's, or the parent of stages. Scans all stages
 * of the user once, since there may be as many ids as an upload holds, and as many sources.
 */
export async function readStagesById(
  tx: Transaction,
  { userId, provider }: EventTarget,
  ids: readonly string[],
): Promise<Stage[]> {
  const rows = await planned<StageRow>(
    tx,
    `select ${COLUMNS}
     from sleep_stage s
     where s.source_id = any (array (select d.id from data_source d where d.user_id = $1 and d.provider = $2))
       and (s.external_id = any ($3) or s.session = any ($3))`,
    [userId, provider, ids],
  )
  return rows.map(stageOf)
}

/** Stores the changes of the stages. */
export async function writeStages(tx: Transaction, { written, removed }: StageChanges): Promise<void> {
  if (removed.length > 0) {
    await planned(
      tx,
      `delete from sleep_stage s
       using unnest($1::int4[], $2::text[], $3::text[], $4::float8[], $5::float8[])
         gone (source_id, session, stage, start_s, end_s)
       where s.source_id = gone.source_id and s.session = gone.session and s.stage = gone.stage
         and s.start_at = to_timestamp(gone.start_s) and s.end_at = to_timestamp(gone.end_s)`,
      keyColumns(removed),
    )
  }
  if (written.length > 0) {
    await planned(
      tx,
      `insert into sleep_stage (source_id, session, stage, start_at, end_at, zone_offset_min, external_id, score)
       select source_id, session, stage, to_timestamp(start_s), to_timestamp(end_s), zone_min, external_id, score
       from unnest($1::int4[], $2::text[], $3::text[], $4::float8[], $5::float8[], $6::int2[], $7::text[], $8::float8[])
         new (source_id, session, stage, start_s, end_s, zone_min, external_id, score)
       on conflict on constraint sleep_stage_pkey do update
       set zone_offset_min = excluded.zone_offset_min, external_id = excluded.external_id, score = excluded.score`,
      [
        ...keyColumns(written),
        written.map(({ zoneMin }) => zoneMin),
        written.map(({ externalId }) => externalId),
        written.map(({ score }) => score),
      ],
    )
  }
}

const keyColumns = (stages: readonly Stage[]) => [
  stages.map(({ sourceId }) => sourceId),
  stages.map(({ session }) => session),
  stages.map(({ stage }) => stage),
  stages.map(({ startMs }) => startMs / 1000),
  stages.map(({ endMs }) => endMs / 1000),
]
