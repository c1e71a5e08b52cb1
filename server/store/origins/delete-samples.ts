import { type ChangedSamples, type Removed, withoutRemoved } from '../../batch/changes.ts'
import type { Deletion } from '../../batch/columns.ts'
import { groupBy } from '../../batch/group-by.ts'
import { NO_RECORD, type Origin, type OriginHash, originHash } from '../../batch/origins.ts'
import { MANUAL_OFFSET, typeIdOf } from '../../catalogue/series.ts'
import type { Transaction } from '../../db/database.ts'
import type { EventTarget } from '../event-items.ts'
import { compactLists } from './compact.ts'
import {
  type ListPlace,
  mayHaveOf,
  newList,
  readLists,
  recordsAt,
  type Stream,
  storeLists,
  streamKey,
} from './lists.ts'

/** The deletion of what may be a sample. */
type SampleDeletion = Deletion & { seriesId: number | null }

/** A record to delete: its hashes, and the ids sent for it. */
type Wanted = ReadonlyMap<number, readonly (SampleDeletion & { part: number })[]>

/** A sample of records to delete: their ids, and the other records that state it. */
interface Said extends Removed {
  externalIds: string[]
  others: readonly OriginHash[]
}

/**
 * Deletes records by the platform's ids. Their samples are deleted unless another record states the same or has
 * replaced them since. Archived data stays. The rollups follow. Returns the ids found.
 */
export async function deleteSamples(
  tx: Transaction,
  target: EventTarget,
  deletions: readonly Deletion[],
): Promise<string[]> {
  const asked = deletions.filter((one): one is SampleDeletion => one.seriesId !== 'none')
  if (asked.length === 0) return []
  const said = await samplesOf(tx, target, asked)
  const alone = said.filter(({ others }) => others.length === 0)
  const removed = await removePoints(tx, alone, target.changes)
  const deleted = [...removed, ...said.filter(({ others }) => others.length > 0)]
  await noteDeleted(tx, deleted)
  return [...new Set(deleted.flatMap(({ externalIds }) => externalIds))]
}

/**
 * Removes single samples, from the `changes` of a batch as well, and returns those there were. Archived data stays. The
 * rollups follow.
 */
export async function removePoints<Point extends Removed>(
  tx: Transaction,
  points: readonly Point[],
  changes?: ChangedSamples[],
): Promise<Point[]> {
  const gone = await tx.rows<[place: number]>('select place from delete_sample_points($1, $2, $3)', [
    points.map(({ sourceId }) => sourceId),
    points.map(({ seriesId }) => seriesId),
    points.map(({ timeMs }) => timeMs / 1000),
  ])
  const removed = gone.map(([place]) => points[place - 1] as Point)
  changes?.splice(0, changes.length, ...withoutRemoved(changes, removed))
  return removed
}

/** The samples that records to delete state. */
async function samplesOf(tx: Transaction, target: EventTarget, deletions: readonly SampleDeletion[]): Promise<Said[]> {
  const hashed = deletions.map((deletion) => ({ ...deletion, ...originHash(deletion.externalId, null) }))
  const wanted = groupBy(hashed, ({ record }) => record)
  const found: (Stream & { timeMs: number })[] = []
  for await (const { sourceId, seriesId, origins } of readLists(tx, await listsOf(tx, target, wanted))) {
    for (const origin of origins)
      if (asked(wanted, seriesId, origin).length > 0) found.push({ sourceId, seriesId, timeMs: origin.timeMs })
  }
  if (found.length === 0) return []
  const streams = [...groupBy(found, streamKey).values()].map((instants) => ({
    ...(instants[0] as Stream),
    timeMs: [...new Set(instants.map(({ timeMs }) => timeMs))].sort((a, b) => a - b),
  }))
  const records = await recordsAt(tx, streams)
  return streams.flatMap(({ sourceId, seriesId, timeMs }, index) =>
    timeMs.flatMap((instant, at): Said[] => {
      const all = records[index]?.[at] ?? []
      const externalIds = all.flatMap((one) => asked(wanted, seriesId, one))
      const others = all.filter((one) => asked(wanted, seriesId, one).length === 0)
      return externalIds.length > 0 ? [{ sourceId, seriesId, timeMs: instant, externalIds, others }] : []
    }),
  )
}

/** The ids to delete that stand for an origin. A whole record stands for its parts; a type has to match. */
function asked(wanted: Wanted, seriesId: number, { record, part }: OriginHash): readonly string[] {
  const same = wanted.get(record)
  if (!same) return NONE
  return same
    .filter((one) => one.part === 0 || one.part === part)
    .filter((one) => one.seriesId === null || one.seriesId === typeIdOf(seriesId))
    .map(({ externalId }) => externalId)
}

const NONE: readonly string[] = []

/** More deletions than this read whole filters: asking for a piece of each, for each deletion, would take longer. */
const ASKED_ONE_BY_ONE = 16

/** With more deletions than this, most filters say yes, so all lists are read once. */
const ASKED_AT_ALL = 2_000

/** The lists of the user and provider that may have one of these records. */
async function listsOf(tx: Transaction, { userId, provider }: EventTarget, wanted: Wanted): Promise<ListPlace[]> {
  const all = [...wanted.values()].flat()
  const series = all.map(({ seriesId }) => seriesId)
  const records = [...wanted.keys()]
  const owner = [userId, provider, MANUAL_OFFSET]
  if (all.length <= ASKED_ONE_BY_ONE) {
    const asked = all.map(({ externalId }) => originHash(externalId, null).record)
    return tx.rows<[number, number]>(ASKED_LISTS_SQL, [...owner, asked, series])
  }
  const named = series.includes(null) ? null : [...new Set(series)]
  const lists = await tx.rows<[seq: number, bytes: number, filterBytes: number | null]>(LISTS_SQL, [...owner, named])
  if (records.length > ASKED_AT_ALL) return lists.map(([seq, bytes]) => [seq, bytes])
  const filters = lists.flatMap(([seq, , filterBytes]): ListPlace[] => (filterBytes ? [[seq, filterBytes]] : []))
  const small = lists.flatMap(([seq, bytes, filterBytes]): ListPlace[] => (filterBytes ? [] : [[seq, bytes]]))
  return [...small, ...(await mayHaveOf(tx, filters, records))]
}

const LISTS_SQL = `
  select o.seq, octet_length(o.ids) as bytes, octet_length(o.filter) as filter_bytes
  from data_source d
  join sample_origin o on o.source_id = d.id
  where d.user_id = $1 and d.provider = $2 and ($4::int2[] is null or o.series_id % $3::int4 = any ($4))`

const ASKED_LISTS_SQL = `
  select o.seq, octet_length(o.ids) as bytes
  from data_source d
  join sample_origin o on o.source_id = d.id
  where d.user_id = $1 and d.provider = $2
    and exists (
      select
      from unnest($4::int8[], $5::int2[]) as a (record, series_id)
      where (a.series_id is null or o.series_id % $3::int4 = a.series_id)
        and may_have_record(o.ids, o.filter, a.record)
    )`

/** Notes of samples that only the other records state them, if any. */
export async function noteDeleted(
  tx: Transaction,
  deleted: readonly (Removed & Pick<Said, 'others'>)[],
): Promise<void> {
  const lists = [...groupBy(deleted, streamKey).values()].map((samples) => {
    const origins = samples
      .sort((a, b) => a.timeMs - b.timeMs)
      .flatMap(({ timeMs, others }): Origin[] =>
        (others.length > 0 ? others : [NO_RECORD]).map(({ record, part }) => ({ timeMs, record, part })),
      )
    return newList(samples[0] as Removed, origins)
  })
  if (lists.length === 0) return
  await storeLists(tx, lists)
  await compactLists(tx, lists)
}
