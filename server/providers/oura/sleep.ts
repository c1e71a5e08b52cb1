import type { SeriesName } from '../../catalogue/series.ts'
import { listedBetween } from '../listed.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { intervals } from './hypnogram.ts'

/** Naps; `long_sleep` is a night. */
const naps = new Set(['sleep', 'late_nap'])

/** Rest without sleep, and periods that the person deleted: not a night, even if it was one before. */
const noSleep = new Set(['rest', 'deleted'])

/** Series that come only from nights, so that the samples of a night that moved can be found. */
const ofNights = ['heart_rate_variability_rmssd', 'respiratory_rate', 'resting_heart_rate'] as const

/** Sleep periods: nights and naps with stages, heart rate and variability every five minutes (docs/providers.md). */
export function sleep(out: Out, part: Part): void {
  const starts: number[] = []
  for (const period of out.items('data')) {
    const externalId = period.id('id')
    const type = period.text('type')
    if (externalId && noSleep.has(type ?? '')) {
      out.gone(externalId)
      continue
    }
    const start = period.instant('bedtime_start')
    const end = period.instant('bedtime_end')
    if (!externalId) period.reject('missing', 'id')
    if (!start) period.reject('missing', 'bedtime_start')
    if (!end) period.reject('missing', 'bedtime_end')
    if (!externalId || !start || !end) continue
    const isNap = type === undefined ? undefined : naps.has(type)
    if (!night(out, period, { externalId, start, endMs: end.ms, isNap })) continue
    starts.push(start.ms)
    out.once('respiratory_rate', start, period.number('average_breath'), externalId)
    out.once('resting_heart_rate', start, period.number('lowest_heart_rate'), externalId)
    series(out, 'heart_rate', period.object('heart_rate'), externalId)
    series(out, 'heart_rate_variability_rmssd', period.object('hrv'), externalId)
  }
  listedBetween(out, part, starts, 'nights', ...ofNights.map((series) => ({ series })))
}

interface Night {
  externalId: string
  start: At
  endMs: number
  isNap: boolean | undefined
}

function night(out: Out, period: Item, known: Night): boolean {
  const deep = period.number('deep_sleep_duration')
  const light = period.number('light_sleep_duration')
  const rem = period.number('rem_sleep_duration')
  const total = period.number('total_sleep_duration')
  const inStages = deep === undefined || light === undefined || rem === undefined ? undefined : deep + light + rem
  return out.night({
    ...known,
    version: period.instant('meta', 'updated_at')?.ms,
    asleepSeconds: inStages ?? total,
    inBedSeconds: period.number('time_in_bed'),
    awakeSeconds: period.number('awake_time'),
    lightSeconds: light,
    deepSeconds: deep,
    remSeconds: rem,
    efficiencyPercent: period.number('efficiency'),
    stages: stagesOf(period, known),
  })
}

function stagesOf(period: Item, { start, endMs }: Night) {
  const fine = period.text('sleep_phase_30_sec')
  if (fine) return intervals(fine, 30, start.ms, endMs)
  const coarse = period.text('sleep_phase_5_min')
  return coarse ? intervals(coarse, 300, start.ms, endMs) : undefined
}

/** Values at equal intervals, with null where nothing was measured. */
function series(out: Out, name: SeriesName, values: Item | undefined, night: string): void {
  const first = values?.instant('timestamp')
  const stepSeconds = values?.number('interval')
  if (!values || !first || stepSeconds === undefined || !(stepSeconds > 0)) return
  for (const [place, value] of (values.numbers('items') ?? []).entries()) {
    out.sample(name, { ms: first.ms + place * stepSeconds * 1000, zoneMin: first.zoneMin }, value, night)
  }
}
