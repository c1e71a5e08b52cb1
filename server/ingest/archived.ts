import type { Batch, SampleColumns } from './columns.ts'

/**
 * Leaves out what an archive no longer takes: samples before `floorMs` (epoch ms) are rejected, since only their rollups
 * are kept and those are final. The batch itself is not changed.
 */
export function withoutArchived(batch: Batch, floorMs: number | null): Batch {
  if (floorMs === null || batch.samples.every(({ timeMs }) => (timeMs[0] as number) >= floorMs)) return batch
  let rejected = 0
  const samples: SampleColumns[] = []
  for (const columns of batch.samples) {
    const first = columns.timeMs.findIndex((ms) => ms >= floorMs)
    rejected += first < 0 ? columns.timeMs.length : first
    if (first < 0) continue
    samples.push({
      ...columns,
      timeMs: columns.timeMs.subarray(first),
      value: columns.value.subarray(first),
      zoneMin: columns.zoneMin.subarray(first),
    })
  }
  const msg = `${rejected} samples are older than what is kept: before ${new Date(floorMs).toISOString().slice(0, 10)}`
  const rejection = { collection: 'records', index: null, id: null, loc: ['data', 'records'], type: 'archived', msg }
  return { ...batch, samples, rejected: batch.rejected + rejected, rejections: [...batch.rejections, rejection] }
}
