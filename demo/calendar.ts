// What happens in the lives of the three, by date alone, so that a year looks the same whenever it is made.

import { random } from '../simulator/random.ts'
import { localMs, offsetAt } from '../simulator/zones.ts'
import { dayOf, weekday, yearOf } from './clock.ts'
import type { Person } from './people.ts'
import { drift } from './random.ts'

const NEW_YORK = 'America/New_York'

/** New York's marathon is on the first Sunday of November. */
export function marathonOf(year: number): number {
  const first = dayOf(year, 11, 1)
  return first + ((7 - weekday(first)) % 7)
}

/** Days from the flight to New York to the race, and from the race to the flight home. */
const DAYS_BEFORE = 5
const DAYS_AFTER = 4

/** Days since the flight to New York (0 is its date) while Ada is there; since the flight home as `back`. */
export function journey(person: Person, day: number): { there?: number; back?: number } {
  if (person.key !== 'ada') return {}
  const race = marathonOf(yearOf(day))
  const there = day - (race - DAYS_BEFORE)
  const back = day - (race + DAYS_AFTER + 1)
  if (there >= 0 && back < 0) return { there }
  return back >= 0 && back < 6 ? { back } : {}
}

/** The zone of the clock that a person goes by. On a flight it is that of where they land. */
export function zoneAt(person: Person, ms: number): string {
  if (person.key !== 'ada') return person.zone
  const race = marathonOf(new Date(ms).getUTCFullYear())
  const leaves = localMs(person.zone, race - DAYS_BEFORE, 13 * 60)
  const returns = localMs(NEW_YORK, race + DAYS_AFTER, 18 * 60)
  return ms >= leaves && ms < returns ? NEW_YORK : person.zone
}

/** Offset of that clock from UTC, in minutes. */
export const offsetOf = (person: Person, ms: number) => offsetAt(zoneAt(person, ms), ms)

/** The zone in which a local date begins, and its first instant. */
export function startOf(person: Person, day: number): { zone: string; ms: number } {
  const zone = zoneAt(person, localMs(person.zone, day, 0))
  return { zone, ms: localMs(zone, day, 0) }
}

const COLD = [0.5, 1, 1, 0.8, 0.5, 0.3, 0.15]

/** How ill a person is, from 0 to 1: Ada has a cold of five days in February, which she feels for two more. */
export function illness(person: Person, day: number): number {
  if (person.key !== 'ada') return 0
  return COLD[day - dayOf(yearOf(day), 2, 16)] ?? 0
}

/** Kilometres of the long run, by weeks before the race. */
const LONG = [42.2, 14, 18, 30, 24, 32, 26, 30, 22, 28, 24, 26, 18, 24, 22, 20, 16, 18, 16]

/** A run as it is planned. */
export interface PlannedRun {
  readonly kind: 'easy' | 'intervals' | 'tempo' | 'long' | 'race'
  readonly km: number
}

/** Ada's run of a date: four a week, towards the marathon and easily after it. */
export function runOf(person: Person, day: number): PlannedRun | undefined {
  if (person.key !== 'ada' || illness(person, day) > 0.1) return undefined
  const race = marathonOf(yearOf(day))
  if (day === race) return { kind: 'race', km: 42.2 }
  const away = journey(person, day)
  if (away.there === 0 || away.there === DAYS_BEFORE + DAYS_AFTER || away.back === 0) return undefined
  if (day > race && day <= race + 7) return undefined
  const next = day < race ? race : marathonOf(yearOf(day) + 1)
  const weeks = Math.floor((next - day) / 7)
  const since = day > race ? day - race : 1000
  const chance = random(`${person.seed}/ada/run/${day}`)
  if (chance() < 0.07 && weeks > 0) return undefined
  const vary = 0.92 + 0.16 * chance()
  return weekRun(weekday(day), weeks, since, vary)
}

/** The run of a day of the week, so many weeks before a race and days after one; lengths vary by a factor. */
function weekRun(day: number, weeks: number, since: number, vary: number): PlannedRun | undefined {
  const training = weeks < LONG.length
  const tapering = weeks < 2
  const easy = (km: number): PlannedRun => ({ kind: 'easy', km: km * vary })
  // Two easy runs in the second week after the race, all of them from the third on.
  if (since < 21) return day === 4 || day === 0 ? easy(5) : undefined
  if (day === 2) {
    if (weeks === 0) return easy(6)
    const km = (training && !tapering ? 9 : 7) * vary
    return { kind: weeks % 2 === 0 ? 'intervals' : 'tempo', km }
  }
  if (day === 4) return easy(training && !tapering ? 8.5 : 6)
  if (day === 6) return easy(weeks === 0 ? 3 : training && !tapering ? 6 : 5)
  if (day === 0) return { kind: 'long', km: (training ? (LONG[weeks] ?? 12) : 11) * vary }
  return undefined
}

const loads = new Map<string, number>()

/** How much of what she can become her training has made of Ada, from 0 to 1: her runs of eight weeks, fading. */
export function fitness(person: Person, day: number): number {
  if (person.key !== 'ada') return 0.3
  const known = `${person.seed}/${day}`
  const before = loads.get(known)
  if (before !== undefined) return before
  let km = 0
  let parts = 0
  for (let age = 1; age <= 56; age++) {
    const part = Math.exp(-age / 30)
    km += (runOf(person, day - age)?.km ?? 0) * part
    parts += part
  }
  const share = Math.min(1, Math.max(0, (km / parts - 2) / 5))
  loads.set(known, share)
  return share
}

export type Shift = 'early' | 'late' | 'night' | 'off'

const ROTA: readonly Shift[] = ['early', 'early', 'late', 'late', 'night', 'night', 'night', 'off', 'off', 'off']

/** The shift that Ben begins on a date. */
export function shiftOf(person: Person, day: number): Shift {
  if (person.key !== 'ben') return 'off'
  return ROTA[day % ROTA.length] ?? 'off'
}

/** Hours of the day at which a shift begins and ends; a night ends on the next date. */
export const SHIFT_HOURS = { early: [6, 14], late: [14, 22], night: [22, 30], off: [0, 0] } as const

/** Whether a person has left the watch at home on a date: Ben's was in repair for nine days in July. */
export function watchless(person: Person, day: number): boolean {
  const since = day - dayOf(yearOf(day), 7, 6)
  return person.key === 'ben' && since >= 0 && since < 9
}

/** How many days later than usual the data of a date arrives: Ben's phone was offline for three days in March. */
export function lateDays(person: Person, day: number): number {
  const since = day - dayOf(yearOf(day), 3, 9)
  return person.key === 'ben' && since >= 0 && since < 3 ? 7 : 0
}

/** The day of a menstrual cycle, from 0 on, and its length. */
export interface CycleDay {
  readonly of: number
  readonly length: number
}

const FIRST_CYCLE = dayOf(2024, 1, 9)
const CYCLE_DAYS = 28

/** Cleo's cycles, of 26 to 30 days. */
export function cycleOf(person: Person, day: number): CycleDay | undefined {
  if (person.key !== 'cleo') return undefined
  const startOfCycle = (number: number) =>
    FIRST_CYCLE + number * CYCLE_DAYS + Math.round(drift(`${person.seed}/cleo/cycle`, number, 0.3))
  let number = Math.floor((day - FIRST_CYCLE) / CYCLE_DAYS) + 1
  while (startOfCycle(number) > day) number--
  return { of: day - startOfCycle(number), length: startOfCycle(number + 1) - startOfCycle(number) }
}
