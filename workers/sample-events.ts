import { move, transferableSymbol, valueSymbol } from 'piscina'
import { type SeriesType, seriesById, storedSeries, typeIdOf } from '../server/catalogue/series.ts'
import { largestSampleBytes, type PackedSource, packSamples } from '../server/webhooks/packed.ts'

/** Maximum of samples in an event, and of bytes in its body (contract 10.3: 1 MB, less the part around the samples). */
const SAMPLES_PER_EVENT = 2_500
const SAMPLE_BYTES_PER_EVENT = 990_000

/** Changed samples of one series of one source, ascending by time; `device` is the model, null if unknown. */
export interface ChangedColumns {
  /** As stored: of a series, or of one of its twins. */
  seriesId: number
  sourceId: number
  device: string | null
  timeMs: Float64Array
  value: Float64Array
  zoneMin: Int16Array
}

/** The changes of a provider's batch. */
export interface SampleEventsTask {
  provider: string
  changed: ChangedColumns[]
}

/** One event of samples; packed.ts describes `data`. */
export interface SampleEvent {
  event: string
  seriesType: string
  firstMs: number
  lastMs: number
  chunk: { index: number; of: number } | null
  data: Uint8Array
}

/** Thread entry: `sampleEvents`, which transfers its buffers instead of copying them. */
export default function sampleEventsInThread(task: SampleEventsTask): SampleEvent[] {
  const events = sampleEvents(task).map((event) => ({ ...event, data: new Uint8Array(event.data) }))
  const buffers = events.map(({ data }) => data.buffer)
  return move({ [transferableSymbol]: buffers, [valueSymbol]: events } as never) as unknown as SampleEvent[]
}

/**
 * Makes the events of a batch's changes: one for each series type, or consecutive ones of at most 2,500 samples whose
 * bodies stay below 1 MB (contract 10.3).
 */
export function sampleEvents({ provider, changed }: SampleEventsTask): SampleEvent[] {
  const bySeries = new Map<number, ChangedColumns[]>()
  for (const columns of changed) {
    const id = typeIdOf(columns.seriesId)
    bySeries.set(id, [...(bySeries.get(id) ?? []), columns])
  }
  return [...bySeries].flatMap(([id, parts]) => eventsOf(provider, seriesById.get(id) as SeriesType, parts))
}

function eventsOf(provider: string, series: SeriesType, parts: readonly ChangedColumns[]): SampleEvent[] {
  const { sources, timeMs, value, zoneMin, of } = inOrder(series, parts)
  const most = Math.min(
    SAMPLES_PER_EVENT,
    Math.floor(SAMPLE_BYTES_PER_EVENT / largestSampleBytes(provider, series, sources)),
  )
  const total = timeMs.length
  const chunks = Math.ceil(total / most)
  return Array.from({ length: chunks }, (_, index) => {
    const [start, end] = [index * most, Math.min(total, (index + 1) * most)]
    const chunk = chunks > 1 ? { index, of: chunks } : null
    const samples = {
      timeMs: timeMs.subarray(start, end),
      value: value.subarray(start, end),
      zoneMin: zoneMin.subarray(start, end),
      of: of.subarray(start, end),
    }
    return {
      event: series.event,
      seriesType: series.type,
      firstMs: timeMs[start] as number,
      lastMs: timeMs[end - 1] as number,
      chunk,
      data: packSamples({ provider, type: series.type, total, chunk, sources, ...samples }),
    }
  })
}

interface Ordered {
  sources: PackedSource[]
  timeMs: Float64Array
  value: Float64Array
  zoneMin: Int16Array
  of: Uint16Array
}

/** All samples of a series by time; if one changed twice in a batch, its last state. */
function inOrder(series: SeriesType, parts: readonly ChangedColumns[]): Ordered {
  const sources = parts.map(({ device, seriesId }) => ({
    device,
    isDailyTotal: series.aggregation === 'sum' ? storedSeries(seriesId)?.isDailyTotal === true : null,
  }))
  const size = parts.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
  const [only] = parts
  if (parts.length === 1 && only) return { sources, ...only, of: new Uint16Array(size) }
  const merged = {
    timeMs: new Float64Array(size),
    value: new Float64Array(size),
    zoneMin: new Int16Array(size),
    of: new Uint16Array(size),
  }
  const next = parts.map(() => 0)
  const timeOf = (part: number) => parts[part]?.timeMs[next[part] as number] ?? Number.POSITIVE_INFINITY
  let count = 0
  for (;;) {
    let first = 0
    for (let part = 1; part < parts.length; part += 1) if (timeOf(part) < timeOf(first)) first = part
    const ms = timeOf(first)
    if (ms === Number.POSITIVE_INFINITY) break
    for (let part = first + 1; part < parts.length; part += 1) {
      if (timeOf(part) !== ms || !isSameStream(parts[part], parts[first])) continue
      next[first] = (next[first] as number) + 1
      first = part
    }
    const at = next[first] as number
    const { value, zoneMin } = parts[first] as ChangedColumns
    merged.timeMs[count] = ms
    merged.value[count] = value[at] as number
    merged.zoneMin[count] = zoneMin[at] as number
    merged.of[count] = first
    next[first] = at + 1
    count += 1
  }
  return {
    sources,
    timeMs: merged.timeMs.subarray(0, count),
    value: merged.value.subarray(0, count),
    zoneMin: merged.zoneMin.subarray(0, count),
    of: merged.of.subarray(0, count),
  }
}

const isSameStream = (a?: ChangedColumns, b?: ChangedColumns) =>
  a?.sourceId === b?.sourceId && a?.seriesId === b?.seriesId
