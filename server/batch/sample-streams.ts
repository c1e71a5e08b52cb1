import { hasManualTwin, keepsLength, MANUAL_OFFSET, seriesById, storedId, typeIdOf } from '../catalogue/series.ts'
import { NO_ZONE, type SampleColumns, type SampleOrigins, type SourceIdentity, type Span } from './columns.ts'
import { keptLength } from './lengths.ts'
import { encodeColumns, type OriginColumns, type OriginHash, withRecord } from './origins.ts'

/** The time of a sample: epoch milliseconds, and minutes east of UTC or null. */
export interface SampleSpan {
  startMs: number
  endMs: number
  zoneMin: number | null
}

const UNBOUNDED = { lowest: Number.NEGATIVE_INFINITY, highest: Number.POSITIVE_INFINITY }

/** The samples of one series from one source, in the order they were added. */
export class SampleStream {
  readonly source: number
  readonly seriesId: number
  readonly timeMs: number[] = []
  readonly value: number[] = []
  readonly zoneMin: number[] = []
  /** As `SampleColumns`; empty until a record has a stored length. */
  readonly lastsS: number[] = []
  /** Positions of samples that were entered by hand. */
  readonly manual = new Set<number>()
  /** Positions of samples with the zone of another record, or without one for good. */
  readonly zoneTaken = new Set<number>()
  /** The records the samples came from, if they have ids. */
  readonly origins: (OriginHash | null)[] = []
  /** For samples that were added several times: the last one's position with all records that state the same. */
  readonly repeated = new Map<number, readonly OriginHash[]>()
  /** The plausible range of the series, and whether all values are in it. */
  readonly #lowest: number
  readonly #highest: number
  readonly #keepsLength: boolean
  readonly #hasManualTwin: boolean
  plausible = true
  /** As `SampleColumns`. */
  once = false
  readonly #placeOf = new Map<string, number>()
  /** Positions of samples that their record, or a later answer, has taken back. */
  readonly #takenBack = new Set<number>()
  /** 1 while strictly ascending, -1 while strictly descending, 0 otherwise. */
  direction: 1 | -1 | 0 = 1

  constructor(source: number, seriesId: number) {
    this.source = source
    this.seriesId = seriesId
    const { lowest, highest } = seriesById.get(typeIdOf(seriesId)) ?? UNBOUNDED
    this.#lowest = lowest
    this.#highest = highest
    this.#keepsLength = keepsLength(seriesId)
    this.#hasManualTwin = hasManualTwin(seriesId)
  }

  /**
   * Adds one sample, at the start of its record; `origin` null = its record has no id. `isManual` is ignored for a series
   * without a manual twin.
   */
  add({ startMs, endMs, zoneMin }: SampleSpan, value: number, origin: OriginHash | null, isManual = false): void {
    const count = this.timeMs.length
    if (count > 0) {
      const step = Math.sign(startMs - (this.timeMs[count - 1] as number))
      if (count === 1) this.direction = step as 1 | -1 | 0
      else if (step !== this.direction) this.direction = 0
    }
    if (value < this.#lowest || value > this.#highest) this.plausible = false
    if (this.#keepsLength && endMs > startMs) this.#addLength(keptLength(startMs, endMs))
    if (isManual && this.#hasManualTwin) this.manual.add(count)
    this.timeMs.push(startMs)
    this.value.push(value)
    this.zoneMin.push(zoneMin ?? NO_ZONE)
    this.origins.push(origin)
  }

  /** Adds one sample of a record that has no other: what it stated before is taken back. */
  addOnce(span: SampleSpan, value: number, origin: OriginHash): void {
    this.once = true
    const record = `${origin.record}:${origin.part}`
    const before = this.#placeOf.get(record)
    if (before !== undefined) this.#takenBack.add(before)
    this.#placeOf.set(record, this.timeMs.length)
    this.add(span, value, origin)
  }

  /** Takes back what is of a span among the first `count` samples. */
  takeBack(count: number, loMs: number, hiMs: number): void {
    for (let at = 0; at < count; at += 1) {
      const ms = this.timeMs[at] as number
      if (ms >= loMs && ms < hiMs) this.#takenBack.add(at)
    }
  }

  /** The positions of all samples but of those. */
  positions(): number[] {
    const all = Array.from(this.timeMs.keys())
    return this.#takenBack.size === 0 ? all : all.filter((at) => !this.#takenBack.has(at))
  }

  /** Gives a sample the zone of another record, in minutes east of UTC; null = there is none. */
  takeZone(at: number, zoneMin: number | null): void {
    if (zoneMin === null) return
    this.zoneMin[at] = zoneMin
    this.zoneTaken.add(at)
  }

  /** Leaves a sample without a zone, wherever its neighbours were. */
  keepNoZone(at: number): void {
    this.zoneTaken.add(at)
  }

  #addLength(lastsS: number): void {
    if (lastsS === 0) return
    // The samples before it had no length.
    while (this.lastsS.length < this.timeMs.length) this.lastsS.push(0)
    this.lastsS.push(lastsS)
  }
}

/** Collects samples in any order and yields them as ascending columns per source and series. */
export class SampleStreams {
  readonly #streams = new Map<number, SampleStream>()
  #last: SampleStream | undefined
  /** How many samples streams had when the present part began. */
  readonly #before = new Map<SampleStream, number>()

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

  all(): Iterable<SampleStream> {
    return this.#streams.values()
  }

  /** An answer ends that holds everything of these spans: what earlier ones said of them is taken back. */
  endPart(spans: readonly Span[], sources: readonly SourceIdentity[]): void {
    for (const span of spans)
      for (const stream of this.#listedBy(span, sources))
        stream.takeBack(this.#before.get(stream) ?? 0, span.loMs, span.hiMs)
    for (const stream of this.#streams.values()) this.#before.set(stream, stream.timeMs.length)
  }

  /** The streams whose samples a span lists: of its source, of all devices, or of those of a type. */
  #listedBy({ source, what, devices, placed }: Span, sources: readonly SourceIdentity[]): SampleStream[] {
    if (typeof what !== 'number' || placed) return []
    const own = devices === undefined ? [source] : sources.keys()
    return [...own].flatMap((one) => {
      const isListed = devices === undefined || devices === 'all' || sources[one]?.deviceType === devices
      return (isListed && this.#streams.get(one * 65_536 + what)) || []
    })
  }

  /**
   * The columns, ordered by source and series. Of several samples at one instant, the last one added stays. Implausible
   * values and values entered by hand are separate series (see IMPLAUSIBLE_OFFSET, MANUAL_OFFSET). All columns share one
   * buffer, so a batch goes to another thread in one transfer.
   */
  finish(): { samples: SampleColumns[]; duplicates: number } {
    const kept = [...this.#streams.values()].flatMap(keptParts)
    kept.sort((a, b) => a.stream.source - b.stream.source || a.seriesId - b.seriesId)
    const added = [...this.#streams.values()].reduce((sum, { timeMs }) => sum + timeMs.length, 0)
    const total = kept.reduce((sum, { order }) => sum + order.length, 0)
    const lengths = kept.reduce((sum, part) => sum + lengthsOf(part), 0)
    const buffer = new ArrayBuffer(total * 18 + lengths * 4)
    let at = 0
    let lengthAt = 0
    const samples = kept.map((part) => {
      const { stream, seriesId, order } = part
      const columns = {
        source: stream.source,
        seriesId,
        timeMs: new Float64Array(buffer, at * 8, order.length),
        value: new Float64Array(buffer, (total + at) * 8, order.length),
        lastsS: lengthsOf(part) === 0 ? null : new Int32Array(buffer, total * 16 + lengthAt * 4, order.length),
        zoneMin: new Int16Array(buffer, total * 16 + lengths * 4 + at * 2, order.length),
        zoneTaken:
          stream.zoneTaken.size === 0 ? null : Uint8Array.from(order, (place) => Number(stream.zoneTaken.has(place))),
        origins: originsOf(stream, order),
        ...(stream.once && { once: true as const }),
      }
      gather(stream, order, columns)
      at += order.length
      lengthAt += lengthsOf(part)
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

/** The number of lengths stored for a part: one for each sample, or none. */
const lengthsOf = ({ stream, order }: Part) => (stream.lastsS.length === 0 ? 0 : order.length)

function keptParts(stream: SampleStream): Part[] {
  const order = keptOrder(stream)
  if (stream.plausible && stream.manual.size === 0) return [{ stream, seriesId: stream.seriesId, order }]
  const parts = new Map<number, Part>()
  for (const at of order) {
    const plausibleId = storedId(stream.seriesId, stream.value[at] as number)
    const isManual = plausibleId === stream.seriesId && stream.manual.has(at)
    const seriesId = isManual ? plausibleId + MANUAL_OFFSET : plausibleId
    const part = parts.get(seriesId) ?? { stream, seriesId, order: [] }
    parts.set(seriesId, part)
    part.order.push(at)
  }
  return [...parts.values()]
}

/** Positions of the samples to keep, in ascending time. */
function keptOrder(stream: SampleStream): number[] {
  const order = stream.positions()
  if (stream.direction === 1) return order
  if (stream.direction === -1) return order.reverse()
  const time = stream.timeMs
  order.sort((a, b) => (time[a] as number) - (time[b] as number) || a - b)
  noteRepeated(stream, order)
  return order.filter((position, index) => time[position] !== time[order[index + 1] as number])
}

/**
 * Notes the records of samples that were added several times: the last one, and those directly before it that state
 * the same.
 */
function noteRepeated(stream: SampleStream, order: readonly number[]): void {
  const { timeMs, origins, repeated } = stream
  let records: readonly OriginHash[] = []
  for (let index = 1; index < order.length; index += 1) {
    const [before, position] = [order[index - 1] as number, order[index] as number]
    const isRepeated = timeMs[position] === timeMs[before] && saysTheSame(stream, position, before)
    const [first, origin] = [origins[before], origins[position]]
    if (!isRepeated) records = []
    else if (records.length === 0 && first) records = [first]
    if (isRepeated && origin) records = withRecord(records, origin)
    if (isRepeated) repeated.set(position, records)
  }
}

const saysTheSame = ({ value, zoneMin, lastsS, manual }: SampleStream, a: number, b: number) =>
  value[a] === value[b] &&
  zoneMin[a] === zoneMin[b] &&
  (lastsS[a] ?? 0) === (lastsS[b] ?? 0) &&
  manual.has(a) === manual.has(b)

function gather(stream: SampleStream, order: number[], columns: SampleColumns): void {
  for (let index = 0; index < order.length; index += 1) {
    const position = order[index] as number
    columns.timeMs[index] = stream.timeMs[position] as number
    columns.value[index] = stream.value[position] as number
    columns.zoneMin[index] = stream.zoneMin[position] as number
    if (columns.lastsS) columns.lastsS[index] = stream.lastsS[position] ?? 0
  }
}

function originsOf({ timeMs, origins, repeated }: SampleStream, order: readonly number[]): SampleOrigins | null {
  const columns: OriginColumns = { timeMs: [], record: [], part: [] }
  const add = (instant: number, { record, part }: OriginHash) => {
    columns.timeMs.push(instant)
    columns.record.push(record)
    columns.part.push(part)
  }
  for (const position of order) {
    const origin = origins[position]
    const instant = timeMs[position] as number
    const records = repeated.size > 0 ? repeated.get(position) : undefined
    if (records) for (const one of records) add(instant, one)
    else if (origin) add(instant, origin)
  }
  const [firstMs, lastMs] = [columns.timeMs[0], columns.timeMs.at(-1)]
  if (firstMs === undefined || lastMs === undefined) return null
  return { firstMs, lastMs, bytes: encodeColumns(columns) }
}
