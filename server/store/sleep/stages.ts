import { MAX_STAGE_MS, type SleepStageName } from '../../batch/columns.ts'
import { groupBy } from '../../batch/group-by.ts'
import type { Transaction } from '../../db/database.ts'
import { planned } from '../../db/planned.ts'
import type { EventTarget } from '../event-items.ts'
import { columnsOf, idsIn, sameIds, withIds } from '../platform-ids.ts'
import { type Chain, chainsOf, SESSION_GAP_MS, type Stage, sessionKey } from './sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

/** What an upload or a deletion does to the stored stages. */
export interface StageChanges {
  /** New stages, and stored ones of which more than the time changed. */
  written: Stage[]
  removed: Stage[]
  /** Stored ones that only have other ids, which no session shows. */
  relabelled?: Stage[]
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

/** The platform's ids of a stage. */
export const stageIds = ({ externalId, otherIds }: Stage): string[] =>
  idsIn({ external_id: externalId, other_ids: otherIds ?? null })

/** A stage with these ids instead of its own. */
export function stageWithIds(stage: Stage, ids: readonly string[]): Stage {
  const { external_id: externalId, other_ids: otherIds } = columnsOf(ids)
  return { ...stage, externalId, otherIds }
}

/** The ids that identify a stage of a session given by the platform; none if only the interval identifies it. */
const idKeys = (stage: Stage) =>
  stage.session === '' ? [] : stageIds(stage).map((id) => `${sessionKey(stage)}\0${id}`)

/**
 * Computes what the stages of an upload change in the stored ones, which must include every stage of the same interval
 * and every given session that is touched. Intervals count: an interval that arrives under several ids keeps them. In a
 * session given by the platform, an id that arrives with another interval or stage was rewritten: its old interval is
 * removed unless another id has it, and so are those it overlaps, unless they are in the upload as well. Everything else
 * is added, since a session may be divided among uploads in any order.
 */
export function compareStages(incoming: readonly Stage[], stored: readonly Stage[]): ComparedStages {
  const items = withoutRepeatedIds(incoming)
  const latest = new Map<string, Stage>()
  for (const item of items) {
    const same = latest.get(stageKey(item))
    latest.set(stageKey(item), same ? stageWithIds(item, withIds(stageIds(same), stageIds(item))) : item)
  }
  const sent = new Set(items.flatMap(idKeys))
  // An id that the upload assigns to another interval is not kept.
  const keptIds = (stage: Stage) => {
    const keys = idKeys(stage)
    const now = latest.get(stageKey(stage))
    const here = now ? stageIds(now) : []
    return stageIds(stage).filter((id, place) => here.includes(id) || !sent.has(keys[place] ?? ''))
  }
  const rewritten = rewrittenOf(items, stored)
  const storedByKey = new Map(stored.map((stage) => [stageKey(stage), stage]))

  const written: Stage[] = []
  const relabelled: Stage[] = []
  const counts = { inserted: 0, updated: 0, unchanged: 0, duplicates: incoming.length - latest.size }
  for (const [key, item] of latest) {
    const before = storedByKey.get(key)
    const stage = stageWithIds(item, withIds(before ? keptIds(before) : [], stageIds(item)))
    if (before && sameDetails(before, stage)) {
      counts.unchanged += 1
      if (!sameIds(stageIds(before), stageIds(stage))) relabelled.push(stage)
    } else {
      written.push(stage)
      counts[before || rewritten.has(key) ? 'updated' : 'inserted'] += 1
    }
  }
  const overlapped = new Set(overlapping(stored, [...rewritten.values()]))
  const removed: Stage[] = []
  for (const stage of stored) {
    if (latest.has(stageKey(stage))) continue
    const [ids, kept] = [stageIds(stage), keptIds(stage)]
    if (overlapped.has(stage) || (ids.length > 0 && kept.length === 0)) removed.push(stage)
    else if (kept.length < ids.length) relabelled.push(stageWithIds(stage, kept))
  }
  return { written, removed, relabelled, ...counts }
}

/** The items without those of a given session whose id a later one repeats. */
function withoutRepeatedIds(items: readonly Stage[]): Stage[] {
  const last = new Map(items.flatMap((item) => idKeys(item).map((key) => [key, item])))
  return items.filter((item) => idKeys(item).every((key) => last.get(key) === item))
}

/** The items, by key, whose id had another interval or stage before. */
function rewrittenOf(items: readonly Stage[], stored: readonly Stage[]): Map<string, Stage> {
  const storedById = new Map(stored.flatMap((stage) => idKeys(stage).map((key) => [key, stageKey(stage)])))
  return new Map(
    items.flatMap((item) => {
      const [before] = idKeys(item).map((key) => storedById.get(key))
      return before === undefined || before === stageKey(item) ? [] : [[stageKey(item), item]]
    }),
  )
}

const sameDetails = (one: Stage, other: Stage) => one.zoneMin === other.zoneMin && one.score === other.score

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
  other_ids: string[] | null
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
  otherIds: row.other_ids,
  score: row.score,
})

const COLUMNS = `
  s.source_id, s.session, s.stage, date_part('epoch', s.start_at) as start_s, date_part('epoch', s.end_at) as end_s,
  s.zone_offset_min, s.external_id, s.other_ids, s.score`

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

/** Ids of one statement: the time to search an index of lists of ids grows with their square. */
const IDS_AT_ONCE = 1_000

/** Reads the stages that platform ids refer to: a stage's own, or a session's, which is the parent of stages. */
export async function readStagesById(
  tx: Transaction,
  { userId, provider }: EventTarget,
  ids: readonly string[],
): Promise<Stage[]> {
  const found = new Map<string, Stage>()
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    const some = ids.slice(from, from + IDS_AT_ONCE)
    const rows = await planned<StageRow>(tx, STAGES_BY_ID_SQL, [userId, provider, some])
    for (const stage of rows.map(stageOf)) found.set(stageKey(stage), stage)
  }
  return [...found.values()]
}

// The few sessions of a user lead to their stages, of which there are many, and of many sources. "offset 0" as above.
const STAGES_BY_ID_SQL = `
  with mine as materialized (
    select d.id from data_source d where d.user_id = $1 and d.provider = $2
  )
  select ${COLUMNS}
  from (select * from sleep_stage where external_id = any ($3) offset 0) s
  where s.source_id in (select id from mine)
  union all
  select ${COLUMNS}
  from (select * from sleep_stage where other_ids && $3::text[] offset 0) s
  where s.source_id in (select id from mine)
  union all
  select ${COLUMNS}
  from (
    select source_id, session from sleep where user_id = $1 and session = any ($3) and session <> '' offset 0
  ) n
  cross join lateral (
    select * from sleep_stage where source_id = n.source_id and session = n.session offset 0
  ) s
  where n.source_id in (select id from mine)`

/** Stores the changes of the stages. */
export async function writeStages(
  tx: Transaction,
  { written: changed, removed, relabelled = [] }: StageChanges,
): Promise<void> {
  const written = [...changed, ...relabelled]
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
    const labels = written.map((stage) => ({ other_ids: stage.otherIds ?? null }))
    await planned(
      tx,
      `insert into sleep_stage (
         source_id, session, stage, start_at, end_at, zone_offset_min, external_id, score, other_ids)
       select source_id, session, stage, to_timestamp(start_s), to_timestamp(end_s), zone_min, external_id, score, other_ids
       from rows from (
         unnest($1::int4[], $2::text[], $3::text[], $4::float8[], $5::float8[], $6::int2[], $7::text[], $8::float8[]),
         json_to_recordset($9) as (other_ids text[])
       ) new (source_id, session, stage, start_s, end_s, zone_min, external_id, score, other_ids)
       on conflict on constraint sleep_stage_pkey do update
       set zone_offset_min = excluded.zone_offset_min, external_id = excluded.external_id,
           other_ids = excluded.other_ids, score = excluded.score`,
      [
        ...keyColumns(written),
        written.map(({ zoneMin }) => zoneMin),
        written.map(({ externalId }) => externalId),
        written.map(({ score }) => score),
        JSON.stringify(labels),
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
