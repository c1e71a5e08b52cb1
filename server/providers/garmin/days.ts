import { withoutNoise } from '../../batch/units.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { byOffset, counted, dateOf, positive, startOf } from './items.ts'

// Days and their slices (docs/providers.md). A day is sent again and again while it lasts.

/** Days as a whole, with the heart rate in them. */
export function dailies(out: Out, part: Part): void {
  const longest = new Map<string, number>()
  for (const item of out.items()) {
    const start = startOf(item, part)
    if (!start) continue
    for (const [at, value] of byOffset(item, 'timeOffsetHeartRateSamples', start))
      if (value > 0) out.sample('heart_rate', at, value)
    const date = dateOf(item, start)
    const seconds = item.numeric('durationInSeconds') ?? 0
    // An earlier state of the day that came later.
    if (seconds < (longest.get(date) ?? 0)) continue
    longest.set(date, seconds)
    totals(out, item, start, date)
    out.sample('resting_heart_rate', start, positive(item, 'restingHeartRateInBeatsPerMinute'))
    stress(out, item, start, date)
  }
}

/** By the date, so that the total of a day moves when the day of somebody who travels begins at another time. */
function totals(out: Out, item: Item, start: At, date: string): void {
  const record = `garmin:dailies:${date}`
  const minutes = (seconds: number | undefined) => (seconds === undefined ? undefined : Math.floor(seconds / 60))
  const [moderate, vigorous] = ['moderate', 'vigorous'].map((one) => counted(item, `${one}IntensityDurationInSeconds`))
  const isActive = moderate !== undefined || vigorous !== undefined
  out.total('steps', start, counted(item, 'steps'), record)
  out.total('energy', start, counted(item, 'activeKilocalories'), record)
  out.total('basal_energy', start, counted(item, 'bmrKilocalories'), record)
  out.total('distance_walking_running', start, counted(item, 'distanceInMeters'), record)
  out.total('flights_climbed', start, counted(item, 'floorsClimbed'), record)
  out.total('active_time', start, minutes(counted(item, 'activeTimeInSeconds')), record)
  out.total('exercise_time', start, isActive ? minutes((moderate ?? 0) + (vigorous ?? 0)) : undefined, record)
  out.total('push_count', start, positive(item, 'pushes'), record)
}

function stress(out: Out, item: Item, start: At, date: string): void {
  const value = positive(item, 'averageStressLevel')
  const word = item.text('stressQualifier') ?? ''
  if (value === undefined) return
  out.score({
    ...{ category: 'stress', externalId: `garmin:stress:${date}`, at: start, value },
    qualifier: word === '' ? undefined : word.charAt(0).toUpperCase() + word.slice(1).toLowerCase(),
    components: { max_stress_level: positive(item, 'maxStressLevel') },
  })
}

/** What there is of a quarter of an hour, by kind of activity. */
interface Slot {
  readonly at: At
  /** Of one kind the last one counts. */
  readonly items: Map<string, Item>
}

/** An epoch lasts so long, where it does not say. */
const EPOCH_SECONDS = 900

const lengthMs = (items: readonly Item[]) =>
  Math.max(...items.map((item) => counted(item, 'durationInSeconds') ?? EPOCH_SECONDS)) * 1000

/**
 * Quarters of an hour: what was done in each of several ways is added up. Their mean heart rate is left out: at its instant
 * the day has what was measured then, and one of the two would take the place of the other.
 */
export function epochs(out: Out, part: Part): void {
  const slots = new Map<number, Slot>()
  for (const item of out.items()) {
    const at = startOf(item, part)
    if (!at) continue
    const slot = slots.get(at.ms) ?? { at, items: new Map() }
    slots.set(at.ms, slot)
    slot.items.set(`${item.id('summaryId')} ${item.text('activityType')}`, item)
  }
  for (const { at: start, items } of slots.values()) {
    const at = { ...start, endMs: start.ms + lengthMs([...items.values()]) }
    const all = (field: string) =>
      [...items.values()].map((item) => counted(item, field)).filter((one) => one !== undefined)
    const sum = (field: string) =>
      all(field).reduce<number | undefined>((total, one) => withoutNoise((total ?? 0) + one), undefined)
    out.sample('steps', at, sum('steps'))
    out.sample('energy', at, sum('activeKilocalories'))
    out.sample('distance_walking_running', at, sum('distanceInMeters'))
  }
}

/** Stress and body battery every three minutes; what is below 1 says why there is no stress level. */
export function stressDetails(out: Out, part: Part): void {
  for (const item of out.items()) {
    const start = startOf(item, part)
    if (!start) continue
    for (const [at, value] of byOffset(item, 'timeOffsetStressLevelValues', start))
      if (value >= 1 && value <= 100) out.sample('garmin_stress_level', at, value)
    let highest: number | undefined
    for (const [at, value] of byOffset(item, 'timeOffsetBodyBatteryValues', start)) {
      if (value < 0 || value > 100) continue
      out.sample('garmin_body_battery', at, value)
      highest = Math.max(highest ?? 0, value)
    }
    if (highest === undefined) continue
    const externalId = `garmin:body_battery:${dateOf(item, start)}`
    out.score({ category: 'body_battery', externalId, at: start, value: highest })
  }
}
