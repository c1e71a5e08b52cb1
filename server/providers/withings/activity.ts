import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { valueAt } from '../answers.ts'
import type { Item, Out, Part } from '../part.ts'
import { deviceOf, fromDevice, isImported } from './devices.ts'

/** What was taken over from other apps, which we may have ourselves. */
const EXTERNAL = 18

/** Totals of days, which are those of the person's clock whatever it showed (docs/providers.md). */
export function activity(out: Out): void {
  for (const day of out.items('body', 'activities')) {
    const at = day.day('date')
    const device = deviceOf(day)
    if (!at) day.reject('missing', 'date')
    else if (day.numeric('brand') === EXTERNAL || isImported(device.model)) out.ignore('imported')
    else {
      fromDevice(out, device)
      const record = `withings:day:${new Date(at.ms).toISOString().slice(0, 10)}`
      const [active, all, seconds] = [day.numeric('calories'), day.numeric('totalcalories'), day.numeric('active')]
      const rest = active === undefined || all === undefined || all < active ? undefined : withoutNoise(all - active)
      out.total('steps', at, day.numeric('steps'), record)
      out.total('distance_walking_running', at, day.numeric('distance'), record)
      out.total('flights_climbed', at, day.numeric('elevation'), record)
      out.total('energy', at, active, record)
      out.total('basal_energy', at, rest, record)
      out.total('active_time', at, seconds === undefined ? undefined : withoutNoise(seconds / 60), record)
    }
  }
}

const measured: readonly (readonly [field: string, series: SeriesName])[] = [
  ['heart_rate', 'heart_rate'],
  ['spo2_auto', 'oxygen_saturation'],
  ['rr', 'respiratory_rate'],
  ['core_body_temperature', 'body_temperature'],
]

const variability: readonly (readonly [field: string, series: SeriesName])[] = [
  ['rmssd', 'heart_rate_variability_rmssd'],
  ['sdnn1', 'heart_rate_variability_sdnn'],
]

/** What watches measure all day, by the second. */
export function intraday(out: Out, part: Part): void {
  // Without anything it is a list.
  if (Array.isArray(valueAt(part.body, 'body', 'series'))) return
  for (const whole of out.whole()) {
    const series = whole.object('body', 'series')
    if (!series) whole.reject('missing', 'body', 'series')
    for (const time of series?.names() ?? []) addInstant(out, series as Item, time)
  }
}

function addInstant(out: Out, series: Item, time: string): void {
  const item = series.object(time)
  if (!item) return
  if (!/^\d{1,11}$/.test(time)) {
    item.reject('implausible_value')
    return
  }
  fromDevice(out, deviceOf(item))
  const at = { ms: Number(time) * 1000, zoneMin: null }
  // Zero: it could not be measured well.
  const fields = item.numeric('hrv_quality') === 0 ? measured : [...measured, ...variability]
  for (const [field, name] of fields) out.sample(name, at, item.numeric(field) || undefined)
}
