import { type Point, seriesOf } from '../charts/samples.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../charts/time.ts'
import type { Schemas } from './client.ts'
import { readSamples } from './reads.ts'

type Resolution = Schemas['Resolution']

/** A range of local time. */
export interface Window {
  from: number
  until: number
}

/** A type of one source, or of the best one of each day. */
export interface Series {
  type: string
  unit: string
  source: string
  points: Point[]
}

/** What is known of a range. */
export interface Picture extends Window {
  resolution: Resolution
  /** The resolution that was wanted; another one is the finest there is. */
  wanted: Resolution
  series: Series[]
  /** Whether the range has more points than were asked for. */
  isCut: boolean
}

/** What is asked for. */
export interface Choice {
  id: string
  types: readonly string[]
  /** Each source apart, instead of the best one of each day. */
  isApart: boolean
}

/** Widest window of each resolution. */
const LADDER: readonly [resolution: Resolution, widestMs: number, mostPoints: number][] = [
  ['raw', 6 * HOUR_MS, 20_000],
  ['1min', 26 * HOUR_MS, 20_000],
  ['5min', 7.5 * DAY_MS, 200_000],
  ['15min', 22 * DAY_MS, 200_000],
  ['1hour', Number.POSITIVE_INFINITY, 200_000],
]

/** The bucket of a resolution, 0 for single samples. */
export const bucketMs = (resolution: Resolution): number =>
  resolution === '1hour' ? HOUR_MS : (Number.parseInt(resolution, 10) || 0) * MINUTE_MS

const wantedFor = ({ from, until }: Window) => LADDER.findIndex(([, widest]) => until - from <= widest)

/** The finest resolution for a window. */
export const resolutionFor = (window: Window): Resolution => LADDER[wantedFor(window)]?.[0] ?? '1hour'

/** Whether a picture has all of a window. */
export const holds = (picture: Picture, { from, until }: Window): boolean =>
  picture.from <= from && picture.until >= until

/** The points of a window. */
export function within(points: readonly Point[], { from, until }: Window): Point[] {
  return points.filter(({ local }) => local >= from && local < until)
}

/** Half as much again on both sides, in round steps, so that a neighbouring window often asks for the same. */
function widened({ from, until }: Window): Window {
  const step = 2 ** Math.floor(Math.log2(until - from)) / 4
  const margin = (until - from) / 2
  return { from: Math.floor((from - margin) / step) * step, until: Math.ceil((until + margin) / step) * step }
}

/** Offsets anybody may have, in minutes; those of a picture around a window where it has any. */
function offsetsAround(picture: Picture | undefined, { from, until }: Window): [number, number] {
  const near = { from: from - DAY_MS, until: until + DAY_MS }
  const offsets = picture?.series.flatMap(({ points }) => within(points, near).map(({ offset }) => offset)) ?? []
  return offsets.length > 0 ? [Math.min(...new Set(offsets)), Math.max(...new Set(offsets))] : [-12 * 60, 14 * 60]
}

interface Asked {
  choice: Choice
  window: Window
  /** What is known of these days already, for its offsets. */
  known?: Picture
}

async function readAt(place: number, { choice, window, known }: Asked, signal: AbortSignal) {
  const [resolution, , limit] = LADDER[place] as (typeof LADDER)[number]
  const range = widened(window)
  const [west, east] = offsetsAround(known, range)
  const start = new Date(range.from - east * MINUTE_MS).toISOString()
  const end = new Date(range.until - west * MINUTE_MS).toISOString()
  const types = choice.types as Schemas['SeriesType'][]
  const page = await readSamples(
    choice.id,
    { start, end, types, resolution, limit, filter_by_priority: !choice.isApart },
    signal,
  )
  const isCut = page.pagination.has_more
  return {
    ...range,
    resolution,
    wanted: resolution,
    isCut,
    series: seriesOf(page, [range.from, range.until], choice.isApart),
  }
}

/** The hours of a window: a first picture, which also has the offsets from UTC. */
export const readCoarse = (choice: Choice, window: Window, signal: AbortSignal): Promise<Picture> =>
  readAt(LADDER.length - 1, { choice, window }, signal)

/**
 * A window as finely as it can be drawn: a step coarser while there is too much of it, and by the quarter hour where
 * single samples are no longer kept.
 */
export async function readFine(choice: Choice, window: Window, known: Picture, signal: AbortSignal): Promise<Picture> {
  const hasHours = known.series.some(({ points }) => within(points, window).length > 0)
  for (let place = wantedFor(window); place < LADDER.length - 1; place += 1) {
    const found = await readAt(place, { choice, window, known }, signal)
    const isEmpty = !found.series.some(({ points }) => within(points, window).length > 0)
    if (isEmpty && hasHours && place < 3) place = 2
    else if (!found.isCut) return { ...found, wanted: resolutionFor(window) }
  }
  return { ...known, wanted: resolutionFor(window) }
}
