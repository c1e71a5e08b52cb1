import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SeriesName, storedSeries } from '../server/catalogue/series.ts'
import { cloudProviders } from '../server/providers/index.ts'
import type { MapPart } from '../server/providers/part.ts'
import type { Push } from '../simulator/garmin/pushes.ts'
import { mapParts, type ParcelPart } from '../workers/parcel.ts'
import { bodyWith, quantityRecord, seededRandom, stageRecord, workoutRecord } from './generate.ts'
import type { Request } from './requests.ts'
import type { Service } from './service.ts'

// What pushes of Garmin's hold, as a phone uploads it: the same instants and values of the same series.

/** Bytes of a body, as much as phones send at once. */
const BODY_BYTES = 4 * 1024 * 1024
/** Pushes that are read at a time, some weeks. */
const PARTS = 500

/** HealthKit identifier without HKQuantityTypeIdentifier, unit, and how often it holds our unit. */
type Quantity = readonly [name: string, unit: string, factor?: number]

/**
 * Series that pushes have much of. Of three HealthKit has none: others take their place, as dense and of such values. What
 * comes once a day at most is left out.
 */
const QUANTITIES: ReadonlyMap<string, Quantity> = new Map<SeriesName, Quantity>([
  ['heart_rate', ['HeartRate', 'bpm']],
  ['steps', ['StepCount', 'count']],
  ['energy', ['ActiveEnergyBurned', 'Cal']],
  ['distance_walking_running', ['DistanceWalkingRunning', 'm']],
  ['respiratory_rate', ['RespiratoryRate', 'breaths/min']],
  ['oxygen_saturation', ['OxygenSaturation', '%', 0.01]],
  ['heart_rate_variability_rmssd', ['HeartRateVariabilitySDNN', 'ms']],
  ['garmin_stress_level', ['EnvironmentalAudioExposure', 'dBASPL']],
  ['garmin_body_battery', ['HeadphoneAudioExposure', 'dBASPL']],
])

/** Bodies of one user's uploads, in a directory. */
export interface Uploads {
  readonly bodies: number
  readonly samples: number
  read(body: number): Promise<Buffer>
}

interface Sample {
  readonly ms: number
  readonly value: number
  readonly quantity: Quantity
}

/** Writes what pushes of one person hold as uploads, their samples in order of time. */
export async function writeUploads(directory: string, pushes: readonly Push[]): Promise<Uploads> {
  await mkdir(directory, { recursive: true })
  const random = seededRandom(pushes.length)
  const empty = () => ({ records: [] as string[], sleep: [] as string[], workouts: [] as string[] })
  let [bodies, samples, bytes, items] = [0, 0, 0, empty()]
  const flush = async () => {
    await writeFile(join(directory, `${bodies}.json`), bodyWith(items, 'historical'), { flush: true })
    ;[bodies, bytes, items] = [bodies + 1, 0, empty()]
  }
  const add = async (list: 'records' | 'sleep' | 'workouts', text: string) => {
    if (bytes + text.length > BODY_BYTES) await flush()
    items[list].push(text)
    bytes += text.length + 1
  }
  for (let at = 0; at < pushes.length; at += PARTS) {
    const content = contentOf(pushes.slice(at, at + PARTS), random)
    for (const night of content.sleep) await add('sleep', night)
    for (const workout of content.workouts) await add('workouts', workout)
    for (const sample of content.samples) await add('records', recordOf(sample, random))
    samples += content.samples.length
  }
  await flush()
  return { bodies, samples, read: (body) => readFile(join(directory, `${body}.json`)) }
}

/** The request that uploads a body of a user. */
export const uploadRequest = ({ headers }: Pick<Service, 'headers'>, user: string, body: Buffer): Request => ({
  method: 'POST',
  path: `/api/v1/sdk/users/${user}/sync`,
  headers: { ...headers, 'content-type': 'application/json' },
  body,
})

function recordOf({ ms, value, quantity: [name, unit, factor = 1] }: Sample, random: () => number): string {
  return quantityRecord({ name, unit, value: String(Number((value * factor).toPrecision(12))), timeMs: ms }, random)
}

function contentOf(pushes: readonly Push[], random: () => number) {
  const batch = mapParts(pushes.map(partOf), 'garmin', map)
  const samples = batch.samples.flatMap(({ seriesId, timeMs, value }) => {
    const stored = storedSeries(seriesId)
    const quantity = stored?.series.id === seriesId ? QUANTITIES.get(stored.series.type) : undefined
    return quantity ? Array.from(timeMs, (ms, place): Sample => ({ ms, value: value[place] as number, quantity })) : []
  })
  const { nights, workouts } = batch.events
  return {
    samples: samples.sort((a, b) => a.ms - b.ms),
    sleep: nights.flatMap(({ stages }) =>
      (stages ?? []).map(([stage, from, until]) => stageRecord(stage, from, until, random)),
    ),
    workouts: workouts.map(({ startMs, endMs }) => workoutRecord(startMs, endMs, random)),
  }
}

const map = cloudProviders.get('garmin')?.map as MapPart

const partOf = (push: Push): ParcelPart => ({
  ...{ stream: push.topic, args: null, atMs: push.atMs, zone: null },
  body: Buffer.from(JSON.stringify(push.rows())),
})
