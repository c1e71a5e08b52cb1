import type { Schemas } from '../api/client.ts'
import type { Daily } from './days.ts'
import { clock, DAY_MS, localMs, MINUTE_MS } from './time.ts'

/** The rows of a hypnogram, from the top. */
export const STAGES = ['awake', 'rem', 'light', 'deep'] as const

export type Stage = (typeof STAGES)[number]

/** A part of a night: `sleeping` is sleep without a stage, `in_bed` time that is neither sleep nor known to be awake. */
export interface Part {
  stage: Stage | 'sleeping' | 'in_bed'
  from: number
  until: number
}

/** A session of sleep in local time, with the offset of its start. */
export interface Night {
  id: string
  from: number
  until: number
  isNap: boolean
  session: Schemas['SleepSession']
  parts: Part[]
}

const KNOWN = new Set<string>([...STAGES, 'sleeping', 'in_bed'])

/**
 * A session with its parts; without any, the whole session is sleep without a stage. Its times are of the session's one
 * offset, or of the minutes that `offsetAt` knows for an instant: clocks may change in a night.
 */
export function nightOf(session: Schemas['SleepSession'], offsetAt?: (instantMs: number) => number | undefined): Night {
  const local = (instant: string) => {
    const offset = offsetAt?.(Date.parse(instant))
    return offset === undefined ? localMs(instant, session.zone_offset) : Date.parse(instant) + offset * MINUTE_MS
  }
  const [from, until] = [local(session.start_time), local(session.end_time)]
  const parts = (session.sleep_stage_intervals ?? []).flatMap(({ stage, start_time, end_time }) =>
    KNOWN.has(stage) ? [{ stage: stage as Part['stage'], from: local(start_time), until: local(end_time) }] : [],
  )
  const whole: Part = { stage: 'sleeping', from, until }
  return { id: session.id, from, until, isNap: session.is_nap, session, parts: parts.length > 0 ? parts : [whole] }
}

/** Minutes of each stage. */
export function minutesOf(parts: readonly Part[]): Record<Part['stage'], number> {
  const total: Record<Part['stage'], number> = { awake: 0, rem: 0, light: 0, deep: 0, sleeping: 0, in_bed: 0 }
  for (const { stage, from, until } of parts) total[stage] += (until - from) / MINUTE_MS
  return total
}

/** Whether parts say how deep the sleep was: awake and asleep alone do not. */
export const isStaged = (parts: readonly Part[]): boolean =>
  parts.some(({ stage }) => stage === 'rem' || stage === 'light' || stage === 'deep')

/**
 * Whole minutes of each stage, as the API counts them: as the source reports them, else of the parts; null where neither
 * says anything. Parts without light, deep or REM do not say how deep the sleep was.
 */
export function stageMinutes({ session, parts }: Night): Record<Stage, number | null> {
  const minutes = minutesOf(parts)
  const staged = isStaged(parts)
  const of = (stage: Stage, isKnown: boolean) =>
    session.stages?.[`${stage}_minutes`] ?? (isKnown ? Math.floor(minutes[stage]) : null)
  return {
    awake: of('awake', staged || minutes.awake > 0),
    rem: of('rem', staged),
    light: of('light', staged),
    deep: of('deep', staged),
  }
}

/** Minutes asleep: as the source reports them, else of the parts. */
export function asleepMinutes({ session, parts }: Night): number {
  if (session.sleep_duration_seconds !== null) return session.sleep_duration_seconds / 60
  const { rem, light, deep, sleeping } = minutesOf(parts)
  return rem + light + deep + sleeping
}

/** Times without any part, of a minute or more. */
export function holesOf({ from, until, parts }: Night): { from: number; until: number }[] {
  const holes: { from: number; until: number }[] = []
  let end = from
  for (const part of parts.toSorted((a, b) => a.from - b.from)) {
    if (part.from - end >= MINUTE_MS) holes.push({ from: end, until: part.from })
    end = Math.max(end, part.until)
  }
  if (until - end >= MINUTE_MS) holes.push({ from: end, until })
  return holes
}

const NAMES: Record<Part['stage'], string> = {
  awake: 'Awake',
  rem: 'REM',
  light: 'Light',
  deep: 'Deep',
  sleeping: 'Asleep, no stage',
  in_bed: 'In bed',
}

/** What a stage is called. */
export const stageName = (stage: Part['stage']): string => NAMES[stage]

/** A part in words; `say` is what clocks said at a time. */
export const partText = ({ stage, from, until }: Part, say = clock): string =>
  `${stageName(stage)}, ${say(from)} to ${say(until)}, ${Math.round((until - from) / MINUTE_MS)} min`

/**
 * The middle of the longest sleep of each day, in minutes since the noon before it; null where no night is known. The
 * first day begins at `midnightMs`.
 */
export function middlesOf(nights: readonly Night[], midnightMs: number, days: number): Daily {
  const noon = midnightMs - DAY_MS / 2
  const middles = Array<number | null>(days).fill(null)
  for (const { isNap, from, until } of nights.toSorted((a, b) => a.until - a.from - (b.until - b.from))) {
    const middle = (from + until) / 2 - noon
    const day = Math.floor(middle / DAY_MS)
    if (!isNap && day >= 0 && day < days) middles[day] = (middle - day * DAY_MS) / MINUTE_MS
  }
  return middles
}

const EPOCH_MS = 5 * MINUTE_MS
const EPOCHS = DAY_MS / EPOCH_MS

/**
 * The sleep regularity index (Phillips 2017): −100 + 200 × the share of steps of five minutes in which the person sleeps,
 * or is awake, exactly as 24 hours before. Days from noon to noon count with a night that is known, as the day before;
 * undefined with fewer than seven such nights.
 */
export function regularityOf(nights: readonly Night[]): number | undefined {
  const days = new Map<number, Uint8Array>()
  const dayOf = (local: number) => Math.floor((local + DAY_MS / 2) / DAY_MS)
  for (const night of nights) if (!night.isNap) days.set(dayOf((night.from + night.until) / 2), new Uint8Array(EPOCHS))
  if (days.size < 7) return undefined
  for (const { stage, from, until } of nights.flatMap((night) => night.parts)) {
    if (stage === 'awake' || stage === 'in_bed') continue
    for (let at = Math.ceil(from / EPOCH_MS) * EPOCH_MS; at < until; at += EPOCH_MS) {
      const day = dayOf(at)
      const asleep = days.get(day)
      if (asleep) asleep[(at + DAY_MS / 2 - day * DAY_MS) / EPOCH_MS] = 1
    }
  }
  let [same, compared] = [0, 0]
  for (const [day, asleep] of days) {
    const before = days.get(day - 1)
    if (!before) continue
    compared += EPOCHS
    same += asleep.filter((state, index) => state === before[index]).length
  }
  return compared > 0 ? -100 + (200 * same) / compared : undefined
}
