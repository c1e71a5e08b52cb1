import { round } from '../random.ts'
import type { Person } from '../truth/person.ts'
import { MEANS_SECONDS, type SleepView, type Stage } from '../truth/sleep.ts'
import { dateOf } from '../zones.ts'
import { chosen, deviceId, hasMat, longId, mat, type Row, seconds, watchOf } from './devices.ts'

/** What watches one's sleep: 16 a tracker, 32 a mat. */
type Watcher = 16 | 32

export function watcherOf(person: Person): Watcher {
  return hasMat(person) ? 32 : 16
}

export function sleepId(person: Person, view: SleepView, watcher = watcherOf(person)): number {
  return longId(`${person.seed}/${view.sleep.key}/${watcher}`)
}

/** What a request asks for, and what the plan of the application has. */
interface Choice {
  readonly fields: ReadonlySet<string>
  readonly advanced: boolean
  readonly watcher: Watcher
}

function deviceOf(person: Person, watcher: Watcher) {
  const device = watcher === 32 ? mat : watchOf(person)
  return { model_id: device.model_id, hash_deviceid: deviceId(person, device), name: device.model }
}

/** Whole seconds; a first version is not complete. */
export function summary(person: Person, view: SleepView, { fields, advanced, watcher }: Choice): Row {
  const { sleep, startMs, endMs, runs } = view
  const total = (endMs - startMs) / 1000
  const { light, deep, rem, awake } = view.seconds
  const latency = runs[0]?.stage === 'awake' ? runs[0].seconds : 0
  const waking = runs.length > 1 && runs.at(-1)?.stage === 'awake' ? (runs.at(-1)?.seconds ?? 0) : 0
  const values = {
    ...{ total_timeinbed: total, total_sleep_time: total - awake, asleepduration: null },
    ...{ lightsleepduration: light, remsleepduration: rem, deepsleepduration: deep },
    ...{ sleep_efficiency: round(view.efficiency / 100, 2), sleep_latency: latency, wakeup_latency: waking },
    ...{ wakeupduration: awake, wakeupcount: sleep.disturbances, waso: awake - latency - waking },
    ...{ nb_rem_episodes: runs.filter(({ stage }) => stage === 'rem').length, out_of_bed_count: sleep.day % 2 },
    ...{ hr_average: Math.round(view.averageHeartRate), hr_min: view.lowestHeartRate, hr_max: person.restingHr + 25 },
    ...(advanced && {
      ...{ rr_average: Math.round(sleep.breaths), rr_min: 10, rr_max: 19, snoring: 60 * sleep.disturbances },
      ...{ snoringepisodecount: sleep.disturbances, breathing_disturbances_intensity: sleep.disturbances },
      ...(!sleep.unscorable && !sleep.nap && { sleep_score: sleep.quality }),
      ...(watcher === 32 && { apnea_hypopnea_index: Math.round(sleep.disturbances / 3) }),
      ...{ rmssd_start_avg: Math.round(view.averageHrv), rmssd_end_avg: Math.round(view.averageHrv) },
    }),
  }
  const { model_id, hash_deviceid } = deviceOf(person, watcher)
  return {
    ...{ id: sleepId(person, view, watcher), timezone: sleep.zone, model: watcher, model_id, hash_deviceid },
    ...{ startdate: seconds(startMs), enddate: seconds(endMs), date: dateOf(sleep.day), data: chosen(fields, values) },
    ...{ created: seconds(view.createdMs), modified: seconds(view.updatedMs), completed: isComplete(view) },
  }
}

function isComplete({ sleep, endMs }: SleepView): boolean {
  return endMs === sleep.endMs
}

const STATES: Record<Stage, number> = { awake: 0, light: 1, deep: 2, rem: 3 }
const OUT_OF_BED = 15

/** One row for each stage, with what was measured in it by epoch seconds; on a mat somebody is now and then out of bed. */
export function details(person: Person, view: SleepView, { fields, advanced, watcher }: Choice): Row[] {
  const { startMs, runs, sleep } = view
  const { model_id, hash_deviceid, name } = deviceOf(person, watcher)
  let at = 0
  return runs.map(({ stage, seconds: length }, index) => {
    const [from, to] = [at, at + length]
    at = to
    const measured = (values: Uint8Array, make: (value: number) => number) => {
      const found: Record<string, number> = {}
      values.forEach((value, i) => {
        if (value > 0 && i * MEANS_SECONDS >= from && i * MEANS_SECONDS < to)
          found[String(seconds(startMs) + i * MEANS_SECONDS)] = make(value)
      })
      // What has nothing comes as an empty list.
      return Object.keys(found).length > 0 ? found : []
    }
    const isOut = watcher === 32 && stage === 'awake' && index > 0 && index < runs.length - 1 && length >= 300
    const values = {
      ...((watcher === 16 || advanced) && { hr: measured(view.heartRate, (value) => value) }),
      ...(advanced && {
        rr: { [String(seconds(startMs) + from)]: Math.round(sleep.breaths) },
        snoring: { [String(seconds(startMs) + from)]: 0 },
        ...{
          rmssd: measured(view.hrv, (value) => value),
          sdnn_1: measured(view.hrv, (value) => round(value * 1.25, 1)),
        },
      }),
    }
    return {
      ...{ startdate: seconds(startMs) + from, enddate: seconds(startMs) + to },
      ...{ state: isOut && advanced ? OUT_OF_BED : STATES[stage], model: name, model_id, hash_deviceid },
      ...chosen(fields, values),
    }
  })
}
