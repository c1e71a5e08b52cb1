import type { Schemas } from '../api/client.ts'
import { clock, dateOf, HOUR_MS, MINUTE_MS } from './time.ts'

/** A value at a local time, and the offset that made it local. */
export interface Point {
  local: number
  value: number
  /** Minutes east of UTC. */
  offset: number
  /** Of a bucket, its lowest and its highest sample. */
  low?: number
  high?: number
  /** Of a bucket, how many samples it has. */
  count?: number
}

/** The place of a row of a page, with its extremes and how many samples it has, where the page says so. */
function pointOf(
  { value, min, max, count }: Schemas['ColumnarSamplePage']['columns'],
  index: number,
  at: Place,
): Point {
  const extremes = min && max && { low: min[index] ?? 0, high: max[index] ?? 0 }
  return { ...at, value: value[index] ?? 0, ...extremes, ...(count && { count: count[index] ?? 1 }) }
}

type Place = Pick<Point, 'local' | 'offset'>

/** What a scale has to hold of points: their values, and their extremes. */
export const reachOf = (points: readonly Point[]): number[] =>
  points.flatMap(({ value, low = value, high = value }) => [value, low, high])

/**
 * The points of a series type within local times [from, until), in the order of their instants: by each point's own
 * offset, or all by the one given, as for a session, whose time runs on when the clock changes.
 */
export function pointsOf(
  page: Schemas['ColumnarSamplePage'],
  type: string,
  [from, until]: readonly [number, number],
  oneOffset?: number,
): Point[] {
  const { timestamp_ms, zone_offset_min, series } = page.columns
  const wanted = page.series.map((one) => one.type === type && !one.implausible)
  const points: Point[] = []
  for (const [index, at] of timestamp_ms.entries()) {
    if (!wanted[series[index] ?? -1]) continue
    const offset = oneOffset ?? zone_offset_min[index] ?? 0
    const local = at + offset * MINUTE_MS
    if (local >= from && local < until) points.push(pointOf(page.columns, index, { local, offset }))
  }
  return points
}

/** The series of a page within local times [from, until): each source apart, or one for each type; no daily totals. */
export function seriesOf(
  page: Schemas['ColumnarSamplePage'],
  [from, until]: readonly [number, number],
  isApart: boolean,
): { type: string; unit: string; source: string; points: Point[] }[] {
  const { timestamp_ms, zone_offset_min, series } = page.columns
  const found = new Map<string, { type: string; unit: string; source: string; points: Point[] }>()
  const targets = page.series.map(({ type, unit, source, data_source_id, is_daily_total, implausible }) => {
    if (is_daily_total || implausible) return undefined
    const key = isApart ? `${type} ${data_source_id}` : type
    const name = isApart ? (source.device_name ?? source.source ?? source.provider) : ''
    const target = found.get(key) ?? { type, unit, source: name, points: [] }
    found.set(key, target)
    return target
  })
  for (const [index, at] of timestamp_ms.entries()) {
    const offset = zone_offset_min[index] ?? 0
    const local = at + offset * MINUTE_MS
    if (local >= from && local < until)
      targets[series[index] ?? -1]?.points.push(pointOf(page.columns, index, { local, offset }))
  }
  return [...found.values()].filter(({ points }) => points.length > 0)
}

/** The mean of all samples on each local day, however they are spread over the buckets. */
export function dailyMeans(points: readonly Point[]): Map<string, number> {
  const sums = new Map<string, [sum: number, count: number]>()
  for (const { local, value, count = 1 } of points) {
    const [sum, before] = sums.get(dateOf(local)) ?? [0, 0]
    sums.set(dateOf(local), [sum + value * count, before + count])
  }
  return new Map([...sums].map(([date, [sum, count]]) => [date, sum / count]))
}

/** Tells the offset that the nearest sample of a page has, at most an hour from an instant. */
export function offsetsIn({ columns }: Schemas['ColumnarSamplePage']) {
  const { timestamp_ms, zone_offset_min } = columns
  return (instantMs: number): number | undefined => {
    let [offset, distance]: [number | undefined, number] = [undefined, HOUR_MS]
    for (const [index, at] of timestamp_ms.entries()) {
      const own = Math.abs(at - instantMs)
      const known = zone_offset_min[index]
      if (own < distance && known != null) [offset, distance] = [known, own]
    }
    return offset
  }
}

/** What clocks said at a time that is counted by one offset, in minutes, though they may have changed: by the samples near it. */
export function clockOf(page: Schemas['ColumnarSamplePage'], offset: number): (local: number) => string {
  const offsetAt = offsetsIn(page)
  return (local) => {
    const own = offsetAt(local - offset * MINUTE_MS) ?? offset
    return clock(local + (own - offset) * MINUTE_MS)
  }
}

/** The offsets of points, in their order. */
export function offsetsOf(points: readonly Point[]): number[] {
  return points.map(({ offset }) => offset).filter((offset, index, all) => offset !== all[index - 1])
}

/** Columns for a line chart: local times in order, and a series for each offset, since clocks set back repeat an hour. */
export type LineData = [number[], ...(number | null | undefined)[][]]

/** Beyond this, and three times the usual distance, a line breaks. */
const LEAST_GAP_MS = 15 * MINUTE_MS

/**
 * The lines through points: nothing is joined across a gap. A series without a value at a time is undefined there,
 * which its line passes; null breaks it.
 */
export function linesOf(points: readonly Point[]): LineData {
  const offsets = [...new Set(offsetsOf(points))]
  const runs = offsets.map((offset) => points.filter((point) => point.offset === offset))
  const lines = runs.map(broken)
  const times = [...new Set(lines.flatMap((line) => [...line.keys()]))].sort((a, b) => a - b)
  return [times, ...lines.map((line) => times.map((time) => line.get(time)))]
}

function broken(points: readonly Point[]): Map<number, number | null> {
  const line = new Map<number, number | null>()
  let last: number | undefined
  for (const run of runsOf(points)) {
    if (last !== undefined) line.set((last + (run[0]?.local ?? last)) / 2, null)
    for (const { local, value } of run) line.set(local, value)
    last = run.at(-1)?.local
  }
  return line
}

/** Points in the runs that a line joins. */
export function runsOf(points: readonly Point[]): Point[][] {
  const distances = points.slice(1).map(({ local }, index) => Math.abs(local - (points[index]?.local ?? local)))
  const usual = distances.toSorted((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 0
  const gap = Math.max(LEAST_GAP_MS, 3 * usual)
  const runs: Point[][] = []
  for (const point of points) {
    const before = runs.at(-1)?.at(-1)
    const goesOn = before && point.offset === before.offset && point.local - before.local <= gap
    if (goesOn) runs.at(-1)?.push(point)
    else runs.push([point])
  }
  return runs
}

/** Sums of points for each step of a day that begins at `from`; null where there are none. */
export function sums(points: readonly Point[], from: number, stepMs: number, count: number): (number | null)[] {
  const bars = Array<number | null>(count).fill(null)
  for (const { local, value } of points) {
    const index = Math.floor((local - from) / stepMs)
    if (index >= 0 && index < count) bars[index] = (bars[index] ?? 0) + value
  }
  return bars
}

/** The point nearest to a local time, at most 15 minutes away, or as far as is given. */
export function nearest(points: readonly Point[], local: number, farthestMs = LEAST_GAP_MS): Point | undefined {
  let best: Point | undefined
  let distance = farthestMs
  for (const point of points) {
    const own = Math.abs(point.local - local)
    if (own <= distance) [best, distance] = [point, own]
  }
  return best
}

/** The share of a lane's height that stays free above and below, so that no line is cut off. */
const MARGIN = 0.05

/** The lowest and the highest of values, however many there are; undefined without any. */
export function extremesOf(values: readonly number[]): [lowest: number, highest: number] | undefined {
  if (values.length === 0) return undefined
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    if (value < lowest) lowest = value
    if (value > highest) highest = value
  }
  return [lowest, highest]
}

const around = (value: number): [number, number] => {
  const reach = Math.abs(value) / 10 || 1
  return [value - reach, value + reach]
}

/** A range around values, and round numbers within it: two to four. */
export function scaleOf(values: readonly number[]): { low: number; high: number; ticks: number[] } {
  const extremes = extremesOf(values)
  if (!extremes) return { low: 0, high: 1, ticks: [] }
  // One value alone stands in the middle of a tenth of it.
  const [least, most] = extremes[0] < extremes[1] ? extremes : around(extremes[0])
  const power = 10 ** Math.floor(Math.log10((most - least) / 3))
  const margin = (most - least) * MARGIN
  // More above, where names of workouts stand.
  const [low, high] = [least - margin, most + 2.5 * margin]
  const countOf = (step: number) => Math.floor(high / step) - Math.ceil(low / step) + 1
  const step = ([10, 5, 2, 1, 0.5].find((one) => countOf(one * power) >= 2) ?? 0.5) * power
  const [first, count] = [Math.ceil(low / step), countOf(step)]
  return { low, high, ticks: Array.from({ length: count }, (_, index) => (first + index) * step) }
}
