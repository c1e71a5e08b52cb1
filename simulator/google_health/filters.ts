import { DAY_MS, HOUR_MS } from '../zones.ts'
import { type Point, type Shape, wallMs } from './points.ts'

/** What a filter lets pass: from an instant on, before another, by a clock. Epoch ms; local clocks as if they were UTC. */
interface Bound {
  readonly clock: 'physical' | 'civil' | 'date'
  readonly fromMs: number
  readonly toMs: number
}

/** A filter that was understood. */
export interface Filter {
  passes(point: Point): boolean
  /** Instants outside of which nothing passes. */
  readonly fromMs: number
  readonly toMs: number
}

const MEMBERS: Readonly<Record<Shape, Readonly<Record<string, Bound['clock']>>>> = {
  interval: { 'interval.start_time': 'physical', 'interval.civil_start_time': 'civil' },
  sample: { 'sample_time.physical_time': 'physical', 'sample_time.civil_time': 'civil' },
  daily: { date: 'date' },
  session: { 'interval.civil_start_time': 'civil' },
  sleep: { 'interval.end_time': 'physical', 'interval.civil_end_time': 'civil' },
}

/** No zone is further from UTC. */
const FURTHEST_MS = 14 * HOUR_MS

const FORMS: Readonly<Record<Bound['clock'], RegExp>> = {
  physical: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  civil: /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?)?$/,
  date: /^\d{4}-\d\d-\d\d$/,
}

/** A filter of a type; text says what is wrong with it. */
export function filterOf(text: string | null, type: string, shape: Shape): Filter | string {
  const bounds: Bound[] = []
  for (const part of text === null || text.trim() === '' ? [] : text.split(/ AND /)) {
    const [, name = '', sign, value = ''] = /^\s*([\w.]+)\s*(>=|<)\s*"([^"]*)"\s*$/.exec(part) ?? []
    const prefix = `${type.replaceAll('-', '_')}.`
    const clock = name.startsWith(prefix) ? MEMBERS[shape][name.slice(prefix.length)] : undefined
    if (!clock) return `Unsupported filter: ${part.trim()}`
    const ms = FORMS[clock].test(value) ? Date.parse(clock === 'physical' ? value : asUtc(value)) : Number.NaN
    if (Number.isNaN(ms)) return `Not a time: ${value}`
    const [fromMs, toMs] = sign === '>=' ? [ms, Number.POSITIVE_INFINITY] : [Number.NEGATIVE_INFINITY, ms]
    bounds.push({ clock, fromMs, toMs })
  }
  const wider = (clock: Bound['clock']) => (clock === 'physical' ? 0 : FURTHEST_MS)
  return {
    passes: (point) => bounds.every(({ clock, fromMs, toMs }) => isIn(clockOf(point, shape, clock), fromMs, toMs)),
    fromMs: Math.max(...bounds.map(({ clock, fromMs }) => fromMs - wider(clock)), Number.NEGATIVE_INFINITY),
    toMs: Math.min(...bounds.map(({ clock, toMs }) => toMs + wider(clock)), Number.POSITIVE_INFINITY),
  }
}

function asUtc(text: string): string {
  const [date = '', time = '00:00'] = text.split('T')
  return `${date}T${time}Z`
}

function isIn(ms: number, fromMs: number, toMs: number): boolean {
  return ms >= fromMs && ms < toMs
}

function clockOf({ startMs, endMs, zone, date }: Point, shape: Shape, clock: Bound['clock']): number {
  if (clock === 'date') return (date ?? 0) * DAY_MS
  const ms = shape === 'sleep' ? endMs : startMs
  return clock === 'physical' ? ms : wallMs(zone, ms)
}
