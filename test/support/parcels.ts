// Parcels as the engine stores them, and what they become, as text that a person can compare.
import { type Batch, NO_ZONE, type SampleColumns } from '../../server/batch/columns.ts'
import { storedSeries } from '../../server/catalogue/series.ts'
import type { Json } from '../../server/providers/part.ts'
import { encodeParcel, type ParcelPart, readParcel } from '../../workers/parcel.ts'

/** A part of a parcel in a test; times as text, the body as JSON. */
export interface TestPart {
  stream: string
  at: string
  zone?: string | null
  args?: Json
  body: unknown
}

/** A part as it is stored. */
export const storedPart = ({ stream, at, zone = null, args = null, body }: TestPart): ParcelPart => ({
  stream,
  args,
  atMs: Date.parse(at),
  zone,
  body: Buffer.from(JSON.stringify(body)),
})

/** The batch that parts become, by way of a parcel's bytes. */
export function batchOf(provider: string, parts: readonly TestPart[]): Batch {
  const result = readParcel({ bytes: encodeParcel(parts.map(storedPart)), encoding: 'identity', provider })
  if (!result.ok) throw new Error(`the parcel is ${result.code}`)
  return result.batch
}

const utc = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z')
const zoneOf = (minutes: number | null) => (minutes === null || minutes === NO_ZONE ? '-' : minutes)

const seriesOf = (seriesId: number) => {
  const stored = storedSeries(seriesId)
  const marks = [stored?.isDailyTotal && 'day', stored?.isImplausible && 'implausible'].filter(Boolean)
  return [stored?.series.type, ...marks].join(' ')
}

/** `series time value zone`, a line each, and the length where one is stored, as `3600s`. */
const samplesOf = ({ seriesId, timeMs, value, zoneMin, lastsS }: SampleColumns) =>
  Array.from(timeMs, (ms, place) => {
    const length = lastsS?.[place] ? [`${lastsS[place]}s`] : []
    return [seriesOf(seriesId), utc(ms), value[place], zoneOf(zoneMin[place] as number), ...length].join(' ')
  })

type Components = Record<string, { value: number | null; qualifier: string | null }>
const componentOf = ([name, { value, qualifier }]: [string, Components[string]]) => `${name} ${value ?? qualifier}`

/** Fields of an event that are known, with times as text. */
function eventOf(event: object): Record<string, unknown> {
  const entries = Object.entries(event).flatMap(([name, value]): [string, unknown][] => {
    if (value === null || value === undefined || name === 'source') return []
    // The part says when it was answered.
    if (name === 'atMs' && !('loMs' in event)) return []
    if (name === 'components') return [[name, Object.entries(value as Components).map(componentOf)]]
    if (name === 'seriesId') return [['series', seriesOf(value)]]
    if (name === 'what' && typeof value === 'number') return [['what', seriesOf(value)]]
    if (name === 'stages')
      return [['stages', value.map(([stage, lo, hi]: [string, number, number]) => `${stage} ${utc(lo)} ${utc(hi)}`)]]
    if (/Ms$|^version$/.test(name)) return [[name.replace(/Ms$/, ''), utc(value)]]
    return [[name, value]]
  })
  return Object.fromEntries(entries)
}

/** What a batch holds, in text; the source is named where there is more than one. */
export function rowsOf(batch: Batch): Record<string, unknown> {
  const events = Object.entries(batch.events).flatMap(([kind, list]) =>
    list.length > 0 ? [[kind, (list as object[]).map(eventOf)] as const] : [],
  )
  return {
    sources: batch.sources.map(({ deviceModel, source, deviceType }) => [deviceModel, source, deviceType].join('|')),
    samples: batch.samples.flatMap(samplesOf),
    ...Object.fromEntries(events),
    ...(Object.keys(batch.implausibleParts).length > 0 && {
      implausibleParts: Object.entries(batch.implausibleParts).map(([id, items]) => `${seriesOf(Number(id))} ${items}`),
    }),
    ...(batch.ignored > 0 && { ignored: batch.ignored }),
    ...(batch.rejected > 0 && { rejections: batch.rejections.map(({ loc, type }) => `${loc.join('.')}: ${type}`) }),
  }
}
