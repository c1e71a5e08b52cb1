import { round } from '../random.ts'
import { SLEEPING } from '../truth/minutes.ts'
import { type Day, daysBetween, type Person, sleepsOf, sumsOf } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { MEANS_SECONDS, type Sleep, type SleepView, sleepAt } from '../truth/sleep.ts'
import { TENSION_MINUTES, tensionOf } from '../truth/stress.ts'
import { isoAt, MINUTE_MS, offsetAt } from '../zones.ts'

/** A row of the 24/7 data. */
export interface Row {
  readonly timestamp: string
  readonly entryData: Record<string, unknown>
}

/** Both ends in epoch ms, both included. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

const JOULES = 4184

/** Whether the watch writes more often, and more: oxygen, variability, when somebody went to bed. */
export function isNew({ ring }: Person): boolean {
  return ring !== 'gen3'
}

function at(zone: string, ms: number): string {
  return isoAt(ms, offsetAt(zone, ms), '.000')
}

/** Parts of so many minutes of the days that a span touches, which begin in the span and are known whole. */
function parts(person: Person, { fromMs, toMs }: Span, minutes: number, untilMs: number) {
  return daysBetween(person, fromMs, toMs).flatMap((day) => {
    const { startMs, met } = person.minutes(day.day)
    const all = Array.from({ length: Math.ceil(met.length / minutes) }, (_, i) => i * minutes)
    return all.flatMap((first) => {
      const ms = startMs + first * MINUTE_MS
      const last = Math.min(first + minutes, met.length)
      const inside = ms >= fromMs && ms <= toMs && startMs + last * MINUTE_MS <= untilMs
      return inside ? [{ day, ms, first, last }] : []
    })
  })
}

/** Every five minutes, or ten on older watches: whole beats, joules to 0.1. Nothing where the watch was not worn. */
export function activity(person: Person, span: Span, nowMs: number): Row[] {
  const every = isNew(person) ? 5 : 10
  return parts(person, span, every, knownUntil(person, nowMs)).flatMap(({ day, ms, first, last }): Row[] => {
    const { heartRate, steps, met } = person.minutes(day.day)
    if (met.subarray(first, last).every((value) => value === 0)) return []
    const beats = heartRate.subarray(first, last).filter((value) => value > 0)
    const { activeKcal } = sumsOf(person, ms, ms + (last - first) * MINUTE_MS)
    const entryData = {
      ...(beats.length > 0 && {
        HR: Math.round(beats.reduce((sum, value) => sum + value, 0) / beats.length),
        HRExt: { Min: Math.min(...beats), Max: Math.max(...beats) },
      }),
      StepCount: steps.subarray(first, last).reduce((sum, value) => sum + value, 0),
      EnergyConsumption: round(activeKcal * JOULES, 1),
      ...(isNew(person) && atNight(person, day, { ms, first })),
    }
    return [{ timestamp: at(day.zone, ms), entryData }]
  })
}

/** Asleep: variability of the five minutes of the night that hold the beginning, 0 without; oxygen each full hour. */
function atNight(person: Person, day: Day, { ms, first }: { ms: number; first: number }) {
  if (person.minutes(day.day).during[first] !== SLEEPING) return {}
  const sleeps = [day.night, person.day(day.day + 1).night]
  const sleep = sleeps.find((one) => one && one.startMs <= ms && ms < one.endMs)
  if (!sleep) return {}
  const hrv = sleep.hrv[Math.floor((ms - sleep.startMs) / 1000 / MEANS_SECONDS)] ?? 0
  const measures = sleep.spo2 !== null && first % 60 === 0
  return { HRV: hrv, ...(measures && { SpO2: round((sleep.spo2 ?? 0) / 100, 2) }) }
}

const RECOVERY_MINUTES = 30

/** Every half hour: what is left of the strength, 0 to 1, and the state of most of it. */
export function recovery(person: Person, span: Span, nowMs: number): Row[] {
  return parts(person, span, RECOVERY_MINUTES, knownUntil(person, nowMs)).flatMap(({ day, ms, first, last }): Row[] => {
    const { battery, stress } = tensionOf(person, day.day)
    const [from, to] = [first / TENSION_MINUTES, last / TENSION_MINUTES]
    const Balance = (battery[from] ?? 0) / 100
    const entryData = { Balance, StressState: stateOf(stress.subarray(from, to)) }
    return Balance === 0 ? [] : [{ timestamp: at(day.zone, ms), entryData }]
  })
}

/** 1 relaxing, 2 active, 3 passive, 4 stressful; 0: nothing was measured. */
export function stateOf(stress: Int8Array): number {
  if (stress.includes(-2)) return 2
  const values = stress.filter((value) => value > 0)
  if (values.length === 0) return 0
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return mean <= 25 ? 1 : mean <= 50 ? 3 : 4
}

/** Nights and naps that begin in a span; some both as they were at first and as they became. */
export function sleeps(person: Person, { fromMs, toMs }: Span, nowMs: number): Row[] {
  const views = sleepsOf(daysBetween(person, fromMs, toMs), nowMs).filter(({ deleted }) => !deleted)
  return views
    .flatMap((view) => [...interim(view), view])
    .filter(({ startMs }) => startMs >= fromMs && startMs <= toMs)
    .map((view) => sleepRow(person, view))
}

function interim({ sleep, updatedMs }: SleepView): SleepView[] {
  const [first] = sleep.versions
  if (!first || first.cutEnd === 0 || first.atMs === updatedMs || sleep.day % 2 === 1) return []
  const view = sleepAt(sleep, first.atMs)
  return view ? [view] : []
}

export function sleepId({ startMs }: Sleep): number {
  return Math.floor(startMs / 1000)
}

/** Whole seconds and beats; oxygen as a share, or in percent on older watches. */
export function sleepRow(person: Person, view: SleepView): Row {
  const { sleep, startMs, endMs, runs, seconds } = view
  const [first, last] = [runs[0], runs.at(-1)]
  const latency = first?.stage === 'awake' ? first.seconds : 0
  const before = runs.length > 1 && last?.stage === 'awake' ? last.seconds : 0
  const [start, end] = [isoAt(startMs, view.startOffset, '.000'), isoAt(endMs, view.endOffset, '.000')]
  const entryData = {
    ...{ SleepId: sleep.day % 5 === 0 ? String(sleepId(sleep)) : sleepId(sleep), DateTime: start },
    ...(isNew(person) && { BedtimeStart: start, BedtimeEnd: end }),
    Duration: (endMs - startMs) / 1000,
    ...{ DeepSleepDuration: seconds.deep, LightSleepDuration: seconds.light, REMSleepDuration: seconds.rem },
    ...{ SleepOnsetLatencyDuration: latency, WakeAfterSleepOnsetDuration: seconds.awake - latency - before },
    WakeBeforeOffBedDuration: before,
    ...{ HRAvg: Math.round(view.averageHeartRate), HRMin: view.lowestHeartRate },
    ...(!sleep.nap && { AvgHRV: Math.round(view.averageHrv), AvgHRVSampleCount: view.hrv.length }),
    ...(sleep.spo2 !== null && { MaxSpo2: isNew(person) ? round(sleep.spo2 / 100, 2) : Math.round(sleep.spo2) }),
    ...(!sleep.unscorable && !sleep.nap && { SleepQualityScore: sleep.quality }),
    ...{ IsNap: sleep.nap, Feeling: 1 + (sleep.day % 5) },
  }
  return { timestamp: start, entryData }
}
