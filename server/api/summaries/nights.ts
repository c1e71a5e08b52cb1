import { type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import type { Source } from '../../sources/source.ts'
import type { UserView } from '../../sources/user-view.ts'
import type { DaysAsked } from './day-page.ts'
import { type Measured, measuredAsleep } from './night-means.ts'

/** Means over the time asleep, by their series. */
const MEANS = {
  avg_heart_rate_bpm: 'heart_rate',
  avg_hrv_sdnn_ms: 'heart_rate_variability_sdnn',
  avg_hrv_rmssd_ms: 'heart_rate_variability_rmssd',
  avg_respiratory_rate: 'respiratory_rate',
  avg_spo2_percent: 'oxygen_saturation',
} as const satisfies Record<string, SeriesName>

/** A mean of a night. */
export type Mean = keyof typeof MEANS

/** All means of a night. */
export const ALL_MEANS = Object.keys(MEANS) as Mean[]

/** A session of sleep; durations in seconds, null = not reported. */
export interface Session {
  startMs: number
  endMs: number
  /** The same to the microsecond, in epoch seconds. */
  start: number
  end: number
  /** Minutes east of UTC. */
  zone: number | null
  /** Asleep, or from start to end if that is not reported. */
  asleepS: number
  inBedS: number | null
  /** Awake, light, deep, REM. */
  stages: readonly (number | null)[]
  efficiency: number | null
  nap: boolean
  interruptions: number | null
}

/** The sleep of a local day. */
export interface Night {
  day: number
  source: Source
  sessions: Session[]
  /** Those that means are of: main sleep, or naps if there is nothing else. */
  counting: Session[]
  /** What was measured meanwhile, by mean. */
  measured: Partial<Record<Mean, Measured>>
}

/** The sessions of the best source of each day (contract 12.4). */
const SESSIONS_SQL = (order: 'asc' | 'desc') => `
  select n.day, n.source_id, date_part('epoch', s.start_at), date_part('epoch', s.end_at), s.zone_offset_min, s.asleep_s, s.in_bed_s,
         s.awake_s, s.light_s, s.deep_s, s.rem_s, s.efficiency_percent, s.is_nap is true, s.interruptions
  from (
    select n.*, dense_rank() over (order by n.day ${order}) as place
    from night_sessions($1, $2, $3) n
    where $5::int4[] is null or n.day = any ($5)
  ) n
  -- Their ids would do, for which the planner might read the whole table.
  join sleep s on s.id = n.id and s.source_id = any ($1) and s.end_at >= day_starts($2) and s.end_at < day_ends($3 - 1)
  where n.place <= $4
  order by n.day ${order}, s.start_at, s.end_at`

const SQL = { asc: SESSIONS_SQL('asc'), desc: SESSIONS_SQL('desc') }

type Numbers = (number | null)[]

type Columns = [
  days: number[],
  sourceIds: number[],
  starts: number[],
  ends: number[],
  zones: Numbers,
  asleep: Numbers,
  inBed: Numbers,
  awake: Numbers,
  light: Numbers,
  deep: Numbers,
  rem: Numbers,
  efficiencies: Numbers,
  naps: boolean[],
  interruptions: Numbers,
]

interface Part {
  days?: readonly number[] | null
  means?: readonly Mean[]
}

/**
 * Reads a page of local days with sleep, nearest first, in two statements; with `days` only these, and with `means` only these
 * means. A session belongs to the day on which it ended.
 */
export async function readNights(
  db: Database,
  view: UserView,
  asked: DaysAsked,
  { days = null, means = ALL_MEANS }: Part = {},
): Promise<Night[]> {
  const nights = nightsOf(
    view,
    await db.columns<Columns>(SQL[asked.backward ? 'desc' : 'asc'], [
      [...view.sources.keys()],
      asked.firstDay,
      asked.endDay,
      asked.most,
      days,
    ]),
  )
  const fields = new Map(means.map((mean) => [seriesByName.get(MEANS[mean])?.id as number, mean]))
  const stored = view.stored.filter(({ series, isDailyTotal }) => !isDailyTotal && fields.has(series.id))
  for (const [place, best] of (await measuredAsleep(db, stored, nights)).entries())
    for (const found of best) (nights[place] as Night).measured[fields.get(found.stored.series.id) as Mean] = found
  return nights
}

function nightsOf({ sources }: UserView, columns: Columns): Night[] {
  const [days, sourceIds] = columns
  const nights: Night[] = []
  for (const [at, day] of days.entries()) {
    let night = nights.at(-1)
    if (night?.day !== day) {
      night = { day, source: sources.get(sourceIds[at] as number) as Source, sessions: [], counting: [], measured: {} }
      nights.push(night)
    }
    night.sessions.push(sessionAt(columns, at))
  }
  for (const night of nights) {
    const main = night.sessions.filter(({ nap }) => !nap)
    night.counting = main.length > 0 ? main : night.sessions
  }
  return nights
}

function sessionAt(columns: Columns, at: number): Session {
  const [, , starts, ends, zones, asleep, inBed, awake, light, deep, rem, efficiencies, naps, interruptions] = columns
  const [start, end] = [starts[at] as number, ends[at] as number]
  const [startMs, endMs] = [Math.round(start * 1000), Math.round(end * 1000)]
  return {
    startMs,
    endMs,
    start,
    end,
    zone: zones[at] ?? null,
    asleepS: asleep[at] ?? (endMs - startMs) / 1000,
    inBedS: inBed[at] ?? null,
    stages: [awake[at] ?? null, light[at] ?? null, deep[at] ?? null, rem[at] ?? null],
    efficiency: efficiencies[at] ?? null,
    nap: naps[at] as boolean,
    interruptions: interruptions[at] ?? null,
  }
}
