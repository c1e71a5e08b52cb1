import { DAILY_TOTAL_OFFSET, IMPLAUSIBLE_OFFSET, seriesById, storedId } from '../catalogue/series.ts'
import { NO_ZONE, type SampleColumns, type SampleOrigins } from './columns.ts'
import { encodeOrigins, type Origin, type OriginHash, withRecord } from './origins.ts'

const UNBOUNDED = { lowest: Number.NEGATIVE_INFINITY, highest: Number.POSITIVE_INFINITY }

/** The samples of one series from one source, in the order they were added. */
export class SampleStream {
  readonly source: number
  readonly seriesId: number
  readonly timeMs: number[] = []
  readonly value: number[] = []
  readonly zoneMin: number[] = []
  /** The records the samples came from, if they have ids. */
  readonly origins: (OriginHash | null)[] = []
  /** For samples that were added several times, the last one's place with all records that state the same. */
  readonly repeated = new Map<number, readonly OriginHash[]>()
  /** The plausible range of the series, and whether all values are in it. */
  readonly #lowest: number
  readonly #highest: number
  plausible = true
  /** 1 while strictly ascending, -1 while strictly descending, 0 otherwise. */
  direction: 1 | -1 | 0 = 1

  constructor(source: number, seriesId: number) {
    this.source = source
    this.seriesId = seriesId
    const { lowest, highest } = seriesById.get(seriesId % DAILY_TOTAL_OFFSET) ?? UNBOUNDED
    this.#lowest = lowest
    this.#highest = highest
  }

  /** Adds one sample, `timeMs` in epoch ms; `zoneMin` null = unknown; `origin` null = its record has no id. */
  add(timeMs: number, value: number, zoneMin: number | null, origin: OriginHash | null): void {
    const count = this.timeMs.length
    if (count > 0) {
      const step = Math.sign(timeMs - (this.timeMs[count - 1] as number))
      if (count === 1) this.direction = step as 1 | -1 | 0
      else if (step !== this.direction) this.direction = 0
    }
    if (value < this.#lowest || value > this.#highest) this.plausible = false
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

  /** The stream of a source and series, for adding samples. */
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
   * The columns, ordered by source and series. Of samples at one instant the last one added stays; implausible values
   * are a separate series (see IMPLAUSIBLE_OFFSET). All columns share one buffer, so that a batch goes to another
   * thread in one transfer.
   */
  finish(): { samples: SampleColumns[]; duplicates: number } {
    const kept = [...this.#streams.values()].flatMap(keptParts)
    kept.sort((a, b) => a.stream.source - b.stream.source || a.seriesId - b.seriesId)
    const added = [...this.#streams.values()].reduce((sum, { timeMs }) => sum + timeMs.length, 0)
    const total = kept.reduce((sum, { order }) => sum + order.length, 0)
    const buffer = new ArrayBuffer(total * 18)
    let at = 0
    const samples = kept.map(({ stream, seriesId, order }) => {
      const columns = {
        source: stream.source,
        seriesId,
        timeMs: new Float64Array(buffer, at * 8, order.length),
        value: new Float64Array(buffer, (total + at) * 8, order.length),
        zoneMin: new Int16Array(buffer, total * 16 + at * 2, order.length),
        origins: originsOf(stream, order),
      }
      gather(stream, order, columns)
      at += order.length
      return columns
    })
    return { samples, duplicates: added - total }
  }
}

/** Positions of a stream's samples, in ascending time, that are stored under one series id. */
interface Part {
  stream: SampleStream
  seriesId: number
  order: number[]
}

function keptParts(stream: SampleStream): Part[] {
  const order = keptOrder(stream)
  if (stream.plausible) return [{ stream, seriesId: stream.seriesId, order }]
  const ids = [stream.seriesId, stream.seriesId + IMPLAUSIBLE_OFFSET]
  return ids
    .map((seriesId) => {
      const own = order.filter((at) => storedId(stream.seriesId, stream.value[at] as number) === seriesId)
      return { stream, seriesId, order: own }
    })
    .filter((part) => part.order.length > 0)
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

/**
 * Notes the records of samples that were added several times: the last one, and those just before it that state the
 * same.
 */
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
