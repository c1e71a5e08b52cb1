import { DAY_MS } from '../../time.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { beats, positive, rowsOf } from './items.ts'

// Nights and naps, of which Suunto has totals only (docs/providers.md).

/** A night as it is known. */
interface Known {
  readonly externalId: string
  readonly row: Item
  readonly start: At
  readonly end: At
  /** Of the bed, seconds. */
  readonly seconds: number
}

/** Nights; while one goes on Suunto sends it so far, under the same id, and the longest counts. */
export function sleep(out: Out, part: Part): void {
  const nights = new Map<string, Known>()
  for (const [row, at] of rowsOf(out, part)) {
    const night = knownOf(row, at)
    if (night && !((nights.get(night.externalId)?.seconds ?? 0) > night.seconds)) nights.set(night.externalId, night)
  }
  for (const night of nights.values()) add(out, night)
}

function knownOf(row: Item, told: At): Known | undefined {
  const start = row.instant('entryData', 'BedtimeStart') ?? row.instant('entryData', 'DateTime') ?? told
  const duration = positive(row, 'entryData', 'Duration')
  const said = row.instant('entryData', 'BedtimeEnd')
  const end = said ?? (duration === undefined ? undefined : { ms: start.ms + duration * 1000, zoneMin: start.zoneMin })
  const externalId = row.id('entryData', 'SleepId') ?? row.id('entryData', 'DateTime') ?? row.id('timestamp')
  if (!end || !externalId) row.reject('missing', 'entryData', 'Duration')
  else if (end.ms <= start.ms) row.reject('end_before_start', 'entryData', 'BedtimeEnd')
  else {
    // Where the person woke.
    const zoneMin = (row.boolean('entryData', 'IsNap') ? start.zoneMin : end.zoneMin) ?? told.zoneMin
    const seconds = duration ?? (end.ms - start.ms) / 1000
    return { externalId, row, start: { ms: start.ms, zoneMin }, end: { ms: end.ms, zoneMin }, seconds }
  }
  return undefined
}

function add(out: Out, night: Known): void {
  const { externalId, row, start, end } = night
  const isNap = row.boolean('entryData', 'IsNap') ?? false
  if (!out.night({ externalId, start, endMs: end.ms, isNap, ...totalsOf(night) })) return
  if (!isNap) {
    out.once('resting_heart_rate', end, beats(row, 'entryData', 'HRMin'), externalId)
    out.once('heart_rate_variability_rmssd', end, positive(row, 'entryData', 'AvgHRV'), externalId)
    // Where the night ended as far as it was sent before.
    out.only({ series: 'resting_heart_rate' }, start.ms, Math.min(end.ms, start.ms + DAY_MS))
  }
  const value = positive(row, 'entryData', 'SleepQualityScore')
  if (value !== undefined) out.score({ category: 'sleep', externalId, at: start, value, night: externalId })
}

function totalsOf({ row, start, end, seconds }: Known) {
  const of = (field: string) => {
    const value = row.numeric('entryData', `${field}Duration`)
    return value !== undefined && value >= 0 ? value : undefined
  }
  const [deep, light, rem] = [of('DeepSleep'), of('LightSleep'), of('REMSleep')]
  const staged = (deep ?? 0) + (light ?? 0) + (rem ?? 0)
  const parts = [of('SleepOnsetLatency'), of('WakeAfterSleepOnset'), of('WakeBeforeOffBed')].filter(
    (one) => one !== undefined,
  )
  const told = parts.reduce((sum, one) => sum + one, 0)
  const awake = parts.length > 0 ? told : Math.max(0, seconds - staged)
  const asleep = staged > 0 ? staged : Math.max(0, seconds - told)
  const efficiency = Math.round((asleep / ((end.ms - start.ms) / 1000)) * 10_000) / 100
  return {
    asleepSeconds: asleep,
    awakeSeconds: staged > 0 || parts.length > 0 ? awake : undefined,
    lightSeconds: light,
    deepSeconds: deep,
    remSeconds: rem,
    efficiencyPercent: Math.min(100, efficiency),
  }
}
