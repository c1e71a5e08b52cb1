// The body summary as straight-line code over samples: contract 12.5. Shares no code with the service.
import { type Device, metadataOf, type Sample } from './activity-model.ts'
import { DAY_MS } from './summaries.ts'

const SLOW = {
  weight_kg: ['weight'],
  height_cm: ['height'],
  body_fat_percent: ['body_fat_percentage'],
  muscle_mass_kg: ['lean_body_mass', 'skeletal_muscle_mass'],
  bmi: ['body_mass_index'],
}
const NONE = { provider: 'unknown', source: null, device: null, device_type: null, device_name: null }

/** Reference time and period; `birthDate` is YYYY-MM-DD. */
interface Asked {
  nowMs: number
  days: number
  hours: number
  birthDate: string | null
}

const instant = (ms: number) =>
  new Date(ms)
    .toISOString()
    .replace(/\.000Z$/, 'Z')
    .replace(/(\.\d{3})Z$/, '$1000Z')
const tenths = (value: number) => Math.round(value * 10) / 10
const mean = (values: number[]) =>
  values.length > 0 ? values.reduce((sum, one) => sum + one, 0) / values.length : null
const rounded = (value: number | null) => (value === null ? null : Math.round(value))

/** The last slowly changing values, and the time of the newest sample among them. */
function slowValues(latest: (type: string) => Sample | undefined) {
  const slow = Object.entries(SLOW).map(
    ([field, types]) => [field, types.map(latest).find((one) => one !== undefined)] as const,
  )
  const values: Record<string, number | null> = Object.fromEntries(
    slow.map(([field, one]) => [field, one?.value ?? null]),
  )
  const { weight_kg, height_cm } = values as Record<string, number | null>
  if (values.bmi === null && weight_kg && height_cm) values.bmi = tenths(weight_kg / (height_cm / 100) ** 2)
  const [newest] = slow.flatMap(([, one]) => one ?? []).sort((a, b) => b.ms - a.ms || a.place - b.place)
  return { values, newest }
}

function ageOf(birthDate: string, now: Date): number {
  const [year, month, day] = birthDate.split('-').map(Number) as [number, number, number]
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())
  return now.getUTCFullYear() - year - (today < Date.UTC(now.getUTCFullYear(), month - 1, day) ? 1 : 0)
}

interface Pair {
  high: Sample
  low: Sample
}

function pressureOf(pairs: Pair[]) {
  if (pairs.length === 0) return { blood_pressure: null, blood_pressure_measured_at: null }
  const [highs, lows] = [pairs.map(({ high }) => high.value), pairs.map(({ low }) => low.value)]
  return {
    blood_pressure: {
      avg_systolic_mmhg: rounded(mean(highs)),
      avg_diastolic_mmhg: rounded(mean(lows)),
      max_systolic_mmhg: Math.round(Math.max(...highs)),
      max_diastolic_mmhg: Math.round(Math.max(...lows)),
      min_systolic_mmhg: Math.round(Math.min(...highs)),
      min_diastolic_mmhg: Math.round(Math.min(...lows)),
      reading_count: pairs.length,
    },
    blood_pressure_measured_at: instant(Math.max(...pairs.map(({ low }) => low.ms))),
  }
}

/** The body summary of samples; null without a measurement. Blood pressure: values of a pair are 2 s apart. */
export function bodyRow(
  devices: readonly Device[],
  samples: readonly Sample[],
  { nowMs, days, hours, birthDate }: Asked,
) {
  const past = samples.filter(({ ms }) => ms <= nowMs)
  const latest = (type: string) =>
    past.filter((one) => one.type === type).sort((a, b) => b.ms - a.ms || a.place - b.place)[0]
  const { values, newest } = slowValues(latest)
  const inPeriod = past.filter(({ ms }) => ms >= nowMs - days * DAY_MS && ms < nowMs)
  const average = (type: string) => mean(inPeriod.filter((one) => one.type === type).map((one) => one.value))
  const [sdnn, rmssd] = [average('heart_rate_variability_sdnn'), average('heart_rate_variability_rmssd')]
  const averaged = {
    resting_heart_rate_bpm: rounded(average('resting_heart_rate')),
    avg_hrv_sdnn_ms: sdnn === null ? null : tenths(sdnn),
    avg_hrv_rmssd_ms: rmssd === null ? null : tenths(rmssd),
  }
  const sinceMs = nowMs - hours * 3_600_000
  const recent = (type: string) => past.filter((one) => one.type === type && one.ms >= sinceMs)
  const [body, skin] = ['body_temperature', 'skin_temperature'].map((type) =>
    recent(type).length > 0 ? latest(type) : undefined,
  )
  const pairs = recent('blood_pressure_systolic').flatMap((high) => {
    const low = recent('blood_pressure_diastolic').find((one) => one.place === high.place && one.ms === high.ms + 2000)
    return low ? [{ high, low }] : []
  })
  const known = [...Object.values(values), ...Object.values(averaged), body ?? null, skin ?? null]
  if (known.every((value) => value === null) && pairs.length === 0) return null
  return {
    source: newest ? metadataOf(devices[newest.place] as Device) : NONE,
    slow_changing: { ...values, age: birthDate ? ageOf(birthDate, new Date(nowMs)) : null },
    averaged: {
      period_days: days,
      ...averaged,
      period_start: instant(nowMs - days * DAY_MS),
      period_end: instant(nowMs),
    },
    latest: {
      body_temperature_celsius: body?.value ?? null,
      body_temperature_measured_at: body ? instant(body.ms) : null,
      skin_temperature_celsius: skin?.value ?? null,
      skin_temperature_measured_at: skin ? instant(skin.ms) : null,
      ...pressureOf(pairs),
    },
  }
}
