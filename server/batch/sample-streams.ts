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
  /** 1 while strictly ascending, -1 while strictly descending, 0 otherwise. */
  direction: 1 | -1 | 0
}

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
    stream.timeMs.push(timeMs)
    stream.value.push(value)
    stream.zoneMin.push(zoneMin ?? NO_ZONE)
    stream.origins.push(origin)
  }

  #stream(source: number, seriesId: number): Growing {
    const key = source * 65_536 + seriesId
    let stream = this.#streams.get(key)
    if (!stream) {
      stream = { source, seriesId, timeMs: [], value: [], zoneMin: [], origins: [], direction: 1 }
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
