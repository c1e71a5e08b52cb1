import {
  bloodPressureOf,
  compositionOf,
  FERTILE_DAYS,
  type MenstrualCycle,
  menstrualCycleOn,
  snapshotOf,
  spotOxygenOf,
  walksOf,
} from '../truth/measurements.ts'
import type { Day, Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS, dateOf } from '../zones.ts'
import { type Item, offsetSeconds, type Row, seconds, summaryId } from './items.ts'

function measuredAt({ zone }: Day, atMs: number): Row {
  return { measurementTimeInSeconds: seconds(atMs), measurementTimeOffsetInSeconds: offsetSeconds(zone, atMs) }
}

function startedAt({ zone, day }: Day, startMs: number, durationInSeconds: number): Row {
  return {
    calendarDate: dateOf(day),
    ...{ startTimeInSeconds: seconds(startMs), startTimeOffsetInSeconds: offsetSeconds(zone, startMs) },
    durationInSeconds,
  }
}

/** Weighings in whole grams. */
export function bodyComps(person: Person, day: Day, nowMs: number): Item[] {
  const { weighing } = day
  if (!weighing || weighing.knownMs > nowMs) return []
  const { kg, atMs } = weighing
  const { fatPercent, muscleKg } = compositionOf(person, weighing)
  const row = () => ({
    ...{ summaryId: summaryId(person, atMs, ''), ...measuredAt(day, atMs) },
    ...{ weightInGrams: Math.round(kg * 1000), muscleMassInGrams: Math.round(muscleKg * 1000) },
    ...{ boneMassInGrams: Math.round(kg * 46), bodyWaterInPercent: Math.round((100 - fatPercent) * 7) / 10 },
    ...{ bodyFatInPercent: fatPercent, bodyMassIndex: Math.round((kg / (person.heightCm / 100) ** 2) * 10) / 10 },
  })
  return [{ startMs: atMs, endMs: atMs, row }]
}

export function bloodPressures(person: Person, day: Day, nowMs: number): Item[] {
  const found = bloodPressureOf(person, day.day)
  if (!found || found.knownMs > nowMs) return []
  const { atMs, systolic, diastolic, pulse } = found
  const row = () => ({
    ...{ summaryId: summaryId(person, atMs, ''), ...measuredAt(day, atMs) },
    ...{ systolic, diastolic, pulse, sourceType: day.day % 2 === 0 ? 'MANUAL' : 'DEVICE' },
  })
  return [{ startMs: atMs, endMs: atMs, row }]
}

/** Measured by hand: of no length. */
export function spotOxygen(person: Person, day: Day, nowMs: number): Item[] {
  const found = spotOxygenOf(person, day.day)
  if (!found || found.knownMs > nowMs) return []
  const { atMs, percent } = found
  const row = () => ({
    ...{ summaryId: summaryId(person, atMs, 'spo2'), ...startedAt(day, atMs, 0) },
    ...{ timeOffsetSpo2Values: { 0: percent }, onDemand: true },
  })
  return [{ startMs: atMs, endMs: atMs, row }]
}

/** Newer watches say the zone by another name. */
export function healthSnapshot(person: Person, day: Day, nowMs: number): Item[] {
  const found = snapshotOf(person, day.day)
  if (!found || found.knownMs > nowMs) return []
  const { startMs, heartRate, seconds: length } = found
  const beats = [...heartRate]
  const mean = Math.round(beats.reduce((sum, value) => sum + value, 0) / beats.length)
  const row = () => {
    const { startTimeOffsetInSeconds: offset, ...head } = startedAt(day, startMs, length)
    return {
      ...{ summaryId: summaryId(person, startMs, ''), ...head },
      [day.day % 2 === 0 ? 'startTimeOffsetInSeconds' : 'offsetStartTimeInSeconds']: offset,
      summaries: [
        {
          ...{ summaryType: 'heart_rate', minValue: Math.min(...beats), maxValue: Math.max(...beats), avgValue: mean },
          epochSummaries: Object.fromEntries(beats.map((value, i) => [i * 5, value])),
        },
        { summaryType: 'respiration', avgValue: found.breaths },
        { summaryType: 'stress', avgValue: found.stress },
        { summaryType: day.day % 3 === 0 ? 'pulse_ox' : 'spo2', avgValue: found.spo2 },
        { summaryType: 'rmssd_hrv', avgValue: found.rmssdMs },
        { summaryType: 'sdrr_hrv', avgValue: found.sdnnMs },
      ],
    }
  }
  return [{ startMs, endMs: startMs + length * 1000, row }]
}

/** Walks that the watch noticed by itself. */
export function moveIQ(person: Person, day: Day, nowMs: number): Item[] {
  const untilMs = knownUntil(person, nowMs)
  const walks = walksOf(person.minutes(day.day)).filter(({ endMs }) => endMs <= untilMs)
  return walks.map(({ startMs, endMs }) => ({
    ...{ startMs, endMs },
    row: () => ({
      ...{ summaryId: summaryId(person, startMs, 'miq'), ...startedAt(day, startMs, seconds(endMs - startMs)) },
      ...{ activityType: 'Walking', activitySubType: 'Casual' },
    }),
  }))
}

/** The cycle in which a day lies, every day anew under the same id; on its first day the one before, as it was. */
export function mct(person: Person, day: Day, nowMs: number): Item[] {
  const { startMs, met } = person.minutes(day.day)
  const endMs = startMs + met.length * 60_000
  const cycle = menstrualCycleOn(person, day.day)
  if (!cycle || knownUntil(person, nowMs) < endMs) return []
  const before = cycle.startDay === day.day ? menstrualCycleOn(person, day.day - 1) : null
  const rows = [...(before ? [cycleRow(person, before, before.length, endMs)] : [])]
  rows.push(cycleRow(person, cycle, day.day - cycle.startDay + 1, endMs))
  return rows.map((row) => ({ startMs, endMs, row: () => row }))
}

function cycleRow(person: Person, cycle: MenstrualCycle, dayInCycle: number, atMs: number): Row {
  const { startDay, predictedLength, periodLength, fertileDay } = cycle
  const ends = [
    ['MENSTRUAL', periodLength],
    ['FOLLICULAR', fertileDay - 1],
    ['OVULATION', fertileDay + FERTILE_DAYS - 1],
    ['LUTEAL', Number.POSITIVE_INFINITY],
  ] as const
  const phase = ends.findIndex(([, end]) => dayInCycle <= end)
  const over = dayInCycle >= cycle.length
  const length = over ? cycle.length : predictedLength
  const end = Math.min(ends[phase]?.[1] ?? length, length)
  return {
    summaryId: `${summaryId(person, startDay * DAY_MS, '').split('-')[0]}-mct-${dateOf(startDay).replaceAll('-', '')}`,
    ...{ periodStartDate: dateOf(startDay), dayInCycle, currentPhase: phase + 1 },
    currentPhaseType: ends[phase]?.[0],
    lengthOfCurrentPhase: end - (phase === 0 ? 0 : (ends[phase - 1]?.[1] ?? 0)),
    daysUntilNextPhase: Math.max(0, end - dayInCycle),
    ...{ cycleLength: length, predictedCycleLength: predictedLength, isPredictedCycle: !over },
    ...{ periodLength, fertileWindowStart: fertileDay, lengthOfFertileWindow: FERTILE_DAYS },
    ...{ hasSpecifiedCycleLength: true, hasSpecifiedPeriodLength: true },
    ...{ lastUpdatedTimeInSeconds: seconds(atMs), pregnancySnapshot: null },
  }
}
