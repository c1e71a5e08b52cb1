import { between, normal, pick, type Random, random, round, whole } from '../random.ts'
import { dateOf, HOUR_MS, localMs, MINUTE_MS, offsetAt } from '../zones.ts'
import { isShift, knownMs, type Persona, zoneOn } from './personas.ts'

export const stages = ['awake', 'light', 'deep', 'rem'] as const
export type Stage = (typeof stages)[number]
export interface Run {
  readonly stage: Stage
  readonly seconds: number
}

/** What became known of a sleep, and when: with so many seconds cut off at its start and end. */
interface Version {
  readonly atMs: number
  readonly cutStart: number
  readonly cutEnd: number
  readonly edited: boolean
}

/** A night or nap as it was measured from beginning to end. */
export interface Sleep {
  readonly key: string
  readonly nap: boolean
  /** Local date of its end, days since 1970-01-01. */
  readonly day: number
  readonly zone: string
  readonly startMs: number
  readonly endMs: number
  /** From the start to the end without gaps. */
  readonly runs: readonly Run[]
  /** Means of five minutes from the start on; 0 = none. */
  readonly heartRate: Uint8Array
  readonly hrv: Uint8Array
  readonly breaths: number
  /** Percent; null in some nights. */
  readonly spo2: number | null
  readonly skinTemperature: number
  readonly temperatureDeviation: number
  readonly temperatureTrend: number
  readonly disturbances: number
  /** 0 to 100: how good it was, and how well recovered the person is after it. */
  readonly quality: number
  readonly recovery: number
  /** Some devices can make nothing of it. */
  readonly unscorable: boolean
  readonly versions: readonly Version[]
  /** When the person deleted it. */
  readonly deletedMs: number | null
}

/** Records may be cut at these steps, which are those of the means. */
export const MEANS_SECONDS = 300

/** The main sleep that ends on a local day; null when no device was worn. */
export function nightOf(person: Persona, day: number): Sleep | null {
  const next = random(`${person.seed}/night/${day}`)
  if (next() < 0.025) return null
  const zone = zoneOn(person, day)
  const shift = isShift(person, day)
  const weekend = [0, 6].includes((day + 4) % 7) ? between(next, 20, 70) : 0
  const wake = shift ? 930 + normal(next) * 10 : person.wakeMinute + weekend + normal(next) * 12
  const inBed = shift ? between(next, 330, 400) : person.inBedMinutes + weekend / 2 + normal(next) * 14
  const endMs = localMs(zone, day, 0) + Math.round(wake * 60) * 1000 + clockChange(zone, day)
  const startMs = endMs - Math.round(inBed * 60) * 1000
  return sleep(person, next, { key: `night/${dateOf(day)}`, nap: false, day, zone, startMs, endMs })
}

/** What a clock change before the morning adds to the time since midnight, in ms. */
function clockChange(zone: string, day: number): number {
  const midnight = localMs(zone, day, 0)
  return (offsetAt(zone, midnight) - offsetAt(zone, midnight + 6 * HOUR_MS)) * MINUTE_MS
}

/** The nap of a day, if there is one. */
export function napOf(person: Persona, day: number): Sleep | null {
  const next = random(`${person.seed}/nap/${day}`)
  const zone = zoneOn(person, day)
  const travels = zone !== zoneOn(person, day - 1) || zone !== zoneOn(person, day + 1)
  if (next() > 0.12 || travels || isShift(person, day) || isShift(person, day + 1)) return null
  const late = next() < 0.25
  const startMs = localMs(zone, day, late ? 1125 : 780) + Math.round(between(next, 0, late ? 20 : 110) * 60) * 1000
  const endMs = startMs + Math.round(between(next, 20, late ? 40 : 80) * 60) * 1000
  return sleep(person, next, { key: `nap/${dateOf(day)}`, nap: true, day, zone, startMs, endMs })
}

type Frame = Pick<Sleep, 'key' | 'nap' | 'day' | 'zone' | 'startMs' | 'endMs'>

function sleep(person: Persona, next: Random, frame: Frame): Sleep {
  const runs = stageRuns(next, Math.round((frame.endMs - frame.startMs) / 1000), frame.nap)
  const deviation = round(normal(next) * 0.25, 2)
  const recovery = round(Math.min(99, Math.max(8, 66 + normal(next) * 16)))
  const asleep = runs.reduce((sum, { stage, seconds }) => sum + (stage === 'awake' ? 0 : seconds), 0)
  const unscorable = next() < 0.02
  return {
    ...frame,
    runs,
    ...fiveMinutes(person, next, { runs, recovery }),
    breaths: round(between(next, 12.5, 17.5), 3),
    spo2: next() < 0.06 ? null : round(between(next, 94.6, 98.9), 2),
    skinTemperature: round(33.6 + deviation, 2),
    temperatureDeviation: deviation,
    temperatureTrend: round(deviation * 0.6 + normal(next) * 0.05, 2),
    disturbances: whole(next, 2, 14),
    quality: round(Math.min(99, Math.max(20, (asleep / 28_800) * 82 + normal(next) * 6))),
    recovery,
    unscorable,
    ...story(person, next, frame),
  }
}

/** How a record became what it is: complete at once, longer later in the morning, edited, or deleted. */
function story(person: Persona, next: Random, { nap, startMs, endMs }: Frame): Pick<Sleep, 'versions' | 'deletedMs'> {
  const whole5 = Math.floor((endMs - startMs) / 1000 / MEANS_SECONDS) * MEANS_SECONDS
  const finalMs = knownMs(person, endMs + between(next, 5, 60) * MINUTE_MS)
  const fate = next()
  const versions = [{ atMs: finalMs, cutStart: 0, cutEnd: 0, edited: false }]
  if (nap) return { versions, deletedMs: fate < 0.05 ? finalMs + 9 * HOUR_MS : null }
  if (fate < 0.15) {
    // Awake for a moment, the phone took it for the end.
    const cutEnd = (endMs - startMs) / 1000 - whole5 + MEANS_SECONDS * whole(next, 8, 14)
    const atMs = knownMs(person, endMs - cutEnd * 1000 + 2 * MINUTE_MS)
    if (atMs < finalMs) versions.unshift({ atMs, cutStart: 0, cutEnd, edited: false })
  } else if (fate < 0.2) {
    const cutStart = MEANS_SECONDS * whole(next, 3, 8)
    versions.push({ atMs: finalMs + whole(next, 10, 30) * HOUR_MS, cutStart, cutEnd: 0, edited: true })
  }
  return { versions, deletedMs: fate > 0.98 ? finalMs + whole(next, 5, 30) * HOUR_MS : null }
}

/** Cycles of about ninety minutes, deep sleep early, REM late; the last run, awake, takes the seconds that are left. */
function stageRuns(next: Random, seconds: number, nap: boolean): Run[] {
  const runs: Run[] = []
  let left = seconds
  const add = (stage: Stage, minutes: number) => {
    const whole30 = Math.min(Math.max(1, Math.round(minutes * 2)) * 30, Math.floor((left - 30) / 30) * 30)
    if (whole30 <= 0) return
    const last = runs.at(-1)
    if (last?.stage === stage) runs[runs.length - 1] = { stage, seconds: last.seconds + whole30 }
    else runs.push({ stage, seconds: whole30 })
    left -= whole30
  }
  add('awake', between(next, 3, nap ? 6 : 20))
  for (let cycle = 0; left > 60; cycle++) {
    add('light', between(next, 8, 25))
    add('deep', Math.max(0.5, between(next, 12, 34) - cycle * 7))
    add('light', between(next, 10, 25))
    if (!nap) add('rem', between(next, 4, 14) + cycle * 5)
    if (next() < 0.6) add('awake', between(next, 0.5, 7))
  }
  const end = runs.at(-1)
  if (end?.stage === 'awake') runs[runs.length - 1] = { stage: 'awake', seconds: end.seconds + left }
  else runs.push({ stage: 'awake', seconds: left })
  return runs
}

const PULSE: Record<Stage, number> = { awake: 9, light: 4, deep: 1, rem: 6 }

/** Heart rate and its variability of each five minutes; the first has none, and some others neither. */
function fiveMinutes(
  person: Persona,
  next: Random,
  { runs, recovery }: { runs: readonly Run[]; recovery: number },
): Pick<Sleep, 'heartRate' | 'hrv'> {
  const seconds = runs.reduce((sum, run) => sum + run.seconds, 0)
  const count = Math.floor(seconds / MEANS_SECONDS)
  const heartRate = new Uint8Array(count)
  const hrv = new Uint8Array(count)
  const base = person.restingHr + (66 - recovery) / 12
  const variability = person.hrvMs * (0.6 + recovery / 160)
  let [run, runEnd] = [0, runs[0]?.seconds ?? 0]
  for (let i = 1; i < count; i++) {
    while (i * MEANS_SECONDS >= runEnd && run < runs.length) runEnd += runs[++run]?.seconds ?? 0
    if (next() < 0.03) continue
    const stage = runs[run]?.stage ?? 'awake'
    const sinking = 5 * Math.max(0, 1 - (i * 2) / count)
    heartRate[i] = Math.round(base + PULSE[stage] + sinking + normal(next))
    hrv[i] = Math.min(250, Math.max(8, Math.round(variability * (stage === 'deep' ? 1.15 : 0.95) + normal(next) * 7)))
  }
  return { heartRate, hrv }
}

/** A sleep as providers know it at an instant. */
export interface SleepView {
  readonly sleep: Sleep
  readonly startMs: number
  readonly endMs: number
  /** Minutes east of UTC at start and end; they differ when clocks change in between. */
  readonly startOffset: number
  readonly endOffset: number
  readonly runs: readonly Run[]
  readonly seconds: Readonly<Record<Stage, number>>
  readonly heartRate: Uint8Array
  readonly hrv: Uint8Array
  /** Means over the values that are there; the lowest of them. */
  readonly averageHeartRate: number
  readonly lowestHeartRate: number
  readonly averageHrv: number
  /** Share of the time in bed that was slept, percent. */
  readonly efficiency: number
  readonly createdMs: number
  readonly updatedMs: number
  /** Whether the person has moved its start. */
  readonly edited: boolean
  readonly deleted: boolean
}

/** The view of each sleep that was asked for last. */
const views = new WeakMap<Sleep, { version: Version; view: SleepView }>()

/** What providers know of a sleep now; null as long as they know nothing. */
export function sleepAt(sleep: Sleep, nowMs: number): SleepView | null {
  const version = sleep.versions.findLast(({ atMs }) => atMs <= nowMs)
  if (!version) return null
  const deleted = sleep.deletedMs !== null && sleep.deletedMs <= nowMs
  const last = views.get(sleep)
  if (last?.version === version && last.view.deleted === deleted) return last.view
  const view = viewOf(sleep, version, deleted)
  views.set(sleep, { version, view })
  return view
}

function viewOf(sleep: Sleep, version: Version, deleted: boolean): SleepView {
  const startMs = sleep.startMs + version.cutStart * 1000
  const endMs = sleep.endMs - version.cutEnd * 1000
  const runs = cut(sleep.runs, version.cutStart, (endMs - sleep.startMs) / 1000)
  const seconds = { awake: 0, light: 0, deep: 0, rem: 0 }
  for (const run of runs) seconds[run.stage] += run.seconds
  const from = version.cutStart / MEANS_SECONDS
  const to = from + Math.floor((endMs - startMs) / 1000 / MEANS_SECONDS)
  const heartRate = sleep.heartRate.subarray(from, to)
  const hrv = sleep.hrv.subarray(from, to)
  const beats = heartRate.filter((value) => value > 0)
  return {
    ...{ sleep, startMs, endMs, runs, seconds, heartRate, hrv, deleted },
    startOffset: offsetAt(sleep.zone, startMs),
    endOffset: offsetAt(sleep.zone, endMs),
    averageHeartRate: mean(beats),
    lowestHeartRate: beats.length > 0 ? Math.min(...beats) : 0,
    averageHrv: mean(hrv.filter((value) => value > 0)),
    efficiency: (1 - (seconds.awake * 1000) / (endMs - startMs)) * 100,
    createdMs: sleep.versions[0]?.atMs ?? version.atMs,
    updatedMs: deleted ? (sleep.deletedMs ?? 0) : version.atMs,
    edited: version.edited,
  }
}

function cut(runs: readonly Run[], from: number, to: number): Run[] {
  const kept: Run[] = []
  let at = 0
  for (const { stage, seconds } of runs) {
    const left = Math.min(at + seconds, to) - Math.max(at, from)
    if (left > 0) kept.push({ stage, seconds: left })
    at += seconds
  }
  return kept
}

function mean(values: Uint8Array): number {
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : 0
}

/** Lying still in the middle of the day without sleeping: some devices record it, none may call it sleep. */
export interface Rest {
  readonly key: string
  readonly day: number
  readonly zone: string
  readonly startMs: number
  readonly endMs: number
  readonly knownMs: number
}

/** The rest of a day, if there is one. */
export function restOf(person: Persona, day: number): Rest | null {
  const next = random(`${person.seed}/rest/${day}`)
  if (next() > 0.08 || isShift(person, day)) return null
  const zone = zoneOn(person, day)
  const startMs = localMs(zone, day, 705) + whole(next, 0, 600) * 1000
  const endMs = startMs + pick(next, [15, 20, 30, 40]) * MINUTE_MS
  return { key: `rest/${dateOf(day)}`, day, zone, startMs, endMs, knownMs: knownMs(person, endMs + 10 * MINUTE_MS) }
}
