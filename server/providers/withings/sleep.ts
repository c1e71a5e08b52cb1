import type { SleepStageName } from '../../batch/columns.ts'
import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { DAY_MS } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { joinedStages } from '../joined-stages.ts'
import type { At, Out, Part } from '../part.ts'
import type { Level } from '../stages.ts'
import { zoneOffsetOf } from '../zone-offset.ts'
import { type Device, deviceNamed, fromDevice } from './devices.ts'
import { type Night, nightOf, whyNot } from './night.ts'

// A night is listed with its totals; its stages, and what was measured in it, are asked for by itself. Both store the night:
// with its stages it ranks higher, so that a list that is stored later does not take them away.

/** What a state stands for; any other one is unknown, and a gap. 4: entered by hand; 15: out of bed. */
const states: Readonly<Record<number, SleepStageName>> = {
  ...{ 0: 'awake', 1: 'light', 2: 'deep', 3: 'rem', 4: 'sleeping', 15: 'awake' },
}

/** Nights as they are listed (docs/providers.md). */
export function sleep(out: Out, { body }: Part): void {
  const rows = listAt(body, 'body', 'series')
  // In the order of the list, without what is no object.
  const summaries = rows.filter((row) => typeof row === 'object' && row !== null && !Array.isArray(row))
  let place = 0
  for (const item of out.items('body', 'series')) {
    const summary = summaries[place]
    place += 1
    const night = nightOf(summary)
    const reason = night && whyNot(summary, night)
    if (night === undefined) item.reject('missing', item.id('id') === undefined ? 'id' : 'startdate')
    else if (reason !== undefined) out.ignore(reason)
    else addNight(out, night, LISTED)
  }
}

type Stages = ReturnType<typeof joinedStages>

/** A nap is shorter, and begins in the day: between these hours of the person's clock. */
const NAP_MS = 3 * 3_600_000
const DAYTIME: readonly [from: number, until: number] = [9, 19]

function isNap({ startdate, enddate }: Night, zoneMin: number | null): boolean | undefined {
  if ((enddate - startdate) * 1000 >= NAP_MS) return false
  if (zoneMin === null) return undefined
  const hour = ((startdate * 1000 + zoneMin * 60_000) % DAY_MS) / 3_600_000
  return hour >= DAYTIME[0] && hour < DAYTIME[1]
}

/** Without a number of its model, a device is a tracker or a mat. */
function deviceOfNight({ model, model_id: id }: Night): Device {
  if (id !== null) return deviceNamed(id)
  if (model === 32) return { name: 'Sleep mat', type: 'sleep_monitor' }
  return model === 16 ? { name: 'Tracker', type: 'watch' } : { name: '' }
}

const at = (seconds: number, { timezone }: Night): At => {
  const ms = seconds * 1000
  return { ms, zoneMin: zoneOffsetOf(timezone, ms) }
}

/** How much is known of a night: what is listed; with its stages, too. */
const LISTED = 0
const DETAILED = 1

/** False if its times cannot be true. */
function addNight(out: Out, night: Night, rank: number, known?: Stages): boolean {
  const { id: externalId, startdate, enddate, modified, data } = night
  const [start, end] = [at(startdate, night), at(enddate, night)]
  const [light, deep, rem] = [data.lightsleepduration, data.deepsleepduration, data.remsleepduration]
  const parts = [light, deep, rem].filter((one) => one !== undefined)
  const inStages = parts.length > 0 ? parts.reduce((sum, one) => sum + one, 0) : undefined
  const efficiency = data.sleep_efficiency === undefined ? undefined : withoutNoise(data.sleep_efficiency * 100)
  const nap = isNap(night, start.zoneMin)
  fromDevice(out, deviceOfNight(night))
  const isPossible = out.night({
    ...{ externalId, start, endMs: end.ms, isNap: nap, rank },
    version: modified === null ? undefined : modified * 1000,
    asleepSeconds: data.total_sleep_time ?? inStages ?? data.asleepduration,
    awakeSeconds: data.wakeupduration,
    lightSeconds: light,
    deepSeconds: deep,
    remSeconds: rem,
    efficiencyPercent: efficiency !== undefined && efficiency <= 100 ? efficiency : undefined,
    stages: known,
  })
  if (!isPossible) return false
  // The end of a night moves while it is revised.
  if (nap !== true) out.once('resting_heart_rate', end, data.hr_min || undefined, externalId)
  out.once('respiratory_rate', end, data.rr_average || undefined, externalId)
  const disturbances = data.apnea_hypopnea_index ?? data.breathing_disturbances_intensity
  out.once('breathing_disturbance_index', end, disturbances, externalId)
  // A plan without scores leaves them out: one that was sent before stays.
  const value = data.sleep_score || undefined
  if (value !== undefined) out.score({ category: 'sleep', externalId, at: end, value, night: externalId })
  return true
}

/** A night with its stages, and what was measured in it. */
export function stages(out: Out, { body, args }: Part): void {
  const night = nightOf(valueAt(args, 'night'))
  if (!night) {
    out.ignore('night')
    return
  }
  const rows = listAt(body, 'body', 'series').filter((row) => isOf(row, night))
  if (addNight(out, night, DETAILED, stagesOf(rows, night))) for (const row of rows) addMeasured(out, row, night)
}

/** Whether a piece is of the device of the night: others may have been worn, or lain upon, at the same time. */
function isOf(row: unknown, { hash_deviceid: hash, model_id: model }: Night): boolean {
  const [own, id] = [textAt(row, 'hash_deviceid'), valueAt(row, 'model_id')]
  if (own !== undefined && hash !== null) return own === hash
  return typeof id !== 'number' || model === null || id === model
}

function stagesOf(rows: readonly unknown[], { startdate, enddate }: Night): Stages {
  const pieces = rows.flatMap((row): Level[] => {
    const [start, end, state] = ['startdate', 'enddate', 'state'].map((name) => valueAt(row, name))
    if (typeof start !== 'number' || typeof end !== 'number' || typeof state !== 'number') return []
    return [[states[state], start * 1000, end * 1000]]
  })
  return joinedStages(pieces, startdate * 1000, enddate * 1000)
}

/** What was measured in a night, each by its seconds. */
const measured: readonly (readonly [field: string, series: SeriesName])[] = [
  ['hr', 'heart_rate'],
  ['rmssd', 'heart_rate_variability_rmssd'],
  ['sdnn_1', 'heart_rate_variability_sdnn'],
]

function addMeasured(out: Out, row: unknown, night: Night): void {
  const quality = valueAt(row, 'hrv_quality')
  for (const [field, series] of measured) {
    // An empty list where there is nothing.
    for (const [time, value] of Object.entries(valueAt(row, field) ?? {})) {
      const isBad = field !== 'hr' && valueAt(quality, time) === 0
      if (!/^\d{1,11}$/.test(time) || typeof value !== 'number' || value <= 0 || isBad) continue
      out.sample(series, at(Number(time), night), value, night.id)
    }
  }
}
