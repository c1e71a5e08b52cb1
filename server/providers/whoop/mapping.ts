import { withoutNoise } from '../../batch/units.ts'
import { DAY_MS } from '../../time.ts'
import { listedBetween } from '../listed.ts'
import { mapStreams } from '../map-streams.ts'
import type { At, Item, Out, Part } from '../part.ts'
import type { RecoveryArgs, Spans } from './streams.ts'
import { workoutType } from './workouts.ts'

// What WHOOP's records become: docs/providers.md.

const KJ_PER_KCAL = 4.184

/** The fields of every record that has a time. */
interface Timed {
  id: string
  start: At
  endMs: number
  version: number | undefined
  /** Absent until WHOOP has scored the record. */
  score: Item | undefined
}

/** The common fields of a workout or a sleep; undefined, and rejected, if a required one is missing. */
function timed(record: Item): Timed | undefined {
  const id = record.id('id')
  const start = record.instant('start')
  const end = record.instant('end')
  if (!id) record.reject('missing', 'id')
  if (!start) record.reject('missing', 'start')
  if (!end) record.reject('missing', 'end')
  if (!id || !start || !end) return undefined
  return { id, start: { ms: start.ms, zoneMin: record.zoneMin('timezone_offset') }, endMs: end.ms, ...state(record) }
}

/** Records are PENDING_SCORE first, and some stay or become UNSCORABLE. */
function state(record: Item): Pick<Timed, 'version' | 'score'> {
  const isScored = record.text('score_state') === 'SCORED'
  return { version: record.instant('updated_at')?.ms, score: isScored ? record.object('score') : undefined }
}

function workouts(out: Out, part: Part): void {
  const starts: number[] = []
  for (const record of out.items('records')) {
    const known = timed(record)
    if (!known) continue
    const { id, start, endMs, version, score } = known
    const kilojoules = score?.number('kilojoule')
    const heartRate = { average: score?.number('average_heart_rate'), max: score?.number('max_heart_rate') }
    const distance = score?.number('distance_meter')
    const gain = score?.number('altitude_gain_meter')
    const zones = score && zoneMillis(score)
    const stored = out.workout({
      externalId: id,
      start,
      endMs,
      version,
      type: workoutType(record.text('sport_name'), record.number('sport_id')),
      caloriesKcal: kilojoules === undefined ? undefined : Math.round((kilojoules / KJ_PER_KCAL) * 100) / 100,
      distanceMeters: distance,
      heartRateAvg: heartRate.average,
      heartRateMax: heartRate.max,
      elevationGainMeters: gain,
      ...(zones && { zoneSeconds: zones.map(([, ms]) => (ms === undefined ? undefined : ms / 1000)) }),
    })
    if (!stored) continue
    starts.push(start.ms)
    const components = {
      scope: 'workout',
      average_heart_rate: heartRate.average,
      max_heart_rate: heartRate.max,
      kilojoule: kilojoules,
      percent_recorded: score?.number('percent_recorded'),
      distance_meter: distance,
      altitude_gain_meter: gain,
      ...Object.fromEntries(zones ?? []),
    }
    const value = score?.number('strain')
    out.score({ category: 'strain', externalId: id, at: start, value, components, workout: id, version })
  }
  listedBetween(out, part, starts, 'workouts')
}

/** Time in the zones of heart rate, from zero to five. */
const zoneMillis = (score: Item) =>
  ['zero', 'one', 'two', 'three', 'four', 'five'].map((zone) => {
    const name = `zone_${zone}_milli`
    return [name, score.number('zone_durations', name)] as const
  })

function sleeps(out: Out, part: Part): void {
  const starts: number[] = []
  for (const record of out.items('records')) {
    const known = timed(record)
    if (!known || !night(out, record, known)) continue
    const { id, start, endMs, version, score } = known
    starts.push(start.ms)
    const breaths = score?.number('respiratory_rate')
    out.once('respiratory_rate', { ms: endMs, zoneMin: start.zoneMin }, breaths, id)
    if (breaths === undefined) out.only({ series: 'respiratory_rate' }, start.ms, endMs + 1)
    const needed = (part: string) => minutes(score?.number('sleep_needed', `${part}_milli`))
    out.score({
      category: 'sleep',
      externalId: id,
      at: start,
      value: score?.number('sleep_performance_percentage'),
      components: {
        consistency: score?.number('sleep_consistency_percentage'),
        efficiency: score?.number('sleep_efficiency_percentage'),
        respiratory_rate: breaths,
        need_baseline_minutes: needed('baseline'),
        need_from_sleep_debt_minutes: needed('need_from_sleep_debt'),
        need_from_recent_strain_minutes: needed('need_from_recent_strain'),
        need_from_recent_nap_minutes: needed('need_from_recent_nap'),
      },
      night: id,
      version,
    })
  }
  listedBetween(out, part, starts, 'nights', { series: 'respiratory_rate' })
}

/** WHOOP has no hypnogram: a night is its totals. */
function night(out: Out, record: Item, { id, start, endMs, version, score }: Timed): boolean {
  const total = (name: string) => score?.number('stage_summary', `total_${name}_time_milli`)
  const [light, deep, rem] = [total('light_sleep'), total('slow_wave_sleep'), total('rem_sleep')]
  const [inBed, awake] = [total('in_bed'), total('awake')]
  const asleep = light === undefined || deep === undefined || rem === undefined ? undefined : light + deep + rem
  return out.night({
    externalId: id,
    start,
    endMs,
    version,
    asleepSeconds: seconds(asleep),
    inBedSeconds: seconds(inBed),
    awakeSeconds: seconds(awake),
    lightSeconds: seconds(light),
    deepSeconds: seconds(deep),
    remSeconds: seconds(rem),
    efficiencyPercent: score?.number('sleep_efficiency_percentage') ?? percentOf(asleep, inBed),
    isNap: record.boolean('nap'),
  })
}

const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000)

const percentOf = (part: number | undefined, whole: number | undefined) =>
  part !== undefined && whole ? Math.round((part / whole) * 10_000) / 100 : undefined

/** Minutes with two decimals. */
const minutes = (ms: number | undefined) => (ms === undefined ? undefined : Math.round(ms / 600) / 100)

/** The series of a recovery, and their fields. */
const measured = [
  ['resting_heart_rate', 'resting_heart_rate'],
  ['heart_rate_variability_rmssd', 'hrv_rmssd_milli'],
  ['oxygen_saturation', 'spo2_percentage'],
  ['skin_temperature', 'skin_temp_celsius'],
  ['recovery_score', 'recovery_score'],
] as const

/** A recovery is recorded at the end of its sleep; if that is not known, in the morning of its cycle, or when it was made. */
function recoveries(out: Out, part: Part): void {
  const { of, sleeps = {}, cycles = {}, before } = (part.args ?? {}) as Partial<RecoveryArgs>
  if (of === 'sleep' || of === 'cycle') return
  let [last, together] = before ?? ['', 0]
  for (const record of out.items('records')) {
    const { version, score } = state(record)
    const sleepId = record.id('sleep_id')
    const made = record.instant('created_at')
    // A phone that was away for days brings several at once, the latest first: each is of a day of its own.
    together = record.text('created_at') === last ? together + 1 : 1
    last = record.text('created_at') ?? ''
    const sleep = spanOf(sleeps, sleepId)
    const madeAt = made && { ms: made.ms - (together - 1) * DAY_MS, zoneMin: null }
    const cycle = sleep ? undefined : spanOf(cycles, record.id('cycle_id'))
    const at = sleep ? { ms: sleep[1], zoneMin: sleep[2] } : cycle ? morningOf(cycle, made) : madeAt
    if (!sleepId) record.reject('missing', 'sleep_id')
    if (!at) record.reject('missing', 'created_at')
    if (!sleepId || !at) continue
    const externalId = `whoop:recovery:${sleepId}`
    const values = measured.map(([series, field]) => [series, field, score?.number(field)] as const)
    for (const [series, , value] of values) out.sample(series, at, value, externalId)
    const components = Object.fromEntries(values.map(([, field, value]) => [field, value]))
    delete components.recovery_score
    out.score({
      category: 'recovery',
      externalId,
      at,
      value: score?.number('recovery_score'),
      components: { ...components, user_calibrating: score?.boolean('user_calibrating') },
      night: sleepId,
      version,
    })
    const untilMs = Math.max(at.ms, made?.ms ?? 0)
    if (sleep) onlyOf(out, sleep, untilMs, Object.values(sleeps))
    else if (cycle) onlyOf(out, cycle, untilMs, Object.values(cycles))
    else if (!score) for (const [series] of measured) out.only({ series }, at.ms, at.ms + 1)
  }
}

type Span = Spans[string]

const spanOf = (spans: Spans, id: string | undefined): Span | undefined =>
  id !== undefined && Object.hasOwn(spans, id) ? spans[id] : undefined

/** When a recovery of a cycle, which begins with falling asleep, is made at the latest. */
const MORNING_MS = DAY_MS / 2

/** When a recovery was made, if that was in the first half day of its cycle; otherwise the nearer end of that. */
function morningOf([startMs, endMs, zoneMin]: Span, made: At | undefined): At {
  const latestMs = Math.min(startMs + MORNING_MS, endMs)
  return { ms: Math.max(startMs, Math.min(made?.ms ?? latestMs, latestMs)), zoneMin }
}

/** Until the next night or cycle begins there is one recovery: samples elsewhere belonged to an earlier form of this one. */
function onlyOf(out: Out, [startMs]: Span, madeMs: number, all: readonly Span[]): void {
  const later = all.map(([ms]) => ms).filter((ms) => ms > startMs)
  const hiMs = Math.min(madeMs + 1, startMs + DAY_MS, ...later)
  for (const [series] of measured) out.only({ series }, startMs, hiMs)
}

/** The strain of a WHOOP day, which begins with falling asleep, so its energy belongs to no calendar day. */
function cycles(out: Out): void {
  for (const record of out.items('records')) {
    const { version, score } = state(record)
    const id = record.id('id')
    const start = record.instant('start')
    if (!id) record.reject('missing', 'id')
    if (!start) record.reject('missing', 'start')
    if (!id || !start) continue
    out.score({
      category: 'strain',
      externalId: `whoop:cycle:${id}`,
      at: { ms: start.ms, zoneMin: record.zoneMin('timezone_offset') },
      value: score?.number('strain'),
      components: {
        scope: 'cycle',
        average_heart_rate: score?.number('average_heart_rate'),
        max_heart_rate: score?.number('max_heart_rate'),
        kilojoule: score?.number('kilojoule'),
      },
      version,
    })
  }
}

function body(out: Out): void {
  for (const person of out.whole()) {
    const metres = person.number('height_meter')
    out.current('height', metres === undefined ? undefined : withoutNoise(metres * 100))
    out.current('weight', person.number('weight_kilogram'))
  }
}

/** Adds the data of an answer of WHOOP. */
export const map = mapStreams('WHOOP', {
  workout: workouts,
  sleep: sleeps,
  recovery: recoveries,
  cycle: cycles,
  body,
})
