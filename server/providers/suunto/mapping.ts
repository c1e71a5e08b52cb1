import { withoutNoise } from '../../batch/units.ts'
import { valueAt } from '../answers.ts'
import { mapStreams } from '../map-streams.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { APP, beats, positive, rowsOf } from './items.ts'
import { sleep } from './sleep.ts'
import type { DayArgs } from './streams.ts'
import { addWorkouts } from './summaries.ts'

/** Joules of a kilocalorie. */
const JOULES = 4_184

const kilocalories = (joules: number | undefined) => (joules === undefined ? undefined : withoutNoise(joules / JOULES))

/** Parts of one, or per cent. */
const percent = (value: number | undefined) => (value !== undefined && value <= 1 ? withoutNoise(value * 100) : value)

/** Longer than any watch takes for a row. */
const LONGEST_MS = 15 * 60_000

/**
 * Ends of rows by their times, epoch ms. A watch counts for 5 or 10 minutes and does not say so: a row lasts as long as most
 * rows are apart, or until the next one. Empty if they are too far apart, or too few.
 */
function endsOf(times: readonly number[]): ReadonlyMap<number, number> {
  const sorted = [...new Set(times)].sort((a, b) => a - b)
  const apart = new Map<number, number>()
  for (const [place, ms] of sorted.slice(1).entries()) {
    const length = ms - (sorted[place] as number)
    apart.set(length, (apart.get(length) ?? 0) + 1)
  }
  const [length] = [...apart].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0] ?? []
  if (length === undefined || length > LONGEST_MS) return new Map()
  return new Map(sorted.map((ms, place) => [ms, Math.min(ms + length, sorted[place + 1] ?? ms + length)]))
}

/** What a watch measures all day. */
function activity(out: Out, part: Part): void {
  const rows = [...rowsOf(out, part)]
  const ends = endsOf(rows.map(([, { ms }]) => ms))
  for (const [row, at] of rows) {
    const amount = (field: string) => {
      const value = row.numeric('entryData', field)
      return value !== undefined && value >= 0 ? value : undefined
    }
    const steps = amount('StepCount')
    out.sample('heart_rate', at, beats(row, 'entryData', 'HR'))
    const during = { ...at, endMs: ends.get(at.ms) }
    out.sample('steps', during, steps === undefined ? undefined : Math.floor(steps))
    out.sample('energy', during, kilocalories(amount('EnergyConsumption')))
    out.sample('oxygen_saturation', at, percent(positive(row, 'entryData', 'SpO2')))
    out.sample('heart_rate_variability_rmssd', at, positive(row, 'entryData', 'HRV'))
    out.sample('elevation', at, row.numeric('entryData', 'Altitude'))
  }
}

/** Words of a state that counts from 1. */
const states = ['Relaxing', 'Active', 'Passive', 'Stressful']

/** How rested a person is. */
function recovery(out: Out, part: Part): void {
  for (const [row, at] of rowsOf(out, part)) {
    const balance = row.numeric('entryData', 'Balance')
    const state = states[(row.numeric('entryData', 'StressState') ?? 0) - 1]
    const value = balance !== undefined && balance >= 0 ? percent(balance) : undefined
    if (value === undefined && state === undefined) continue
    const externalId = `suunto:recovery:${at.ms}`
    out.score({ category: 'recovery', externalId, at, value, qualifier: state, components: { stress_state: state } })
  }
}

const totals = new Map([
  ['stepcount', 'steps'],
  ['energyconsumption', 'energy'],
] as const)

/** Totals of days; of several watches the one with the most counts. */
function statistics(out: Out, part: Part): void {
  const args = part.args as unknown as DayArgs | null
  if (args?.of !== 'days' || isMissing(part)) return
  for (const statistic of out.items()) {
    const series = totals.get((statistic.text('Name') ?? '').toLowerCase() as 'stepcount')
    if (!series || statistic.text('Aggregation')?.toLowerCase() !== 'sum') continue
    for (const [ms, value] of mostOf(statistic)) {
      const date = new Date(ms + (args.zoneMin ?? 0) * 60_000).toISOString().slice(0, 10)
      const at: At = { ms, zoneMin: args.zoneMin, ...(args.zoneMin === null && { isDate: true }) }
      out.total(series, at, series === 'energy' ? kilocalories(value) : value, `suunto:day:${date}`)
    }
  }
}

/** The largest value of each time, epoch milliseconds. */
function mostOf(statistic: Item): ReadonlyMap<number, number> {
  const most = new Map<number, number>()
  for (const source of statistic.objects('Sources')) {
    for (const sample of source.objects('Samples')) {
      const at = sample.instant('TimeISO8601')
      const value = sample.numeric('Value')
      if (!at) sample.reject('missing', 'TimeISO8601')
      else if (value !== undefined && value >= 0) most.set(at.ms, Math.max(value, most.get(at.ms) ?? 0))
    }
  }
  return most
}

/** A product that the key does not have. */
const isMissing = ({ body }: Part) => valueAt(body, 'statusCode') === 404

/** Adds what a part of Suunto's holds: docs/providers.md. */
export const map = mapStreams(APP, {
  workouts: addWorkouts,
  sleep,
  recovery,
  activity: (out, part) => (isMissing(part) ? undefined : activity(out, part)),
  statistics,
})
