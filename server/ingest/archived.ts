import type { Batch, SampleColumns } from './columns.ts'

/**
 * Leaves out what an archive no longer takes: samples before `floorMs` (epoch ms) are rejected, since only their rollups
 * are kept and those are final. The batch itself is not changed.
 */
export function withoutArchived(batch: Batch, floorMs: number | null): Batch {
  if (floorMs === null) return batch
  const samples = since(batch.samples, floorMs)
  const rejected = countSamples(batch.samples) - countSamples(samples)
  const kept = { ...batch, samples, derived: since(batch.derived, floorMs) }
  if (rejected === 0) return kept
  const msg = `${rejected} samples are older than what is kept: before ${new Date(floorMs).toISOString().slice(0, 10)}`
  const rejection = { collection: 'records', index: null, id: null, loc: ['data', 'records'], type: 'archived', msg }
  const unstored = { collection: 'records', type: null, reason: 'archived', items: rejected }
  return {
    ...kept,
    rejected: batch.rejected + rejected,
    rejections: [...batch.rejections, rejection],
    unstored: [...batch.unstored, unstored],
  }
}

/** The samples of column sets from `floorMs` (epoch ms) on. */
function since(samples: readonly SampleColumns[], floorMs: number): SampleColumns[] {
  return samples.flatMap((columns) => {
    if ((columns.timeMs[0] as number) >= floorMs) return [columns]
    const first = columns.timeMs.findIndex((ms) => ms >= floorMs)
    if (first < 0) return []
    const { timeMs, value, zoneMin } = columns
    return [
      { ...columns, timeMs: timeMs.subarray(first), value: value.subarray(first), zoneMin: zoneMin.subarray(first) },
    ]
  })
}

/** Number of samples in column sets. */
export function countSamples(samples: readonly SampleColumns[]): number {
  return samples.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
}
