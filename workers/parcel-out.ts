import {
  type Batch,
  type EventItem,
  MAX_NIGHT_MS,
  noEvents,
  type SourceIdentity,
  type Span,
  type WorkoutMeasures,
} from '../server/batch/columns.ts'
import { dayCounts } from '../server/batch/day-counts.ts'
import { originHash } from '../server/batch/origins.ts'
import { type SampleStream, SampleStreams } from '../server/batch/sample-streams.ts'
import { MAX_WORKOUT_DAYS, rangeOf, workoutMeasures } from '../server/batch/workout-measures.ts'
import { localMidnight, ZoneMarks } from '../server/batch/zones.ts'
import { inferDeviceType, normaliseDeviceString } from '../server/catalogue/devices.ts'
import { DAILY_TOTAL_OFFSET, type SeriesName, storedId } from '../server/catalogue/series.ts'
import type {
  At,
  CyclePart,
  Item,
  Listed,
  MealPart,
  NightPart,
  Out,
  Part,
  ScorePart,
  WorkoutPart,
} from '../server/providers/part.ts'
import { DAY_MS } from '../server/time.ts'
import { Account } from './account.ts'
import { ParcelItem, type Problem, problems, type Rejections } from './parcel-item.ts'
import { clean, componentsOf, LENGTHS } from './parcel-text.ts'
import { type CycleDays, floor, idOf, listedOf, placedSpan, spanOf } from './parcel-values.ts'
import { isObject, MIN_TIME_MS } from './sdk-fields.ts'

/** Longest workout and menstrual cycle; what is longer was never ended, or has a wrong date. */
const MAX_WORKOUT_MS = MAX_WORKOUT_DAYS * DAY_MS
const MAX_CYCLE_DAYS = 366

const asIs = (raw: string) => raw

/** Collects what the parts of a parcel hold, see `Out`; one part is read at a time. */
export class ParcelOut implements Out, Rejections {
  readonly #provider: string
  readonly #account = new Account(asIs, () => ({ likely: null, known_to: [] }))
  readonly #samples = new SampleStreams()
  readonly #zones = new ZoneMarks()
  readonly #events = noEvents()
  readonly #sources: SourceIdentity[] = []
  readonly #implausibleParts: Record<number, number> = {}
  #part: Part = { stream: '', body: null, atMs: 0, zone: null, args: null }
  #rejectedBefore = 0
  #spans: Span[] = []
  /** Place of the source in the list; undefined until something of it is stored. */
  #source: number | undefined
  #device = ''
  #app = ''
  #kind: string | undefined
  /** Way to the item that is being read, from the body; its last part is its place in the list. */
  #here: readonly (string | number)[] = []

  constructor(provider: string) {
    this.#provider = provider
  }

  get latestMs(): number {
    return this.#part.atMs + DAY_MS
  }

  /** Begins a part; what is collected until the next one belongs to it. */
  begin(part: Part): void {
    this.#endPart()
    this.#part = part
    this.#here = []
    this.#rejectedBefore = this.#account.rejected
    this.source('', '')
  }

  /** The batch of all parts. */
  finish(): Batch {
    this.#endPart()
    const account = this.#account
    const { samples, duplicates } = this.#samples.finish()
    return {
      sources: this.#sources,
      samples,
      zones: this.#zones.runs(),
      derived: [],
      received: account.received,
      duplicates,
      ignored: account.ignored,
      rejected: account.rejected,
      rejections: account.rejections,
      unstored: account.unstored,
      unknownFields: [],
      implausibleParts: this.#implausibleParts,
      days: dayCounts(samples, this.#events),
      rejectedDays: account.rejectedDays,
      rejectedLocally: account.rejectedLocally,
      events: this.#events,
    }
  }

  reject(problem: Problem, path: readonly (string | number)[], item?: unknown): void {
    const { stream } = this.#part
    const id = isObject(item) ? item.id : undefined
    const index = path.find((part) => typeof part === 'number') ?? null
    const rejection = { collection: stream, index, type: problem, msg: problems[problem] }
    this.#account.received += 1
    this.#account.rejectPlace({ ...rejection, loc: [stream, ...path] }, id, null)
  }

  items(...path: readonly string[]): Iterable<Item> {
    return this.#objects(path, false)
  }

  entries(...path: readonly string[]): Iterable<Item> {
    return this.#objects(path, true)
  }

  *#objects(path: readonly string[], hasNulls: boolean): Iterable<Item> {
    for (const [index, value] of this.#list(path).entries()) {
      if (hasNulls && value === null) continue
      this.#here = [...path, index]
      if (isObject(value)) yield new ParcelItem(value, this.#here, this)
      else this.reject('dict_type', this.#here)
    }
    this.#here = []
  }

  #list(path: readonly string[]): readonly unknown[] {
    const { body, args } = this.#part
    if (isObject(args) && args.one === true) return [body]
    if (path.length === 0 && Array.isArray(body)) return body
    for (const object of this.whole()) {
      const list = object.list(...path)
      if (list) return list
      object.reject('missing', ...path)
    }
    return []
  }

  *whole(): Iterable<ParcelItem> {
    const { body } = this.#part
    if (isObject(body)) yield new ParcelItem(body, [], this)
    else this.reject('dict_type', [])
  }

  source(device: string, app: string, kind?: string): void {
    this.#device = normaliseDeviceString(device, 100)
    this.#app = normaliseDeviceString(app, 100)
    this.#kind = kind
    this.#source = undefined
  }

  sample(series: SeriesName, at: At, value: number | undefined, record?: string): void {
    this.#addSample(idOf(series), at, value, record)
  }

  once(series: SeriesName, at: At, value: number | undefined, record: string): void {
    if (value !== undefined) this.#streamAt(idOf(series), at)?.addOnce(spanOf(at), value, originHash(record, null))
  }

  total(series: SeriesName, at: At, value: number | undefined, record: string): void {
    const ms = at.zoneMin === null ? at.ms : localMidnight(at.ms, at.zoneMin)
    this.#addSample(idOf(series) + DAILY_TOTAL_OFFSET, { ...at, ms }, value, record)
  }

  workout({ type, zoneSeconds, partial, version, ...given }: WorkoutPart): boolean {
    const event = this.#event(given, MAX_WORKOUT_MS)
    if (!event) return false
    const seconds = (field: 'durationSeconds' | 'movingSeconds') =>
      floor(this.#within(given[field], MAX_WORKOUT_MS / 1000, field))
    const zones = zoneSeconds?.flatMap((seconds, zone) => (seconds === undefined ? [] : [{ zone, seconds }])) ?? []
    this.#events.workouts.push({
      ...event,
      type,
      ...this.#measures(given),
      title: clean(given.title, LENGTHS.title),
      notes: clean(given.notes, LENGTHS.notes),
      entrySource: given.entrySource ?? null,
      durationSeconds: seconds('durationSeconds') ?? Math.floor((event.endMs - event.startMs) / 1000),
      movingSeconds: seconds('movingSeconds'),
      segments: null,
      laps: null,
      route: null,
      ...(given.intensity && { intensity: given.intensity }),
      ...(zones.length > 0 && { hrZones: JSON.stringify({ zones }) }),
      ...(version !== undefined && { version }),
      atMs: this.#part.atMs,
      ...(partial && { partial }),
    })
    return true
  }

  night({ rank = 0, version, isNap, stages, ...given }: NightPart): boolean {
    const event = this.#event(given, MAX_NIGHT_MS)
    if (!event) return false
    const seconds = (field: keyof typeof given & `${string}Seconds`) =>
      floor(this.#within(given[field], MAX_NIGHT_MS / 1000, field))
    this.#events.nights.push({
      ...event,
      version: version ?? null,
      atMs: this.#part.atMs,
      rank,
      asleepS: seconds('asleepSeconds'),
      inBedS: seconds('inBedSeconds'),
      awakeS: seconds('awakeSeconds'),
      lightS: seconds('lightSeconds'),
      deepS: seconds('deepSeconds'),
      remS: seconds('remSeconds'),
      efficiencyPercent: this.#within(given.efficiencyPercent, 100, 'efficiencyPercent'),
      isNap: isNap ?? null,
      stages: stages?.map(([stage, startMs, endMs]) => [stage, startMs, endMs]) ?? null,
    })
    return true
  }

  score({ category, externalId, at, value, qualifier, components, ...rest }: ScorePart): void {
    const word = clean(qualifier, LENGTHS.qualifier)
    const place = { category, externalId, timeMs: at.ms, version: rest.version ?? null, atMs: this.#part.atMs }
    if (value === undefined && word === null) {
      this.#events.unscored.push(place)
      return
    }
    this.#account.received += 1
    this.#events.scores.push({
      ...place,
      source: this.#place(),
      zoneMin: at.zoneMin,
      ...(at.isDate && { zoneTaken: true }),
      value: value ?? null,
      qualifier: word,
      components: componentsOf(components),
      night: rest.night ?? null,
      workout: rest.workout ?? null,
    })
  }

  cycle(given: CyclePart): void {
    const event = this.#event(given, MAX_CYCLE_DAYS * DAY_MS)
    if (!event) return
    const days = (field: CycleDays) => floor(this.#within(given[field], MAX_CYCLE_DAYS, field))
    this.#events.wholeCycles.push({
      ...event,
      currentPhase: days('currentPhase'),
      currentPhaseType: clean(given.currentPhaseType, LENGTHS.qualifier),
      dayInCycle: days('dayInCycle'),
      cycleLength: days('cycleLength'),
      predictedCycleLength: days('predictedCycleLength'),
      periodLength: days('periodLength'),
      lengthOfCurrentPhase: days('lengthOfCurrentPhase'),
      daysUntilNextPhase: days('daysUntilNextPhase'),
      fertileWindowStart: days('fertileWindowStart'),
      lengthOfFertileWindow: days('lengthOfFertileWindow'),
      isPredictedCycle: given.isPredictedCycle ?? null,
      hasSpecifiedCycleLength: given.hasSpecifiedCycleLength ?? null,
      hasSpecifiedPeriodLength: given.hasSpecifiedPeriodLength ?? null,
      lastUpdatedMs: given.lastUpdatedMs ?? null,
      pregnancySnapshot: given.pregnancySnapshot ?? null,
      atMs: this.#part.atMs,
    })
  }

  meal({ title, mealType, nutrients, ...given }: MealPart): void {
    const event = this.#event(given, DAY_MS)
    if (!event) return
    const type = clean(mealType, LENGTHS.mealType)?.toLowerCase() ?? null
    this.#events.meals.push({ ...event, title: clean(title, LENGTHS.title), mealType: type })
    for (const [series, value] of nutrients) {
      if (value === undefined) continue
      const seriesId = storedId(idOf(series), value)
      this.#events.nutrients.push({ ...event, externalId: null, meal: event.externalId, seriesId, value })
    }
  }

  activity({ type, ...given }: Parameters<Out['activity']>[0]): void {
    const event = this.#event(given, DAY_MS)
    const name = clean(type, LENGTHS.title)
    if (event && name) this.#events.activities.push({ ...event, type: name })
  }

  current(series: SeriesName, value: number | undefined, at?: At): void {
    if (value === undefined) return
    this.#account.received += 1
    const [seriesId, zoneMin] = [storedId(idOf(series), value), at?.zoneMin ?? null]
    const timeMs = at?.ms ?? this.#part.atMs
    this.#events.currents.push({ source: this.#place(), seriesId, timeMs, zoneMin, value })
  }

  only(what: Listed, loMs: number, hiMs: number): void {
    if (!(hiMs > loMs && hiMs - loMs <= DAY_MS)) return
    const { what: listed, ...devices } = listedOf(what)
    this.#spans.push({ source: this.#place(), what: listed, loMs, hiMs, atMs: this.#part.atMs, ...devices })
  }

  placed(series: SeriesName, date: At, zoneMin: number): void {
    const { placed, ...range } = placedSpan(date, zoneMin)
    this.#spans.push({ source: this.#place(), what: idOf(series), ...range, atMs: this.#part.atMs, placed })
  }

  gone(externalId: string): void {
    this.#account.received += 1
    this.#events.deletions.push({ externalId, seriesId: null, atMs: this.#part.atMs })
  }

  ignore(type: string): void {
    this.#account.received += 1
    this.#account.ignoreType(this.#part.stream, type)
  }

  /** What was rejected may be what the page lists: then it does not say what is not there. */
  #endPart(): void {
    const spans = this.#account.rejected === this.#rejectedBefore ? this.#spans : []
    this.#events.spans.push(...spans)
    this.#samples.endPart(spans, this.#sources)
    this.#spans = []
  }

  #addSample(seriesId: number, at: At, value: number | undefined, record?: string): void {
    if (value === undefined) return
    const origin = record === undefined ? null : originHash(record, null)
    this.#streamAt(seriesId, at)?.add(spanOf(at), value, origin)
  }

  /** The stream that a sample at an instant belongs to; undefined, and rejected, when the instant cannot be true. */
  #streamAt(seriesId: number, at: At): SampleStream | undefined {
    const ms = Math.round(at.ms)
    if (!(ms >= MIN_TIME_MS && ms <= this.latestMs)) {
      this.reject('implausible_timestamp', this.#here)
      return undefined
    }
    this.#account.received += 1
    this.#noteZone(at)
    const stream = this.#samples.of(this.#place(), seriesId)
    if (at.isDate) stream.keepNoZone(stream.timeMs.length)
    return stream
  }

  /** The fields of every event; undefined, and rejected, when its times cannot be true. */
  #event(
    { externalId, start, endMs }: Pick<WorkoutPart, 'externalId' | 'start' | 'endMs'>,
    maxMs: number,
  ): (EventItem & { externalId: string }) | undefined {
    const problem =
      endMs < start.ms ? 'end_before_start' : endMs - start.ms > maxMs ? 'implausible_duration' : undefined
    if (problem) {
      this.reject(problem, this.#here, { id: externalId })
      return undefined
    }
    this.#account.received += 1
    this.#noteZone(start)
    const zone = { zoneMin: start.zoneMin, ...(start.isDate && { zoneTaken: true as const }) }
    return { source: this.#place(), externalId, startMs: start.ms, endMs, ...zone }
  }

  #noteZone({ ms, zoneMin }: At): void {
    if (zoneMin !== null) this.#zones.add(ms, zoneMin)
  }

  /** A measure that no workout can have is left out, and counted; ascent is never negative. */
  #measures(given: Partial<Record<keyof WorkoutMeasures, number | null | undefined>>): WorkoutMeasures {
    const entries = workoutMeasures.map((measure) => {
      const value = given[measure] ?? null
      const { id, lowest, highest } = rangeOf(measure)
      if (value === null) return [measure, null]
      if (measure === 'elevationGainMeters' && value < 0) {
        this.reject('implausible_value', [...this.#here, measure])
        return [measure, null]
      }
      if (value < lowest || value > highest) {
        this.#implausibleParts[id] = (this.#implausibleParts[id] ?? 0) + 1
        return [measure, null]
      }
      return [measure, measure === 'steps' ? Math.floor(value) : value]
    })
    return Object.fromEntries(entries) as unknown as WorkoutMeasures
  }

  /** The value, if it is from 0 to `highest`; otherwise it is rejected. */
  #within(value: number | null | undefined, highest: number, field: string): number | null {
    if (value === undefined || value === null) return null
    if (value >= 0 && value <= highest) return value
    this.reject('implausible_value', [...this.#here, field])
    return null
  }

  #place(): number {
    this.#source ??= this.#sourceOf(this.#device, this.#app)
    return this.#source
  }

  #sourceOf(deviceModel: string, source: string): number {
    const known = this.#sources.findIndex((one) => one.deviceModel === deviceModel && one.source === source)
    if (known >= 0) return known
    const hints = { provider: this.#provider, model: deviceModel, sourceName: source, reported: this.#kind }
    const deviceType = inferDeviceType(hints)
    return this.#sources.push({ deviceModel, source, softwareVersion: null, deviceType }) - 1
  }
}
