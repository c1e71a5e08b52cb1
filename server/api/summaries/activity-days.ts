import { type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { bySourceRank, type Source, type SourceMetadata } from '../../sources/source.ts'
import type { Stored, UserView } from '../../sources/user-view.ts'
import { type Choice, ofAllSources, ofOneSource, type Part } from './activity-parts.ts'
import { type DaysAsked, dateOf } from './day-page.ts'
import { tidied, whole } from './rounding.ts'

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

/** The series of an activity summary, by their names in it. */
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

/** Metres of ascent per floor (contract 12.3). */
const FLOOR_METERS = 3

const DAYS_SQL = `select d.day, d.parts from sampled_days($1, $2, $3, $4, $5, $6, $7, $8, '{}') d`

/**
 * The number of minutes of each day on which heart rate and steps of a source reached each level (see minute_place), and
 * the ascent of workouts by day and source. A workout lasts at most 7 days.
 */
const MINUTES_SQL = `
  select 'heartRate', m.day, null::int4, m.reached::float8[]
  from effort_places($1, $2) e
  cross join lateral minutes_reached($3, $4, $5, $6, $7, $8, $17, e) m
  union all
  select 'steps', m.day, null, m.reached::float8[]
  from minutes_reached($9, $10, $11, $12, $13, $14, $17, array[1, 2]) m
  union all
  select 'ascent', local_day(w.end_at, w.zone_offset_min), w.source_id, array[sum(w.elevation_gain_m)]
  from workout w
  where w.user_id = $1
    and w.elevation_gain_m is not null
    and w.start_at < day_ends($16 - 1)
    and w.start_at >= day_starts($15) - interval '7 days'
    and w.end_at >= day_starts($15)
  group by 2, 3`

interface Day extends Choice {
  day: number
  /** The parts from the database, before daily totals change what counts. */
  found: Part[]
}

interface Asked extends DaysAsked {
  /** First day of the whole range: the age on that day sets the levels of effort. */
  startDay: number
  merged: boolean
  explain: boolean
}

/**
 * Reads a page of local days, nearest first: at most two statements, however many days. Which source counts is decided
 * per day, with `merged` per series and quarter hour (contract 12.1).
 */
export async function readActivity(db: Database, view: UserView, asked: Asked): Promise<ActivityRow[]> {
  // If some are equal, the database takes the first.
  const stored = view.stored
    .filter(({ series }) => USED.has(series.id))
    .sort((a, b) => bySourceRank(a.source, b.source))
  type Listed = [place: number, counted: 0 | 1, n: number, total: number, lowest: number, highest: number]
  const rows = await db.rows<[day: number, parts: Listed[]]>(DAYS_SQL, [
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
    stored.map(({ source }) => source.rank),
    asked.firstDay,
    asked.endDay,
    asked.most,
    asked.backward,
    asked.merged,
  ])
  const choose = asked.merged ? ofAllSources : ofOneSource
  const days = rows.map(([day, listed]): Day => {
    const found = listed.map(([place, counted, n, total, lowest, highest]) => ({
      ...{ stored: stored[place] as Stored, counted: counted === 1, n, total, lowest, highest },
    }))
    return { day, found, ...choose(found) }
  })
  if (days.length === 0) return []
  const minutes = await readMinutes(db, view, { stored, days }, asked)
  return days.map((day) => {
    const row = rowOf(day, minutes, asked.merged)
    return asked.explain ? { ...row, sources: explained(day, asked.merged) } : row
  })
}

/** By day: numbers of minutes that reached each level, null if unknown; metres of ascent by source, best first. */
interface Minutes {
  heartRate: Map<number, number[] | null>
  steps: Map<number, number[] | null>
  ascent: Map<number, Map<number, number>>
}

async function readMinutes(
  db: Database,
  { userId, sources }: UserView,
  { stored, days }: { stored: readonly Stored[]; days: Day[] },
  { startDay, merged }: Asked,
): Promise<Minutes> {
  const counting = (series: number) => {
    const rivals = stored.filter((one) => one.series.id === series && !one.isDailyTotal)
    const own = countingOn(days, series, merged)
    return [
      rivals.map(({ source }) => source.id),
      rivals.map(({ seriesId }) => seriesId),
      rivals.map(({ source }) => source.rank),
      own.map(({ stored }) => rivals.indexOf(stored) + 1),
      own.map(({ inPart }) => inPart),
      own.map(({ days }) => multirange(days)),
    ]
  }
  const numbers = days.map(({ day }) => day)
  type Counted = [kind: 'heartRate' | 'steps', day: number, source: null, reached: number[] | null]
  type Climbed = [kind: 'ascent', day: number, source: number, meters: [number]]
  const rows = await db.rows<Counted | Climbed>(MINUTES_SQL, [
    userId,
    startDay,
    ...counting(HEART_RATE),
    ...counting(SERIES.steps),
    Math.min(...numbers),
    Math.max(...numbers) + 1,
    merged,
  ])
  const minutes: Minutes = { heartRate: new Map(), steps: new Map(), ascent: new Map() }
  const climbed: { day: number; source: Source; meters: number }[] = []
  for (const [kind, day, id, values] of rows) {
    const source = sources.get(id ?? 0)
    if (kind !== 'ascent') minutes[kind].set(day, together(minutes[kind].get(day), values))
    else if (source) climbed.push({ day, source, meters: values[0] })
  }
  for (const { day, source, meters } of climbed.sort((a, b) => bySourceRank(a.source, b.source)))
    minutes.ascent.set(day, (minutes.ascent.get(day) ?? new Map<number, number>()).set(source.id, meters))
  return minutes
}

/** Minutes of several series; null if those of one are unknown. */
function together(some: number[] | null | undefined, more: number[] | null): number[] | null {
  if (some === undefined) return more
  return some && more && some.map((one, place) => one + (more[place] as number))
}

/**
 * The stored series of a type whose samples count, whatever the totals are: the days on which all samples count, and those
 * on which only some do.
 */
function countingOn(days: readonly Day[], series: number, merged: boolean) {
  const whole = new Map<Stored, number[]>()
  const inPart = new Map<Stored, number[]>()
  for (const { day, source, found } of days) {
    const own = found.filter(
      ({ stored }) => stored.series.id === series && !stored.isDailyTotal && (merged || stored.source === source),
    )
    for (const { stored, counted } of own) {
      if (!counted) continue
      const of = own.some((part) => part.stored === stored && !part.counted) ? inPart : whole
      const days = of.get(stored)
      if (days) days.push(day)
      else of.set(stored, [day])
    }
  }
  const listed = (of: Map<Stored, number[]>, inPart: boolean) =>
    [...of].map(([stored, days]) => ({ stored, inPart, days }))
  return [...listed(whole, false), ...listed(inPart, true)]
}

/** Days as an int4multirange; consecutive ones, in either direction, as one range: the database takes long to join them. */
function multirange(days: readonly number[]): string {
  const ranges: [low: number, high: number][] = []
  for (const day of days) {
    const last = ranges.at(-1)
    if (last?.[1] === day) last[1] += 1
    else if (last?.[0] === day + 1) last[0] -= 1
    else ranges.push([day, day + 1])
  }
  return `{${ranges.map((range) => `[${range})`).join()}}`
}

/** The minutes that reached one level but not the next. */
const between = (reached: number[] | null | undefined) =>
  reached?.map((minutes, place) => minutes - (reached[place + 1] ?? 0)) ?? []

function rowOf(day: Day, minutes: Minutes, merged: boolean): ActivityRow {
  const counted = day.parts.filter((part) => part.counted)
  const exact = amounts(counted)
  const { steps, distance_meters, floors_climbed, active_calories_kcal, basal_calories_kcal, active_minutes } = merged
    ? tidy(exact)
    : exact
  const ascent = ascentOf(day, minutes, merged)
  const [still, active] = between(minutes.steps.get(day.day))
  const [light, moderate, vigorous] = between(minutes.heartRate.get(day.day))
  return {
    date: dateOf(day.day),
    source: day.source.metadata,
    steps: rounded(steps),
    distance_meters,
    floors_climbed: rounded(floors_climbed) ?? floorsOf(ascent, merged),
    elevation_meters: merged ? tidied(ascent) : ascent,
    active_calories_kcal,
    total_calories_kcal: merged
      ? burned(active_calories_kcal, basal_calories_kcal)
      : sumOfKnown(active_calories_kcal, basal_calories_kcal),
    active_minutes: rounded(active_minutes) ?? active ?? null,
    sedentary_minutes: sedentary(still, active, rounded(active_minutes)),
    intensity_minutes:
      light === undefined || moderate === undefined || vigorous === undefined ? null : { light, moderate, vigorous },
    heart_rate: heartRate(counted),
  }
}

/**
 * The ascent of the row's source. With `merged`, of the best source that has one, since two devices may have recorded the
 * same workout: sources that measured anything else on the day come first, then apps that only track workouts.
 */
function ascentOf({ day, source, sources }: Day, minutes: Minutes, merged: boolean): number | null {
  const ascents = minutes.ascent.get(day)
  if (!ascents) return null
  const best = (merged ? sources : [source]).find(({ id }) => ascents.has(id))?.id
  const [first] = ascents.values()
  return best === undefined ? ((merged ? first : null) ?? null) : (ascents.get(best) as number)
}

/** A level run has 0 floors; with `merge=none` they are unknown, as before. */
function floorsOf(ascent: number | null, merged: boolean): number | null {
  if (ascent === null || (ascent === 0 && !merged)) return null
  return Math.floor((merged ? tidied(ascent) : ascent) / FLOOR_METERS)
}

/** All energy of a day; null if the energy at rest is unknown, since it is most of the total. */
const burned = (active: number | null, basal: number | null) => (basal === null ? null : tidied(basal + (active ?? 0)))

/** The total that `merge=none` returns. */
const sumOfKnown = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b)

const DAY_MINUTES = 1_440

/**
 * Minutes of few steps. A platform counts minutes as active that have few steps, such as those of a ride: together they are
 * no more than the day has.
 */
function sedentary(still: number | undefined, active: number | undefined, told: number | null): number | null {
  if (still === undefined) return null
  // 25 hours may have steps.
  const minutes = Math.max(DAY_MINUTES, still + (active ?? 0))
  return Math.max(0, Math.min(still, minutes - (told ?? 0)))
}

const rounded = (value: number | null) => (value === null ? null : Math.round(value))

const ofHeart = (parts: Part[]) => parts.filter(({ stored }) => stored.series.id === HEART_RATE)

function heartRate(counted: Part[]): ActivityRow['heart_rate'] {
  const parts = ofHeart(counted)
  if (parts.length === 0) return null
  const sum = (of: (part: Part) => number) => parts.reduce((all, part) => all + of(part), 0)
  return {
    avg_bpm: whole(sum(({ total }) => total) / sum(({ n }) => n)),
    max_bpm: Math.round(Math.max(...parts.map(({ highest }) => highest))),
    min_bpm: Math.round(Math.min(...parts.map(({ lowest }) => lowest))),
  }
}

type Amounts = Record<keyof typeof SERIES, number | null>

const NAMES = new Map(Object.entries(SERIES).map(([name, id]) => [id, name as keyof Amounts]))
const NOTHING = Object.fromEntries(Object.keys(SERIES).map((name) => [name, null])) as Amounts

/** The sums of parts by series; null without any part of it. */
function amounts(parts: readonly Part[]): Amounts {
  const sums = { ...NOTHING }
  for (const { stored, total } of parts) {
    const name = NAMES.get(stored.series.id)
    if (name) sums[name] = (sums[name] ?? 0) + total
  }
  return sums
}

function tidy(sums: Amounts): Amounts {
  const tidy = { ...NOTHING }
  for (const name of NAMES.values()) tidy[name] = tidied(sums[name])
  return tidy
}

/** Maximum of sources listed for a day: their number depends on what a phone sends. */
export const SOURCES_EXPLAINED = 20

/** The sources of a day, best first: what of each counts, what does not, and how much of both was entered by hand. */
function explained({ sources, parts }: Day, merged: boolean) {
  const shown = (chosen: Part[]) => ({
    ...(merged ? tidy(amounts(chosen)) : amounts(chosen)),
    heart_rate_samples: ofHeart(chosen).reduce((sum, { n }) => sum + n, 0),
  })
  const split = (own: Part[]) => ({
    counted: shown(own.filter(({ counted }) => counted)),
    dropped: shown(own.filter(({ counted }) => !counted)),
  })
  return sources.slice(0, SOURCES_EXPLAINED).map((source) => {
    const own = parts.filter(({ stored }) => stored.source === source)
    const manual = own.filter(({ stored }) => stored.isManual)
    return {
      data_source_id: source.uid,
      source: source.metadata,
      used: own.some(({ counted }) => counted),
      ...split(own),
      ...(merged && manual.length > 0 && { manual: split(manual) }),
    }
  })
}
