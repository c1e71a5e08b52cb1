import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { DAY_MS, parseZoneOffset } from '../../time.ts'
import { boundsOf, listedBetween, listing } from '../listed.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { durationSeconds } from './duration.ts'
import { APP, itemsOf } from './items.ts'
import { workoutType } from './workouts.ts'

/** Polar lists what was uploaded in 30 days: what began in so many has not been left out. */
const LISTED_DAYS = 29

/** Training sessions, as summaries or with their samples, zones and route (docs/providers.md). */
export function exercises(out: Out, part: Part): void {
  const starts: number[] = []
  for (const exercise of itemsOf(out, part)) {
    const known = times(exercise, part)
    if (!known) continue
    out.source(exercise.text('device') ?? '', APP)
    if (!workout(out, exercise, known)) continue
    starts.push(known.start.ms)
    for (const samples of exercise.objects('samples')) recorded(out, samples, known)
    for (const place of exercise.objects('route')) {
      const seconds = durationSeconds(place.text('time'))
      if (seconds === undefined) continue
      const at = later(known.start, seconds)
      out.sample('latitude', at, place.number('latitude'), known.externalId)
      out.sample('longitude', at, place.number('longitude'), known.externalId)
    }
  }
  listed(out, part, starts)
}

/** Of what began earlier, the list holds what was uploaded late, and is not all that there was. */
function listed(out: Out, part: Part, starts: readonly number[]): void {
  const [grantedMs, untilMs] = boundsOf(part) ?? [0, 0]
  const fromMs = Math.max(grantedMs, part.atMs - LISTED_DAYS * DAY_MS)
  const within = starts.filter((ms) => ms >= fromMs && ms < untilMs).sort((a, b) => a - b)
  listedBetween(out, { ...part, args: listing(fromMs, untilMs) }, within, 'workouts')
}

interface Known {
  externalId: string
  start: At
  endMs: number
}

const later = ({ ms, zoneMin }: At, seconds: number): At => ({ ms: ms + Math.round(seconds * 1000), zoneMin })

/** The start is written as the person's clock had it, beside its offset from UTC. */
function times(exercise: Item, { zone }: Part): Known | undefined {
  const externalId = exercise.id('id')
  const local = exercise.instant('start_time')
  const seconds = durationSeconds(exercise.text('duration'))
  if (!externalId) exercise.reject('missing', 'id')
  if (!local) exercise.reject('missing', 'start_time')
  if (seconds === undefined) exercise.reject('missing', 'duration')
  if (!externalId || !local || seconds === undefined) return undefined
  const told = exercise.number('start_time_utc_offset')
  if (told !== undefined && !(Math.abs(told) <= 1_080)) exercise.reject('implausible_value', 'start_time_utc_offset')
  const zoneMin = told === undefined ? (parseZoneOffset(zone ?? '') ?? null) : Math.abs(told) <= 1_080 ? told : null
  const start = { ms: local.ms - (zoneMin ?? 0) * 60_000, zoneMin }
  return { externalId, start, endMs: later(start, seconds).ms }
}

/** What an answer without samples or zones does not say stays as one with them said it. */
function workout(out: Out, exercise: Item, known: Known): boolean {
  const altitudes = exercise.objects('samples').find((one) => codeOf(one) === '3')
  const zones: (number | undefined)[] = []
  for (const zone of exercise.objects('heart_rate_zones')) {
    const index = zone.number('index')
    const seconds = durationSeconds(zone.text('in_zone'))
    if (index !== undefined && Number.isInteger(index) && index >= 0 && index <= 10) zones[index] = seconds
  }
  return out.workout({
    ...known,
    partial: true,
    type: workoutType(exercise.text('detailed_sport_info'), exercise.text('sport')),
    caloriesKcal: exercise.number('calories'),
    distanceMeters: exercise.number('distance'),
    heartRateAvg: exercise.number('heart_rate', 'average') || undefined,
    heartRateMax: exercise.number('heart_rate', 'maximum') || undefined,
    elevationGainMeters: altitudes && ascent(altitudes.csv('data') ?? []),
    ...(zones.length > 0 && { zoneSeconds: Array.from(zones) }),
  })
}

/** Metres of ascent: the rises of the altitude, of which each is the median of three, so that a spike is none. */
export function ascent(altitudes: readonly (number | undefined)[]): number | undefined {
  const known = altitudes.filter((one) => one !== undefined)
  if (known.length < 2) return undefined
  const smooth = known.map((one, place) => {
    const [, middle] = [known[place - 1] ?? one, one, known[place + 1] ?? one].sort((a, b) => a - b)
    return middle as number
  })
  const gain = smooth.reduce((sum, one, place) => sum + Math.max(0, one - (smooth[place - 1] ?? one)), 0)
  return Math.round(gain * 100) / 100
}

/** Samples by Polar's code: series, and by what they are divided. Others have no series, or no regular times. */
const recordings: Readonly<Record<string, readonly [SeriesName, divisor?: number]>> = {
  0: ['heart_rate'],
  1: ['speed', 3.6],
  2: ['cadence'],
  3: ['elevation'],
  4: ['power'],
  8: ['cadence'],
  9: ['air_temperature'],
}

const codeOf = (samples: Item) => samples.id('sample_type')

function recorded(out: Out, samples: Item, { start, externalId }: Known): void {
  const code = codeOf(samples) ?? ''
  const [series, divisor = 1] = Object.hasOwn(recordings, code) ? (recordings[code] as [SeriesName, number?]) : []
  const rate = samples.number('recording_rate')
  if (!series || rate === undefined) return
  if (!(rate > 0)) {
    samples.reject('implausible_value', 'recording_rate')
    return
  }
  for (const [place, value] of (samples.csv('data') ?? []).entries()) {
    if (value === undefined || (value === 0 && series === 'heart_rate')) continue
    out.sample(series, later(start, place * rate), withoutNoise(value / divisor), externalId)
  }
}
