// When a person sleeps, trains and takes the watch off: the frame of a day, which measurements are made for.

import { between, normal, random } from '../simulator/random.ts'
import { localMs, MINUTE_MS } from '../simulator/zones.ts'
import { illness, journey, marathonOf, runOf, shiftOf, startOf, watchless, zoneAt } from './calendar.ts'
import { weekday, yearOf } from './clock.ts'
import { named, type Person } from './people.ts'
import { drift } from './random.ts'

/** Half-open, in epoch ms. */
export interface Span {
  readonly startMs: number
  readonly endMs: number
}

export const contains = ({ startMs, endMs }: Span, ms: number) => ms >= startMs && ms < endMs

/** Minutes from the midnight that begins a date; before it they are negative. */
type Minutes = readonly [bed: number, wake: number]

/** The night that ends on a date: from going to bed until getting up. */
export function nightOf(person: Person, day: number): Span {
  const { zone } = startOf(person, day)
  const [bed, wake] = usualNight(person, day)
  const late = drift(named(person, 'bed'), day, 0.5)
  const early = normal(random(named(person, `wake/${day}`)))
  const alarm = wake < 6 * 60 ? 4 : 16
  return {
    startMs: localMs(zone, day, Math.round(bed + late * (alarm === 4 ? 14 : 24))),
    endMs: localMs(zone, day, Math.round(wake + early * alarm)),
  }
}

function usualNight(person: Person, day: number): Minutes {
  if (person.key === 'ada') return nightOfRunner(person, day)
  if (person.key === 'ben') return nightOfShift(person, day)
  const free = weekday(day) === 0 || weekday(day) === 6
  return free ? [-5, 8 * 60 + 25] : [-50, 6 * 60 + 50]
}

function nightOfRunner(person: Person, day: number): Minutes {
  const { there, back } = journey(person, day)
  // Over the Atlantic, eastwards.
  if (back === 0) return [100, 6 * 60 + 10]
  if (back !== undefined) return [Math.max(-70, 70 - back * 30), Math.max(405, 480 - back * 15)]
  if (day === marathonOf(yearOf(day))) return [-135, 5 * 60]
  const jetLag = there ? Math.max(0, 170 - there * 35) : 0
  const long = runOf(person, day)?.kind === 'long'
  const free = weekday(day) === 0 || weekday(day) === 6
  const ill = illness(person, day) * 50
  const [bed, wake] = free ? [-40, long ? 7 * 60 + 20 : 7 * 60 + 45] : [-75, 6 * 60 + 40]
  return [bed - jetLag - ill, wake - jetLag + ill]
}

function nightOfShift(person: Person, day: number): Minutes {
  const [before, today] = [shiftOf(person, day - 1), shiftOf(person, day)]
  if (before === 'night') return [7 * 60 + 35, (today === 'night' ? 13 : 12) * 60 + 40]
  if (today === 'early') return [-120, 4 * 60 + 45]
  if (before === 'late') return [65, 7 * 60 + 50]
  if (today === 'night') return [0, 8 * 60 + 20]
  return [-15, 7 * 60 + 15]
}

/** Naps that end on a date, of 25 to 100 minutes, in the afternoon. */
export function napsOf(person: Person, day: number): Span[] {
  const next = random(named(person, `nap/${day}`))
  const { zone } = startOf(person, day)
  const nap = (from: number, minutes: number): Span[] => {
    const begin = Math.round(from + normal(next) * 12)
    const length = Math.round(minutes * between(next, 0.8, 1.2))
    return [{ startMs: localMs(zone, day, begin), endMs: localMs(zone, day, begin + length) }]
  }
  const chance = next()
  const [before, today] = [shiftOf(person, day - 1), shiftOf(person, day)]
  if (today === 'night' && before !== 'night') return nap(17 * 60, 85)
  if (today === 'night') return chance < 0.4 ? nap(18 * 60 + 30, 40) : []
  if (today === 'early') return chance < 0.45 ? nap(15 * 60 + 20, 45) : []
  if (illness(person, day) > 0.7) return nap(14 * 60, 70)
  return person.key === 'cleo' && weekday(day) === 0 && chance < 0.15 ? nap(14 * 60 + 30, 35) : []
}

export type Sport = 'running' | 'walking' | 'yoga' | 'strength_training' | 'cycling'

/** A part of a workout: how long, how hard (a share of the highest heart rate), how fast. */
export interface Phase {
  readonly seconds: number
  readonly effort: number
  readonly metersPerSecond: number
}

/** A workout as it is planned. */
export interface Session {
  readonly sport: Sport
  readonly title: string
  readonly startMs: number
  readonly phases: readonly Phase[]
}

/** The end of a session. */
export const endOf = ({ startMs, phases }: Session) =>
  startMs + phases.reduce((sum, { seconds }) => sum + seconds, 0) * 1_000

/** The workouts that begin on a date. */
export function sessionsOf(person: Person, day: number): Session[] {
  const next = random(named(person, `sessions/${day}`))
  if (person.key === 'ada') return runSession(person, day)
  const { zone } = startOf(person, day)
  const at = (hour: number) => localMs(zone, day, Math.round(hour * 60 + normal(next) * 10))
  if (person.key === 'ben') {
    const isOff = shiftOf(person, day) === 'off' && shiftOf(person, day - 1) !== 'night'
    if (!isOff || watchless(person, day) || next() > 0.62) return []
    const minutes = between(next, 35, 60)
    if (next() < 0.55) return [{ sport: 'strength_training', title: 'Gym', startMs: at(10.5), phases: sets(minutes) }]
    const steady = { seconds: Math.round(minutes) * 60, effort: 0.7, metersPerSecond: 5.8 }
    return [{ sport: 'cycling', title: 'Ride', startMs: at(15), phases: [warmUp(0.58, 4.6), steady] }]
  }
  const date = weekday(day)
  if (next() < 0.42) return []
  const minutes = Math.round(between(next, 32, 60))
  if (date === 1 || date === 4) {
    const flow = { seconds: minutes * 60, effort: 0.49, metersPerSecond: 0 }
    return [{ sport: 'yoga', title: 'Yoga', startMs: at(18.5), phases: [flow] }]
  }
  if (date !== 3 && date !== 6 && date !== 0) return []
  const walk = { seconds: minutes * 60, effort: 0.57, metersPerSecond: between(next, 1.4, 1.6) }
  return [{ sport: 'walking', title: 'Walk', startMs: at(date === 3 ? 17.5 : 11), phases: [walk] }]
}

const warmUp = (effort: number, metersPerSecond: number): Phase => ({ seconds: 360, effort, metersPerSecond })

/** Sets of lifting, each with its rest. */
function sets(minutes: number): Phase[] {
  const lift = { seconds: 50, effort: 0.72, metersPerSecond: 0 }
  const rest = { seconds: 130, effort: 0.55, metersPerSecond: 0 }
  return [warmUp(0.56, 0), ...Array.from({ length: Math.round(minutes / 3) }, () => [lift, rest]).flat()]
}

const START_HOURS = { easy: 18.2, intervals: 18.3, tempo: 18.2, long: 9.1, race: 10.2 } as const

function runSession(person: Person, day: number): Session[] {
  const run = runOf(person, day)
  if (!run) return []
  const { kind, km } = run
  const next = random(named(person, `run/${day}`))
  const free = weekday(day) === 6 && kind === 'easy'
  const hour = free ? 9.4 : START_HOURS[kind]
  const spread = kind === 'race' ? 0 : normal(next) * 14
  const { zone } = startOf(person, day)
  const startMs = localMs(zone, day, Math.round(hour * 60 + spread))
  // Nobody runs the same pace every day.
  const pace = 1 + normal(next) * 0.015
  const titles = { easy: 'Easy run', intervals: 'Intervals', tempo: 'Tempo run', long: 'Long run', race: 'Marathon' }
  return [{ sport: 'running', title: titles[kind], startMs, phases: phasesOf(kind, km * 1_000, pace) }]
}

/** Phases of a run of so many metres; `pace` is a factor of its speeds. */
function phasesOf(kind: NonNullable<ReturnType<typeof runOf>>['kind'], meters: number, pace: number): Phase[] {
  const over = (length: number, effort: number, speed: number): Phase => {
    const metersPerSecond = speed * pace
    return { seconds: Math.max(10, Math.round(length / metersPerSecond / 10) * 10), effort, metersPerSecond }
  }
  if (kind === 'easy') return [over(meters, 0.73, 2.86)]
  if (kind === 'long') return [over(meters * 0.6, 0.745, 2.88), over(meters * 0.4, 0.77, 2.88)]
  if (kind === 'race') {
    return [over(10_000, 0.84, 3.2), over(22_000, 0.865, 3.18), over(10_195, 0.885, 3.08)]
  }
  const outer = over(1_600, 0.72, 2.8)
  const main = meters - 3_200
  if (kind === 'tempo') return [outer, over(main, 0.87, 3.38), outer]
  const repeats = Math.max(3, Math.round(main / 1_400))
  return [outer, ...Array.from({ length: repeats }, () => [over(1_000, 0.91, 3.7), over(400, 0.74, 2.4)]).flat(), outer]
}

/** Share of nights for which the watch stays on its charger. */
const FORGOTTEN = 1 / 30

/** When the watch is not worn on a date: its charging of 45 minutes, and sometimes the whole night after it. */
export function unwornOf(person: Person, day: number): Span[] {
  const { ms: startMs } = startOf(person, day)
  if (watchless(person, day)) return [{ startMs, endMs: startOf(person, day + 1).ms }]
  const next = random(named(person, `charge/${day}`))
  const tonight = nightOf(person, day + 1)
  const plugged = tonight.startMs - Math.round(between(next, 85, 125)) * MINUTE_MS
  const isForgotten = next() < FORGOTTEN && !journey(person, day + 1).there && zoneAt(person, plugged) === person.zone
  const endMs = isForgotten ? tonight.endMs + 12 * MINUTE_MS : plugged + 45 * MINUTE_MS
  return [{ startMs: plugged, endMs }]
}
