import { round } from '../random.ts'
import { floorsOf, type Minutes } from '../truth/minutes.ts'
import { daysBetween, level, type Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { MINUTE_MS } from '../zones.ts'
import type { Point, Row } from './points.ts'

/** From one instant to another, as known at a third; epoch ms. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
  readonly nowMs: number
  /** For so long the watch has not synced. */
  readonly lateMs?: number
}

/** A run of minutes with the same to say; null ends it, so does a day. */
type Say = (minutes: Minutes, i: number) => Row | null

/**
 * Points of minutes in which something is to say, by time; `length` minutes each, where nothing else is said. Those that
 * begin before the end of the span are there: a filter passes what it wants of them.
 */
export function ofMinutes(person: Person, span: Span, say: Say, length = 1): Point[] {
  const points: Point[] = []
  const knownMs = knownUntil(person, span.nowMs)
  for (const { day, zone } of daysBetween(person, span.fromMs, Math.min(span.toMs, knownMs))) {
    const minutes = person.minutes(day)
    const { startMs, met } = minutes
    for (let i = 0; i < met.length; i += length) {
      const ms = startMs + i * MINUTE_MS
      const endMs = ms + Math.min(length, met.length - i) * MINUTE_MS
      if (endMs <= span.fromMs || ms >= span.toMs || endMs > knownMs) continue
      const value = say(minutes, i)
      if (value) points.push({ startMs: ms, endMs, zone, value, source: 'watch' })
    }
  }
  return points
}

const METRES_PER_STEP = 0.00414

export const steps: Say = (minutes, i) => {
  const count = minutes.steps[i] ?? 0
  return count > 0 ? { count: String(count) } : null
}

/** Some of what the watch counts, at the same time: adding both is wrong. */
export const phoneSteps: Say = (minutes, i) => {
  const count = Math.floor((minutes.steps[i] ?? 0) * 0.6)
  return count > 0 ? { count: String(count) } : null
}

export function distance({ heightCm }: Person): Say {
  return (minutes, i) => {
    const count = minutes.steps[i] ?? 0
    return count > 0 ? { millimeters: String(Math.round(count * heightCm * METRES_PER_STEP * 1000)) } : null
  }
}

export function activeEnergy({ weightKg }: Person): Say {
  return (minutes, i) => {
    const met = minutes.met[i] ?? 0
    return met >= 15 ? { kcal: round(((met - 10) / 10) * (weightKg / 60), 4) } : null
  }
}

export const BASAL_MINUTES = 60

export function basalEnergy({ weightKg }: Person): Say {
  return ({ met }, i) => ({ kcal: round(Math.min(BASAL_MINUTES, met.length - i) * weightKg * 0.0162, 4) })
}

export const floors: Say = (minutes, i) => {
  const count = floorsOf(minutes)[i] ?? 0
  return count > 0 ? { count: String(count) } : null
}

/** Three metres a floor. */
export const altitude: Say = (minutes, i) => {
  const count = floorsOf(minutes)[i] ?? 0
  return count > 0 ? { gainMillimeters: String(count * 3000) } : null
}

const LEVELS = { high: 'VIGOROUS', medium: 'MODERATE', low: 'LIGHT' } as const

export const activeMinutes: Say = ({ met }, i) => {
  const found = level(met[i] ?? 0)
  return found === 'sedentary'
    ? null
    : { activeMinutesByActivityLevel: [{ activityLevel: LEVELS[found], activeMinutes: '1' }] }
}

/** Shares of the highest heart rate from which minutes count, those in the upper zones twice. */
export function activeZone({ maxHr }: Person): Say {
  return ({ heartRate }, i) => {
    const share = (heartRate[i] ?? 0) / maxHr
    if (share < 0.6) return null
    const heartRateZone = share >= 0.85 ? 'PEAK' : share >= 0.7 ? 'CARDIO' : 'FAT_BURN'
    return { heartRateZone, activeZoneMinutes: heartRateZone === 'FAT_BURN' ? '1' : '2' }
  }
}

export const SEDENTARY_MINUTES = 30

/** Half hours of sitting. */
export const sedentary: Say = ({ met, during }, i) => {
  const part = met.subarray(i, i + SEDENTARY_MINUTES)
  return part.every((value) => value > 0 && value < 15) && during[i] === 0 ? {} : null
}

/** So long after the minute began. */
const SECOND = 5

/** One value a minute, with how much somebody moved. */
export function heartRates(person: Person, span: Span): Point[] {
  const found = ofMinutes(person, span, (minutes, i) => {
    const beats = minutes.heartRate[i] ?? 0
    if (beats === 0) return null
    const motionContext = level(minutes.met[i] ?? 0) === 'sedentary' ? 'SEDENTARY' : 'ACTIVE'
    return { beatsPerMinute: String(beats), metadata: { motionContext, sensorLocation: 'WRIST' } }
  })
  return found.map((point) => ({
    ...point,
    startMs: point.startMs + SECOND * 1000,
    endMs: point.startMs + SECOND * 1000,
  }))
}
