import { random, round, whole } from '../random.ts'
import type { Person } from '../truth/person.ts'
import { MEANS_SECONDS, type Run, type SleepView } from '../truth/sleep.ts'
import { dateOf, isoAt, MINUTE_MS } from '../zones.ts'
import { deviceId, isNew, type Row, userUrl } from './exercises.ts'
import { clockText, wallText } from './times.ts'

/** Seconds of each stage; the hypnogram changes at whole minutes only. What cannot be judged has senseless values. */
export function night(person: Person, view: SleepView): Row {
  const { sleep, startMs, endMs, startOffset, seconds } = view
  const next = random(`${person.seed}/polar/night/${sleep.key}`)
  const judged = !sleep.unscorable
  const short = Math.floor(seconds.awake / 60 / 3) * 60
  const part = () => round(Math.min(100, sleep.quality + whole(next, -80, 80) / 10), 1)
  return {
    ...{ polar_user: userUrl(person), date: dateOf(sleep.day), device_id: deviceId(person) },
    ...{ sleep_start_time: isoAt(startMs, startOffset), sleep_end_time: isoAt(endMs, view.endOffset) },
    continuity: judged ? whole(next, 10, 50) / 10 : 0,
    continuity_class: judged ? whole(next, 1, 5) : 0,
    ...{ light_sleep: seconds.light, deep_sleep: seconds.deep, rem_sleep: seconds.rem },
    unrecognized_sleep_stage: 0,
    sleep_score: judged ? sleep.quality : -1,
    ...{ total_interruption_duration: seconds.awake, short_interruption_duration: short },
    long_interruption_duration: seconds.awake - short,
    sleep_charge: judged ? whole(next, 1, 5) : -1,
    ...{ sleep_goal: 28_800, sleep_rating: whole(next, 0, 5) },
    sleep_cycles: Math.max(1, Math.round((endMs - startMs) / 5_400_000)),
    ...{ group_duration_score: part(), group_solidity_score: part(), group_regeneration_score: part() },
    hypnogram: hypnogram(view),
    heart_rate_samples: clocked(view, view.heartRate),
  }
}

/** The stage at each minute in which it changes, by the offset of the start. Some nights come in another order. */
function hypnogram({ sleep, startMs, endMs, startOffset, runs }: SleepView): Record<string, number> {
  const entries: [string, number][] = []
  const stages = stageAt(runs)
  for (let ms = startMs; ms < endMs; ms = Math.floor(ms / MINUTE_MS + 1) * MINUTE_MS) {
    const code = stages((ms - startMs) / 1000)
    if (entries.at(-1)?.[1] !== code) entries.push([clockText(ms, startOffset), code])
  }
  if (sleep.day % 2 === 0) entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries)
}

/** Light sleep has two codes, and a short time awake one of its own. */
function stageAt(runs: readonly Run[]): (second: number) => number {
  const ends: { end: number; code: number }[] = []
  let end = 0
  runs.forEach(({ stage, seconds }, i) => {
    end += seconds
    const code = { awake: seconds < 90 ? 6 : 0, light: i % 4 === 1 ? 2 : 3, deep: 4, rem: 1 }[stage]
    ends.push({ end, code })
  })
  let at = 0
  return (second) => {
    while (at < ends.length - 1 && second >= (ends[at]?.end ?? 0)) at++
    return ends[at]?.code ?? 0
  }
}

/** Values of five minutes from the start on, by the minute; 0: no signal. */
function clocked({ startMs, startOffset }: SleepView, values: ArrayLike<number>): Record<string, number> {
  return Object.fromEntries(
    Array.from(values, (value, i) => [clockText(startMs + i * MEANS_SECONDS * 1000, startOffset), value] as const),
  )
}

/** Whole beats and ms; breaths to 0.1. Only for nights that could be judged. */
export function recharge(person: Person, view: SleepView): Row {
  const { sleep, averageHeartRate, averageHrv } = view
  const next = random(`${person.seed}/polar/recharge/${sleep.key}`)
  const status = Math.min(6, Math.max(1, Math.ceil((sleep.recovery - 25) / 12)))
  const breaths = Float64Array.from(view.hrv, () => round(sleep.breaths + whole(next, -8, 8) / 10, 1))
  return {
    ...{ polar_user: userUrl(person), date: dateOf(sleep.day) },
    heart_rate_avg: Math.round(averageHeartRate),
    beat_to_beat_avg: Math.round(60_000 / averageHeartRate),
    heart_rate_variability_avg: Math.round(averageHrv),
    breathing_rate_avg: round(sleep.breaths, 1),
    nightly_recharge_status: status,
    ans_charge: round((sleep.recovery - 60) / 5, 1),
    ans_charge_status: Math.min(5, Math.max(1, status - 1)),
    hrv_samples: clocked(view, view.hrv),
    breathing_samples: clocked(view, breaths),
  }
}

export function available({ sleep, startMs, endMs, startOffset, endOffset }: SleepView): Row {
  return {
    ...{ date: dateOf(sleep.day), start_time: isoAt(startMs, startOffset), end_time: isoAt(endMs, endOffset) },
  }
}

/** The times of SleepWise are UTC and do not say so. */
const utc = (ms: number) => wallText(ms, 0)

const GRADES = ['WEAK', 'FAIR', 'STRONG', 'EXCELLENT']

/** Of the sixteen hours after a night. */
export function alertness(view: SleepView, nowMs: number): Row {
  const { sleep, startMs, endMs } = view
  const grade = round(sleep.quality / 10, 1)
  const untilMs = endMs + 57_600_000
  const history = untilMs <= nowMs
  return {
    ...{ grade, grade_validity_seconds: 57_600, grade_type: 'GRADE_TYPE_PRIMARY' },
    grade_classification: `GRADE_CLASSIFICATION_${GRADES[Math.min(3, Math.floor(grade / 2.5))]}`,
    ...{ validity: 'VALIDITY_VALID', sleep_inertia: 'SLEEP_INERTIA_MILD', sleep_type: 'SLEEP_TYPE_PRIMARY' },
    result_type: `ALERTNESS_TYPE_${history ? 'HISTORY' : 'PREDICTION'}`,
    ...{ period_start_time: utc(endMs), period_end_time: utc(untilMs) },
    ...{ sleep_period_start_time: utc(startMs), sleep_period_end_time: utc(endMs) },
    sleep_timezone_offset_minutes: view.startOffset,
    hourly_data: [
      {
        ...{ validity: 'VALIDITY_VALID', alertness_level: 'ALERTNESS_LEVEL_HIGH' },
        ...{ start_time: utc(endMs), end_time: utc(endMs + 3_600_000) },
      },
    ],
  }
}

const QUALITIES = ['WEAK', 'COMPROMISED', 'CLEARLY_RECOGNIZABLE']

/** When the next night had better begin. */
export function bedtime(view: SleepView, nowMs: number): Row {
  const fromMs = view.startMs + 86_400_000
  const toMs = fromMs + 28_800_000
  return {
    validity: 'VALIDITY_VALID',
    quality: `CIRCADIAN_BEDTIME_QUALITY_${QUALITIES[view.sleep.quality % 3]}`,
    result_type: `CIRCADIAN_BEDTIME_TYPE_${toMs <= nowMs ? 'HISTORY' : 'PREDICTION'}`,
    ...{ period_start_time: utc(fromMs), period_end_time: utc(toMs) },
    ...{ preferred_sleep_period_start_time: utc(fromMs), preferred_sleep_period_end_time: utc(toMs) },
    ...{ sleep_gate_start_time: utc(fromMs - 2_400_000), sleep_gate_end_time: utc(fromMs + 3_000_000) },
    sleep_timezone_offset_minutes: view.startOffset,
  }
}

/** Every quarter of an hour of a night, around its mean. */
export function bodyTemperature(person: Person, { sleep, startMs, endMs, updatedMs }: SleepView): Row {
  const count = Math.floor((endMs - startMs) / 900_000)
  const samples = Array.from({ length: count }, (_, i) => ({
    temperature_celsius: round(sleep.skinTemperature + (i % 2 === 0 ? 0.1 : -0.1), 2),
    recording_time_delta_milliseconds: i * 900_000,
  }))
  return {
    ...{ source_device_id: deviceId(person), measurement_type: 'TM_SKIN_TEMPERATURE', sensor_location: 'SL_DISTAL' },
    ...{ start_time: utc(startMs), end_time: utc(endMs), modified_time: utc(updatedMs), samples },
  }
}

export function skinTemperature({ sleep }: SleepView): Row {
  return {
    sleep_time_skin_temperature_celsius: sleep.skinTemperature,
    deviation_from_baseline_celsius: sleep.temperatureDeviation,
    sleep_date: dateOf(sleep.day),
  }
}

/** A test five minutes after getting up; it fails where the truth has no value. */
export function spo2(person: Person, view: SleepView): Row {
  const { sleep, averageHeartRate, averageHrv } = view
  const passed = sleep.spo2 !== null
  return {
    ...{ source_device_id: deviceId(person), test_time: testTime(view), time_zone_offset: view.endOffset },
    test_status: passed ? 'SPO2_TEST_PASSED' : 'SPO2_TEST_INCONCLUSIVE_TOO_LOW_QUALITY',
    ...(passed && { blood_oxygen_percent: Math.round(sleep.spo2 ?? 0), spo2_class: 'SPO2_CLASS_NORMAL' }),
    spo2_value_deviation_from_baseline: 'DEVIATION_USUAL',
    spo2_quality_average_percent: 92,
    ...{ average_heart_rate_bpm: Math.round(averageHeartRate), heart_rate_variability_ms: round(averageHrv, 1) },
    ...{ spo2_hrv_deviation_from_baseline: 'DEVIATION_USUAL', altitude_meters: 112 },
  }
}

function testTime({ endMs }: SleepView): number {
  return Math.floor(endMs / 1000) + 300
}

/** Whether somebody has tested the oxygen, or made an electrocardiogram, after a night: not before its end is known. */
export function tests(person: Person, { sleep, endMs }: SleepView): boolean {
  return isNew(person) && sleep.day % 3 === 0 && endMs === sleep.endMs
}

export function ecg(person: Person, view: SleepView): Row {
  const { averageHeartRate, averageHrv } = view
  return {
    ...{ source_device_id: deviceId(person), test_time: testTime(view) + 120, time_zone_offset: view.endOffset },
    ...{ average_heart_rate_bpm: Math.round(averageHeartRate), heart_rate_variability_ms: round(averageHrv, 1) },
    ...{ heart_rate_variability_level: 'ECG_HRV_LEVEL_USUAL', rri_ms: round(60_000 / averageHeartRate, 1) },
    ...{ pulse_transit_time_systolic_ms: 101, pulse_transit_time_diastolic_ms: 140 },
    ...{ pulse_transit_time_quality_index: 0.9, quality_measurements: [] },
    samples: [0, 8, 16, 24].map((ms) => ({ recording_time_delta_ms: ms, amplitude_mv: round(0.1 - ms / 400, 3) })),
  }
}
