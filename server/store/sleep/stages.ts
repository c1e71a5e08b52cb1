import { MAX_STAGE_MS, type SleepStageName } from '../../batch/columns.ts'
import { groupBy } from '../../batch/group-by.ts'
import type { Transaction } from '../../db/database.ts'
import { planned } from '../../db/planned.ts'
import type { EventTarget } from '../event-items.ts'
import { isGiven, type StageChanges, stageKey } from './compare.ts'
import { type Chain, chainsOf, SESSION_GAP_MS, type Stage, sessionKey } from './sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

/** The keys of the sessions that are whole in `stages`, and whose stored stages also arrived whole. */
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

/** Stored stages around others, and the ranges of time in which all stages without a platform's session were read. */
export interface Surroundings {
  stored: Stage[]
  ranges: Range[]
}

/** How far around a stage to look for others at first; longer sessions are rare. */
const REACH_MS = 24 * 3_600_000

/**
 * Reads the platform's sessions to which `stages` belong, and from `reachMs` before to `reachMs` after the other stages
 * everything that any source of the user and provider has without a platform's session. One statement for any number of
 * `stages`.
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
 * Reads further until the chains of `touched` are known from end to end. Nearly always they are known at once; a source
 * without a gap for weeks takes a few statements, each of which looks twice as far.
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

/** The chains of `stages` without a platform's session that contain a touched stage. */
export function touchedChains(stages: readonly Stage[], touched: readonly Stage[]): Chain[] {
  const keys = new Set(touched.map(stageKey))
  return chainsOf(stages.filter((stage) => !isGiven(stage))).filter((chain) =>
    chain.stages.some((stage) => keys.has(stageKey(stage))),
  )
}

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

// "offset 0" keeps the planner from joining whole sources, or the whole table, and filtering afterwards. Sessions and ids
// are looked up all at once: with one look-up for each, the planner may scan the table every time as long as its statistics
// expect few rows (15 s for 10,000 ids among 20,000 stages). An id that two sources have does no harm.
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

/** Ids in one statement: the time to search an index of lists of ids grows with the square of their number. */
const IDS_AT_ONCE = 1_000

/** Reads the stages to which the platform's ids refer: the id of a stage, or of a session, the parent of its stages. */
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

// The few sessions of a user lead to their many stages, from many sources. "offset 0" as above.
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
