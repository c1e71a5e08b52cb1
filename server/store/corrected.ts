import type { ChangedSamples } from '../batch/changes.ts'
import type { SampleColumns } from '../batch/columns.ts'
import { hasManualTwin, IMPLAUSIBLE_OFFSET, MANUAL_OFFSET, typeIdOf } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'
import { DAY_MS } from '../time.ts'
import { removePoints } from './origins/delete-samples.ts'

// A corrected value can become implausible or plausible, and a record can turn out to be entered by hand: then another series
// has the instant, and the old value must be removed from the other two of the three.

/** The other series that may have had the instants of a stored series; for daily totals only implausible ones. */
function twinsOf(seriesId: number): number[] {
  const typeId = typeIdOf(seriesId)
  const first = hasManualTwin(typeId) ? [typeId, typeId + MANUAL_OFFSET, typeId + IMPLAUSIBLE_OFFSET] : []
  if (first.includes(seriesId)) return first.filter((one) => one !== seriesId)
  return [seriesId < IMPLAUSIBLE_OFFSET ? seriesId + IMPLAUSIBLE_OFFSET : seriesId - IMPLAUSIBLE_OFFSET]
}

/** Whether a series is a twin with few values beside the measured values of its type. */
const isRare = (seriesId: number) => seriesId >= IMPLAUSIBLE_OFFSET || seriesId === typeIdOf(seriesId) + MANUAL_OFFSET

interface Twin {
  sourceId: number
  seriesId: number
  columns: SampleColumns
}

/**
 * Removes the samples that the written samples of a batch replace: those of the same instant in the others of the series and
 * its twins of implausible and manual values. Costs one look-up if no source has both. Returns the number of removed samples
 * by series id of the new ones.
 */
export async function removeCorrected(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
  changes?: ChangedSamples[],
): Promise<Map<number, number>> {
  const gone = new Map<number, number>()
  const twins = await storedTwins(tx, samples, sourceIds)
  if (twins.length === 0) return gone
  const found = await corrected(tx, twins)
  if (found.length === 0) return gone
  const removed = await removePoints(tx, found, changes)
  for (const { takenBy } of removed) gone.set(takenBy, (gone.get(takenBy) ?? 0) + 1)
  return gone
}

/** The other series of each column set that its source has. */
async function storedTwins(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
): Promise<Twin[]> {
  const twins = samples.flatMap((columns) =>
    twinsOf(columns.seriesId).map((seriesId) => ({
      ...{ columns, sourceId: sourceIds[columns.source] as number, seriesId },
    })),
  )
  if (twins.length === 0) return []
  const rows = await tx.rows<[place: number]>(
    `select k.place
     from unnest($1::int4[], $2::int2[]) with ordinality k (source_id, series_id, place)
     join source_series s using (source_id, series_id)`,
    [twins.map(({ sourceId }) => sourceId), twins.map(({ seriesId }) => seriesId)],
  )
  return rows.map(([place]) => twins[place - 1] as Twin)
}

/**
 * The samples of twins at instants of the batch, and the series that has them now. Implausible and manual values are few:
 * they are looked up one by one among the other values, and the other values day by day among them.
 */
async function corrected(tx: Transaction, twins: readonly Twin[]) {
  const spans = twins.flatMap((twin) => spansOf(twin).map(([loMs, hiMs]) => ({ twin, loMs, hiMs })))
  const instants = new Map(twins.map((twin) => [twin, new Set(twin.columns.timeMs)]))
  const rows = await tx.rows<[place: number, at: number]>('select place, at from stored_instants($1, $2, $3, $4)', [
    spans.map(({ twin }) => twin.sourceId),
    spans.map(({ twin }) => twin.seriesId),
    spans.map(({ loMs }) => loMs / 1000),
    spans.map(({ hiMs }) => hiMs / 1000),
  ])
  return rows.flatMap(([place, at]) => {
    const { twin } = spans[place - 1] as (typeof spans)[number]
    const timeMs = Math.round(at * 1000)
    const { sourceId, seriesId } = twin
    return instants.get(twin)?.has(timeMs) ? [{ sourceId, seriesId, timeMs, takenBy: twin.columns.seriesId }] : []
  })
}

const SPAN_MS = DAY_MS

/** Range in which samples of a twin are looked for, epoch ms, both ends included. */
function spansOf({ seriesId, columns: { timeMs } }: Twin): [loMs: number, hiMs: number][] {
  if (!isRare(seriesId)) return Array.from(timeMs, (ms) => [ms, ms])
  const spans: [loMs: number, hiMs: number][] = []
  let last: [loMs: number, hiMs: number] | undefined
  for (const ms of timeMs) {
    if (last && ms - last[1] <= SPAN_MS) last[1] = ms
    else {
      last = [ms, ms]
      spans.push(last)
    }
  }
  return spans
}
