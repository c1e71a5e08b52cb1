import { type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { bySourceRank, type Source, type SourceMetadata } from '../../sources/source.ts'
import type { Stored, UserView } from '../../sources/user-view.ts'
import { type DaysAsked, dateOf } from './day-page.ts'

/** A row of the activity summary. */
export interface ActivityRow {
  date: string
  source: SourceMetadata
  steps: number | null
  distance_meters: number | null
  floors_climbed: number | null
  elevation_meters: number | null
  active_calories_kcal: number | null
  total_calories_kcal: number | null
  active_minutes: number | null
  sedentary_minutes: number | null
  intensity_minutes: { light: number; moderate: number; vigorous: number } | null
  heart_rate: { avg_bpm: number; max_bpm: number; min_bpm: number } | null
  sources?: unknown[]
}

const seriesId = (name: SeriesName) => seriesByName.get(name)?.id as number

/** The series an activity summary is made of, by what they are called in it. */
const SERIES = {
  steps: seriesId('steps'),
  distance_meters: seriesId('distance_walking_running'),
  floors_climbed: seriesId('flights_climbed'),
  active_calories_kcal: seriesId('energy'),
  basal_calories_kcal: seriesId('basal_energy'),
  active_minutes: seriesId('active_time'),
} as const
const HEART_RATE = seriesId('heart_rate')
const USED = new Set<number>([...Object.values(SERIES), HEART_RATE])

/** Metres of ascent that are a floor (contract 12.3). */
const FLOOR_METERS = 3

const DAYS_SQL = `select d.day, d.parts from sampled_days($1, $2, $3, $4, $5, $6, $7, $8, '{}') d`

/**
 * On how many minutes of days heart rate and steps of a source reached what (see minute_place), and the ascent of workouts
 * by day and source.
 */
const MINUTES_SQL = `
  select 'heart_rate', m.day, null::int4, m.reached::float8[]
  from effort_places($1, $2) e
  cross join lateral minutes_reached(${HEART_RATE}::int2, $3, $4, $5, $6, e) m
  union all
  select 'steps', m.day, null, m.reached::float8[]
  from minutes_reached(${SERIES.steps}::int2, $7, $8, $9, $10, array[1, 2]) m
  union all
  select 'ascent', local_day(w.end_at, w.zone_offset_min), w.source_id, array[sum(w.elevation_gain_m)]
  from workout w
  where w.source_id = any ($11::int4[])
    and w.elevation_gain_m is not null
    and w.start_at < day_ends($13 - 1)
    and w.end_at >= day_starts($12)
  group by 2, 3`

/** What a series of a source adds up to on a day, and whether it counts. */
interface Part {
  stored: Stored
  counted: boolean
  n: number
  total: number
  lowest: number
  highest: number
}

interface Day {
  day: number
  /** As the database tells them. */
  found: Part[]
  /** Those, and what counts in the answer. */
  parts: Part[]
  /** The best of those that have anything on the day. */
  source: Source
}

interface Asked extends DaysAsked {
  /** First day of the whole range: the age on it decides what is an effort. */
  startDay: number
  merged: boolean
  explain: boolean
}

/**
 * Reads a page of local days, nearest first: at most two statements, however many days. Which source counts is decided
 * per day by the rank of sources that the view holds (contract 12.1).
 */
export async function readActivity(db: Database, view: UserView, asked: Asked): Promise<ActivityRow[]> {
  const stored = view.stored.filter(({ series }) => USED.has(series.id))
  const sources = [...new Set(stored.map(({ source }) => source))].sort(bySourceRank)
  const rank = new Map(sources.map((source, place) => [source, place]))
  type Listed = [place: number, counted: 0 | 1, n: number, total: number, lowest: number, highest: number]
  const rows = await db.rows<[day: number, parts: Listed[]]>(DAYS_SQL, [
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
    stored.map(({ source }) => rank.get(source) as number),
    asked.firstDay,
    asked.endDay,
    asked.most,
    asked.backward,
    asked.merged,
  ])
  const days = rows.map(([day, listed]): Day => {
    const found = listed.map(([place, counted, n, total, lowest, highest]) => ({
      ...{ stored: stored[place] as Stored, counted: counted === 1, n, total, lowest, highest },
    }))
    const source = found.map((part) => part.stored.source).sort(bySourceRank)[0] as Source
    const choose = asked.merged ? mergedParts : partsOf(source)
    return { day, source, found, parts: choose(found).sort((a, b) => bySourceRank(a.stored.source, b.stored.source)) }
  })
  if (days.length === 0) return []
  const minutes = await readMinutes(db, view, { sources, days }, asked)
  return days.map((day) => {
    const row = rowOf(day, minutes, asked.merged)
    return asked.explain ? { ...row, sources: explained(day) } : row
  })
}

/** Everything of one source; of a series that has a daily total only that. */
const partsOf =
  (source: Source) =>
  (parts: Part[]): Part[] => {
    const totals = new Set(parts.filter((part) => part.stored.isDailyTotal).map(keyOf))
    return parts.map((part) => ({
      ...part,
      counted: part.stored.source === source && (part.stored.isDailyTotal || !totals.has(keyOf(part))),
    }))
  }

/**
 * The quarter hours that the database chose, and what daily totals make of them: that of the best source of a series
 * replaces its own samples, and without any of these it stands for the whole day. Other totals count for nothing, since
 * nobody knows which part of them is new.
 */
function mergedParts(parts: Part[]): Part[] {
  const leaders = new Map<number, Source>()
  for (const { stored } of parts) {
    const leader = leaders.get(stored.series.id)
    if (!leader || bySourceRank(stored.source, leader) < 0) leaders.set(stored.series.id, stored.source)
  }
  const led = (part: Part) => leaders.get(part.stored.series.id) === part.stored.source
  const ofLeader = parts.filter(led)
  const withTotal = new Set(ofLeader.filter(({ stored }) => stored.isDailyTotal).map(({ stored }) => stored.series.id))
  const withSamples = new Set(
    ofLeader.filter(({ stored }) => !stored.isDailyTotal).map(({ stored }) => stored.series.id),
  )
  return parts.map((part) => {
    const { series, isDailyTotal } = part.stored
    if (isDailyTotal) return { ...part, counted: led(part) }
    if (led(part)) return { ...part, counted: part.counted && !withTotal.has(series.id) }
    return { ...part, counted: part.counted && withSamples.has(series.id) }
  })
}

const keyOf = ({ stored }: Part) => `${stored.source.id} ${stored.series.id}`

/** Numbers of minutes by kind and day, null when they are not known, and metres of ascent by day and source. */
type Minutes = Map<string, number[] | null>

async function readMinutes(
  db: Database,
  view: UserView,
  { sources, days }: { sources: Source[]; days: Day[] },
  { startDay, merged }: Asked,
): Promise<Minutes> {
  const counting = (series: number) => {
    const rivals = sources.filter((source) =>
      view.stored.some((one) => one.source === source && one.seriesId === series),
    )
    const own = days.flatMap((day) => countingOn(day, series, merged))
    return [
      own.map(({ day }) => day),
      own.map(({ source }) => source.id),
      own.map(({ inPart }) => inPart),
      rivals.map(({ id }) => id),
    ]
  }
  const numbers = days.map(({ day }) => day)
  const rows = await db.rows<[kind: string, day: number, source: number | null, values: number[] | null]>(MINUTES_SQL, [
    view.userId,
    startDay,
    ...counting(HEART_RATE),
    ...counting(SERIES.steps),
    sources.map(({ id }) => id),
    Math.min(...numbers),
    Math.max(...numbers) + 1,
  ])
  const minutes: Minutes = new Map()
  for (const [kind, day, source, values] of rows) {
    const key = `${kind} ${day} ${source ?? ''}`
    const others = minutes.get(key)
    const sum = others && values && others.map((one, place) => one + (values[place] as number))
    minutes.set(key, others === undefined ? values : (sum ?? null))
  }
  return minutes
}

/** The sources of which samples of a series count on a day, whatever totals say, and whether only some of them do. */
function countingOn({ day, source, found }: Day, series: number, merged: boolean) {
  const own = found.filter(({ stored }) => stored.seriesId === series && (merged || stored.source === source))
  const dropped = new Set(own.filter(({ counted }) => !counted).map(({ stored }) => stored))
  return own
    .filter(({ counted }) => counted)
    .map(({ stored }) => ({ day, source: stored.source, inPart: dropped.has(stored) }))
}

/** What lies between a number of minutes that reached something, and the number of those that reached the next. */
const between = (reached: number[] | null | undefined) =>
  reached?.map((minutes, place) => minutes - (reached[place + 1] ?? 0)) ?? []

function rowOf({ day, parts, source }: Day, minutes: Minutes, merged: boolean): ActivityRow {
  const counted = parts.filter((part) => part.counted)
  const { steps, distance_meters, floors_climbed, active_calories_kcal, basal_calories_kcal, active_minutes } =
    amounts(counted)
  // Two devices may have recorded one workout: with `merged` the best that has any tells.
  const tellers = merged ? [...new Set(parts.map(({ stored }) => stored.source))] : [source]
  const [ascent = null] = tellers.flatMap(({ id }) => minutes.get(`ascent ${day} ${id}`) ?? [])
  const [still, active] = between(minutes.get(`steps ${day} `))
  const [light, moderate, vigorous] = between(minutes.get(`heart_rate ${day} `))
  const calories = [active_calories_kcal, basal_calories_kcal].filter((one) => one !== null)
  return {
    date: dateOf(day),
    source: source.metadata,
    steps: rounded(steps),
    distance_meters,
    floors_climbed: rounded(floors_climbed) ?? (ascent ? Math.floor(ascent / FLOOR_METERS) : null),
    elevation_meters: ascent,
    active_calories_kcal,
    total_calories_kcal: calories.length > 0 ? calories.reduce((sum, value) => sum + value, 0) : null,
    active_minutes: rounded(active_minutes) ?? active ?? null,
    sedentary_minutes: still ?? null,
    intensity_minutes:
      light === undefined || moderate === undefined || vigorous === undefined ? null : { light, moderate, vigorous },
    heart_rate: heartRate(counted),
  }
}

const rounded = (value: number | null) => (value === null ? null : Math.round(value))

const ofHeart = (parts: Part[]) => parts.filter(({ stored }) => stored.seriesId === HEART_RATE)

function heartRate(counted: Part[]): ActivityRow['heart_rate'] {
  const parts = ofHeart(counted)
  if (parts.length === 0) return null
  const sum = (of: (part: Part) => number) => parts.reduce((all, part) => all + of(part), 0)
  return {
    avg_bpm: Math.round(sum(({ total }) => total) / sum(({ n }) => n)),
    max_bpm: Math.round(Math.max(...parts.map(({ highest }) => highest))),
    min_bpm: Math.round(Math.min(...parts.map(({ lowest }) => lowest))),
  }
}

type Amount = keyof typeof SERIES

/** What parts add up to by series; null when none is of the series. */
function amounts(parts: Part[]): Record<Amount, number | null> {
  const sums = {} as Record<Amount, number | null>
  for (const name of Object.keys(SERIES) as Amount[]) {
    const own = parts.filter(({ stored }) => stored.series.id === SERIES[name])
    sums[name] = own.length > 0 ? own.reduce((sum, { total }) => sum + total, 0) : null
  }
  return sums
}

/** Sources of a day that are explained: a phone decides how many there are. */
export const SOURCES_EXPLAINED = 20

/** The sources of a day, best first, with what of them counts and what does not. */
function explained({ parts }: Day) {
  const sources = [...new Set(parts.map(({ stored }) => stored.source))].slice(0, SOURCES_EXPLAINED)
  return sources.map((source) => {
    const own = parts.filter(({ stored }) => stored.source === source)
    const told = (counted: boolean) => {
      const chosen = own.filter((part) => part.counted === counted)
      return { ...amounts(chosen), heart_rate_samples: ofHeart(chosen).reduce((sum, { n }) => sum + n, 0) }
    }
    return {
      data_source_id: source.uid,
      source: source.metadata,
      used: own.some(({ counted }) => counted),
      counted: told(true),
      dropped: told(false),
    }
  })
}
