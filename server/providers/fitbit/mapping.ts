import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { parseInstant } from '../../time.ts'
import { valueAt } from '../answers.ts'
import { listedWithin } from '../listed.ts'
import { localInstant } from '../local-time.ts'
import { mapStreams } from '../map-streams.ts'
import type { At, Item, Listed, Out, Part } from '../part.ts'
import { positive } from './items.ts'
import { sleep } from './sleep.ts'
import { type DayArgs, resources, valuesOf } from './streams.ts'
import { activities } from './summaries.ts'

// What Fitbit's answers become: docs/providers.md. Dates are those of the person's clock.

const APP = 'Fitbit'

/** Days: eight series, of which the last part has all. */
function days(out: Out, { args, body }: Part): void {
  const { of, known } = args as unknown as DayArgs
  if (of !== resources.at(-1)) return
  // What those before it had is known as it was read.
  for (const row of out.items(`activities-${of}`)) if (row.day('dateTime')) row.numeric('value')
  const last = valuesOf(body, of)
  for (const date of new Set([...Object.keys(known), ...last.keys()])) {
    const ms = parseInstant(`${date}T00:00:00Z`)
    const before = known[date] ?? []
    if (ms !== undefined)
      addDay(out, { ms, zoneMin: null, isDate: true }, [...before.slice(0, resources.length - 1)], last.get(date))
  }
}

function addDay(out: Out, at: At, before: readonly (number | null)[], last: number | null | undefined): void {
  const told = [...Array.from({ length: resources.length - 1 }, (_, place) => before[place]), last]
  const [steps, kilometres, floors, calories, basal, lightly, fairly, very] = told.map((value) => value ?? undefined)
  // No device has synchronised that day.
  if (![steps, floors, lightly, fairly, very].some((value) => value !== undefined && value > 0)) return
  const record = `fitbit:day:${new Date(at.ms).toISOString().slice(0, 10)}`
  const sum = (...values: (number | undefined)[]) =>
    values.reduce((total, value) => (value === undefined ? total : (total ?? 0) + value), undefined)
  const active = calories === undefined || basal === undefined ? undefined : Math.max(0, calories - basal)
  out.total('steps', at, steps, record)
  out.total(
    'distance_walking_running',
    at,
    kilometres === undefined ? undefined : withoutNoise(kilometres * 1000),
    record,
  )
  out.total('flights_climbed', at, floors, record)
  out.total('energy', at, active === undefined ? undefined : withoutNoise(active), record)
  out.total('basal_energy', at, basal, record)
  out.total('active_time', at, sum(lightly, fairly, very), record)
  out.total('exercise_time', at, sum(fairly, very), record)
}

type Values = readonly (readonly [series: SeriesName, value: number | undefined])[]

/** Values of dates: what their list is called, '' if the body is the list, and what a row has; `bare`: as it was parsed. */
const ofDates = (list: string, read: (row: Item, bare: unknown) => Values) => (out: Out, part: Part) => {
  for (const [row, bare] of rowsOf(out, part, list)) {
    const at = row.day('dateTime')
    if (!at) row.reject('missing', 'dateTime')
    else for (const [series, value] of read(row, bare)) out.sample(series, at, value)
  }
}

/** The rows of a list, or the only one where there is none. What is not found is answered with errors. */
function* rowsOf(out: Out, { body }: Part, list: string): Iterable<readonly [row: Item, bare: unknown]> {
  if (valueAt(body, 'errors') !== undefined) return
  const bare = list === '' ? body : valueAt(body, list)
  if (list === '' && !Array.isArray(body)) {
    for (const whole of out.whole()) if (whole.names().length > 0) yield [whole, body]
    return
  }
  const objects = (Array.isArray(bare) ? bare : []).filter(
    (one) => typeof one === 'object' && one && !Array.isArray(one),
  )
  let place = 0
  for (const row of list === '' ? out.items() : out.items(list)) {
    yield [row, objects[place]]
    place += 1
  }
}

/** A number, or the middle of a range such as `44-48`. */
function middle(row: Item, bare: unknown): number | undefined {
  const text = valueAt(bare, 'value', 'vo2Max')
  const range = /^\s*(\d{1,3}(?:\.\d+)?)\s*-\s*(\d{1,3}(?:\.\d+)?)\s*$/
  const [, low, high] = (typeof text === 'string' && range.exec(text)) || []
  return low === undefined ? positive(row, 'value', 'vo2Max') : (Number(low) + Number(high)) / 2
}

interface Readings {
  readonly list: string
  /** Date and time, as the clock showed it. */
  time(row: Item): string
  add(row: Item, at: At, bare: unknown): void
  /** What else there is of these days has another time since, or was deleted. */
  readonly listed: readonly Listed[]
}

/** Readings at times of the person's clock. */
function readings(out: Out, part: Part, of: Readings): void {
  const times: number[] = []
  for (const [row, bare] of rowsOf(out, part, of.list)) {
    const at = localInstant(of.time(row), part.zone)
    if (!at) row.reject('missing', 'dateTime')
    else {
      times.push(at.ms)
      of.add(row, at, bare)
    }
  }
  if (valueAt(part.body, of.list) !== undefined) listedWithin(out, part, times, ...of.listed)
}

const dateAndTime = (row: Item) => `${row.text('date') ?? ''}T${row.text('time') ?? '23:59:59'}`

function weight(out: Out, part: Part): void {
  readings(out, part, {
    list: 'weight',
    time: dateAndTime,
    listed: [{ series: 'weight' }, { series: 'body_mass_index' }],
    add(row, at) {
      out.sample('weight', at, positive(row, 'weight'))
      out.sample('body_mass_index', at, positive(row, 'bmi'))
      out.sample('body_fat_percentage', at, positive(row, 'fat'))
    },
  })
}

function fat(out: Out, part: Part): void {
  readings(out, part, {
    list: 'fat',
    time: dateAndTime,
    listed: [{ series: 'body_fat_percentage' }],
    add: (row, at) => out.sample('body_fat_percentage', at, positive(row, 'fat')),
  })
}

function coreTemperature(out: Out, part: Part): void {
  readings(out, part, {
    list: 'tempCore',
    time: (row) => row.text('dateTime') ?? '',
    listed: [{ series: 'body_temperature' }],
    add(row, at, bare) {
      const isNested = typeof valueAt(bare, 'value') === 'object'
      out.sample('body_temperature', at, isNested ? positive(row, 'value', 'value') : positive(row, 'value'))
    },
  })
}

/** The height of the profile. */
function profile(out: Out): void {
  for (const whole of out.whole()) out.current('height', positive(whole, 'user', 'height'))
}

/** Adds what a part of Fitbit's holds. */
export const map = mapStreams(APP, {
  activities,
  days,
  heart: ofDates('activities-heart', (row) => [['resting_heart_rate', positive(row, 'value', 'restingHeartRate')]]),
  sleep,
  hrv: ofDates('hrv', (row) => [['heart_rate_variability_rmssd', positive(row, 'value', 'dailyRmssd')]]),
  spo2: ofDates('', (row) => [['oxygen_saturation', positive(row, 'value', 'avg')]]),
  br: ofDates('br', (row) => [['respiratory_rate', positive(row, 'value', 'breathingRate')]]),
  temp_skin: ofDates('tempSkin', (row) => [['skin_temperature_deviation', row.numeric('value', 'nightlyRelative')]]),
  temp_core: coreTemperature,
  cardio_score: ofDates('cardioScore', (row, bare) => [['vo2_max', middle(row, bare)]]),
  weight,
  fat,
  profile,
})
