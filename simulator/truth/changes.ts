import { DAY_MS, HOUR_MS, localDay } from '../zones.ts'
import type { Day, Person } from './person.ts'
import { knownMs } from './personas.ts'
import { type Rest, type SleepView, sleepAt } from './sleep.ts'
import { type Weighing, type WorkoutView, workoutAt } from './workouts.ts'

/** What providers learn at an instant; views are as of it. */
export type Change = { readonly atMs: number; readonly how: 'made' | 'changed' | 'removed' } & (
  | { readonly what: 'sleep'; readonly view: SleepView; readonly before: SleepView | null }
  | { readonly what: 'workout'; readonly view: WorkoutView; readonly before: WorkoutView | null }
  | { readonly what: 'rest'; readonly rest: Rest }
  | { readonly what: 'weighing'; readonly weighing: Weighing }
  | { readonly what: 'day'; readonly day: Day; readonly complete: boolean }
)

/** Longest time from what happens to the last that is learnt of it: a phone without a network, then a late edit. */
const LATEST_DAYS = 7
/** Phones bring the numbers of a day so often. */
const DAY_STEP_MS = 3 * HOUR_MS

/** What providers learn of a person after one instant and up to another, in order of time. */
export function changesOf(person: Person, fromMs: number, toMs: number): Change[] {
  const first = Math.max(person.span.firstDay, localDay('UTC', fromMs) - LATEST_DAYS)
  const last = Math.floor(toMs / DAY_MS) + 1
  const found: Change[] = []
  for (let day = first; day <= last; day++) found.push(...ofDay(person, person.day(day)))
  return found.filter(({ atMs }) => atMs > fromMs && atMs <= toMs).sort((a, b) => a.atMs - b.atMs)
}

function ofDay(person: Person, day: Day): Change[] {
  const { night, nap, rest, workout, weighing } = day
  const changes = [night, nap].flatMap((sleep) => (sleep ? versionsOf(sleep, sleepAt, 'sleep' as const) : []))
  return [
    ...changes,
    ...(workout ? versionsOf(workout, workoutAt, 'workout' as const) : []),
    ...(rest ? [{ atMs: rest.knownMs, how: 'made' as const, what: 'rest' as const, rest }] : []),
    ...(weighing ? [{ atMs: weighing.knownMs, how: 'made' as const, what: 'weighing' as const, weighing }] : []),
    ...progressOf(person, day),
  ]
}

interface Versioned {
  readonly versions: readonly { readonly atMs: number }[]
  readonly deletedMs: number | null
}

function versionsOf<Kind, Of extends Versioned, View>(
  record: Of,
  viewAt: (record: Of, atMs: number) => View | null,
  what: Kind,
) {
  const instants = record.versions.map(({ atMs }) => atMs)
  if (record.deletedMs !== null) instants.push(record.deletedMs)
  return instants.flatMap((atMs, i) => {
    const view = viewAt(record, atMs)
    if (!view) return []
    const how: Change['how'] = atMs === record.deletedMs ? 'removed' : i === 0 ? 'made' : 'changed'
    return [{ atMs, how, what, view, before: viewAt(record, atMs - 1) }]
  })
}

/** From 04:00 on every three hours, and at the end; what phones bring at once is one change. */
function progressOf(person: Person, day: Day): Change[] {
  const endMs = person.day(day.day + 1).startMs
  const instants = new Map<number, Change>()
  for (let ms = day.startMs + DAY_STEP_MS; ms < endMs + DAY_STEP_MS; ms += DAY_STEP_MS) {
    const atMs = knownMs(person, Math.min(ms, endMs))
    const how = instants.size === 0 ? 'made' : 'changed'
    instants.set(atMs, {
      atMs,
      how: instants.has(atMs) && instants.size === 1 ? 'made' : how,
      what: 'day',
      day,
      complete: ms >= endMs,
    })
  }
  return [...instants.values()]
}
