import { type Batch, countSamples, type DayCounts, type RejectedDays, type SampleColumns } from '../batch/columns.ts'
import { addRejected, dayCounts } from '../batch/day-counts.ts'

/** The reason of a rejection. */
const ARCHIVED = 'archived'

/**
 * Leaves out what an archive no longer takes: samples before `floorMs` (epoch ms) are rejected, since only their rollups
 * are kept and those are final. The batch itself is not changed.
 */
export function withoutArchived(batch: Batch, floorMs: number | null): Batch {
  if (floorMs === null) return batch
  const samples = parts(batch.samples, floorMs)
  const derived = parts(batch.derived, floorMs)
  const rejectedDays = withArchived(batch.rejectedDays, dayCounts([...samples.before, ...derived.before]))
  const kept = { ...batch, samples: samples.since, derived: derived.since, rejectedDays }
  const rejected = countSamples(samples.before)
  if (rejected === 0) return kept
  const msg = `${rejected} samples are older than what is kept: before ${new Date(floorMs).toISOString().slice(0, 10)}`
  const rejection = { collection: 'records', index: null, id: null, loc: ['data', 'records'], type: ARCHIVED, msg }
  const unstored = { collection: 'records', type: null, reason: ARCHIVED, items: rejected }
  return {
    ...kept,
    rejected: batch.rejected + rejected,
    rejections: [...batch.rejections, rejection],
    unstored: [...batch.unstored, unstored],
  }
}

function withArchived(rejected: RejectedDays, archived: DayCounts): RejectedDays {
  const all = structuredClone(rejected)
  for (const [type, days] of Object.entries(archived)) {
    for (const [day, items] of Object.entries(days)) addRejected(all, { type, day, reason: ARCHIVED }, items)
  }
  return all
}

/** The samples of column sets before `floorMs` (epoch ms), and those from then on. */
function parts(
  samples: readonly SampleColumns[],
  floorMs: number,
): { before: SampleColumns[]; since: SampleColumns[] } {
  const before: SampleColumns[] = []
  const since: SampleColumns[] = []
  for (const columns of samples) {
    const found = columns.timeMs.findIndex((ms) => ms >= floorMs)
    const first = found < 0 ? columns.timeMs.length : found
    if (first > 0) before.push(piece(columns, 0, first))
    if (first < columns.timeMs.length) since.push(first === 0 ? columns : piece(columns, first))
  }
  return { before, since }
}

const piece = (columns: SampleColumns, start: number, end?: number): SampleColumns => ({
  ...columns,
  timeMs: columns.timeMs.subarray(start, end),
  value: columns.value.subarray(start, end),
  zoneMin: columns.zoneMin.subarray(start, end),
})
