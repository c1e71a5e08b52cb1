// What was last measured of a person's body, recomputed from what was uploaded (contract 12.5).
import { sum } from './activity.ts'
import { DAY, type Facts, type Point } from './facts.ts'
import { better, type Priorities } from './ranking.ts'

interface Asked {
  nowMs: number
  days: number
  hours: number
  age: number | null
  priorities: Priorities
}

/** The answer of the body summary; null when nothing was measured. */
export function bodyOf({ points }: Facts, { nowMs, days, hours, age, priorities }: Asked): unknown {
  const of = (series: string) => points.filter((point) => point.series === series)
  const latest = (list: readonly Point[]) =>
    [...list].sort((a, b) => b.ms - a.ms || better(priorities, a.source, b.source))[0]
  const within = (list: readonly Point[], ms: number) => list.filter((one) => one.ms >= nowMs - ms && one.ms <= nowMs)
  const [weight, height, fat, lean, skeletal, bmi] = ['weight', 'height', 'fat', 'lean', 'muscle', 'bmi'].map((name) =>
    latest(of(name)),
  )
  const muscle = lean ?? skeletal
  const shown = [weight, height, fat, muscle, bmi].filter((one) => one !== undefined)
  const mean = (series: string) => {
    const recent = within(of(series), days * DAY)
    const measured = recent.filter(({ kind }) => kind === 'measured')
    const values = (measured.length > 0 ? measured : recent).map(({ value }) => value)
    return values.length === 0 ? null : Number((sum(values) / values.length).toFixed(9))
  }
  const [resting, sdnn, rmssd] = [mean('resting'), mean('sdnn'), mean('rmssd')]
  const recent = (series: string) => latest(within(of(series), (hours * DAY) / 24))
  const [temperature, skin] = [recent('temperature'), recent('skin')]
  const pressure = pressureOf(within([...of('systolic'), ...of('diastolic')], (hours * DAY) / 24))
  const nothing = [...shown, temperature, skin].every((one) => one === undefined)
  if (nothing && pressure === null && resting === null && sdnn === null && rmssd === null) return null
  const tenth = (value: number | null) => (value === null ? null : Math.round(value * 10) / 10)
  const computed = weight && height ? tenth(weight.value / (height.value / 100) ** 2) : null
  const at = (point: Point | undefined) => (point ? iso(point.ms) : null)
  return {
    source: latest(shown)?.source.shown ?? UNKNOWN,
    slow_changing: {
      weight_kg: weight?.value ?? null,
      height_cm: height?.value ?? null,
      body_fat_percent: fat?.value ?? null,
      muscle_mass_kg: muscle?.value ?? null,
      bmi: bmi?.value ?? computed,
      age,
    },
    averaged: {
      period_days: days,
      period_start: precise(nowMs - days * DAY),
      period_end: precise(nowMs),
      resting_heart_rate_bpm: resting === null ? null : Math.round(resting),
      avg_hrv_sdnn_ms: tenth(sdnn),
      avg_hrv_rmssd_ms: tenth(rmssd),
    },
    latest: {
      body_temperature_celsius: temperature?.value ?? null,
      body_temperature_measured_at: at(temperature),
      skin_temperature_celsius: skin?.value ?? null,
      skin_temperature_measured_at: at(skin),
      blood_pressure: pressure?.reading ?? null,
      blood_pressure_measured_at: pressure?.measured ?? null,
    },
  }
}

const UNKNOWN = { provider: 'unknown', source: null, device: null, device_type: null, device_name: null }

/** As a moment of now is written. */
const precise = (ms: number) => (ms % 1000 === 0 ? iso(ms) : new Date(ms).toISOString().replace('Z', '000Z'))
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** Readings of blood pressure: pairs of one source at most five seconds apart, the closest first. */
function pressureOf(points: readonly Point[]) {
  const [systolic, diastolic] = ['systolic', 'diastolic'].map((series) => points.filter((one) => one.series === series))
  const possible = (systolic ?? []).flatMap((high) =>
    (diastolic ?? [])
      .filter((low) => low.source === high.source && Math.abs(low.ms - high.ms) <= 5000)
      .map((low) => ({ high, low, apart: Math.abs(low.ms - high.ms) })),
  )
  possible.sort((a, b) => a.apart - b.apart || a.high.ms - b.high.ms || a.low.ms - b.low.ms)
  const taken = new Set<Point>()
  const pairs = possible.filter(({ high, low }) => {
    const free = !taken.has(high) && !taken.has(low)
    if (free) taken.add(high).add(low)
    return free
  })
  if (pairs.length === 0) return null
  const [highs, lows] = [pairs.map(({ high }) => high.value), pairs.map(({ low }) => low.value)]
  const mean = (values: number[]) => Math.round(sum(values) / values.length)
  return {
    measured: iso(Math.max(...pairs.flatMap(({ high, low }) => [high.ms, low.ms]))),
    reading: {
      avg_systolic_mmhg: mean(highs),
      avg_diastolic_mmhg: mean(lows),
      max_systolic_mmhg: Math.round(Math.max(...highs)),
      max_diastolic_mmhg: Math.round(Math.max(...lows)),
      min_systolic_mmhg: Math.round(Math.min(...highs)),
      min_diastolic_mmhg: Math.round(Math.min(...lows)),
      reading_count: pairs.length,
    },
  }
}
