// The activity of a person's days, recomputed from what was uploaded (contract 12.1 to 12.3, docs/reading.md).
import { DAY, type Facts, grouped, MINUTE, type Point, QUARTER, type Source } from './facts.ts'
import { better, type Priorities, strictlyBetter } from './ranking.ts'

const SUMS = ['steps', 'distance', 'floors', 'energy', 'basal', 'active_time'] as const
type Sum = (typeof SUMS)[number]

/** All points of one series of one source, entered ones apart: what competes for quarter hours. */
interface Stream {
  source: Source
  series: string
  manual: boolean
  points: { point: Point; day: number }[]
  /** Points by local day. */
  days: Map<number, number>
  /** Quarter hours of which it has more than a trace. */
  firm: Set<number>
}

/** What lies in one quarter hour of a point: `share` of its amount from 0 to 1. */
interface Piece {
  stream: Stream
  point: Point
  day: number
  quarter: number
  share: number
}

export interface Asked {
  firstDay: number
  endDay: number
  priorities: Priorities
  largestHeartRate: number
}

interface Day {
  day: number
  pieces: Piece[]
  totals: Point[]
}

type Row = Record<string, unknown>

export function mergedActivity(facts: Facts, asked: Asked): Row[] {
  const streams = streamsOf(facts.points)
  const reached = new Map<string, Set<Stream>>()
  const all = streams.flatMap((stream) => stream.points.flatMap((one) => piecesOf(stream, one)))
  for (const { stream, quarter } of all) {
    const key = `${stream.series} ${quarter}`
    reached.set(key, (reached.get(key) ?? new Set()).add(stream))
  }
  const wins = ({ stream, quarter }: Piece) =>
    [...(reached.get(`${stream.series} ${quarter}`) ?? [])].every(
      (other) => other === stream || before(stream, other, quarter, asked.priorities) < 0,
    )
  const rows = daysOf(all, facts.points, asked).map((day) => mergedRow(facts, asked, { ...day, wins }))
  // Where better sources, whose clock shows another day, take all of it, there is nothing to tell.
  return rows.filter(({ source }) => source !== null)
}

/**
 * A measured stream comes before every one that was entered, then one that has more than a trace of the quarter hour; else the
 * better source, of equal ones that with more points on the date in UTC.
 */
function before(a: Stream, b: Stream, quarter: number, priorities: Priorities): number {
  const amount = (source: Source) => (source === a.source ? a : b).days.get(Math.floor((quarter * QUARTER) / DAY)) ?? 0
  const trace = ({ firm }: Stream) => Number(!firm.has(quarter))
  return Number(a.manual) - Number(b.manual) || trace(a) - trace(b) || better(priorities, a.source, b.source, amount)
}

/**
 * Of which quarter hours a stream has more than a trace. What starts in one quarter hour and stays there brings something; what
 * goes on into others brings five steps, or something of other sums, into one of the first five. A heart rate is no trace.
 */
function firmQuarters(stream: Omit<Stream, 'firm'>): Set<number> {
  const firm = new Set<number>()
  const byStart = grouped(stream.points, ({ point }) => `${Math.floor(point.ms / QUARTER)}`)
  for (const [key, points] of byStart) {
    const start = Number(key)
    const amounts = new Map<number, number>()
    for (const one of points)
      for (const { quarter, share } of piecesOf(stream, one))
        amounts.set(quarter, (amounts.get(quarter) ?? 0) + one.point.value * share)
    const least = stream.series === 'steps' && amounts.size > 1 ? 5 - 1e-6 : 1e-9
    for (const [quarter, amount] of amounts)
      if (stream.series === 'heart_rate' || (quarter <= start + 4 && amount >= least)) firm.add(quarter)
  }
  return firm
}

function mergedRow(facts: Facts, asked: Asked, { day, pieces, totals, wins }: Day & { wins(piece: Piece): boolean }) {
  const counted = pieces.filter(wins)
  const used = new Set<Source>()
  const amounts = {} as Record<Sum, number | null>
  for (const series of SUMS) {
    const of = <T extends { series: string }>(list: T[]) => list.filter((one) => one.series === series)
    const parts = pieces.filter(({ stream }) => stream.series === series)
    const won = counted.filter(({ stream }) => stream.series === series)
    const { amount, sources } = mergedAmount({ parts, won, totals: of(totals), day }, asked.priorities)
    amounts[series] = amount
    for (const source of sources) used.add(source)
  }
  const beats = counted.filter(({ stream }) => stream.series === 'heart_rate')
  for (const { stream } of beats) used.add(stream.source)
  const order = sourcesOf({ pieces, totals }, asked.priorities)
  const best = order.find((source) => used.has(source))
  const ascent = ascentOf(facts, day, [...order, ...restOf(facts, order, asked.priorities)])
  const walked = minutesOfSteps(
    counted.filter(({ stream }) => stream.series === 'steps'),
    true,
  )
  return rowOf(day, best, amounts, {
    ascent,
    walked,
    beats: beats.map(({ point }) => point),
    largest: asked.largestHeartRate,
    total: amounts.basal === null ? null : amounts.basal + (amounts.energy ?? 0),
  })
}

/** The amount of one series of a day, and whose it is. */
function mergedAmount(
  { parts, won, totals, day }: { parts: Piece[]; won: Piece[]; totals: Point[]; day: number },
  priorities: Priorities,
): { amount: number | null; sources: Source[] } {
  const manualOnly = totals.length === 0 && parts.every(({ stream }) => stream.manual)
  const candidates = [
    ...parts.filter(({ stream }) => stream.manual === manualOnly).map(({ stream }) => stream.source),
    ...totals.map(({ source }) => source),
  ]
  const measured = (source: Source) =>
    parts.find(({ stream }) => stream.source === source && stream.manual === manualOnly)?.stream.days.get(day) ?? 0
  const rows = (source: Source) => totals.filter((one) => one.source === source)
  const leader = [...new Set(candidates)].sort((a, b) =>
    better(priorities, a, b, (source) => measured(source) + rows(source).length),
  )[0]
  if (!leader) return { amount: null, sources: [] }
  const own = rows(leader)
  let chosen = won
  if (own.length > 0) chosen = measured(leader) > 0 ? won.filter(({ stream }) => stream.source !== leader) : []
  const sources = [...chosen.map(({ stream }) => stream.source), ...own.map(({ source }) => source)]
  const amount = sum(chosen.map(({ point, share }) => point.value * share)) + sum(own.map(({ value }) => value))
  const others = [...new Set(totals.map(({ source }) => source))].filter((source) => source !== leader)
  const sums = others.map((source) => ({ source, amount: sum(rows(source).map(({ value }) => value)) }))
  sums.sort((a, b) => b.amount - a.amount || better(priorities, a.source, b.source))
  const largest = sums[0]
  if (largest && (sources.length === 0 || amount < largest.amount / 2))
    return { amount: largest.amount, sources: [largest.source] }
  return sources.length === 0 ? { amount: null, sources } : { amount, sources }
}

export function strictActivity(facts: Facts, asked: Asked): Row[] {
  const all = streamsOf(facts.points).flatMap((stream) =>
    stream.points.map(({ point, day }) => ({ stream, point, day, quarter: 0, share: 1 })),
  )
  return daysOf(all, facts.points, asked).map(({ day, pieces, totals }) => {
    const present = [...new Set([...pieces.map(({ stream }) => stream.source), ...totals.map(({ source }) => source)])]
    const best = present.sort((a, b) => strictlyBetter(asked.priorities, a, b))[0] as Source
    const own = pieces.filter(({ stream }) => stream.source === best)
    const amounts = {} as Record<Sum, number | null>
    for (const series of SUMS) {
      const total = totals.filter((one) => one.source === best && one.series === series)
      const points = own.filter(({ stream }) => stream.series === series).map(({ point }) => point)
      const counting = total.length > 0 ? total : points
      amounts[series] = counting.length === 0 ? null : sum(counting.map(({ value }) => value))
    }
    const { energy, basal } = amounts
    const row = rowOf(day, best, amounts, {
      ascent: ascentOf(facts, day, [best]),
      walked: minutesOfSteps(
        own.filter(({ stream }) => stream.series === 'steps'),
        false,
      ),
      beats: own.filter(({ stream }) => stream.series === 'heart_rate').map(({ point }) => point),
      largest: asked.largestHeartRate,
      total: energy === null && basal === null ? null : (energy ?? 0) + (basal ?? 0),
    })
    // Here a level run says nothing of floors.
    return amounts.floors === null && row.elevation_meters === 0 ? { ...row, floors_climbed: null } : row
  })
}

function streamsOf(points: readonly Point[]): Stream[] {
  const competing = points.filter(
    ({ kind, series }) => kind !== 'total' && (series === 'heart_rate' || SUMS.includes(series as Sum)),
  )
  const streams = grouped(competing, ({ source, series, kind }) => `${source.seen} ${series} ${kind}`)
  return [...streams.values()].map((list) => {
    const [{ source, series, kind }] = list as [Point]
    const dated = datedPoints(list)
    const days = new Map<number, number>()
    for (const { day } of dated) days.set(day, (days.get(day) ?? 0) + 1)
    const stream = { source, series, manual: kind === 'manual', points: dated, days }
    return { ...stream, firm: firmQuarters(stream) }
  })
}

/** Points with their local day: that of the latest one in their quarter hour. */
export function datedPoints(points: readonly Point[]): { point: Point; day: number }[] {
  const latest = new Map<number, Point>()
  for (const point of points) {
    const quarter = Math.floor(point.ms / QUARTER)
    if (point.ms >= (latest.get(quarter)?.ms ?? -Infinity)) latest.set(quarter, point)
  }
  return points.map((point) => {
    const { ms, zone } = latest.get(Math.floor(point.ms / QUARTER)) as Point
    return { point, day: localDay(ms, zone) }
  })
}

export const localDay = (ms: number, zone: number | null): number => Math.floor((ms + (zone ?? 0) * MINUTE) / DAY)

function piecesOf<Of>(
  stream: Of,
  { point, day }: { point: Point; day: number },
): (Omit<Piece, 'stream'> & { stream: Of })[] {
  const { ms, lasts } = point
  const first = Math.floor(ms / QUARTER)
  if (lasts === 0) return [{ stream, point, day, quarter: first, share: 1 }]
  const pieces: ReturnType<typeof piecesOf<Of>> = []
  for (let quarter = first; quarter * QUARTER < ms + lasts; quarter += 1) {
    const within = Math.min(ms + lasts, (quarter + 1) * QUARTER) - Math.max(ms, quarter * QUARTER)
    pieces.push({ stream, point, day, quarter, share: within / lasts })
  }
  return pieces
}

function daysOf(pieces: readonly Piece[], points: readonly Point[], { firstDay, endDay }: Asked): Day[] {
  const days = new Map<number, Day>()
  const at = (day: number) => {
    const found = days.get(day) ?? { day, pieces: [], totals: [] }
    days.set(day, found)
    return found
  }
  for (const piece of pieces) at(piece.day).pieces.push(piece)
  for (const point of points) if (point.kind === 'total') at(localDay(point.ms, point.zone)).totals.push(point)
  return [...days.values()].filter(({ day }) => day >= firstDay && day < endDay).sort((a, b) => a.day - b.day)
}

/** The sources of a day, best first; the amount is that of all series. */
function sourcesOf({ pieces, totals }: Pick<Day, 'pieces' | 'totals'>, priorities: Priorities): Source[] {
  const points = [...new Set([...pieces.map(({ point }) => point), ...totals])]
  const amount = (source: Source) => points.filter((point) => point.source === source).length
  return [...new Set(points.map(({ source }) => source))].sort((a, b) => better(priorities, a, b, amount))
}

function restOf({ workouts }: Facts, order: Source[], priorities: Priorities): Source[] {
  const others = workouts.map(({ source }) => source).filter((source) => !order.includes(source))
  return [...new Set(others)].sort((a, b) => better(priorities, a, b))
}

function ascentOf({ workouts }: Facts, day: number, order: readonly Source[]): number | null {
  const ended = workouts.filter(({ end, zone, ascent }) => ascent !== null && localDay(end, zone) === day)
  const source = order.find((one) => ended.some((workout) => workout.source === one))
  return source ? sum(ended.filter((one) => one.source === source).map(({ ascent }) => ascent as number)) : null
}

/** How many minutes have 30 steps, and how many fewer; null where a long record says nothing about minutes. */
function minutesOfSteps(pieces: readonly Piece[], spread: boolean): { active: number; still: number } | null {
  if (pieces.length === 0 || (spread && pieces.some(({ point }) => point.lasts > QUARTER))) return null
  const minutes = new Map<number, number>()
  const add = (minute: number, steps: number) => minutes.set(minute, (minutes.get(minute) ?? 0) + steps)
  for (const { point, quarter } of pieces) {
    const { ms, lasts, value } = point
    if (!spread || lasts === 0) add(Math.floor(ms / MINUTE), value)
    else
      for (let minute = quarter * 15; minute < quarter * 15 + 15; minute += 1) {
        const within = Math.min(ms + lasts, (minute + 1) * MINUTE) - Math.max(ms, minute * MINUTE)
        if (within > 0) add(minute, (value * within) / lasts)
      }
  }
  const active = [...minutes.values()].filter((steps) => Number(steps.toFixed(9)) >= 30).length
  return { active, still: minutes.size - active }
}

interface Rest {
  ascent: number | null
  walked: { active: number; still: number } | null
  beats: Point[]
  largest: number
  total: number | null
}

function rowOf(day: number, source: Source | undefined, amounts: Record<Sum, number | null>, rest: Rest): Row {
  const { ascent, walked, beats, largest, total } = rest
  return {
    date: new Date(day * DAY).toISOString().slice(0, 10),
    source: source?.shown ?? null,
    steps: whole(amounts.steps),
    distance_meters: amounts.distance,
    floors_climbed: whole(amounts.floors) ?? (ascent === null ? null : Math.floor(Number(ascent.toFixed(9)) / 3)),
    elevation_meters: ascent,
    active_calories_kcal: amounts.energy,
    total_calories_kcal: total,
    active_minutes: whole(amounts.active_time) ?? walked?.active ?? null,
    // Not more minutes than the day has, beside those that a platform told.
    sedentary_minutes: walked
      ? Math.max(
          0,
          Math.min(walked.still, Math.max(1440, walked.still + walked.active) - (whole(amounts.active_time) ?? 0)),
        )
      : null,
    intensity_minutes: effort(beats, largest),
    heart_rate: heartRate(beats.map(({ value }) => value)),
  }
}

const whole = (amount: number | null) => (amount === null ? null : Math.round(Number(amount.toFixed(9))))

function heartRate(values: number[]) {
  if (values.length === 0) return null
  const mean = Math.round(Number((sum(values) / values.length).toFixed(9)))
  return { avg_bpm: mean, max_bpm: Math.round(Math.max(...values)), min_bpm: Math.round(Math.min(...values)) }
}

/** Minutes of effort: of each minute of a source the mean heart rate. */
function effort(beats: readonly Point[], largest: number) {
  if (beats.length === 0) return null
  const minutes = grouped(beats, ({ ms, source }) => `${source.seen} ${Math.floor(ms / MINUTE)}`)
  const means = [...minutes.values()].map((same) => sum(same.map(({ value }) => value)) / same.length)
  const from = (share: number) => Math.floor(largest * share)
  const vigorous = means.filter((mean) => mean > from(0.76)).length
  const moderate = means.filter((mean) => mean > from(0.63)).length - vigorous
  const light = means.filter((mean) => mean >= from(0.5)).length - moderate - vigorous
  return { light, moderate, vigorous }
}

export const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0)
