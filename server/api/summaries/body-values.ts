import { type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { bySourceRank } from '../../sources/source.ts'
import type { Stored, UserView } from '../../sources/user-view.ts'
import type { PressureReading } from './blood-pressure.ts'
import { tenths, tidied } from './rounding.ts'

/** Slowly changing values, each the last value of the first of these series that has any. */
const SLOW = {
  weight_kg: ['weight'],
  height_cm: ['height'],
  body_fat_percent: ['body_fat_percentage'],
  // Skeletal muscle mass only if the whole lean mass is unknown.
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

/** Last samples and readings with their times in epoch seconds, number and sum of means, years of age; places count from 1. */
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

type Found = [kind: 'latest' | 'mean' | 'pressure' | 'age', place: number, at: number, value: number]

interface Latest {
  ms: number
  value: number
  stored: Stored
}

/** What a body summary is made of. */
export interface Measured {
  /** The last sample of a series up to now; if several have that time, the one of the best source. */
  latest(name: SeriesName): Latest | undefined
  /** Of what was measured by any source; of what was entered by hand where nothing was. */
  mean(name: SeriesName): number | null
  systolic: PressureReading[]
  diastolic: PressureReading[]
  age: number | null
}

/** The series whose last samples, means of days and readings of hours are read. */
interface Series {
  latest: Stored[]
  mean: Stored[]
  pressure: Stored[]
}

/** Reads the measurements of a body up to `nowMs`, in one statement. */
export async function readMeasured(
  db: Database,
  view: UserView,
  nowMs: number,
  { average_period, latest_window_hours }: { average_period: number; latest_window_hours: number },
): Promise<Measured> {
  const of = (names: readonly SeriesName[]) => {
    const ids = new Set(names.map((name) => seriesByName.get(name)?.id))
    return view.stored.filter(({ series }) => ids.has(series.id))
  }
  const series = { latest: of([...Object.values(SLOW).flat(), ...RECENT]), mean: of(AVERAGED), pressure: of(PRESSURE) }
  const keys = (stored: readonly Stored[]) => [
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
  ]
  const rows = await db.rows<Found>(BODY_SQL, [
    ...keys(series.latest),
    nowMs / 1000,
    ...keys(series.mean),
    average_period,
    ...keys(series.pressure),
    latest_window_hours,
    view.userId,
  ])
  return measuredOf(rows, series)
}

function measuredOf(rows: readonly Found[], series: Series): Measured {
  const found = (kind: keyof Series) =>
    rows
      .filter(([one]) => one === kind)
      .map(([, place, at, value]) => ({ stored: series[kind][place - 1] as Stored, at: Number(at), value }))
  const named = <T extends { stored: Stored }>(all: T[], name: SeriesName) =>
    all.filter(({ stored }) => stored.series.type === name)
  const latest = found('latest')
  const means = found('mean')
  const readings = found('pressure').map(({ stored, at, value }) => ({
    ...{ sourceId: stored.source.id, ms: Math.round(at * 1000), value, stored },
  }))
  return {
    latest: (name) => {
      const [best] = named(latest, name).sort((a, b) => b.at - a.at || bySourceRank(a.stored.source, b.stored.source))
      return best && { ms: Math.round(best.at * 1000), value: tidied(best.value), stored: best.stored }
    },
    mean: (name) => {
      const own = named(means, name).filter(({ at }) => at > 0)
      const measured = own.filter(({ stored }) => !stored.isManual)
      const counting = measured.length > 0 ? measured : own
      const n = counting.reduce((sum, { at }) => sum + at, 0)
      return n > 0 ? counting.reduce((sum, { value }) => sum + value, 0) / n : null
    },
    systolic: named(readings, 'blood_pressure_systolic'),
    diastolic: named(readings, 'blood_pressure_diastolic'),
    age: rows.filter(([kind]) => kind === 'age').map(([, , at]) => Number(at))[0] ?? null,
  }
}

/** The last slowly changing values, and the source of the newest of them. */
export function slowChanging(measured: Measured) {
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
