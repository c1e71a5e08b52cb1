import { type Batch, noEvents, type UnknownField } from '../server/batch/columns.ts'
import { dayCounts } from '../server/batch/day-counts.ts'
import { SampleStreams } from '../server/batch/sample-streams.ts'
import { type SdkProvider, sdkProviders } from '../server/providers/index.ts'
import { Account, type Place } from './account.ts'
import type { ParsedBody } from './json-bytes.ts'
import { likelyName } from './likely-names.ts'
import { readDeletion } from './sdk-deletions.ts'
import { isObject, type Json, type Problem, plausibleInstant, zoneOf } from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'
import { addTotal, placeOfRecord, readRecord } from './sdk-records.ts'
import { readScanned } from './sdk-scanned.ts'
import { markWhole, readSleep } from './sdk-sleep.ts'
import { Sources } from './sdk-sources.ts'
import { unknownFields } from './sdk-unknown-fields.ts'
import { readWorkout } from './sdk-workouts.ts'
import { settleZones } from './sdk-zones.ts'

const HOUR_MS = 3_600_000

const NOT_AN_OBJECT: Problem = ['', 'dict_type', 'Input should be a valid dictionary']

/** Reads one item: adds its content, or returns which field is wrong. */
type ReadItem = (reading: Reading, item: Json, index: number) => Problem | 'ignored' | undefined

/** Returns the type and time that an item counts under, even if nothing else of it is right. */
type PlaceOf = (reading: Reading, item: Json) => Place | undefined

const startOf =
  (type: string): PlaceOf =>
  ({ latestMs }, item) => {
    const startMs = plausibleInstant(item.startDate, latestMs)
    return startMs === undefined ? undefined : { type, ms: startMs, zoneMin: zoneOf(item, startMs) }
  }

type Collection = readonly [name: string, read: ReadItem, placeOf: PlaceOf]

/** Each collection of `data` with its reader (sdk-payload 4.1). */
const collections: readonly Collection[] = [
  ['records', readRecord, placeOfRecord],
  ['sleep', readSleep, startOf('sleep')],
  ['workouts', readWorkout, startOf('workout')],
  ['deleted', readDeletion, () => undefined],
  ['deletions', readDeletion, () => undefined],
]

/**
 * Turns the parsed body of an SDK upload into columns and events (sdk-payload 4, 5.3; sdk-types). A bad item is counted
 * with its index and reason and never costs a good one. `nowMs` is the server's clock.
 */
export function readSdkBatch(parsed: ParsedBody, provider: SdkProvider, nowMs: number): Batch {
  const ability = sdkProviders.get(provider)
  if (!ability) throw new Error(`no SDK uploads for ${provider}`)
  const reading: Reading = {
    ability,
    latestMs: nowMs + 24 * HOUR_MS,
    decode: parsed.decode,
    sources: new Sources(parsed, provider),
    account: new Account(parsed.decode, (type) => meantBy(type, provider)),
    streams: new SampleStreams(),
    derived: new SampleStreams(),
    events: noEvents(),
    totals: [],
    sleepIds: new Map(),
    implausibleParts: {},
  }
  const body = isObject(parsed.body) ? parsed.body : {}
  readData(reading, body.data, parsed.records)
  markWhole(reading.events.sleep, reading.sleepIds)
  return finish(reading, unknownFields(body, parsed.decode))
}

/** The probable meaning of a record type that this provider does not have, or that is not stored. */
function meantBy(type: string, provider: SdkProvider) {
  const likely = likelyName(type, sdkProviders.get(provider)?.records.keys() ?? [])
  const others = [...sdkProviders].filter(([name, { records }]) => name !== provider && records.has(type))
  return { likely, known_to: others.map(([name]) => name) }
}

function readData(reading: Reading, data: unknown, records: ParsedBody['records']): void {
  if (data === undefined || data === null) return
  if (!isObject(data)) {
    reading.account.rejectCollection('data', ['data'], 'dict_type', 'Input should be a valid dictionary')
    return
  }
  for (const collection of collections) {
    const [name] = collection
    const items = data[name]
    if (items === undefined || items === null) continue
    if (name === 'records' && records)
      readScanned(reading, records, items as unknown[], (item, index) => readItem(reading, collection, item, index))
    else if (Array.isArray(items)) readItems(reading, collection, items)
    else reading.account.rejectCollection(name, ['data', name], 'list_type', 'Input should be a valid list')
  }
}

function readItems(reading: Reading, collection: Collection, items: unknown[]): void {
  reading.account.received += items.length
  for (const [index, item] of items.entries()) readItem(reading, collection, item, index)
}

function readItem(reading: Reading, [name, read, placeOf]: Collection, item: unknown, index: number): void {
  const { account } = reading
  const problem = isObject(item) ? read(reading, item, index) : NOT_AN_OBJECT
  if (problem === 'ignored') account.ignoreItem(name, item as Json)
  else if (problem)
    account.rejectItem([name, index], item, problem, isObject(item) ? placeOf(reading, item) : undefined)
}

function finish(reading: Reading, unknown: UnknownField[]): Batch {
  const { account, streams, derived, sources, events, totals, implausibleParts } = reading
  const zones = settleZones(reading)
  for (const total of totals) addTotal(streams, total)
  const { samples, duplicates } = streams.finish()
  const brought = derived.finish().samples
  return {
    sources: sources.list,
    samples,
    zones,
    derived: brought,
    received: account.received,
    duplicates: account.duplicates + duplicates,
    ignored: account.ignored,
    rejected: account.rejected,
    rejections: account.rejections,
    implausibleParts,
    unstored: account.unstored,
    unknownFields: unknown,
    days: dayCounts([...samples, ...brought], events, account.rejectedDays),
    rejectedDays: account.rejectedDays,
    rejectedLocally: account.rejectedLocally,
    events,
  }
}
