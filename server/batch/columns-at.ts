import type { SampleColumns, SampleOrigins } from './columns.ts'
import { decodeOrigins, encodeOrigins, type Origin } from './origins.ts'

/** The samples at some places of a column set, ascending, with their records. */
export function columnsAt(columns: SampleColumns, places: readonly number[]): SampleColumns {
  const { timeMs, value, zoneMin, zoneTaken, lastsS, origins } = columns
  const times = Float64Array.from(places, (at) => timeMs[at] as number)
  const kept = new Set(times)
  return {
    ...columns,
    timeMs: times,
    value: Float64Array.from(places, (at) => value[at] as number),
    zoneMin: Int16Array.from(places, (at) => zoneMin[at] as number),
    zoneTaken: zoneTaken && Uint8Array.from(places, (at) => zoneTaken[at] as number),
    lastsS: lastsS && Int32Array.from(places, (at) => lastsS[at] as number),
    origins: origins && sampleOrigins(originsOf(columns).filter((one) => kept.has(one.timeMs))),
  }
}

/** The records of samples, ascending by time. */
export function originsOf({ origins }: Pick<SampleColumns, 'origins'>): Origin[] {
  if (!origins) return []
  const { bytes, firstMs } = origins
  return decodeOrigins(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), firstMs)
}

/** Records, ascending by time, as a column set holds them; null when there are none. */
export function sampleOrigins(entries: readonly Origin[]): SampleOrigins | null {
  const [first, last] = [entries[0], entries.at(-1)]
  return first && last ? { firstMs: first.timeMs, lastMs: last.timeMs, bytes: encodeOrigins(entries) } : null
}
