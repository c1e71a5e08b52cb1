import type { Schemas } from '../api/client.ts'
import { clock, localMs, MINUTE_MS } from './time.ts'

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

/** A session with its parts; without any, the whole session is sleep without a stage. */
export function nightOf(session: Schemas['SleepSession']): Night {
  const local = (instant: string) => localMs(instant, session.zone_offset)
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

/**
 * Whole minutes of each stage, as the API counts them: as the source reports them, else of the parts; null where neither
 * says anything. Parts without light, deep or REM do not say how deep the sleep was.
 */
export function stageMinutes({ session, parts }: Night): Record<Stage, number | null> {
  const minutes = minutesOf(parts)
  const isStaged = parts.some(({ stage }) => stage === 'rem' || stage === 'light' || stage === 'deep')
  const of = (stage: Stage, isKnown: boolean) =>
    session.stages?.[`${stage}_minutes`] ?? (isKnown ? Math.floor(minutes[stage]) : null)
  return {
    awake: of('awake', isStaged || minutes.awake > 0),
    rem: of('rem', isStaged),
    light: of('light', isStaged),
    deep: of('deep', isStaged),
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

/** A part in words. */
export const partText = ({ stage, from, until }: Part): string =>
  `${stageName(stage)}, ${clock(from)} to ${clock(until)}, ${Math.round((until - from) / MINUTE_MS)} min`
