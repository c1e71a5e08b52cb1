import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { byOffset, measuredAt, positive, startOf } from './items.ts'

// What is measured now and then (docs/providers.md).

/** Adds those that are above zero. */
function addAll(out: Out, series: SeriesName, values: ReturnType<typeof byOffset>): void {
  for (const [at, value] of values) if (value > 0) out.sample(series, at, value)
}

/** A reader of summaries that began at some time. */
const started = (read: (out: Out, item: Item, start: At) => void) => (out: Out, part: Part) => {
  for (const item of out.items()) {
    const start = startOf(item, part)
    if (start) read(out, item, start)
  }
}

/** A reader of measurements. */
const measured = (read: (out: Out, item: Item, at: At) => void) => (out: Out, part: Part) => {
  for (const item of out.items()) {
    const at = measuredAt(item, part)
    if (at) read(out, item, at)
  }
}

/** Of the night: every five minutes, and the mean, unless there is a value where that would be. */
export const hrv = started((out, item, start) => {
  out.sample('heart_rate_variability_rmssd', start, positive(item, 'lastNightAvg'))
  // One at the start itself takes its place.
  addAll(out, 'heart_rate_variability_rmssd', byOffset(item, 'hrvValues', start))
})

/** By the minute, all day. */
export const allDayRespiration = started((out, item, start) => {
  addAll(out, 'respiratory_rate', byOffset(item, 'timeOffsetEpochToBreaths', start))
})

/** By the minute, or one on demand. */
export const pulseox = started((out, item, start) => {
  addAll(out, 'oxygen_saturation', byOffset(item, 'timeOffsetSpo2Values', start))
})

/** No other night begins so soon, and nobody corrects the start of one by more. */
const SAME_NIGHT_MS = 6 * 3_600_000

/** How far the night was from the usual, once: at its start as it is known now. */
export const skinTemp = started((out, item, start) => {
  const value = item.numeric('avgDeviationCelsius')
  if (value === undefined) return
  out.sample('skin_temperature_deviation', start, value)
  out.only({ series: 'skin_temperature_deviation' }, start.ms - SAME_NIGHT_MS, start.ms + SAME_NIGHT_MS)
})

const snapshots: ReadonlyMap<string, readonly [series: SeriesName, highest: number]> = new Map([
  ['heart_rate', ['heart_rate', Number.POSITIVE_INFINITY]],
  ['respiration', ['respiratory_rate', Number.POSITIVE_INFINITY]],
  ['stress', ['garmin_stress_level', 100]],
  ['spo2', ['oxygen_saturation', Number.POSITIVE_INFINITY]],
  ['pulse_ox', ['oxygen_saturation', Number.POSITIVE_INFINITY]],
  ['rmssd_hrv', ['heart_rate_variability_rmssd', Number.POSITIVE_INFINITY]],
  ['sdrr_hrv', ['heart_rate_variability_sdnn', Number.POSITIVE_INFINITY]],
])

/** Two minutes of everything: the values, else their mean. */
export const healthSnapshot = started((out, item, start) => {
  for (const summary of item.objects('summaries')) {
    const [name, highest] = snapshots.get(summary.text('summaryType') ?? '') ?? []
    if (name === undefined || highest === undefined) continue
    const values = byOffset(summary, 'epochSummaries', start).filter(([, value]) => value > 0 && value <= highest)
    for (const [at, value] of values) out.sample(name, at, value)
    const mean = positive(summary, 'avgValue')
    if (values.length === 0 && mean !== undefined && mean <= highest) out.sample(name, start, mean)
  }
})

const kilograms = (grams: number | undefined) => (grams === undefined ? undefined : withoutNoise(grams / 1000))

/** A weighing. */
export const bodyComps = measured((out, item, at) => {
  out.sample('weight', at, kilograms(positive(item, 'weightInGrams')))
  out.sample('skeletal_muscle_mass', at, kilograms(positive(item, 'muscleMassInGrams')))
  out.sample('body_fat_percentage', at, positive(item, 'bodyFatInPercent'))
  out.sample('body_mass_index', at, positive(item, 'bodyMassIndex'))
})

/** A measurement of the blood pressure, and the pulse at it. */
export const bloodPressures = measured((out, item, at) => {
  out.sample('blood_pressure_systolic', at, positive(item, 'systolic'))
  out.sample('blood_pressure_diastolic', at, positive(item, 'diastolic'))
  out.sample('heart_rate', at, positive(item, 'pulse'))
})

const NOON_MS = 12 * 3_600_000

/** What Garmin thinks of the person's fitness on a date. */
export function userMetrics(out: Out): void {
  for (const item of out.items()) {
    const day = item.day('calendarDate')
    if (!day) {
      item.reject('missing', 'calendarDate')
      continue
    }
    const noon: At = { ...day, ms: day.ms + NOON_MS }
    out.sample('vo2_max', noon, positive(item, 'vo2Max') ?? positive(item, 'vo2MaxCycling'))
    out.sample('garmin_fitness_age', noon, positive(item, 'fitnessAge'))
  }
}
