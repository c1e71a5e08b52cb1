import { pack, unpack } from 'msgpackr'
import type { Batch, SampleColumns } from './columns.ts'

/** A sample column set with its arrays as raw little-endian bytes. */
interface PackedColumns {
  source: number
  seriesId: number
  timeMs: Buffer
  value: Buffer
  zoneMin: Buffer
}

const bytesOf = (array: Float64Array | Int16Array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength)

/** A copy that starts at an aligned address, as typed arrays need. */
const aligned = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** Packs a batch for the `parsed` column of an upload (msgpack; numbers stay binary). */
export function packBatch(batch: Batch): Buffer {
  const samples: PackedColumns[] = batch.samples.map((columns) => ({
    ...columns,
    timeMs: bytesOf(columns.timeMs),
    value: bytesOf(columns.value),
    zoneMin: bytesOf(columns.zoneMin),
  }))
  return pack({ ...batch, samples })
}

/** Reads back what `packBatch` wrote. */
export function unpackBatch(bytes: Uint8Array): Batch {
  const batch = unpack(bytes) as Omit<Batch, 'samples'> & { samples: PackedColumns[] }
  const samples: SampleColumns[] = batch.samples.map((columns) => ({
    ...columns,
    timeMs: new Float64Array(aligned(columns.timeMs)),
    value: new Float64Array(aligned(columns.value)),
    zoneMin: new Int16Array(aligned(columns.zoneMin)),
  }))
  return { ...batch, samples }
}
