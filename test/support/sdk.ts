// Phones: records, bodies and uploads, and their results.
import root, { type Test } from 'tap'
import { storedSeries } from '../../server/catalogue/series.ts'
import { type Database, openDatabase } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { createImporter, type Importer, type ImportMeans } from '../../server/intake/uploads/import.ts'
import { type Jobs, startJobs } from '../../server/queue.ts'
import { startTestApp, type TestAnswer, type TestApp, type TestRequest } from './app.ts'
import { type Engine, engines } from './servers.ts'
import type { Api } from './service.ts'
import { PROCESSES } from './several.ts'
import { runs, THOROUGH } from './thorough.ts'

export type { Api } from './service.ts'

const WAIT_MS = 60_000

/** Items of one kind in the tests of large uploads; `npm run test:long` sends as many as an upload may contain. */
export const MANY = runs(1_000, 50_000)

/** An item of `data.records`; tests may omit or corrupt any field. */
export type SdkRecord = Record<string, unknown>

/** Whole seconds in UTC, as every SDK writes instants. */
export const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** A record at an instant (epoch ms); `fields` replace or add. */
export const record = (type: string, ms: number, value: unknown, fields: SdkRecord = {}): SdkRecord => ({
  id: null,
  type,
  startDate: iso(ms),
  endDate: iso(ms),
  zoneOffset: null,
  source: WATCH,
  value,
  unit: null,
  parentId: null,
  metadata: null,
  ...fields,
})

/** A source as the iOS SDK describes a watch. */
export const WATCH = { name: 'Watch of Ada', deviceModel: 'Watch7,5', deviceType: 'watch' }

/** A source as the iOS SDK describes a phone. */
export const PHONE = { name: 'Phone of Ada', deviceModel: 'iPhone17,1', deviceType: 'phone' }

/** A heart rate of the watch. */
export const heartRate = (ms: number, value: unknown, fields: SdkRecord = {}): SdkRecord =>
  record('HKQuantityTypeIdentifierHeartRate', ms, value, { unit: 'bpm', ...fields })

/** Steps of the watch. */
export const steps = (ms: number, value: unknown, fields: SdkRecord = {}): SdkRecord =>
  record('HKQuantityTypeIdentifierStepCount', ms, value, { unit: 'count', ...fields })

/** An upload's body around `records`; `envelope` replaces or adds fields. */
export const body = (records: unknown, envelope: Record<string, unknown> = {}): Record<string, unknown> => ({
  provider: 'apple',
  sdkVersion: '0.15.0',
  syncTimestamp: '2026-02-24T10:00:00Z',
  data: { records, sleep: [], workouts: [] },
  ...envelope,
})

/** Runs `test` once for every database engine of this run. */
export function eachEngine(t: Test, name: string, test: (t: Test, engine: Engine) => Promise<void>): void {
  const chosen = PROCESSES > 1 ? engines().slice(0, 1) : engines()
  for (const engine of chosen) void t.test(`${name} (${engine.name})`, (t) => test(t, engine))
}

/**
 * Runs a test on one engine, for SQL that is the same on every engine, with reads and writes of samples that other
 * tests cover on each; `npm run test:long` runs it on each.
 */
export function oneEngine(t: Test, name: string, test: (t: Test, engine: Engine) => Promise<void>): void {
  const chosen = THOROUGH ? engines() : engines().slice(0, 1)
  for (const engine of chosen) void t.test(`${name} (${engine.name})`, (t) => test(t, engine))
}

/** Skips a subtest on the second engine if the first one is enough; never in `npm run test:long`. */
export const onceIsEnough = ({ name }: Engine): { skip: string | false } => ({
  skip: !THOROUGH && name !== engines()[0]?.name && 'once is enough',
})

/** An importer of this process; `means` replace its dependencies. */
export function importerOf(app: TestApp, means: Partial<ImportMeans> = {}): Importer {
  const { config: settings, metrics, log } = app.deps
  return createImporter({
    ...{ db: app.db, threads: app.threads(), handover: app.handover, settings, metrics, log },
    ...means,
  })
}

/** Starts taking import jobs, as the service does; ends with the test. */
export async function startImports(
  t: Test,
  app: TestApp,
  concurrency = runs(2, 4),
  uploadRetentionDays = 30,
): Promise<Jobs> {
  const { log } = app.deps
  const db = openDatabase({
    url: app.databaseUrl,
    name: 'pulsebase test jobs',
    maxConnections: concurrency + 1,
    statementTimeoutMs: 60_000,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  })
  const importer = importerOf(app, { db })
  const settings = { ...app.deps.config, uploadRetentionDays }
  const jobs = await startJobs({
    ...{ url: app.databaseUrl, db, importer, settings, concurrency, log },
  })
  const stop = jobs.stop.bind(jobs)
  let stopping: Promise<void> | undefined
  // Called by the test, and again at its end.
  jobs.stop = () => {
    stopping ??= stop().then(() => db.end())
    return stopping
  }
  t.teardown(() => jobs.stop())
  return jobs
}

const shared = new Map<string, Promise<TestApp>>()

/**
 * A service that imports, for all tests of this process which look at their own users alone: one of their own costs 0.2 s
 * of CPU, most of it for what the database does not know yet.
 */
export function sharedApp(engine: Engine): Promise<TestApp> {
  let app = shared.get(engine.url)
  if (!app) {
    app = startTestApp(root, engine).then(async (started) => {
      await startImports(root, started)
      return started
    })
    shared.set(engine.url, app)
  }
  return app
}

/** Creates a user and returns its id. */
export async function createUser(api: Api): Promise<string> {
  const { status, body } = await api.request('POST', '/api/v1/users', { body: {} })
  if (status !== 201) throw new Error(`cannot create a user: ${status}`)
  return body.id
}

interface UploadOptions {
  query?: string
  headers?: Record<string, string>
  auth?: TestRequest['auth']
}

/** Uploads a body: bytes and text unchanged, anything else as JSON. */
export function upload(
  api: Api,
  userId: string,
  content: unknown,
  { query = '', headers = {}, auth = 'key' }: UploadOptions = {},
): Promise<TestAnswer> {
  const bytes = content instanceof Uint8Array ? content : Buffer.from(asText(content))
  return api.request('POST', `/api/v1/sdk/users/${userId}/sync${query}`, {
    body: bytes,
    headers: { 'Content-Type': 'application/json', ...headers },
    auth,
  })
}

const asText = (content: unknown) => (typeof content === 'string' ? content : JSON.stringify(content))

/** The fields of the batch status. */
export interface BatchStatus {
  batch_id: string
  run_id: string
  status: string
  received: number
  inserted: number
  updated: number
  unchanged: number
  duplicates: number
  ignored_type: number
  dropped_count: number
  deleted: number
  saved: Record<string, { inserted: number; updated: number; unchanged: number }>
  dropped: { collection: string; index: number | null; id: string | null; loc: unknown[]; type: string; msg: string }[]
  [field: string]: unknown
}

/** Waits until a batch is imported and returns its status. */
export async function waitForBatch(api: Api, userId: string, batchId: string): Promise<BatchStatus> {
  let batch: BatchStatus | undefined
  await queueLeft(api, 'id', batchId)
  const finished = await waitUntil(
    async () => {
      const answer = await api.request('GET', `/api/v1/sdk/users/${userId}/sync/batches/${batchId}`)
      if (answer.status !== 200) throw new Error(`batch ${batchId}: ${answer.status}`)
      batch = answer.body
      return answer.body.status !== 'queued'
    },
    WAIT_MS,
    10,
  )
  if (!finished || !batch) throw new Error(`batch ${batchId} was not imported in time`)
  return batch
}

/** Queries the database, if it can, until a user or an upload has nothing queued: a request costs ten times as much. */
async function queueLeft({ db }: Api, column: 'id' | 'user_id', id: string): Promise<void> {
  if (!db) return
  const queued = () => db.query(`select from upload where ${column} = $1 and status = 'queued' limit 1`, [id])
  await waitUntil(async () => (await queued()).length === 0, WAIT_MS, 15)
}

/** Uploads a body, which must be accepted, and waits for its import. */
export async function importBody(
  api: Api,
  userId: string,
  content: unknown,
  options: UploadOptions = {},
): Promise<BatchStatus> {
  const answer = await upload(api, userId, content, options)
  if (answer.status !== 202) throw new Error(`upload: ${answer.status} ${JSON.stringify(answer.body)}`)
  return waitForBatch(api, userId, answer.body.batch_id)
}

/** Waits until no upload of the user is queued, and returns all its batches, oldest first. */
export async function waitForAll(api: Api, userId: string): Promise<BatchStatus[]> {
  let batches: BatchStatus[] = []
  await queueLeft(api, 'user_id', userId)
  const finished = await waitUntil(
    async () => {
      batches = (await api.request('GET', `/api/v1/sdk/users/${userId}/sync/batches?limit=200`)).body
      return batches.every(({ status }) => status !== 'queued')
    },
    WAIT_MS,
    20,
  )
  if (!finished) throw new Error('uploads were not imported in time')
  return batches.reverse()
}

/** The result of every item of a batch; their sum is the number received. */
export const accounted = (batch: BatchStatus): number =>
  batch.inserted +
  batch.updated +
  batch.unchanged +
  batch.duplicates +
  batch.ignored_type +
  batch.dropped_count +
  batch.deleted

/** A stored sample with its identity outside this database. */
export interface StoredSample {
  provider: string
  device: string
  source: string
  device_type: string
  type: string
  daily: boolean
  ts: string
  value: number
  zone: number | null
}

/** Every sample of a user, in an order that does not depend on keys. */
export async function storedSamples(db: Database, userId: string): Promise<StoredSample[]> {
  const rows = await db.query<Omit<StoredSample, 'type' | 'daily'> & { series_id: number }>(
    `select d.provider, d.device_model as device, d.source, d.device_type, s.series_id, s.ts, s.value,
            s.zone_offset_min as zone
     from sample s
     join data_source d on d.id = s.source_id
     where d.user_id = $1
     order by s.ts, s.series_id, d.provider, d.device_model, d.source`,
    [userId],
  )
  return rows.map(({ series_id, ...row }) => ({
    ...row,
    type: storedSeries(series_id)?.series.type ?? `? ${series_id}`,
    daily: storedSeries(series_id)?.isDailyTotal === true,
  }))
}

/** The versions of a user's rows: any write to one of them, even of the same values, changes this. */
export async function rowVersions(db: Database, userId: string): Promise<Record<string, unknown>> {
  const [samples, sources, users] = await Promise.all([
    db.query(
      `select s.source_id, s.series_id, s.ts, s.xmin::text from sample s join data_source d on d.id = s.source_id
       where d.user_id = $1 order by 1, 2, 3`,
      [userId],
    ),
    db.query('select id, xmin::text from data_source where user_id = $1 order by id', [userId]),
    db.query('select revision, xmin::text from app_user where id = $1', [userId]),
  ])
  return { samples, sources, users }
}

/** The dirty ranges of a user's rollups, in the order in which they were recorded. */
export function dirtyRanges(db: Database, userId: string): Promise<{ type: string; lo: string; hi: string }[]> {
  return db.query(
    `select t.type, r.lo, r.hi
     from rollup_dirty r
     join data_source d on d.id = r.source_id
     join series_type t on t.id = r.series_id
     where d.user_id = $1
     order by r.seq`,
    [userId],
  )
}

/** A page of samples. */
export async function timeseries(
  api: Api,
  userId: string,
  query: Record<string, string | number | boolean | string[] | undefined>,
  options: TestRequest = {},
): Promise<TestAnswer> {
  return api.request('GET', `/api/v1/users/${userId}/timeseries?${queryText(query)}`, options)
}

function queryText(query: Record<string, string | number | boolean | string[] | undefined>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined) parameters.append(name, String(one))
  }
  return parameters.toString()
}
