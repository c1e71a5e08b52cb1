import { valueAt } from '../answers.ts'
import { mapStreams } from '../map-streams.ts'
import type { Out, Part } from '../part.ts'
import { bodyTemperature, ecg, physicalInfo, spo2 } from './biosensing.ts'
import { activities, alertness, cardioLoad, continuousHeartRate } from './daily.ts'
import { exercises } from './exercises.ts'
import { APP } from './items.ts'
import { nightlyRecharge, skinTemperature, sleep } from './sleep.ts'

/** The nights are asked for to know when and where something was; the stream `sleep` stores them. */
const withNights = (read: (out: Out, part: Part) => void) => (out: Out, part: Part) => {
  if (valueAt(part.args, 'of') !== 'nights') read(out, part)
}

/** Adds what a part of Polar's holds: docs/providers.md. */
export const map = mapStreams(APP, {
  exercises,
  sleep,
  nightly_recharge: withNights(nightlyRecharge),
  activities,
  continuous_heart_rate: withNights(continuousHeartRate),
  cardio_load: cardioLoad,
  alertness,
  body_temperature: bodyTemperature,
  skin_temperature: skinTemperature,
  spo2,
  ecg,
  physical_info: physicalInfo,
})
