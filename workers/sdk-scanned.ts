import { type OriginHash, originHashOf } from '../server/batch/origins.ts'
import { hasManualTwin } from '../server/catalogue/series.ts'
import type { RecordKind, RecordRule } from '../server/providers/sdk.ts'
import { zoneOffsetOf } from '../server/providers/zone-offset.ts'
import { NONE, type ScannedRecords } from './scanned-records.ts'
import { MIN_TIME_MS, zoneOf } from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'
import { addSample, MAX_VALUE, wasEntered } from './sdk-records.ts'

/** Reads an item that was parsed, and accounts for it; `index` is its place in the list. */
type ReadParsed = (item: unknown, index: number) => void

/** A zone offset with which only its text decides: not a place, whose offset changes. */
const FIXED_ZONE = /^(?:Z|[+-]\d\d:?\d\d)$/

/**
 * Adds the samples of records that were read from bytes, in the order of the body, as `readRecord` does with parsed ones.
 * Whatever needs more than these columns, or may be rejected, is parsed after all, as are the `unusual` ones.
 */
export function readScanned(
  reading: Reading,
  records: ScannedRecords,
  unusual: readonly unknown[],
  readParsed: ReadParsed,
): void {
  reading.account.received += records.count
  const adding = new Adding(reading, records)
  let next = 0
  for (let row = 0; row < records.count; row += 1) {
    if (records.type[row] === NONE) readParsed(unusual[next++], row)
    else if (!adding.add(row))
      readParsed(records.body.parse(records.from[row] as number, records.until[row] as number), row)
  }
}

/** What is looked up once for each string and source of the body. */
class Adding {
  readonly #reading: Reading
  readonly #records: ScannedRecords
  readonly #kinds: RecordKind[]
  readonly #units: string[]
  /** Minutes east of UTC of fixed zones; undefined for others. */
  readonly #zones: (number | null | undefined)[]
  readonly #sources: (number | undefined)[] = []
  /** By source and metadata. */
  readonly #entered = new Map<number, boolean>()

  constructor(reading: Reading, records: ScannedRecords) {
    const { ability, decode } = reading
    this.#reading = reading
    this.#records = records
    this.#kinds = records.types.values.map(ability.recordKind)
    this.#units = records.units.values.map(decode)
    this.#zones = records.zones.values.map((zone) => (FIXED_ZONE.test(zone) ? zoneOffsetOf(zone, 0) : undefined))
  }

  /** Adds the sample of a row, or counts it as ignored; false when it is to be parsed. */
  add(row: number): boolean {
    const records = this.#records
    const type = records.type[row] as number
    const kind = this.#kinds[type] as RecordKind
    if (kind === 'ignored') {
      this.#reading.account.ignoreType('records', records.types.values[type])
      return true
    }
    return typeof kind === 'object' && 'series' in kind && this.#addSample(kind, row)
  }

  #addSample(rule: RecordRule, row: number): boolean {
    const reading = this.#reading
    const records = this.#records
    const startMs = records.startMs[row] as number
    const endMs = records.endMs[row] as number
    const isPlausible = startMs >= MIN_TIME_MS && startMs <= reading.latestMs && endMs <= reading.latestMs
    const value = rule.convert(records.value[row] as number, this.#units[records.unit[row] as number] ?? null)
    if (!isPlausible || value === undefined || !(Math.abs(value) <= MAX_VALUE)) return false
    const source = this.#sourceOf(records.source[row] as number)
    if (source === undefined) return false
    const zoneMin = this.#zoneOf(row, startMs)
    const isManual = hasManualTwin(rule.series.id) && this.#isEntered(row)
    addSample(reading, rule, {
      source,
      span: { startMs, endMs, zoneMin },
      value,
      origin: this.#originOf(row),
      isManual,
    })
    return true
  }

  #originOf(row: number): OriginHash | null {
    const from = this.#records.idFrom[row] as number
    const until = this.#records.idUntil[row] as number
    return from === until ? null : originHashOf(this.#records.body.bytes, from, until)
  }

  #sourceOf(number: number): number | undefined {
    const known = this.#sources[number + 1]
    if (known !== undefined) return known
    const source = this.#reading.sources.indexOf(this.#records.sources.values[number])
    this.#sources[number + 1] = source
    return source
  }

  #zoneOf(row: number, startMs: number): number | null {
    const number = this.#records.zone[row] as number
    const fixed = this.#zones[number]
    if (typeof fixed === 'number') return fixed
    const zoneOffset = this.#records.zones.values[number]
    return zoneOf({ zoneOffset, metadata: this.#tellingOf(row) }, startMs)
  }

  #isEntered(row: number): boolean {
    const source = this.#records.source[row] as number
    const key = source * 1_000 + (this.#records.telling[row] as number)
    let entered = this.#entered.get(key)
    if (entered === undefined) {
      entered = wasEntered(this.#reading, {
        source: this.#records.sources.values[source],
        metadata: this.#tellingOf(row),
      })
      this.#entered.set(key, entered)
    }
    return entered
  }

  #tellingOf = (row: number) => this.#records.tellings.values[this.#records.telling[row] as number]
}
