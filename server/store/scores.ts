import { randomUUID } from 'node:crypto'
import type { BatchEvents, Score, Unscored } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import { boundsOf, type EventCounts, type EventTarget } from './event-items.ts'
import { isOlder, latestOfEach, type Versioned } from './versions.ts'

// Scores that cloud providers give; those of phones belong to their sessions (sleep/stored-sessions.ts), and those computed
// here to the jobs in server/scores/.

type Owner = Pick<EventTarget, 'userId' | 'provider'>

/** A stored score. */
interface StoredScore extends Versioned {
  id: string
  category: string
  externalId: string | null
  timeMs: number
  zoneMin: number | null
}

const idKey = ({ category, externalId }: Pick<StoredScore, 'category' | 'externalId'>) => `${category} ${externalId}`
const isScore = (one: Score | Unscored): one is Score => 'value' in one
const timeKey = ({ category, timeMs }: Pick<StoredScore, 'category' | 'timeMs'>) => `${category} ${timeMs}`

/**
 * Writes the scores of a batch, and deletes those that the provider has no longer (contract 12.9). Category and the provider's id identify a score, which may move; of two of
 * a category and instant the later one stays. An older version never overwrites.
 */
export async function writeScores(
  tx: Transaction,
  target: EventTarget,
  { scores, unscored }: Pick<BatchEvents, 'scores' | 'unscored'>,
): Promise<EventCounts | undefined> {
  if (scores.length + unscored.length === 0) return undefined
  const said = latestOfEach<Score | Unscored>([...scores, ...unscored], idKey).kept
  const kept = new Map([...said].filter((entry): entry is [string, Score] => isScore(entry[1])))
  const stored = await storedScores(tx, target, [...said.values()])
  const takenBack = stored.filter((row) => {
    const now = said.get(idKey(row))
    return now !== undefined && !isScore(now) && !isOlder(now, row)
  })
  const { rows, gone } = placed(
    kept,
    stored.filter((row) => !takenBack.includes(row)),
  )
  gone.push(...takenBack.map(({ id }) => id))
  if (gone.length > 0) await planned(tx, 'delete from health_score where id = any ($1)', [gone])
  const changed = await writeRows(tx, target, rows)
  const counted = rows.filter(({ id }) => changed.has(id))
  const inserted = counted.filter(({ isNew }) => isNew).length
  const times = [...counted.map(({ score }) => score), ...takenBack]
  return {
    type: 'health_score',
    ...{ inserted, updated: counted.length - inserted + takenBack.length, unchanged: kept.size - counted.length },
    duplicates: scores.length - kept.size,
    ...boundsOf(times.map(({ timeMs }) => ({ startMs: timeMs, endMs: timeMs }))),
    announced: [],
  }
}

/** A score with the key of its row. */
interface Row {
  id: string
  score: Score
  isNew: boolean
}

/** The rows of scores, each the latest of its id, and the keys of stored rows that go or are written anew. */
function placed(scores: ReadonlyMap<string, Score>, stored: readonly StoredScore[]): { rows: Row[]; gone: string[] } {
  const latest = latestOfEach([...scores.values()], timeKey).kept
  const byId = new Map(stored.map((row) => [idKey(row), row]))
  const byTime = new Map(stored.map((row) => [timeKey(row), row]))
  const leaves = (row: StoredScore) => {
    const now = scores.get(idKey(row))
    return now !== undefined && now.timeMs !== row.timeMs && !isOlder(now, row)
  }
  const rows: Row[] = []
  const gone = new Set<string>()
  for (const score of scores.values()) {
    const own = byId.get(idKey(score))
    if (own && isOlder(score, own)) continue
    const there = byTime.get(timeKey(score))
    const other = there && there !== own && !leaves(there) ? there : undefined
    const isLatest = latest.get(timeKey(score)) === score && !(other && isOlder(score, other))
    // The new place of one may be the old one of another, so a row that moves is removed first.
    if (own && (!isLatest || own.timeMs !== score.timeMs)) gone.add(own.id)
    if (!isLatest) continue
    if (other) gone.add(other.id)
    const zoneMin = score.zoneTaken && own ? own.zoneMin : score.zoneMin
    rows.push({ id: own?.id ?? randomUUID(), score: { ...score, zoneMin }, isNew: !own && !other })
  }
  return { rows, gone: [...gone] }
}

/** The stored scores with these ids, or at these instants. */
function storedScores(
  tx: Transaction,
  { userId, provider }: Owner,
  scores: readonly Unscored[],
): Promise<StoredScore[]> {
  return planned<StoredScore>(tx, STORED_SQL, [
    userId,
    provider,
    scores.map(({ category }) => category),
    scores.map(({ externalId }) => externalId),
    scores.map(({ timeMs }) => timeMs / 1000),
  ])
}

const COLUMNS = `
  h.id, h.category, h.external_id as "externalId", round(date_part('epoch', h.recorded_at) * 1000) as "timeMs",
  h.zone_offset_min as "zoneMin", h.version, round(date_part('epoch', h.answered_at) * 1000) as "atMs"`

const STORED_SQL = `
  select ${COLUMNS}
  from unnest($3::text[], $4::text[]) i (category, external_id)
  join health_score h
    on h.user_id = $1 and h.provider = $2 and (h.external_id, h.category) = (i.external_id, i.category)
  union
  select ${COLUMNS}
  from unnest($3::text[], $5::float8[]) i (category, at)
  join health_score h
    on h.user_id = $1 and h.provider = $2 and h.category = i.category and h.recorded_at = to_timestamp(i.at)
       and h.sleep_id is null`

/** Writes rows where they differ, and returns the keys of those of which a reader sees something else. */
async function writeRows(tx: Transaction, { userId, provider, sourceIds }: EventTarget, rows: readonly Row[]) {
  if (rows.length === 0) return new Set<string>()
  const input = rows.map(({ id, score }) => ({ ...score, id, sourceId: sourceIds[score.source] }))
  const changed = await planned<{ id: string }>(tx, WRITE_SQL, [userId, provider, JSON.stringify(input)])
  return new Set(changed.map(({ id }) => id))
}

const CONTENT = 'source_id, value, qualifier, recorded_at, zone_offset_min, components, night, workout'
const of = (row: string) => CONTENT.replaceAll(/\w+/g, (column) => `${row}.${column}`)

const WRITE_SQL = `
  with input as materialized (
    select n.*, n."sourceId" as source_id, n."zoneMin" as zone_offset_min, n."externalId" as external_id,
           to_timestamp(n."timeMs" / 1000) as recorded_at, to_timestamp(n."atMs" / 1000) as answered_at
    from jsonb_to_recordset($3) as n (
      id uuid, "sourceId" int4, category text, "externalId" text, night text, workout text, value float8, qualifier text,
      "timeMs" float8, "zoneMin" int2, components jsonb, version int8, "atMs" float8
    )
  ), compared as (
    select i.*, h.id is null or (${of('h')}) is distinct from (${of('i')}) as changed,
           h.version is distinct from i.version as relabelled
    from input i
    left join health_score h on h.id = i.id
  ), written as (
    insert into health_score (id, user_id, provider, category, external_id, version, answered_at, ${CONTENT})
    select c.id, $1, $2, c.category, c.external_id, c.version, c.answered_at, ${of('c')}
    from compared c
    where c.changed or c.relabelled
    on conflict (id) do update
    set (version, answered_at, ${CONTENT}) = (excluded.version, excluded.answered_at, ${of('excluded')})
  )
  select c.id from compared c where c.changed`

/**
 * Deletes the scores that a provider's pages list no longer: those in the spans of a batch, of the span's category, that the
 * batch does not hold, unless they were stored from a later answer. Returns their number.
 */
export async function deleteUnlistedScores(
  tx: Transaction,
  { userId, provider }: Owner,
  { spans, scores, unscored }: Pick<BatchEvents, 'spans' | 'scores' | 'unscored'>,
): Promise<number> {
  const asked = spans.flatMap((span) => (typeof span.what === 'object' ? [{ ...span, ...span.what }] : []))
  if (asked.length === 0) return 0
  const held = [...scores, ...unscored]
  const gone = await planned(tx, UNLISTED_SQL, [
    ...[userId, provider, asked.map(({ score }) => score)],
    ...[asked.map(({ loMs }) => loMs / 1000), asked.map(({ hiMs }) => hiMs / 1000), asked.map(({ atMs }) => atMs)],
    ...[held.map(({ category }) => category), held.map(({ externalId }) => externalId)],
  ])
  return gone.length
}

const UNLISTED_SQL = `
  delete from health_score h
  using unnest($3::text[], $4::float8[], $5::float8[], $6::float8[]) k (category, lo, hi, at_ms)
  where h.user_id = $1 and h.provider = $2 and h.category = k.category and h.external_id is not null
    and h.recorded_at >= to_timestamp(k.lo) and h.recorded_at < to_timestamp(k.hi)
    and (h.version is null or h.version <= k.at_ms)
    and (h.answered_at is null or h.answered_at <= to_timestamp(k.at_ms / 1000))
    and (h.category, h.external_id) not in (select * from unnest($7::text[], $8::text[]))
  returning h.id`

/**
 * Deletes scores by their ids, and by those of the night or workout that they describe. Returns the ids found, and the ids
 * of the deleted scores.
 */
export async function deleteScores(
  tx: Transaction,
  { userId, provider }: Owner,
  externalIds: readonly string[],
): Promise<{ found: string[]; scores: string[] }> {
  if (externalIds.length === 0) return { found: [], scores: [] }
  const gone = await planned<{ ids: (string | null)[] }>(tx, DELETE_SQL, [userId, provider, externalIds])
  const asked = new Set(externalIds)
  const found = new Set(gone.flatMap(({ ids }) => ids.filter((id) => id !== null && asked.has(id)) as string[]))
  return { found: [...found], scores: gone.flatMap(({ ids: [own] }) => own ?? []) }
}

const DELETE_SQL = `
  with gone as (
    select id from health_score where user_id = $1 and provider = $2 and external_id = any ($3)
    union
    select id from health_score where user_id = $1 and provider = $2 and night = any ($3)
    union
    select id from health_score where user_id = $1 and provider = $2 and workout = any ($3)
  )
  delete from health_score h
  using gone g
  where h.id = g.id
  returning array[h.external_id, h.night, h.workout] as ids`
