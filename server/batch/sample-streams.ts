import { NO_ZONE, type SampleColumns, type SampleOrigins } from './columns.ts'
import { encodeOrigins, type Origin, type OriginHash, withRecord } from './origins.ts'

/** The samples of one series from one source, in the order they were added. */
export class SampleStream {
  readonly source: number
  readonly seriesId: number
  readonly timeMs: number[] = []
  readonly value: number[] = []
  readonly zoneMin: number[] = []
  /** Of the records the samples were, as far as they have ids. */
  readonly origins: (OriginHash | null)[] = []
  /** Of samples that were added several times, the last one's place with all records that say the same. */
  readonly repeated = new Map<number, readonly OriginHash[]>()
  /** 1 while strictly ascending, -1 while strictly descending, 0 otherwise. */
  direction: 1 | -1 | 0 = 1

  constructor(source: number, seriesId: number) {
    this.source = source
    this.seriesId = seriesId
  }

  /** Adds one sample, `timeMs` in epoch ms; `zoneMin` null = unknown; `origin` null = its record has no id. */
  add(timeMs: number, value: number, zoneMin: number | null, origin: OriginHash | null): void {
    const count = this.timeMs.length
    if (count > 0) {
      const step = Math.sign(timeMs - (this.timeMs[count - 1] as number))
      if (count === 1) this.direction = step as 1 | -1 | 0
      else if (step !== this.direction) this.direction = 0
    }
    this.timeMs.push(timeMs)
    this.value.push(value)
    this.zoneMin.push(zoneMin ?? NO_ZONE)
    this.origins.push(origin)
  }
}

/** Collects samples in any order and yields them as ascending columns per source and series. */
export class SampleStreams {
  readonly #streams = new Map<number, SampleStream>()
  #last: SampleStream | undefined

  /** The stream of a source and series, to add samples to. */
  of(source: number, seriesId: number): SampleStream {
    const last = this.#last
    if (last && last.source === source && last.seriesId === seriesId) return last
    const key = source * 65_536 + seriesId
    let stream = this.#streams.get(key)
    if (!stream) {
      stream = new SampleStream(source, seriesId)
      this.#streams.set(key, stream)
    }
    this.#last = stream
    return stream
  }

  /**
   * The columns, ordered by source and series; of samples at one instant the last one added stays. All of them lie in
   * one buffer, so that handing a batch to another thread is one transfer.
   */
  finish(): { samples: SampleColumns[]; duplicates: number } {
    const streams = [...this.#streams.values()].sort((a, b) => a.source - b.source || a.seriesId - b.seriesId)
    const orders = streams.map(keptOrder)
    const added = streams.reduce((sum, stream) => sum + stream.timeMs.length, 0)
    const kept = orders.reduce((sum, order) => sum + order.length, 0)
    const buffer = new ArrayBuffer(kept * 18)
    let at = 0
    const samples = streams.map((stream, index) => {
      const order = orders[index] as number[]
      const columns = {
        source: stream.source,
        seriesId: stream.seriesId,
        timeMs: new Float64Array(buffer, at * 8, order.length),
        value: new Float64Array(buffer, (kept + at) * 8, order.length),
        zoneMin: new Int16Array(buffer, kept * 16 + at * 2, order.length),
        origins: originsOf(stream, order),
      }
      gather(stream, order, columns)
      at += order.length
      return columns
    })
    return { samples, duplicates: added - kept }
  }
}

/** Positions of the samples to keep, in ascending time. */
function keptOrder(stream: SampleStream): number[] {
  const order = Array.from(stream.timeMs.keys())
  if (stream.direction === 1) return order
  if (stream.direction === -1) return order.reverse()
  const time = stream.timeMs
  order.sort((a, b) => (time[a] as number) - (time[b] as number) || a - b)
  noteRepeated(stream, order)
  return order.filter((position, index) => time[position] !== time[order[index + 1] as number])
}

/** Notes who says the samples that were added several times: the last one, and those just before it that say the same. */
function noteRepeated({ timeMs, value, zoneMin, origins, repeated }: SampleStream, order: readonly number[]): void {
  let records: readonly OriginHash[] = []
  for (let index = 1; index < order.length; index += 1) {
    const [before, position] = [order[index - 1] as number, order[index] as number]
    const isRepeated =
      timeMs[position] === timeMs[before] && value[position] === value[before] && zoneMin[position] === zoneMin[before]
    const [first, origin] = [origins[before], origins[position]]
    if (!isRepeated) records = []
    else if (records.length === 0 && first) records = [first]
    if (isRepeated && origin) records = withRecord(records, origin)
    if (isRepeated) repeated.set(position, records)
  }
}

function gather(stream: SampleStream, order: number[], columns: SampleColumns): void {
  for (let index = 0; index < order.length; index += 1) {
    const position = order[index] as number
    columns.timeMs[index] = stream.timeMs[position] as number
    columns.value[index] = stream.value[position] as number
    columns.zoneMin[index] = stream.zoneMin[position] as number
  }
}

function originsOf({ timeMs, origins, repeated }: SampleStream, order: readonly number[]): SampleOrigins | null {
  const entries: Origin[] = []
  for (const position of order) {
    const origin = origins[position]
    const instant = timeMs[position] as number
    const records = repeated.size > 0 ? repeated.get(position) : undefined
    if (records) for (const { record, part } of records) entries.push({ timeMs: instant, record, part })
    else if (origin) entries.push({ timeMs: instant, record: origin.record, part: origin.part })
  }
  const [first, last] = [entries[0], entries.at(-1)]
  if (!first || !last) return null
  return { firstMs: first.timeMs, lastMs: last.timeMs, bytes: encodeOrigins(entries) }
}
