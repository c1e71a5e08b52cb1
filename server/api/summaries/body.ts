import { Type } from 'typebox'
import type { SeriesName } from '../../catalogue/series.ts'
import { route } from '../../http/route.ts'
import { Instant, Nullable, SourceMetadata, UserPath } from '../../http/schema.ts'
import { userView } from '../../sources/user-view.ts'
import { DAY_MS, isoInstant } from '../../time.ts'
import { type Pressure, pressureOf } from './blood-pressure.ts'
import { readMeasured, slowChanging } from './body-values.ts'
import { tenths, whole } from './rounding.ts'

const Value = () => Nullable(Type.Number())
const Whole = () => Nullable(Type.Integer())

const BodySummary = Type.Object(
  {
    source: SourceMetadata,
    slow_changing: Type.Object({
      weight_kg: Value(),
      height_cm: Value(),
      body_fat_percent: Value(),
      muscle_mass_kg: Value(),
      bmi: Value(),
      age: Whole(),
    }),
    averaged: Type.Object({
      period_days: Type.Integer(),
      resting_heart_rate_bpm: Whole(),
      avg_hrv_sdnn_ms: Value(),
      avg_hrv_rmssd_ms: Value(),
      period_start: Instant(),
      period_end: Instant(),
    }),
    latest: Type.Object({
      body_temperature_celsius: Value(),
      body_temperature_measured_at: Nullable(Instant()),
      skin_temperature_celsius: Value(),
      skin_temperature_measured_at: Nullable(Instant()),
      blood_pressure: Nullable(
        Type.Object({
          avg_systolic_mmhg: Whole(),
          avg_diastolic_mmhg: Whole(),
          max_systolic_mmhg: Whole(),
          max_diastolic_mmhg: Whole(),
          min_systolic_mmhg: Whole(),
          min_diastolic_mmhg: Whole(),
          reading_count: Whole(),
        }),
      ),
      blood_pressure_measured_at: Nullable(Instant()),
    }),
  },
  { title: 'BodySummary' },
)

const example = {
  source: {
    provider: 'withings',
    source: 'withings_api',
    device: 'Body Smart',
    device_type: 'scale',
    device_name: 'Body Smart',
  },
  slow_changing: {
    weight_kg: 72.5,
    height_cm: 175.5,
    body_fat_percent: 18.5,
    muscle_mass_kg: 58.2,
    bmi: 23.5,
    age: 32,
  },
  averaged: {
    period_days: 7,
    resting_heart_rate_bpm: 62,
    avg_hrv_sdnn_ms: 45.2,
    avg_hrv_rmssd_ms: 42,
    period_start: '2026-02-17T10:00:00Z',
    period_end: '2026-02-24T10:00:00Z',
  },
  latest: {
    body_temperature_celsius: 36.6,
    body_temperature_measured_at: '2026-02-24T08:30:00Z',
    skin_temperature_celsius: null,
    skin_temperature_measured_at: null,
    blood_pressure: {
      avg_systolic_mmhg: 120,
      avg_diastolic_mmhg: 80,
      max_systolic_mmhg: 120,
      max_diastolic_mmhg: 80,
      min_systolic_mmhg: 120,
      min_diastolic_mmhg: 80,
      reading_count: 1,
    },
    blood_pressure_measured_at: '2026-02-24T08:30:00Z',
  },
}

/** What a body is like now: last measurements, means of days, and the last hours (contract 4.4, 12.5). */
export const getBodySummary = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/summaries/body',
    operationId: 'getBodySummary',
    summary: 'Body measurements as of now',
    description: 'Null when nothing was ever measured.',
    tag: 'Summaries',
    guard: 'key',
    share: 'report',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object({
      average_period: Type.Integer({ minimum: 1, maximum: 7, default: 7, description: 'Days that are averaged' }),
      latest_window_hours: Type.Integer({
        minimum: 1,
        maximum: 24,
        default: 4,
        description: 'Hours in which temperatures and blood pressure count',
      }),
    }),
    response: Nullable(BodySummary),
    example,
  },
  async ({ params, query }, { db }) => {
    const view = await userView(db, params.user_id)
    const nowMs = Date.now()
    const measured = await readMeasured(db, view, nowMs, query)
    const sinceMs = nowMs - query.latest_window_hours * 3_600_000
    const slow = slowChanging(measured)
    const averaged = {
      resting_heart_rate_bpm: rounded(measured.mean('resting_heart_rate')),
      avg_hrv_sdnn_ms: toTenths(measured.mean('heart_rate_variability_sdnn')),
      avg_hrv_rmssd_ms: toTenths(measured.mean('heart_rate_variability_rmssd')),
    }
    const recent = (name: SeriesName) => {
      const one = measured.latest(name)
      return one && one.ms >= sinceMs ? one : undefined
    }
    const [body, skin] = [recent('body_temperature'), recent('skin_temperature')]
    const pressure = pressureOf(measured.systolic, measured.diastolic)
    const known = [...Object.values(slow.values), ...Object.values(averaged), body, skin, pressure]
    if (known.every((value) => value === null || value === undefined)) return null
    return {
      source: slow.source,
      slow_changing: { ...slow.values, age: measured.age },
      averaged: {
        period_days: query.average_period,
        ...averaged,
        period_start: isoInstant(nowMs - query.average_period * DAY_MS),
        period_end: isoInstant(nowMs),
      },
      latest: {
        body_temperature_celsius: body?.value ?? null,
        body_temperature_measured_at: body ? isoInstant(body.ms) : null,
        skin_temperature_celsius: skin?.value ?? null,
        skin_temperature_measured_at: skin ? isoInstant(skin.ms) : null,
        ...pressureFields(pressure),
      },
    }
  },
)

const rounded = (value: number | null) => (value === null ? null : whole(value))
const toTenths = (value: number | null) => (value === null ? null : tenths(value))

function pressureFields(pressure: Pressure | null) {
  if (!pressure) return { blood_pressure: null, blood_pressure_measured_at: null }
  const { measuredMs, ...rest } = pressure
  return { blood_pressure: rest, blood_pressure_measured_at: isoInstant(measuredMs) }
}
