import type { SampleColumns } from '../../batch/columns.ts'
import { originsOf } from '../../batch/columns-at.ts'
import { NO_RECORD, type Origin, type OriginHash, sameOrigin, withRecord } from '../../batch/origins.ts'
import type { Transaction } from '../../db/database.ts'
import { compactLists } from './compact.ts'
import { type NewList, newList, recordsAt, storeLists } from './lists.ts'

/** Written samples of a batch; `changed`: the places of the inserted and changed ones, or all of them. */
export interface WrittenSamples {
  columns: SampleColumns
  /** Key of the source in the database. */
  sourceId: number
  changed: 'all' | ReadonlySet<number>
}

/** A sample, by its place in the columns, with the records of the batch that state it. */
interface Asked {
  place: number
  records: readonly OriginHash[]
}

/**
 * Notes which records state the written samples. Records that changed a sample replace all earlier ones; records that
 * repeat a sample are added to those that already state it. If these are known, nothing is written. A record without an
 * id that repeats a sample counts as a known one; a record without an id that changes a sample leaves no id to delete
 * it by.
 */
export async function noteOrigins(tx: Transaction, written: readonly WrittenSamples[]): Promise<void> {
  const lists: NewList[] = []
  const partly: { written: WrittenSamples; origins: Origin[]; asked: Asked[] }[] = []
  for (const one of written) {
    const { columns, sourceId, changed } = one
    if (changed !== 'all') partly.push({ written: one, ...sortOut(columns, changed) })
    else if (columns.origins) lists.push({ sourceId, seriesId: columns.seriesId, ...columns.origins })
  }
  const open = partly.filter(({ asked }) => asked.length > 0)
  const known = open.length > 0 ? await recordsAt(tx, open.map(instantsOf)) : []
  for (const [index, { origins, asked }] of open.entries()) {
    const timeMs = (open[index] as (typeof open)[number]).written.columns.timeMs
    for (const [position, { place, records }] of asked.entries())
      for (const one of statement((known[index] as (readonly OriginHash[])[])[position] ?? [], records))
        origins.push({ ...one, timeMs: timeMs[place] as number })
  }
  for (const { written, origins } of partly) {
    if (origins.length === 0) continue
    origins.sort((a, b) => a.timeMs - b.timeMs)
    lists.push(newList({ sourceId: written.sourceId, seriesId: written.columns.seriesId }, origins))
  }
  if (lists.length === 0) return
  await storeLists(tx, lists)
  await compactLists(tx, lists)
}

/** The new statements about changed samples, and the samples whose statement depends on stored ones. */
function sortOut(columns: SampleColumns, changed: ReadonlySet<number>): { origins: Origin[]; asked: Asked[] } {
  const { timeMs } = columns
  const entries = originsOf(columns)
  const origins: Origin[] = []
  const asked: Asked[] = []
  let next = 0
  for (let place = 0; place < timeMs.length; place += 1) {
    const first = next
    while (next < entries.length && (entries[next] as Origin).timeMs === timeMs[place]) next += 1
    if (changed.has(place) && next > first) for (let at = first; at < next; at += 1) origins.push(entries[at] as Origin)
    else if (changed.has(place) || next > first) asked.push({ place, records: entries.slice(first, next) })
  }
  return { origins, asked }
}

const instantsOf = ({
  written: { columns, sourceId },
  asked,
}: {
  written: WrittenSamples
  asked: readonly Asked[]
}) => ({
  sourceId,
  seriesId: columns.seriesId,
  timeMs: asked.map(({ place }) => columns.timeMs[place] as number),
})

/**
 * What to state of a sample that records without ids changed (`sent` is empty), or that `sent` repeat; none = nothing.
 */
function statement(known: readonly OriginHash[], sent: readonly OriginHash[]): readonly OriginHash[] {
  if (sent.length === 0) return known.length > 0 ? [NO_RECORD] : []
  if (sent.every((one) => known.some((other) => sameOrigin(one, other)))) return []
  return sent.reduce(withRecord, known)
}
