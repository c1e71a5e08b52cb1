import { pick, random, round } from '../random.ts'
import type { Day, Person } from '../truth/person.ts'
import { MEANS_SECONDS, type SleepView, type Stage, sleepAt } from '../truth/sleep.ts'
import { dateOf, MINUTE_MS } from '../zones.ts'
import { type Item, isNew, type Row, type Style, seconds, summaryId } from './items.ts'

/** The main sleep that ends on a day, as known at an instant. One that is deleted is not told any more. */
function nightOf(day: Day, nowMs: number): SleepView | null {
  const view = day.night && sleepAt(day.night, nowMs)
  return view && !view.deleted ? view : null
}

/** The same from the first version to the last, unless ids are to follow start and length. */
export function sleepId(person: Person, { sleep, startMs, endMs }: SleepView, isMoving: boolean): string {
  const [from, to] = isMoving ? [startMs, endMs] : [sleep.startMs, sleep.startMs + 27_140_000]
  return summaryId(person, from, seconds(to - from).toString(16))
}

function headOf(person: Person, view: SleepView, suffix: string): Row {
  const { sleep, startMs } = view
  return {
    summaryId: suffix === '' ? summaryId(person, sleep.startMs, '') : summaryId(person, sleep.startMs, suffix),
    calendarDate: dateOf(sleep.day),
    ...{ startTimeInSeconds: seconds(startMs), startTimeOffsetInSeconds: view.startOffset * 60 },
    durationInSeconds: seconds(view.endMs) - seconds(startMs),
  }
}

function item(view: SleepView, row: () => Row): Item[] {
  return [{ startMs: view.startMs, endMs: view.endMs, row }]
}

/** A night with the naps of its date; naps without a night are not told. The duration leaves out time awake. */
export function sleeps(person: Person, day: Day, nowMs: number, style: Style): Item[] {
  const view = nightOf(day, nowMs)
  if (!view) return []
  const nap = day.nap && sleepAt(day.nap, nowMs)
  const naps = nap && !nap.deleted ? [nap] : []
  return item(view, () => ({ ...night(person, view, style), ...(naps.length > 0 && napsOf(naps)) }))
}

function night(person: Person, view: SleepView, style: Style): Row {
  const { sleep, seconds: lasted } = view
  return {
    ...{ ...headOf(person, view, ''), summaryId: sleepId(person, view, style.newSleepIds) },
    durationInSeconds: lasted.deep + lasted.light + lasted.rem,
    [isNew(person) ? 'unmeasurableSleepInSeconds' : 'unmeasurableSleepDurationInSeconds']: 0,
    ...{ deepSleepDurationInSeconds: lasted.deep, lightSleepDurationInSeconds: lasted.light },
    ...{ remSleepInSeconds: lasted.rem, awakeDurationInSeconds: lasted.awake },
    sleepLevelsMap: levelsOf(view),
    validation: validationOf(person, view),
    timeOffsetSleepRespiration: eachMinute(view, round(sleep.breaths, 1)),
    ...(sleep.spo2 !== null && { timeOffsetSleepSpo2: eachMinute(view, Math.round(sleep.spo2)) }),
    ...(!sleep.unscorable && scores(person, view)),
  }
}

function levelsOf({ runs, startMs }: SleepView): Record<string, Row[]> {
  const levels: Partial<Record<Stage, Row[]>> = {}
  let at = seconds(startMs)
  for (const { stage, seconds: length } of runs) {
    levels[stage] ??= []
    levels[stage].push({ startTimeInSeconds: at, endTimeInSeconds: at + length })
    at += length
  }
  return levels
}

/** The first of several versions is tentative, until a person edits one. */
function validationOf(person: Person, { sleep, updatedMs, edited }: SleepView): string {
  if (edited) return 'AUTO_MANUAL'
  const last = sleep.versions.findLast((version) => !version.edited)
  return `${isNew(person) ? 'ENHANCED' : 'AUTO'}_${updatedMs < (last?.atMs ?? 0) ? 'TENTATIVE' : 'FINAL'}`
}

/** The same value at each whole minute. */
function eachMinute({ startMs, endMs }: SleepView, value: number): Record<string, number> {
  const values: Record<string, number> = {}
  for (let ms = Math.ceil(startMs / MINUTE_MS) * MINUTE_MS; ms < endMs; ms += MINUTE_MS)
    values[seconds(ms) - seconds(startMs)] = value
  return values
}

const PARTS = ['totalDuration', 'stress', 'awakeCount', 'remPercentage', 'restlessness', 'lightPercentage']

function scores(person: Person, { sleep }: SleepView): Row {
  const next = random(`${person.seed}/garmin/${sleep.key}`)
  const { quality: value } = sleep
  const qualifierKey = value >= 90 ? 'EXCELLENT' : value >= 80 ? 'GOOD' : value >= 60 ? 'FAIR' : 'POOR'
  const parts = [...PARTS, 'deepPercentage'].map((name) => {
    return [name, { qualifierKey: pick(next, ['EXCELLENT', 'GOOD', 'FAIR', 'POOR']) }]
  })
  return { overallSleepScore: { value, qualifierKey }, sleepScores: Object.fromEntries(parts) }
}

function napsOf(naps: readonly SleepView[]): Row {
  const length = ({ startMs, endMs }: SleepView) => seconds(endMs) - seconds(startMs)
  return {
    totalNapDurationInSeconds: naps.reduce((sum, nap) => sum + length(nap), 0),
    naps: naps.map((nap) => ({
      ...{ napDurationInSeconds: length(nap), napStartTimeInSeconds: seconds(nap.startMs), napValidation: 'DEVICE' },
      napOffsetInSeconds: nap.startOffset * 60,
    })),
  }
}

/** Each five minutes from the start on, where something was measured; newer watches only. */
export function hrv(person: Person, day: Day, nowMs: number): Item[] {
  const view = nightOf(day, nowMs)
  if (!view || !isNew(person)) return []
  return item(view, () => {
    const entries = Array.from(view.hrv, (value, i) => [i * MEANS_SECONDS, value] as const)
    return {
      ...headOf(person, view, ''),
      ...{ lastNightAvg: Math.round(view.averageHrv), lastNight5MinHigh: Math.max(...view.hrv) },
      hrvValues: Object.fromEntries(entries.filter(([, value]) => value > 0)),
    }
  })
}

/** Newer watches only. */
export function skinTemp(person: Person, day: Day, nowMs: number): Item[] {
  const view = nightOf(day, nowMs)
  if (!view || !isNew(person)) return []
  return item(view, () => ({
    ...headOf(person, view, 'st'),
    avgDeviationCelsius: view.sleep.temperatureDeviation,
  }))
}

/** Means of each minute of a night; the same percent all night. */
export function nightOxygen(person: Person, day: Day, nowMs: number): Item[] {
  const view = nightOf(day, nowMs)
  const spo2 = view?.sleep.spo2 ?? null
  if (!view || spo2 === null) return []
  return item(view, () => {
    const values = eachMinute(view, Math.round(spo2))
    return { ...headOf(person, view, 'spo2'), timeOffsetSpo2Values: values, onDemand: false }
  })
}
