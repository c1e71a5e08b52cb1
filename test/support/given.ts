// What cloud providers give as a whole, as the batches that parcels become, and the rows that batches end in.
import {
  type Batch,
  type BatchEvents,
  type Current,
  type Night,
  noEvents,
  type SampleColumns,
  type Score,
  type Span,
  type WholeCycle,
  type Workout,
} from '../../server/batch/columns.ts'
import { sampleOrigins } from '../../server/batch/columns-at.ts'
import { dayCounts } from '../../server/batch/day-counts.ts'
import { originHash } from '../../server/batch/origins.ts'
import { workoutMeasures } from '../../server/batch/workout-measures.ts'
import type { Scope } from '../../server/catalogue/scopes.ts'
import { type SeriesName, seriesByName } from '../../server/catalogue/series.ts'
import type { Database } from '../../server/db/database.ts'
import { commitBatch, type Outcome } from '../../server/store/commit.ts'
import type { NamedConnection } from '../../server/store/connection.ts'
import type { TestApp } from './app.ts'
import { createUser } from './sdk.ts'

export const MIN = 60_000
export const HOUR = 60 * MIN
export const DAY = 24 * HOUR
/** Ten in the evening, UTC. */
export const TEN = Date.UTC(2026, 1, 23, 22)
/** When providers were asked. */
export const ASKED = Date.UTC(2026, 2, 10)

/** A user who has connected a provider. */
export interface CloudUser {
  userId: string
  provider: string
  connection: NamedConnection
}

/** Creates a user with a connection that was made and never used. */
export async function connectedUser(app: TestApp, provider = 'whoop'): Promise<CloudUser> {
  const userId = await createUser(app)
  const connection = await app.db.one<{ id: string }>(
    'insert into connection (user_id, provider) values ($1, $2) returning id',
    [userId, provider],
  )
  return { userId, provider, connection: { ...connection, wasSent: false } }
}

/** A night by minutes after ten, of which only the times are known. */
export const night = (externalId: string, from: number, until: number, fields: Partial<Night> = {}): Night => ({
  ...{ source: 0, externalId, startMs: TEN + from * MIN, endMs: TEN + until * MIN, zoneMin: 60 },
  ...{ version: null, atMs: ASKED, rank: 0, isNap: null, stages: null },
  ...{ asleepS: null, inBedS: null, awakeS: null, lightS: null, deepS: null, remS: null, efficiencyPercent: null },
  ...fields,
})

/** A run by minutes after ten. */
export const run = (externalId: string, from: number, until: number, fields: Partial<Workout> = {}): Workout => ({
  ...{ source: 0, externalId, startMs: TEN + from * MIN, endMs: TEN + until * MIN, zoneMin: 60 },
  ...{ type: 'running', title: null, notes: null, entrySource: null, movingSeconds: null },
  ...{ durationSeconds: (until - from) * 60, segments: null, laps: null, route: null, atMs: ASKED },
  ...(Object.fromEntries(workoutMeasures.map((name) => [name, null])) as Record<
    (typeof workoutMeasures)[number],
    null
  >),
  ...fields,
})

/** A score at minutes after ten. */
export const score = (externalId: string, at: number, value: number, fields: Partial<Score> = {}): Score => ({
  ...{ source: 0, category: 'sleep', externalId, timeMs: TEN + at * MIN, zoneMin: 60, value, qualifier: null },
  ...{ components: null, night: null, workout: null, version: null, atMs: ASKED },
  ...fields,
})

/** A cycle that began so many days after that evening. */
export const cycle = (externalId: string, day: number, fields: Partial<WholeCycle> = {}): WholeCycle => ({
  ...{ source: 0, externalId, startMs: TEN + day * DAY, endMs: TEN + (day + 28) * DAY, zoneMin: 60, atMs: ASKED },
  ...{ currentPhase: null, currentPhaseType: null, dayInCycle: null, cycleLength: null, predictedCycleLength: null },
  ...{ periodLength: null, lengthOfCurrentPhase: null, daysUntilNextPhase: null, fertileWindowStart: null },
  ...{ lengthOfFertileWindow: null, isPredictedCycle: null, hasSpecifiedCycleLength: null },
  ...{ hasSpecifiedPeriodLength: null, lastUpdatedMs: null, pregnancySnapshot: null },
  ...fields,
})

export const seriesId = (name: SeriesName): number => seriesByName.get(name)?.id as number

/** Samples by minutes after ten; `record`: the id of what they came with. */
export function samples(
  name: SeriesName,
  points: readonly (readonly [at: number, value: number])[],
  record?: string,
  offset = 0,
): SampleColumns {
  const timeMs = Float64Array.from(points, ([at]) => TEN + at * MIN)
  const origins = Array.from(timeMs, (ms) => ({ timeMs: ms, ...originHash(record ?? '', null) }))
  return {
    ...{ source: 0, seriesId: seriesId(name) + offset, timeMs, value: Float64Array.from(points, ([, value]) => value) },
    ...{ zoneMin: new Int16Array(points.length).fill(60), lastsS: null, zoneTaken: null },
    origins: record === undefined ? null : sampleOrigins(origins),
  }
}

/** A value of a profile. */
export const current = (name: SeriesName, value: number, timeMs: number): Current => ({
  ...{ source: 0, seriesId: seriesId(name), timeMs, zoneMin: 60, value },
})

/** What is complete from one to another minute after ten. */
export const span = (what: Span['what'], from: number, until: number, atMs = ASKED): Span => ({
  ...{ source: 0, what, loMs: TEN + from * MIN, hiMs: TEN + until * MIN, atMs },
})

/** The batch of a parcel with these events and samples, of two devices. */
export function batchOf(given: Partial<BatchEvents> & { samples?: SampleColumns[] }): Batch {
  const { samples = [], ...events } = given
  const all = { ...noEvents(), ...events }
  const points = samples.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
  const { spans: _, ...items } = all
  return {
    sources: ['', 'Strap'].map((deviceModel) => ({
      ...{ deviceModel, source: 'cloud', softwareVersion: null, deviceType: 'band' },
    })),
    ...{
      samples,
      derived: [],
      duplicates: 0,
      ignored: 0,
      rejected: 0,
      rejections: [],
      unstored: [],
      unknownFields: [],
    },
    received: points + Object.values(items).reduce((sum, list) => sum + list.length, 0),
    ...{
      implausibleParts: {},
      days: dayCounts(samples, all),
      rejectedDays: {},
      rejectedLocally: { days: {}, quarters: {} },
      zones: [],
      events: all,
    },
  }
}

/** How a batch is written; `receivedAt` null: it was imported before. */
export interface Writing {
  receivedAt?: string | null
  feed?: boolean
  scope?: Scope
}

/** Writes a batch as the import of a parcel does. */
export async function write(app: TestApp, to: CloudUser, batch: Batch, how: Writing = {}): Promise<Outcome> {
  const { receivedAt = new Date(ASKED).toISOString(), feed = false, scope = 'live' } = how
  const settings = { outgoingWebhooksEnabled: false, eventFeedEnabled: feed }
  const target = { ...to, scope, receivedAt, settings, threads: app.threads() }
  const outcome = await commitBatch(app.db, target, batch, async () => true)
  if (typeof outcome === 'string') throw new Error(outcome)
  return outcome
}

const GIVEN = {
  sleep_part: `select d.device_model as device, p.external_id, p.rank, p.version, p.start_at, p.end_at, p.zone_offset_min,
      p.asleep_s, p.light_s, p.efficiency_percent, p.is_nap, p.stages, s.start_at as session
    from sleep_part p join data_source d on d.id = p.source_id left join sleep s on s.id = p.sleep_id
    where d.user_id = $1`,
  sleep: `select d.device_model as device, s.start_at, s.end_at, s.zone_offset_min, s.asleep_s, s.in_bed_s, s.light_s, s.deep_s,
      s.efficiency_percent, s.is_nap, s.covered, s.stages, s.closed_at is not null as closed
    from sleep s join data_source d on d.id = s.source_id where s.user_id = $1`,
  workout: `select d.device_model as device, w.external_id, w.other_ids, w.version, w.type, w.title, w.start_at, w.end_at,
      w.calories_kcal, w.distance_m, w.heart_rate_avg
    from workout w join data_source d on d.id = w.source_id where w.user_id = $1`,
  health_score: `select d.device_model as device, h.category, h.external_id, h.version, h.value, h.qualifier, h.recorded_at,
      h.night, h.workout
    from health_score h join data_source d on d.id = h.source_id where h.user_id = $1`,
  menstrual_cycle: `select d.device_model as device, c.external_id, c.start_at, c.end_at, c.day_in_cycle, c.last_updated_at
    from menstrual_cycle c join data_source d on d.id = c.source_id where c.user_id = $1`,
} as const

/** The rows of what providers gave a user, without keys. */
export async function givenRows(db: Database, userId: string): Promise<Record<keyof typeof GIVEN, string[]>> {
  const lists = await Promise.all(
    Object.entries(GIVEN).map(async ([table, sql]) => {
      const rows = await db.query(sql, [userId])
      return [table, rows.map((row) => JSON.stringify(row)).sort()] as const
    }),
  )
  return Object.fromEntries(lists) as Record<keyof typeof GIVEN, string[]>
}

/** The versions of these rows, and of the user's: any write changes this. */
export async function givenVersions(db: Database, userId: string): Promise<unknown> {
  const of = (table: string, condition: string) =>
    db.query(`select e.xmin::text, e.ctid::text from ${table} e where ${condition} order by 2, 1`, [userId])
  const ofSources = 'e.source_id in (select id from data_source where user_id = $1)'
  return Promise.all([
    ...['sleep', 'workout', 'health_score', 'menstrual_cycle'].map((table) => of(table, 'e.user_id = $1')),
    ...['sleep_part', 'sample', 'sample_origin', 'rollup_dirty'].map((table) => of(table, ofSources)),
  ])
}
