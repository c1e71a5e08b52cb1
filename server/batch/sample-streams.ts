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
    const orders = streams.map(ordered)
    const kept = streams.map((stream, index) => lastOfEachInstant(stream, orders[index] as number[]))
    const added = orders.reduce((sum, order) => sum + order.length, 0)
    const count = kept.reduce((sum, order) => sum + order.length, 0)
    const buffer = new ArrayBuffer(count * 18)
    let at = 0
    const samples = streams.map((stream, index) => {
      const order = kept[index] as number[]
      const columns = {
        source: stream.source,
        seriesId: stream.seriesId,
        timeMs: new Float64Array(buffer, at * 8, order.length),
        value: new Float64Array(buffer, (count + at) * 8, order.length),
        zoneMin: new Int16Array(buffer, count * 16 + at * 2, order.length),
        origins: originsOf(stream, orders[index] as number[]),
      }
      gather(stream, order, columns)
      at += order.length
      return columns
    })
    return { samples, duplicates: added - count }
  }
}

/** Positions of the samples in ascending time; those of one instant stay in the order they were added. */
function ordered({ timeMs, direction }: SampleStream): number[] {
  const order = Array.from(timeMs.keys())
  if (direction === 1) return order
  if (direction === -1) return order.reverse()
  return order.sort((a, b) => (timeMs[a] as number) - (timeMs[b] as number) || a - b)
}

function lastOfEachInstant({ timeMs, direction }: SampleStream, order: number[]): number[] {
  if (direction !== 0) return order
  return order.filter((position, index) => timeMs[position] !== timeMs[order[index + 1] as number])
}

function gather(stream: SampleStream, order: number[], columns: SampleColumns): void {
  for (let index = 0; index < order.length; index += 1) {
    const position = order[index] as number
    columns.timeMs[index] = stream.timeMs[position] as number
    columns.value[index] = stream.value[position] as number
    columns.zoneMin[index] = stream.zoneMin[position] as number
  }
}

/** Which records say the samples that stay: of an instant the last one, and those just before it that say the same. */
function originsOf(stream: SampleStream, order: readonly number[]): SampleOrigins | null {
  const entries: Origin[] = []
  let said: readonly OriginHash[] = []
  for (let index = 0; index < order.length; index += 1) {
    const position = order[index] as number
    const next = order[index + 1]
    const timeMs = stream.timeMs[position] as number
    const origin = stream.origins[position]
    if (origin) said = withRecord(said, origin)
    if (next !== undefined && stream.timeMs[next] === timeMs) {
      if (!sameSample(stream, position, next)) said = []
      continue
    }
    for (const one of said) entries.push({ timeMs, record: one.record, part: one.part })
    said = []
  }
  const [first, last] = [entries[0], entries.at(-1)]
  if (!first || !last) return null
  return { firstMs: first.timeMs, lastMs: last.timeMs, bytes: encodeOrigins(entries) }
}

const sameSample = ({ value, zoneMin }: SampleStream, a: number, b: number) =>
  value[a] === value[b] && zoneMin[a] === zoneMin[b]
