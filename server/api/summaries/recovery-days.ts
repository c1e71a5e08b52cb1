import { recoveryPercent } from '../../catalogue/recovery-scores.ts'
import { type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { type Source, type SourceMetadata, sourceOf } from '../../sources/source.ts'
import type { Stored, UserView } from '../../sources/user-view.ts'
import { type DaysAsked, dateOf } from './day-page.ts'
import { type Night, readNights } from './nights.ts'
import { type Day, moveResting, type Part, REACH, restingAsleep } from './resting.ts'
import { tenths, whole } from './rounding.ts'
import { asleepOf, efficiencyOf } from './sleep-days.ts'
import { bestFirst } from './sources-of-day.ts'

/** A row of the recovery summary. */
export interface RecoveryRow {
  date: string
  source: SourceMetadata
  sleep_duration_seconds: number | null
  sleep_efficiency_percent: number | null
  resting_heart_rate_bpm: number | null
  avg_hrv_sdnn_ms: number | null
  avg_hrv_rmssd_ms: number | null
  avg_spo2_percent: number | null
  recovery_score: number | null
}

const seriesId = (name: SeriesName) => seriesByName.get(name)?.id as number

const RESTING_HEART_RATE = seriesId('resting_heart_rate')
/** Series for which values of the night take precedence over those of the day. */
const MEANS = {
  avg_hrv_sdnn_ms: seriesId('heart_rate_variability_sdnn'),
  avg_hrv_rmssd_ms: seriesId('heart_rate_variability_rmssd'),
  avg_spo2_percent: seriesId('oxygen_saturation'),
} as const
const FIELDS = Object.keys(MEANS) as (keyof typeof MEANS)[]
const USED = new Set<number>([RESTING_HEART_RATE, ...Object.values(MEANS)])

/** A score without a source belongs only to its provider, whose rank comes with it. */
const DAYS_SQL = `
  with score as materialized (
    select local_day(h.recorded_at, h.zone_offset_min) as day, h.recorded_at, h.value, h.source_id, h.provider
    from health_score h
    where h.user_id = $1 and h.category = 'recovery' and h.value is not null
      and h.recorded_at >= day_starts($5) and h.recorded_at < day_ends($6 - 1)
  ),
  owner as materialized (
    select p.provider, source_rank(p.provider, 'unknown') as rank
    from (select distinct c.provider from score c where c.source_id is null) p
  ),
  scored as materialized (
    select c.day, json_agg(json_build_array(c.value, c.source_id, c.provider, o.rank) order by c.recorded_at desc) as scores
    from score c
    left join owner o on o.provider = c.provider and c.source_id is null
    group by c.day
  )
  select d.day, d.parts, s.scores
  from sampled_days($2, $3, $4, $5, $6, $7, $8, false, array(select s.day from scored s)) d
  left join scored s on s.day = d.day
  order by d.day * case when $8 then -1 else 1 end`

/**
 * Reads a page of local days with a recovery score, a resting heart rate, variability or oxygen saturation, nearest first
 * (contract 12.6, decision D-29), in three statements. It takes more only where days are left empty, since their resting
 * heart rates belong to nights that end on others.
 */
export async function readRecovery(db: Database, view: UserView, asked: DaysAsked): Promise<RecoveryRow[]> {
  const known = { db, view, stored: view.stored.filter(({ series }) => USED.has(series.id)) }
  const rows: RecoveryRow[] = []
  for (let left = asked; rows.length < asked.most && left.firstDay < left.endDay; ) {
    const { found, further } = await readPart(known, left)
    rows.push(...found.slice(0, left.most))
    left = { ...left, ...further, most: asked.most - rows.length }
  }
  return rows
}

interface Known {
  db: Database
  view: UserView
  stored: Stored[]
}

/** Reads at least the first `most` days that have anything before resting heart rates move, and says what days it left. */
async function readPart(known: Known, asked: DaysAsked) {
  const { db, view, stored } = known
  const isResting = ({ series }: Stored) => series.id === RESTING_HEART_RATE
  const reach = stored.some(isResting) ? REACH : 0
  const most = asked.most + 2 * reach
  const days = await readDays(known, {
    ...asked,
    firstDay: asked.firstDay - reach,
    endDay: asked.endDay + reach,
    most,
  })
  const last = days.at(-1)?.day ?? 0
  let { firstDay, endDay } = asked
  if (days.length === most && asked.backward) firstDay = Math.max(firstDay, last + reach)
  else if (days.length === most) endDay = Math.min(endDay, last - reach + 1)
  const dates = datesNear(days, reach)
  const range = { firstDay: Math.min(...dates), endDay: Math.max(...dates) + 1, most: dates.length, backward: false }
  const nights = dates.length > 0 ? await readNights(db, view, range, { days: dates, means: FIELDS }) : []
  const moved = moveResting(days, await restingAsleep(db, stored.filter(isResting), nights))
  const byDay = new Map(nights.map((night) => [night.day, night]))
  const found = moved
    .filter(({ day, parts, scores }) => day >= firstDay && day < endDay && parts.length + scores.length > 0)
    .sort((a, b) => (asked.backward ? b.day - a.day : a.day - b.day))
    .map((day) => rowOf(day, byDay.get(day.day)))
  const further = asked.backward ? { endDay: firstDay } : { firstDay: endDay }
  return { found, further }
}

/** The days with samples or scores, and the dates of nights that their resting heart rates may lie in; each once. */
function datesNear(days: readonly Day[], reach: number): number[] {
  const around = Array.from({ length: 2 * reach + 1 }, (_, place) => place - reach)
  const isResting = ({ stored }: Part) => stored.series.id === RESTING_HEART_RATE
  const near = ({ day, parts }: Day) => (parts.some(isResting) ? around.map((far) => day + far) : [day])
  return [...new Set(days.flatMap(near))]
}

async function readDays({ db, view, stored }: Known, asked: DaysAsked): Promise<Day[]> {
  type Listed = [place: number, counted: 0 | 1, n: number, total: number]
  const rows = await db.rows<[day: number, parts: Listed[] | null, scores: Scored[] | null]>(DAYS_SQL, [
    view.userId,
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
    stored.map(({ source }) => source.rank),
    asked.firstDay,
    asked.endDay,
    asked.most,
    asked.backward,
  ])
  return rows.map(([day, listed, scored]) => ({
    day,
    parts: (listed ?? []).map(([place, , n, total]) => ({ stored: stored[place] as Stored, n, total })),
    scores: (scored ?? []).flatMap(([value, id, provider, rank]) => {
      // A source that came after the view was read has no score yet.
      const source = id === null ? providerItself(provider, rank ?? 0) : view.sources.get(id)
      return source ? [{ value, source }] : []
    }),
  }))
}

type Scored = [value: number, sourceId: number | null, provider: string, rank: number | null]

/** In place of a source, behind all of them. */
const providerItself = (provider: string, rank: number): Source =>
  sourceOf({ id: 2_147_483_647, uid: '', provider, device_model: '', source: '', device_type: 'unknown', rank })

/** A value of a day and the source it comes from; null without one. */
type Found = { value: number; source: Source } | null

/** Each metric is that of the best source that has it; the row names the best of these sources. */
function rowOf({ day, parts, scores }: Day, night: Night | undefined): RecoveryRow {
  const resting = meanOf(parts, RESTING_HEART_RATE, false) ?? meanOf(parts, RESTING_HEART_RATE, true)
  const ofNight = (field: keyof typeof MEANS): Found => {
    const asleep = night?.measured[field]
    const ofEither = (manual: boolean): Found =>
      asleep?.stored.isManual === manual
        ? { value: asleep.total / asleep.n, source: asleep.stored.source }
        : meanOf(parts, MEANS[field], manual)
    return ofEither(false) ?? ofEither(true)
  }
  const [sdnn, rmssd, spo2] = [ofNight('avg_hrv_sdnn_ms'), ofNight('avg_hrv_rmssd_ms'), ofNight('avg_spo2_percent')]
  const score = scoreOf(scores)
  const counting = [resting, sdnn, rmssd, spo2, score].flatMap((found) => found?.source ?? [])
  const asleep = night ? asleepOf(night) : null
  const tenth = (found: Found) => (found ? tenths(found.value) : null)
  return {
    date: dateOf(day),
    source: bestOf(counting, parts).metadata,
    sleep_duration_seconds: asleep === null ? null : Math.floor(asleep),
    sleep_efficiency_percent: night ? efficiencyOf(night) : null,
    resting_heart_rate_bpm: resting && whole(resting.value),
    avg_hrv_sdnn_ms: tenth(sdnn),
    avg_hrv_rmssd_ms: tenth(rmssd),
    avg_spo2_percent: tenth(spo2),
    recovery_score: score && recoveryPercent(score.source.provider, score.value),
  }
}

/** The mean over the day of what was measured of a series, or entered by hand, of the best source that has any. */
function meanOf(parts: readonly Part[], series: number, manual: boolean): Found {
  const own = parts.filter(({ stored }) => stored.series.id === series && stored.isManual === manual)
  const [best] = bestFirst(own)
  const part = own.find(({ stored }) => stored.source === best)
  return part ? { value: part.total / part.n, source: part.stored.source } : null
}

/** The latest score of the best source that has one. */
function scoreOf(scores: Day['scores']): Found {
  if (scores.length === 0) return null
  const best = bestOf(
    scores.map(({ source }) => source),
    [],
  )
  return scores.find(({ source }) => isSame(source, best)) ?? null
}

const isSame = (a: Source, b: Source) => a.id === b.id && a.provider === b.provider

/** The best source, and of equal ones the one with more samples; a provider itself comes after all of its sources. */
function bestOf(sources: readonly Source[], parts: readonly Part[]): Source {
  const named = new Set(sources.filter(({ uid }) => uid !== '').map(({ provider }) => provider))
  const distinct = sources.filter((one, place) => sources.findIndex((other) => isSame(one, other)) === place)
  const found = distinct
    .filter(({ uid, provider }) => uid !== '' || !named.has(provider))
    .map((source) => ({
      stored: { source },
      n: parts.filter(({ stored }) => isSame(stored.source, source)).reduce((sum, { n }) => sum + n, 0),
    }))
  return bestFirst(found)[0] as Source
}
