// Sleep and recovery of a person's days, recomputed from what was uploaded (contract 12.4, 12.6).
import { datedPoints, sum } from './activity.ts'
import { competing } from './competing.ts'
import { DAY, type Facts, grouped, type Point, QUARTER, type Source } from './facts.ts'
import { better, type Priorities } from './ranking.ts'
import { dateOf, type Session, sessionsOf } from './sessions.ts'

type Row = Record<string, unknown>

interface Night {
  source: Source
  mains: Session[]
  naps: Session[]
  means: Record<string, Mean | null>
}

/** A mean, and who measured or entered what it is of. */
interface Mean {
  value: number
  source: Source
  manual: boolean
}

const MEANS = ['heart_rate', 'sdnn', 'rmssd', 'breath', 'spo2']

/** The night of each local day that has one. */
export function nightsOf(facts: Facts, priorities: Priorities): Map<number, Night> {
  const counting = sessionsOf(facts.stages).filter(({ isCovered }) => !isCovered)
  const nights = new Map<number, Night>()
  for (const [day, sessions] of grouped(counting, dateOf)) {
    const mains = sessions.filter(({ isNap }) => !isNap)
    const slept = grouped(mains, ({ source }) => source)
    const total = (source: Source) => sum((slept.get(source) ?? []).map(({ asleep }) => asleep))
    const rivals = mains.length > 0 ? competing(mains) : new Set(sessions.map(({ source }) => source))
    const best = [...rivals].sort((a, b) => better(priorities, a, b, total))[0] as Source
    const own = sessions.filter(({ source }) => source === best).sort((a, b) => a.start - b.start || a.end - b.end)
    const night = { source: best, mains: own.filter((one) => !one.isNap), naps: own.filter((one) => one.isNap) }
    const spans = night.mains.length > 0 ? night.mains : night.naps
    const means = MEANS.map((series) => [series, meanWithin(facts.points, series, best, { spans, priorities })])
    nights.set(day, { ...night, means: Object.fromEntries(means) })
  }
  return nights
}

/**
 * Mean of what one source has in the sessions: of what was measured before what was entered, then that of the night itself,
 * then the best of its provider, then the best.
 */
function meanWithin(
  points: readonly Point[],
  series: string,
  slept: Source,
  { spans, priorities }: { spans: readonly Session[]; priorities: Priorities },
): Mean | null {
  // At the end of a night its own source says what it measured in all of it.
  const lies = (one: Point) =>
    spans.some(({ start, end }) => one.ms >= start && (one.ms < end || (one.ms === end && one.source === slept)))
  const within = points.filter((one) => one.series === series && lies(one))
  for (const manual of [false, true]) {
    const told = within.filter(({ kind }) => (kind === 'manual') === manual)
    const provided = told.filter(({ source }) => source.shown.provider === slept.shown.provider)
    const own = told.filter(({ source }) => source === slept)
    const source = own.length > 0 ? slept : (bestOf(provided, priorities) ?? bestOf(told, priorities))
    if (source) return { value: meanOf(told, source, series), source, manual }
  }
  return null
}

/** The mean of what a source has, as it is shown. */
function meanOf(points: readonly Point[], source: Source, series: string): number {
  const values = points.filter((point) => point.source === source).map(({ value }) => value)
  return rounded(sum(values) / values.length, series === 'heart_rate' || series === 'resting' ? 0 : 1)
}

const rounded = (value: number, places: number) => Math.round(Number((value * 10 ** places).toFixed(7))) / 10 ** places

const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

const offset = (minutes: number | null) => {
  if (minutes === null) return null
  const text = (part: number) => String(part).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${text(Math.floor(Math.abs(minutes) / 60))}:${text(Math.abs(minutes) % 60)}`
}

const minutes = (seconds: number | null) => (seconds === null ? null : Math.floor(seconds / 60))
const span = ({ start, end }: Session) => (end - start) / 1000

/** Sums of what is known; null when nothing is. */
const known = (values: readonly (number | null)[]) => {
  const numbers = values.filter((one) => one !== null)
  return numbers.length === 0 ? null : sum(numbers)
}

const efficiency = (one: Session) => (one.inBed > 0 ? rounded((one.asleep / one.inBed) * 100, 2) : null)

/** Time asleep (s) and efficiency of a night. */
function lengthOf({ mains }: Night) {
  const asleep = mains.length === 0 ? null : sum(mains.map((one) => one.asleep))
  const judged = mains.filter((one) => efficiency(one) !== null)
  const weight = sum(judged.map((one) => one.asleep))
  const mean = sum(judged.map((one) => one.asleep * (efficiency(one) as number))) / weight
  return { asleep, efficiency: judged.length === 0 || weight === 0 ? null : rounded(mean, 2) }
}

export function sleepRows(nights: Map<number, Night>, firstDay: number, endDay: number): Row[] {
  const days = [...nights.keys()].filter((day) => day >= firstDay && day < endDay).sort((a, b) => a - b)
  return days.map((day) => {
    const night = nights.get(day) as Night
    const { source, mains, naps, means } = night
    const longest = [...mains].sort((a, b) => span(b) - span(a) || a.start - b.start)[0]
    const { asleep, efficiency } = lengthOf(night)
    const stages = {
      awake_minutes: minutes(known(mains.map(({ awake }) => awake))),
      light_minutes: minutes(known(mains.map(({ light }) => light))),
      deep_minutes: minutes(known(mains.map(({ deep }) => deep))),
      rem_minutes: minutes(known(mains.map(({ rem }) => rem))),
    }
    const napping = minutes(sum(naps.map(span))) as number
    return {
      date: new Date(day * DAY).toISOString().slice(0, 10),
      source: source.shown,
      start_time: longest ? iso(longest.start) : null,
      end_time: longest ? iso(longest.end) : null,
      zone_offset: longest ? offset(longest.zone) : null,
      duration_minutes: minutes(asleep),
      total_duration_minutes: (minutes(asleep) ?? 0) + napping,
      time_in_bed_minutes: minutes(known(mains.map(({ inBed }) => inBed))),
      efficiency_percent: efficiency,
      stages: Object.values(stages).every((one) => one === null) ? null : stages,
      interruptions_count: known(mains.map(({ interruptions }) => interruptions)),
      nap_count: naps.length,
      nap_duration_minutes: napping,
      sessions: [...mains, ...naps]
        .sort((a, b) => a.start - b.start)
        .map((one) => ({
          start_time: iso(one.start),
          end_time: iso(one.end),
          zone_offset: offset(one.zone),
          duration_minutes: minutes(one.asleep),
          is_nap: one.isNap,
        })),
      avg_heart_rate_bpm: means.heart_rate?.value ?? null,
      avg_hrv_sdnn_ms: means.sdnn?.value ?? null,
      avg_hrv_rmssd_ms: means.rmssd?.value ?? null,
      avg_respiratory_rate: means.breath?.value ?? null,
      avg_spo2_percent: means.spo2?.value ?? null,
    }
  })
}

interface Asked {
  firstDay: number
  endDay: number
  priorities: Priorities
}

export function recoveryRows(facts: Facts, nights: Map<number, Night>, asked: Asked): Row[] {
  const { firstDay, endDay, priorities } = asked
  const metrics = ['resting', 'sdnn', 'rmssd', 'spo2']
  const measured = facts.points.filter(({ series }) => metrics.includes(series))
  const dated = [...grouped(measured, ({ source, series }) => `${source.seen} ${series}`).values()]
    .flatMap(datedPoints)
    .map(({ point, day }) => ({ point, day: (point.series === 'resting' && nightAt(nights, point)) || day }))
  const rows: Row[] = []
  for (let day = firstDay; day < endDay; day += 1) {
    const today = dated.filter((one) => one.day === day).map(({ point }) => point)
    if (today.length === 0) continue
    const night = nights.get(day)
    const used = new Set<Source>()
    const value = (series: string) => {
      const slept = series === 'resting' ? null : (night?.means[series] ?? null)
      for (const manual of [false, true]) {
        const own = today.filter((point) => point.series === series && (point.kind === 'manual') === manual)
        const source = slept?.manual === manual ? slept.source : bestOf(own, priorities)
        if (!source) continue
        used.add(source)
        return slept?.manual === manual ? slept.value : meanOf(own, source, series)
      }
      return null
    }
    const [resting, sdnn, rmssd, spo2] = metrics.map(value)
    const amount = (source: Source) => today.filter((point) => point.source === source).length
    const length = night && lengthOf(night)
    rows.push({
      date: new Date(day * DAY).toISOString().slice(0, 10),
      source: [...used].sort((a, b) => better(priorities, a, b, amount))[0]?.shown,
      sleep_duration_seconds: length?.asleep ?? null,
      sleep_efficiency_percent: length?.efficiency ?? null,
      resting_heart_rate_bpm: resting,
      avg_hrv_sdnn_ms: sdnn,
      avg_hrv_rmssd_ms: rmssd,
      avg_spo2_percent: spo2,
      recovery_score: null,
    })
  }
  return rows
}

/** The date of the night that the quarter hour of a point reaches into, of several nights that which began first. */
function nightAt(nights: Map<number, Night>, { ms }: Point): number | undefined {
  const quarter = Math.floor(ms / QUARTER) * QUARTER
  const reached = [...nights].flatMap(([day, { mains, naps }]) =>
    (mains.length > 0 ? mains : naps)
      .filter(({ start, end }) => start < quarter + QUARTER && end > quarter)
      .map(({ start }) => ({ day, start })),
  )
  return reached.sort((a, b) => a.start - b.start || a.day - b.day)[0]?.day
}

function bestOf(points: readonly Point[], priorities: Priorities): Source | undefined {
  const own = grouped(points, ({ source }) => source)
  return [...own.keys()].sort((a, b) => better(priorities, a, b, (source) => own.get(source)?.length ?? 0))[0]
}
