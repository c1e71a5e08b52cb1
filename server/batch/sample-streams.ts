import { DAILY_TOTAL_OFFSET, IMPLAUSIBLE_OFFSET, seriesById, storedId } from '../catalogue/series.ts'
import { NO_ZONE, type SampleColumns, type SampleOrigins } from './columns.ts'
import { encodeOrigins, type OriginHash } from './origins.ts'

interface Growing {
  source: number
  seriesId: number
  timeMs: number[]
  value: number[]
  zoneMin: number[]
  /** Of the records the samples were, as far as they have ids. */
  origins: (OriginHash | null)[]
  /** The plausible range of the series, and whether all values are in it. */
  lowest: number
  highest: number
  plausible: boolean
  /** 1 while strictly ascending, -1 while strictly descending, 0 otherwise. */
  direction: 1 | -1 | 0
}

const UNBOUNDED = { lowest: Number.NEGATIVE_INFINITY, highest: Number.POSITIVE_INFINITY }

/** Collects samples in any order and yields them as ascending columns per source and series. */
export class SampleStreams {
  readonly #streams = new Map<number, Growing>()
  #last: Growing | undefined

  /** Adds one sample; `zoneMin` null = unknown; `origin` null = its record has no id. */
  add(
    source: number,
    seriesId: number,
    timeMs: number,
    value: number,
    zoneMin: number | null,
    origin: OriginHash | null = null,
  ): void {
    let stream = this.#last
    if (!stream || stream.source !== source || stream.seriesId !== seriesId) stream = this.#stream(source, seriesId)
    const count = stream.timeMs.length
    if (count > 0) {
      const step = Math.sign(timeMs - (stream.timeMs[count - 1] as number))
      if (count === 1) stream.direction = step as 1 | -1 | 0
      else if (step !== stream.direction) stream.direction = 0
    }
    if (value < stream.lowest || value > stream.highest) stream.plausible = false
    stream.timeMs.push(timeMs)
    stream.value.push(value)
    stream.zoneMin.push(zoneMin ?? NO_ZONE)
    stream.origins.push(origin)
  }

  #stream(source: number, seriesId: number): Growing {
    const key = source * 65_536 + seriesId
    let stream = this.#streams.get(key)
    if (!stream) {
      const { lowest, highest } = seriesById.get(seriesId % DAILY_TOTAL_OFFSET) ?? UNBOUNDED
      stream = {
        ...{ source, seriesId, lowest, highest, plausible: true, direction: 1 },
        ...{ timeMs: [], value: [], zoneMin: [], origins: [] },
      }
      this.#streams.set(key, stream)
    }
    this.#last = stream
    return stream
  }

  /**
   * The columns, ordered by source and series; of samples at one instant the last one added stays, implausible values are
   * a series of their own (see IMPLAUSIBLE_OFFSET). All of them lie in one buffer, so that handing a batch to another
   * thread is one transfer.
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

/** Positions of samples of a stream, in ascending time, that are stored under one series id. */
interface Part {
  stream: Growing
  seriesId: number
  order: number[]
}

function keptParts(stream: Growing): Part[] {
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
function keptOrder(stream: Growing): number[] {
  const order = Array.from(stream.timeMs.keys())
  if (stream.direction === 1) return order
  if (stream.direction === -1) return order.reverse()
  const time = stream.timeMs
  order.sort((a, b) => (time[a] as number) - (time[b] as number) || a - b)
  return order.filter((position, index) => time[position] !== time[order[index + 1] as number])
}

function gather(stream: Growing, order: number[], columns: SampleColumns): void {
  for (let index = 0; index < order.length; index += 1) {
    const position = order[index] as number
    columns.timeMs[index] = stream.timeMs[position] as number
    columns.value[index] = stream.value[position] as number
    columns.zoneMin[index] = stream.zoneMin[position] as number
  }
}

function originsOf({ timeMs, origins }: Growing, order: number[]): SampleOrigins | null {
  const known = order.filter((position) => origins[position])
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined) return null
  const entries = known.map((position) => ({
    timeMs: timeMs[position] as number,
    ...(origins[position] as OriginHash),
  }))
  return { firstMs: timeMs[first] as number, lastMs: timeMs[last] as number, bytes: encodeOrigins(entries) }
}
