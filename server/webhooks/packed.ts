import { pack, unpack } from 'msgpackr'
import { NO_ZONE } from '../batch/columns.ts'
import { type SeriesType, seriesByName } from '../catalogue/series.ts'
import { isoInstant, zoneText } from '../time.ts'

/** Source of an event's samples: the model of the device, and for additive series whether they are daily totals. */
export interface PackedSource {
  device: string | null
  isDailyTotal: boolean | null
}

/** The samples of one event, ascending by time; `of` gives for each its place in `sources`. */
export interface PackedSamples {
  provider: string
  type: string
  /** Samples of the whole batch; an event may be a part of it. */
  total: number
  chunk: { index: number; of: number } | null
  sources: PackedSource[]
  timeMs: Float64Array
  value: Float64Array
  zoneMin: Int16Array
  of: Uint16Array
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float64Array | Int16Array | Uint16Array) =>
  Buffer.from(buffer, byteOffset, byteLength)

/** Packs samples for storage: 18 bytes per sample and, with several sources, two more. */
export function packSamples({ timeMs, value, zoneMin, of, ...fixed }: PackedSamples): Buffer {
  return pack({
    ...fixed,
    timeMs: bytesOf(timeMs),
    value: bytesOf(value),
    zoneMin: bytesOf(zoneMin),
    of: fixed.sources.length > 1 ? bytesOf(of) : null,
  })
}

/** A piece of `bytes` as numbers; a copy, since views need addresses that are multiples of their size. */
const numbers = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** Reads the result of `packSamples`. */
export function unpackSamples(bytes: Uint8Array): PackedSamples {
  const { timeMs, value, zoneMin, of, ...fixed } = unpack(bytes)
  const times = new Float64Array(numbers(timeMs))
  return {
    ...fixed,
    timeMs: times,
    value: new Float64Array(numbers(value)),
    zoneMin: new Int16Array(numbers(zoneMin)),
    of: of ? new Uint16Array(numbers(of)) : new Uint16Array(times.length),
  }
}

/** The part of a sample's text that depends neither on its time nor on its value. */
function tailOf(provider: string, { unit }: SeriesType, { device, isDailyTotal }: PackedSource): string {
  return `,"unit":${JSON.stringify(unit)},"source":${JSON.stringify({ provider, device })},"is_daily_total":${isDailyTotal}}`
}

const headOf = (type: string) => `,"type":"${type}","value":`

/** Longest text of an instant, a zone and a number, with the names of the first two. */
const LARGEST_SAMPLE = `{"timestamp":"2026-01-01T00:00:00.000000Z","zone_offset":"+00:00"-1.2345678901234567e-300,`
  .length

/** The most bytes that one sample takes in a body. */
export function largestSampleBytes(provider: string, series: SeriesType, sources: readonly PackedSource[]): number {
  const tails = sources.map((source) => Buffer.byteLength(tailOf(provider, series, source)))
  return LARGEST_SAMPLE + headOf(series.type).length + Math.max(0, ...tails)
}

/** The `data` of an event of samples as JSON (contract 10.3). */
export function samplesJson(userId: string, samples: PackedSamples): string {
  const { provider, type, total, chunk, sources, timeMs, value, zoneMin, of } = samples
  const series = seriesByName.get(type) as SeriesType
  const head = headOf(type)
  const tails = sources.map((source) => tailOf(provider, series, source))
  const parts = Array.from(timeMs, (ms, at) => {
    const zone = zoneMin[at] === NO_ZONE ? 'null' : `"${zoneText(zoneMin[at] as number)}"`
    return `{"timestamp":"${isoInstant(ms)}","zone_offset":${zone}${head}${value[at]}${tails[of[at] as number]}`
  })
  const fixed = JSON.stringify({
    user_id: userId,
    provider,
    series_type: type,
    sample_count: total,
    start_time: isoInstant(timeMs[0] as number),
    end_time: isoInstant(timeMs.at(-1) as number),
    ...(chunk && { chunk_index: chunk.index, total_chunks: chunk.of }),
  })
  return `${fixed.slice(0, -1)},"samples":[${parts.join(',')}]}`
}
