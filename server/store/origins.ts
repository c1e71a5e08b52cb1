import type { Deletion, SampleColumns } from '../batch/columns.ts'
import { decodeOrigins, originHash } from '../batch/origins.ts'
import { DAILY_TOTAL_OFFSET } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'
import { withoutRemoved } from './changes.ts'
import type { EventTarget } from './event-items.ts'

/** Remembers which records became the samples of column sets; those without ids are left out. */
export async function noteOrigins(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
): Promise<void> {
  const known = samples.flatMap(({ source, seriesId, origins }) => (origins ? [{ source, seriesId, ...origins }] : []))
  if (known.length === 0) return
  await tx.query(
    `insert into sample_origin (source_id, series_id, lo, hi, ids)
     select source_id, series_id, to_timestamp(lo), to_timestamp(hi), ids
     from unnest($1::int4[], $2::int2[], $3::float8[], $4::float8[], $5::bytea[]) o (source_id, series_id, lo, hi, ids)`,
    [
      known.map(({ source }) => sourceIds[source] as number),
      known.map(({ seriesId }) => seriesId),
      known.map(({ firstMs }) => firstMs / 1000),
      known.map(({ lastMs }) => lastMs / 1000),
      known.map(({ bytes }) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
    ],
  )
}

interface StoredOrigins {
  source_id: number
  series_id: number
  first_ms: number
  ids: Buffer
}

/** A sample that a deletion means. */
interface Meant {
  externalId: string
  sourceId: number
  seriesId: number
  timeMs: number
}

/**
 * Deletes the samples that records with these ids became, unless another record has taken their place since; what is
 * archived stays. The rollups follow. Returns the ids that were found.
 */
export async function deleteSamples(
  tx: Transaction,
  target: EventTarget,
  deletions: readonly Deletion[],
): Promise<string[]> {
  if (deletions.length === 0) return []
  const meant = await findSamples(tx, target, deletions)
  if (meant.length === 0) return []
  const gone = await tx.rows<[place: number]>('select place from delete_sample_points($1, $2, $3)', [
    meant.map(({ sourceId }) => sourceId),
    meant.map(({ seriesId }) => seriesId),
    meant.map(({ timeMs }) => timeMs / 1000),
  ])
  const removed = gone.map(([place]) => meant[place - 1] as Meant)
  target.changes?.splice(0, target.changes.length, ...withoutRemoved(target.changes, removed))
  return [...new Set(removed.map(({ externalId }) => externalId))]
}

type Wanted = ReadonlyMap<number, readonly (Deletion & { part: number })[]>

/**
 * Reads all lists of the user and provider, oldest first, however many deletions there are: looking for each of them in
 * the database took 18 s for a thousand and a million samples.
 */
async function findSamples(tx: Transaction, target: EventTarget, deletions: readonly Deletion[]): Promise<Meant[]> {
  const wanted = new Map<number, (Deletion & { part: number })[]>()
  for (const deletion of deletions) {
    const { record, part } = originHash(deletion.externalId, null)
    const same = wanted.get(record)
    if (same) same.push({ ...deletion, part })
    else wanted.set(record, [{ ...deletion, part }])
  }
  const found: Found = new Map()
  for (const seqs of await portionsOf(tx, target)) {
    for (const row of await tx.query<StoredOrigins>(LISTS_SQL, [seqs])) search(row, wanted, found)
  }
  return [...found.values()].flatMap(({ sourceId, seriesId, ids }) =>
    [...ids].flatMap(([timeMs, externalIds]) =>
      externalIds.map((externalId) => ({ externalId, sourceId, seriesId, timeMs })),
    ),
  )
}

/** By source and series: the ids to delete that became the sample of an instant. */
type Found = Map<string, { sourceId: number; seriesId: number; ids: Map<number, string[]> }>

/** Looks through a list that is later than those before: what it has of an instant took the place of what was there. */
function search({ source_id, series_id, first_ms, ids }: StoredOrigins, wanted: Wanted, found: Found): void {
  const key = `${source_id} ${series_id}`
  const series = found.get(key) ?? { sourceId: source_id, seriesId: series_id, ids: new Map<number, string[]>() }
  for (const { timeMs, record, part } of decodeOrigins(ids, Math.round(first_ms))) {
    series.ids.delete(timeMs)
    const deleted = wanted
      .get(record)
      ?.filter((one) => one.part === 0 || one.part === part)
      .filter(({ seriesId }) => seriesId === null || seriesId === series_id % DAILY_TOTAL_OFFSET)
    if (deleted?.length)
      series.ids.set(
        timeMs,
        deleted.map(({ externalId }) => externalId),
      )
  }
  if (series.ids.size > 0) found.set(key, series)
}

/** Bytes of lists that are read at once: of some hundred thousand samples, which are looked through in 20 ms. */
const PORTION_BYTES = 1024 * 1024

/** The lists of a user and provider, oldest first, in portions. */
async function portionsOf(tx: Transaction, { userId, provider }: EventTarget): Promise<number[][]> {
  const lists = await tx.rows<[seq: number, bytes: number]>(
    `select o.seq, octet_length(o.ids)
     from data_source d
     join sample_origin o on o.source_id = d.id
     where d.user_id = $1 and d.provider = $2
     order by o.seq`,
    [userId, provider],
  )
  const portions: number[][] = []
  let room = 0
  for (const [seq, bytes] of lists) {
    room -= bytes
    if (room >= 0) portions.at(-1)?.push(seq)
    else {
      portions.push([seq])
      room = PORTION_BYTES - bytes
    }
  }
  return portions
}

const LISTS_SQL = `
  select source_id, series_id, date_part('epoch', lo) * 1000 as first_ms, ids
  from sample_origin
  where seq = any ($1)
  order by seq`
