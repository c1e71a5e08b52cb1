import type { CycleObservationKind } from '../batch/columns.ts'
import { DAY_MS } from '../time.ts'

// How cycles follow from observations (sdk-types 9). Days are numbered from 1970-01-01, by the local date of what was
// observed (UTC where its zone is unknown).

const HOUR_MS = 3_600_000

/** Up to this length, flow belongs only to the day it begins on; local days have up to 25 hours. */
const LOGGED_DAY_MS = 25 * HOUR_MS

/** Days from ovulation to the next cycle, and around the computed ovulation that count as such. */
const LUTEAL_DAYS = 14
const OVULATION_MARGIN_DAYS = 1

/** Days without flow that do not end a period, and that must precede a period. */
const GAP_DAYS = 1
const DAYS_BEFORE_PERIOD = 2

/** A stored observation; times in epoch milliseconds, zone in minutes east of UTC or null. */
export interface Observation {
  sourceId: number
  kind: CycleObservationKind
  level: string | null
  cycleStart: boolean | null
  startMs: number
  endMs: number
  zoneMin: number | null
}

/** A cycle under the names of its columns; times in epoch milliseconds. */
export interface Cycle {
  external_id: string
  source_id: number
  start_ms: number
  end_ms: number
  zone_offset_min: number | null
  current_phase_type: Phase | null
  day_in_cycle: number
  cycle_length: number | null
  predicted_cycle_length: number | null
  period_length: number
  is_predicted_cycle: boolean
  last_updated_ms: number
}

type Phase = 'menstrual' | 'follicular' | 'ovulatory' | 'luteal'

/** What is known of a day with an observation. */
interface Day {
  number: number
  flow: boolean
  /** Whether the platform calls it the first of a cycle; null = it does not say. */
  cycleStart: boolean | null
  positiveTest: boolean
  /** When the last observation of the day was. */
  lastMs: number
  /** Of the first flow of the day. */
  sourceId: number
  zoneMin: number | null
}

/** Days from one period to the next, the first of them its first day; the last cycle is open. */
interface Span {
  days: Day[]
  start: Day
  /** First day of the next cycle; null while open. */
  next: number | null
}

/** The cycles of a user and provider, ascending, from all observations in order of time (sdk-types 9 steps 1 to 7). */
export function cyclesOf(observations: readonly Observation[], provider: string): Cycle[] {
  const spans = spansOf(daysOf(observations))
  const predicted = median(spans.flatMap(({ start, next }) => (next === null ? [] : [next - start.number])))
  return spans.map((span) => cycleOf(span, provider, predicted))
}

function daysOf(observations: readonly Observation[]): Day[] {
  const days = new Map<number, Day>()
  for (const observation of observations) {
    const { kind, level, sourceId, zoneMin, startMs } = observation
    const flow = (kind === 'flow' && level !== 'none') || kind === 'period'
    const first = dayOf(startMs, zoneMin)
    const last = lastDay(observation)
    for (let number = first; number <= last; number += 1) {
      const atMs = number === first ? startMs : midnight(number, zoneMin)
      let day = days.get(number)
      if (!day) {
        day = { number, flow: false, cycleStart: null, positiveTest: false, lastMs: atMs, sourceId, zoneMin }
        days.set(number, day)
      }
      day.lastMs = Math.max(day.lastMs, atMs)
      day.positiveTest ||= kind === 'ovulation_test' && level === 'positive'
      if (!flow) continue
      if (!day.flow) Object.assign(day, { flow, sourceId, zoneMin })
      // The mark is that of the first day. If two contradict each other, it is a start.
      if (number === first && day.cycleStart !== true) day.cycleStart = observation.cycleStart ?? day.cycleStart
    }
  }
  return [...days.values()].sort((a, b) => a.number - b.number)
}

/**
 * Last day of an observation: a period, or flow logged as one interval, covers the days it touches for more than an hour. A
 * record has the offset of its start alone, in which a midnight after the end of summer time is an hour past midnight.
 */
function lastDay({ kind, startMs, endMs, zoneMin }: Observation): number {
  const covers = kind === 'period' || (kind === 'flow' && endMs - startMs > LOGGED_DAY_MS)
  return dayOf(covers ? Math.max(startMs, endMs - HOUR_MS - 1) : startMs, zoneMin)
}

function spansOf(days: readonly Day[]): Span[] {
  const spans: Span[] = []
  let lastFlow = Number.NEGATIVE_INFINITY
  for (const day of days) {
    if (day.flow) {
      const starts = day.cycleStart ?? day.number - lastFlow > DAYS_BEFORE_PERIOD
      lastFlow = day.number
      if (starts) {
        const before = spans.at(-1)
        if (before) before.next = day.number
        spans.push({ start: day, days: [], next: null })
      }
    }
    // Days before the first known start belong to no cycle.
    spans.at(-1)?.days.push(day)
  }
  return spans
}

function cycleOf({ start, days, next }: Span, provider: string, predicted: number | null): Cycle {
  const lastPeriodDay = endOfPeriod(days)
  const lastFlow = days.findLast(({ flow }) => flow) as Day
  const last = days.at(-1) as Day
  const length = next === null ? predicted : next - start.number
  const period = lastPeriodDay - start.number + 1
  const test = days.findLast(({ positiveTest }) => positiveTest)
  const dayInCycle = last.number - start.number + 1
  return {
    external_id: `cycle-${provider}-${new Date(start.number * DAY_MS).toISOString().slice(0, 10)}`,
    source_id: start.sourceId,
    start_ms: midnight(start.number, start.zoneMin),
    end_ms: midnight(next ?? lastFlow.number + 1, start.zoneMin),
    zone_offset_min: start.zoneMin,
    current_phase_type: phaseOf(dayInCycle, period, length, test && test.number - start.number + 1),
    day_in_cycle: dayInCycle,
    cycle_length: length,
    predicted_cycle_length: next === null ? predicted : null,
    period_length: period,
    is_predicted_cycle: next === null && predicted !== null,
    last_updated_ms: last.lastMs,
  }
}

/** Last day of the flow a cycle begins with. */
function endOfPeriod(days: readonly Day[]): number {
  let end = (days[0] as Day).number
  for (const { number, flow } of days) {
    if (number - end > GAP_DAYS + 1) break
    if (flow) end = number
  }
  return end
}

/**
 * Phase on a day of a cycle (1 = its first), if the length of the cycle, or the day of the last positive ovulation test
 * (not after `day`), determines it.
 */
function phaseOf(
  day: number,
  periodLength: number,
  cycleLength: number | null,
  testDay: number | undefined,
): Phase | null {
  if (day <= periodLength) return 'menstrual'
  const ovulation = cycleLength === null ? undefined : cycleLength - LUTEAL_DAYS
  if (day === testDay) return 'ovulatory'
  if (ovulation !== undefined && Math.abs(day - ovulation) <= OVULATION_MARGIN_DAYS) return 'ovulatory'
  if (testDay !== undefined || (ovulation !== undefined && day > ovulation)) return 'luteal'
  return ovulation === undefined ? null : 'follicular'
}

/** The middle value, or the rounded mean of the middle two; null for an empty list. */
function median(lengths: readonly number[]): number | null {
  const sorted = lengths.toSorted((a, b) => a - b)
  const upper = sorted[sorted.length >> 1]
  const lower = sorted[(sorted.length - 1) >> 1]
  return upper === undefined || lower === undefined ? null : Math.round((lower + upper) / 2)
}

function dayOf(ms: number, zoneMin: number | null): number {
  return Math.floor((ms + (zoneMin ?? 0) * 60_000) / DAY_MS)
}

/** When a day begins, in epoch milliseconds. */
function midnight(day: number, zoneMin: number | null): number {
  return day * DAY_MS - (zoneMin ?? 0) * 60_000
}
