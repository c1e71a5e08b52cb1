// Some days of a person for the pictures of the console: seeded by nothing, the same each time.

import type { TestApp } from './app.ts'
import { statistic, workout } from './event-lists.ts'
import { body, createUser, heartRate, importBody, iso, PHONE, record, type SdkRecord, steps } from './sdk.ts'
import { stage } from './sleep.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** The days of `storeLife`: an ordinary one, one of a flight, and one of 23 hours. */
export const ORDINARY = '2026-02-20'
export const FLIGHT = '2026-02-25'
export const SHORT = '2026-03-29'

/** Instants of a local day, with the offset that holds at each. */
type Zone = (ms: number) => string

const berlin: Zone = (ms) => (ms >= Date.parse('2026-03-29T01:00:00Z') ? '+02:00' : '+01:00')
const flight: Zone = (ms) => (ms >= Date.parse('2026-02-25T12:00:00Z') ? '-05:00' : '+01:00')

/** Heart rates and steps between two instants, every five minutes and every quarter of an hour. */
function moves(from: number, until: number, zone: Zone): SdkRecord[] {
  const records: SdkRecord[] = []
  for (let at = from; at < until; at += 5 * MINUTE) {
    const hour = (at / HOUR + 1) % 24
    const value = Math.round(62 + 14 * Math.sin(((hour - 9) / 24) * 2 * Math.PI) + 5 * Math.sin(at / (37 * MINUTE)))
    records.push(heartRate(at, value, { zoneOffset: zone(at) }))
    const walks = hour > 7 && hour < 22 && Math.sin(at / (53 * MINUTE)) > 0.1
    if (at % (15 * MINUTE) === 0 && walks) {
      const count = Math.round(250 + 220 * Math.sin(at / (19 * MINUTE)))
      records.push(steps(at, count, { endDate: iso(at + 14 * MINUTE), zoneOffset: zone(at) }))
    }
  }
  return records
}

/** A night of five cycles that begins at an instant. */
function night(from: number): SdkRecord[] {
  const cycle: [string, number][] = [
    ['light', 25],
    ['deep', 30],
    ['light', 20],
    ['rem', 18],
  ]
  let at = from
  const parts = Array.from({ length: 5 }, (_, index) => {
    const own = cycle.map(([name, minutes]): [string, number] => {
      if (name === 'deep') return [name, Math.max(4, minutes - index * 7)]
      return [name, name === 'rem' ? minutes + index * 5 : minutes]
    })
    return index % 2 === 1 ? [...own, ['awake', 6] as [string, number]] : own
  }).flat()
  return parts.map(([name, minutes]) => {
    const start = at
    at += minutes * MINUTE
    return stage(name, start, at, { zoneOffset: '+01:00' })
  })
}

/** Breath, oxygen and variability of a night. */
function measures(from: number): SdkRecord[] {
  const records: SdkRecord[] = []
  for (let at = from; at < from + 7 * HOUR; at += 20 * MINUTE) {
    const wave = Math.sin(at / (41 * MINUTE))
    const fields = { zoneOffset: '+01:00' }
    records.push(record('HKQuantityTypeIdentifierRespiratoryRate', at, 14 + wave, { unit: 'count/min', ...fields }))
    records.push(
      record('HKQuantityTypeIdentifierHeartRateVariabilitySDNN', at, 48 + 9 * wave, { unit: 'ms', ...fields }),
    )
    records.push(record('HKQuantityTypeIdentifierOxygenSaturation', at, 0.96 + 0.01 * wave, { unit: '%', ...fields }))
  }
  return records
}

/** Stores a person with ten nights, an ordinary day with a run and a hole, a flight, and a day of 23 hours with its night. */
export async function storeLife(app: TestApp, name: string): Promise<string> {
  const user = await createUser(app)
  await app.request('PATCH', `/api/v1/users/${user}`, { body: { first_name: name } })
  const day = Date.parse(`${ORDINARY}T00:00:00+01:00`)
  const ordinary = moves(day - 2 * HOUR, day + 23 * HOUR, berlin).filter(({ startDate }) => {
    const hour = (Date.parse(String(startDate)) - day) / HOUR
    return hour < 12.5 || hour >= 15
  })
  const run = Array.from({ length: 270 }, (_, index) => {
    const at = day + 17 * HOUR + index * 10_000
    const value = Math.round(158 - 70 * Math.exp(-index / 12) + 5 * Math.sin(index / 9))
    return heartRate(at + 1000, value, { zoneOffset: '+01:00' })
  })
  const abroad = moves(Date.parse('2026-02-24T23:00:00Z'), Date.parse('2026-02-26T05:00:00Z'), flight)
  const short = moves(Date.parse('2026-03-28T23:00:00Z'), Date.parse('2026-03-29T22:00:00Z'), berlin)
  const nights = Array.from({ length: 10 }, (_, index) => night(day - 50 * MINUTE - index * 24 * HOUR)).flat()
  const values = [statistic('distance', 8_040, 'm'), statistic('avgHeartRate', 151, 'bpm')]
  nights.push(...night(Date.parse('2026-03-28T22:10:00Z')))
  const runs = [workout('running', day + 17 * HOUR, 45, { zoneOffset: '+01:00', values })]
  const records = [...ordinary, ...run, ...measures(day), ...abroad, ...short]
  await importBody(app, user, body([], { data: { records, sleep: nights, workouts: runs } }))
  return user
}

/** The last day of `storeYear`: heart rates by the hour until a week before it, then every five minutes. */
export const YEAR_END = '2026-03-01'
/** An hour of the last week with heart rates every ten seconds. */
export const DENSE = '2026-02-26T17:00'

/** Stores a person with a year of heart rates, and steps of two devices in the last week, all in one zone. */
export async function storeYear(app: TestApp, name: string): Promise<string> {
  const user = await createUser(app)
  await app.request('PATCH', `/api/v1/users/${user}`, { body: { first_name: name } })
  const end = Date.parse(`${YEAR_END}T00:00:00+01:00`)
  const week = end - 7 * 24 * HOUR
  const dense = Date.parse(`${DENSE}:00+01:00`)
  const fields = { zoneOffset: '+01:00' }
  const at = (from: number, until: number, step: number) =>
    Array.from({ length: Math.ceil((until - from) / step) }, (_, index) => from + index * step)
  const rate = (ms: number) => heartRate(ms, Math.round(64 + 12 * Math.sin(ms / (7 * HOUR))), fields)
  const records = [
    ...at(end - 365 * 24 * HOUR, week, HOUR).map(rate),
    ...at(week, end, 5 * MINUTE).map(rate),
    ...at(dense + 10_000, dense + HOUR, 10_000).map(rate),
    ...at(week, end, HOUR).flatMap((ms) => [steps(ms, 120, fields), steps(ms, 90, { ...fields, source: PHONE })]),
  ]
  for (let from = 0; from < records.length; from += 2_000) {
    await importBody(app, user, body(records.slice(from, from + 2_000)))
  }
  return user
}
