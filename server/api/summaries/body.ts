import { Type } from 'typebox'
import { type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { route } from '../../http/route.ts'
import { Instant, Nullable, SourceMetadata, UserPath } from '../../http/schema.ts'
import { bySourceRank } from '../../sources/source.ts'
import { type Stored, type UserView, userView } from '../../sources/user-view.ts'
import { DAY_MS, isoInstant } from '../../time.ts'
import { type Pressure, type PressureReading, pressureOf } from './blood-pressure.ts'
import { tidied } from './rounding.ts'
import { tenths } from './sleep-days.ts'

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
    const measured = await readBody(db, view, nowMs, query)
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
        ...told(pressure),
      },
    }
  },
)

const SLOW = {
  weight_kg: ['weight'],
  height_cm: ['height'],
  body_fat_percent: ['body_fat_percentage'],
  // The muscles of the skeleton only where the whole lean mass is not known.
  muscle_mass_kg: ['lean_body_mass', 'skeletal_muscle_mass'],
  bmi: ['body_mass_index'],
} as const satisfies Record<string, readonly SeriesName[]>

const RECENT: readonly SeriesName[] = ['body_temperature', 'skin_temperature']
const AVERAGED: readonly SeriesName[] = [
  'resting_heart_rate',
  'heart_rate_variability_sdnn',
  'heart_rate_variability_rmssd',
]
const PRESSURE: readonly SeriesName[] = ['blood_pressure_systolic', 'blood_pressure_diastolic']

/** Times in epoch seconds; places count from 1. */
const BODY_SQL = `
  select 'latest' as kind, k.place, date_part('epoch', l.ts) as at, l.value
  from unnest($1::int4[], $2::int2[]) with ordinality k (source_id, series_id, place)
  cross join lateral latest_sample(k.source_id, k.series_id, to_timestamp($3) + interval '1 microsecond') l
  union all
  select 'mean', k.place, v.n, v.total
  from unnest($4::int4[], $5::int2[]) with ordinality k (source_id, series_id, place)
  cross join lateral span_sums(k.source_id, k.series_id, to_timestamp($3) - make_interval(days => $6), to_timestamp($3)) v
  union all
  select 'pressure', k.place, date_part('epoch', s.ts), s.value
  from unnest($7::int4[], $8::int2[]) with ordinality k (source_id, series_id, place)
  join sample s on s.source_id = k.source_id and s.series_id = k.series_id
    and s.ts >= greatest(to_timestamp($3) - make_interval(hours => $9), rollup_floor()) and s.ts <= to_timestamp($3)
    and (s.ts >= raw_floor() or not archived_time(s.source_id, s.series_id) @> s.ts)
  union all
  select 'age', 0, extract(year from age(to_timestamp($3)::date, p.birth_date)), 0
  from personal_record p
  where p.user_id = $10 and p.birth_date is not null`

interface Latest {
  ms: number
  value: number
  stored: Stored
}

interface Measured {
  /** The last sample of a series up to now; of several at one time that of the best source. */
  latest(name: SeriesName): Latest | undefined
  mean(name: SeriesName): number | null
  systolic: PressureReading[]
  diastolic: PressureReading[]
  age: number | null
}

async function readBody(
  db: Database,
  view: UserView,
  nowMs: number,
  { average_period, latest_window_hours }: { average_period: number; latest_window_hours: number },
): Promise<Measured> {
  const of = (names: readonly SeriesName[]) => {
    const ids = new Set(names.map((name) => seriesByName.get(name)?.id))
    return view.stored.filter(({ series, isDailyTotal }) => ids.has(series.id) && !isDailyTotal)
  }
  const single = of([...Object.values(SLOW).flat(), ...RECENT])
  const averaged = of(AVERAGED)
  const pressure = of(PRESSURE)
  const keys = (stored: readonly Stored[]) => [
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
  ]
  const rows = await db.rows<[kind: string, place: number, at: number, value: number]>(BODY_SQL, [
    ...keys(single),
    nowMs / 1000,
    ...keys(averaged),
    average_period,
    ...keys(pressure),
    latest_window_hours,
    view.userId,
  ])
  const told = (kind: string, stored: readonly Stored[]) =>
    rows
      .filter(([one]) => one === kind)
      .map(([, place, at, value]) => ({ stored: stored[place - 1] as Stored, at: Number(at), value }))
  const named = <T extends { stored: Stored }>(all: T[], name: SeriesName) =>
    all.filter(({ stored }) => stored.series.type === name)
  const latest = told('latest', single)
  const means = told('mean', averaged)
  const readings = told('pressure', pressure).map(({ stored, at, value }) => ({
    ...{ sourceId: stored.source.id, ms: Math.round(at * 1000), value, stored },
  }))
  return {
    latest: (name) => {
      const [best] = named(latest, name).sort((a, b) => b.at - a.at || bySourceRank(a.stored.source, b.stored.source))
      return best && { ms: Math.round(best.at * 1000), value: tidied(best.value), stored: best.stored }
    },
    mean: (name) => {
      const own = named(means, name)
      const n = own.reduce((sum, { at }) => sum + at, 0)
      return n > 0 ? own.reduce((sum, { value }) => sum + value, 0) / n : null
    },
    systolic: named(readings, 'blood_pressure_systolic'),
    diastolic: named(readings, 'blood_pressure_diastolic'),
    age: rows.filter(([kind]) => kind === 'age').map(([, , at]) => Number(at))[0] ?? null,
  }
}

/** The last values of what changes slowly, and the source of the newest of them. */
function slowChanging(measured: Measured) {
  const found = Object.entries(SLOW).map(([field, names]) => {
    const one = names.map((name) => measured.latest(name)).find((latest) => latest !== undefined)
    return [field, one] as const
  })
  const values = Object.fromEntries(found.map(([field, one]) => [field, one?.value ?? null])) as Record<
    keyof typeof SLOW,
    number | null
  >
  if (values.bmi === null && values.weight_kg !== null && values.height_cm)
    values.bmi = tenths(values.weight_kg / (values.height_cm / 100) ** 2)
  const [newest] = found
    .flatMap(([, one]) => one ?? [])
    .sort((a, b) => b.ms - a.ms || bySourceRank(a.stored.source, b.stored.source))
  return { values, source: newest?.stored.source.metadata ?? NO_SOURCE }
}

const NO_SOURCE = { provider: 'unknown', source: null, device: null, device_type: null, device_name: null }

const rounded = (value: number | null) => (value === null ? null : Math.round(value))
const toTenths = (value: number | null) => (value === null ? null : tenths(value))

function told(pressure: Pressure | null) {
  if (!pressure) return { blood_pressure: null, blood_pressure_measured_at: null }
  const { measuredMs, ...rest } = pressure
  return { blood_pressure: rest, blood_pressure_measured_at: isoInstant(measuredMs) }
}
