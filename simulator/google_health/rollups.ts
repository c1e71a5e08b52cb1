import { round } from '../random.ts'
import type { Point, Row } from './points.ts'

type Rollup = (points: readonly Point[]) => Row

function total(points: readonly Point[], field: string): number {
  return points.reduce((sum, { value }) => sum + Number(value[field]), 0)
}

/** Whole numbers are text. */
export function sum(field: string, name: string): Rollup {
  return (points) => ({ [name]: String(total(points, field)) })
}

export const counts: Rollup = sum('count', 'countSum')

export const energy: Rollup = (points) => ({ kcalSum: round(total(points, 'kcal'), 3) })

export function average(field: string, name: string): Rollup {
  return (points) => ({ [name]: round(total(points, field) / points.length, 3) })
}

/** Average, lowest and highest. */
export function spread(field: string, name = field): Rollup {
  return (points) => {
    const values = points.map(({ value }) => Number(value[field]))
    const [low, high] = [Math.min(...values), Math.max(...values)]
    return { [`${name}Avg`]: round(total(points, field) / points.length, 3), [`${name}Min`]: low, [`${name}Max`]: high }
  }
}

/** Minutes of each level. */
export const levels: Rollup = (points) => {
  const found = new Map<string, number>()
  for (const { value } of points)
    for (const { activityLevel, activeMinutes } of value.activeMinutesByActivityLevel as Row[])
      found.set(String(activityLevel), (found.get(String(activityLevel)) ?? 0) + Number(activeMinutes))
  const list = [...found].map(([activityLevel, minutes]) => ({ activityLevel, activeMinutesSum: String(minutes) }))
  return { activeMinutesRollupByActivityLevel: list }
}

export const zones: Rollup = (points) => {
  const of = (zone: string) =>
    String(
      total(
        points.filter(({ value }) => value.heartRateZone === zone),
        'activeZoneMinutes',
      ),
    )
  return {
    ...{ sumInFatBurnHeartZone: of('FAT_BURN'), sumInCardioHeartZone: of('CARDIO') },
    sumInPeakHeartZone: of('PEAK'),
  }
}

export const lengths: Rollup = (points) => {
  const ms = points.reduce((time, { startMs, endMs }) => time + endMs - startMs, 0)
  return { durationSum: `${ms / 1000}s` }
}

export const drinks: Rollup = (points) => {
  const amounts = points.map(({ value }) => Number((value.amountConsumed as Row).milliliters))
  return { amountConsumed: { millilitersSum: amounts.reduce((all, one) => all + one, 0) } }
}

export const meals: Rollup = (points) => {
  const amounts = points.map(({ value }) => Number((value.energy as Row).kcal))
  return {
    energy: {
      kcalSum: round(
        amounts.reduce((all, one) => all + one, 0),
        1,
      ),
    },
  }
}
