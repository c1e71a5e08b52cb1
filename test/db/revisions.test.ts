// What a replica is asked rests on this: whatever a reader can see of a user moves the user's revision as it is committed.
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { archive } from '../../server/rollups/archive.ts'
import { computeResilience } from '../../server/scores/compute-resilience.ts'
import { computeSleepScores } from '../../server/scores/compute-sleep.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { runner, samsung } from '../support/golden-weeks.ts'
import { readsOf } from '../support/replica-reads.ts'
import { auditRevisions, DERIVED, OF_RANKING, OF_USERS } from '../support/revision-audit.ts'
import { body, createUser, heartRate, importBody, record, startImports } from '../support/sdk.ts'
import { type Engine, engines } from '../support/servers.ts'

const DAY_MS = 86_400_000
const NOON = Date.UTC(2026, 2, 3, 12)
const DAYS = 'start_date=2025-01-01&end_date=2026-03-20'

/**
 * Settings of all users, of which only the floors of the archive are seen (they move every revision, below), and what a
 * request and its answer do not depend on: credentials, developers and processes.
 */
const OTHERS = ['archival', 'rollup_strategy', 'series_type', 'schema_migration', 'api_key', 'developer', 'process']

/** On plain PostgreSQL: TimescaleDB has the same tables, and triggers on hypertables cannot wait for the end of a transaction. */
function onPlain(name: string, test: (t: Test, engine: Engine) => Promise<void>): void {
  for (const engine of engines()) if (engine.name === 'plain') void t.test(name, (t) => test(t, engine))
}

const revisionOf = async (app: TestApp, user: string): Promise<number> => {
  const sql = 'select u.revision + r.revision as revision from app_user u, ranking r where u.id = $1'
  return (await app.db.one<{ revision: number }>(sql, [user])).revision
}

const cycleBody = async () =>
  JSON.parse(await readFile(new URL('../samples/menstrual-cycle-apple.json', import.meta.url), 'utf8'))

const food = (value: number) =>
  body([
    record('HKCorrelationTypeIdentifierFood', NOON, 1, { id: 'lunch' }),
    record('HKQuantityTypeIdentifierDietaryProtein', NOON, value, { id: 'protein', parentId: 'lunch', unit: 'g' }),
  ])

onPlain('reads that replicas may answer see nothing else', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const pids = 'select pid from pg_stat_activity where datname = current_database() and pid <> all($1)'
  const own = await app.db.rows<[number]>(pids, [[]])
  const writer = await app.another()
  const jobs = await startImports(t, writer)
  const user = await createUser(writer)
  for (const upload of [...samsung(), ...runner()]) await importBody(writer, user, upload)
  const reads = await readsOf(writer, user)
  const scans = async () =>
    new Map(
      await app.db.rows<[string, number]>(
        `select relname::text, seq_scan + coalesce(idx_scan, 0) from pg_stat_user_tables where schemaname = 'public'`,
      ),
    )
  // Connections report what they have read as they end, and some end after whoever closed them went on.
  await jobs.stop()
  await writer.close()
  const isGone = async () => (await app.db.rows(pids, [own.flat()])).length === 0
  t.ok(await waitUntil(isGone, 30_000), 'what wrote is gone')
  const reader = await app.another()
  const before = await scans()
  for (const [path, queries] of Object.entries(reads)) {
    for (const query of queries) {
      const address = `/api/v1/users/${user}/${path.replace(/\{.*/, '')}${query}`
      t.equal((await reader.request('GET', address)).status, 200, address)
    }
  }
  await reader.close()
  const told = new Set([...OF_USERS, ...OF_RANKING, ...DERIVED, ...OTHERS])
  await waitUntil(async () => ((await scans()).get('workout') ?? 0) > (before.get('workout') ?? 0), 10_000)
  const read = [...(await scans())].filter(([table, count]) => count > (before.get(table) ?? 0)).map(([table]) => table)
  t.ok(read.includes('sample') && read.includes('sleep'), `found: ${read}`)
  t.strictSame(
    read.filter((table) => !told.has(table)),
    [],
  )
})

onPlain('every write moves the revision', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  await auditRevisions(app.db)
  const user = await createUser(app)
  const path = `/api/v1/users/${user}`
  /** Does something, which must succeed and move the revision. */
  const moves = async (what: string, work: () => Promise<unknown>, from = user) => {
    const before = await revisionOf(app, from)
    const answer = (await work()) as { status?: number | string } | undefined
    const { status } = answer ?? {}
    if (typeof status === 'number') t.ok(status < 300, `${what}: ${status}`)
    if (typeof status === 'string') t.equal(status, 'success', what)
    t.ok((await revisionOf(app, from)) > before, what)
  }
  const weeks = [...samsung(), ...runner()]
  for (const [n, upload] of weeks.entries()) await moves(`upload ${n}`, () => importBody(app, user, upload))
  await moves('meals', () => importBody(app, user, food(20)))
  await moves('a changed nutrient', () => importBody(app, user, food(21)))
  await moves('cycles', async () => importBody(app, user, await cycleBody()))
  await moves('a sample', () => importBody(app, user, body([heartRate(NOON, 61)])))
  await moves('its correction', () => importBody(app, user, body([heartRate(NOON, 62)])))
  const now = NOON + 20 * DAY_MS
  await moves('scores', async () => {
    await computeSleepScores(app.db, 60, now)
    await computeResilience(app.db, 60, now)
  })
  await moves('the personal record', () =>
    app.request('PUT', `${path}/personal-record`, { body: { birth_date: '1990-05-17', sex: 'female' } }),
  )
  await moves('priorities of providers', () =>
    app.request('PUT', '/api/v1/priorities/providers/garmin', { auth: 'developer', body: { priority: 77 } }),
  )
  await moves('priorities of devices', () =>
    app.request('PUT', '/api/v1/priorities/device-types/watch', { auth: 'developer', body: { priority: 78 } }),
  )
  for (const list of ['workouts', 'sleep', 'meals', 'menstrual-cycles']) {
    const { data } = (await app.request('GET', `${path}/events/${list}?${DAYS}`)).body
    await moves(`deletion of one of ${list}`, () => app.request('DELETE', `${path}/events/${list}/${data[0].id}`))
  }

  await t.test('archiving and purging do, where something is hidden', async (t) => {
    const old = await createUser(app)
    const long = Date.now() - 400 * DAY_MS
    await importBody(app, old, body(Array.from({ length: 50 }, (_, n) => heartRate(long + n * DAY_MS, 60 + (n % 9)))))
    const archives = (settings: object) => async () => {
      await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: settings })
      while (await archive(app.db, Date.now()));
    }
    await moves('archiving', archives({ archive_after_days: 60 }), old)
    await moves('purging', archives({ archive_after_days: 60, delete_after_days: 200 }), old)
    const raw = await app.request('GET', `/api/v1/users/${old}/timeseries?start_time=2020-01-01&end_time=2030-01-01`)
    t.equal(raw.body.data.length, 0)
  })

  await moves("a connection's data", () =>
    app.request('DELETE', `${path}/connections/samsung/data`, { auth: 'developer' }),
  )
  t.equal((await app.request('DELETE', path, { auth: 'developer' })).status, 200)
})

onPlain('the mean of a workout from before everything that is kept is gone as the floor rises', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const startMs = Date.now() - 400 * DAY_MS
  await importBody(app, user, body(Array.from({ length: 41 }, (_, n) => heartRate(startMs + n * 60_000, 100 + n))))
  await app.db.query(
    `with moved as (update app_user set revision = revision + 1 where id = $1)
     insert into workout (user_id, source_id, type, start_at, end_at, duration_s)
     select $1, d.id, 'running', to_timestamp($2), to_timestamp($2) + interval '40 minutes', 2400
     from data_source d
     where d.user_id = $1`,
    [user, Math.floor(startMs / 1000)],
  )
  const settings = (body: object) => app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body })
  const mean = async () =>
    (await app.request('GET', `/api/v1/users/${user}/events/workouts?start_date=2020-01-01&end_date=2040-01-01`)).body
      .data[0].avg_heart_rate_bpm
  const measured = await mean()
  t.ok(measured > 100)
  await settings({ archive_after_days: 60 })
  while (await archive(app.db, Date.now()));
  t.equal(await mean(), measured)
  await settings({ archive_after_days: 60, delete_after_days: 200 })
  // What a run of the archive does first.
  await app.db.query(
    `with raised as (update archival set rollup_floor = date_trunc('day', now()) - interval '230 days' returning 1)
     update app_user set revision = revision + 1 where exists (select from raised)`,
  )
  t.ok((await app.db.rows('select from kept_sum')).length > 0, 'its sum is not yet deleted')
  t.equal(await mean(), null)
  while (await archive(app.db, Date.now()));
  t.equal((await app.db.rows('select from kept_sum')).length, 0)
  t.equal(await mean(), null)
})

onPlain('the audit notices what does not', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await auditRevisions(app.db)
  const user = await createUser(app)
  const write = `insert into personal_record (user_id, sex) values ($1, 'male')`
  await t.rejects(app.db.query(write, [user]), { message: /the revision did not move with INSERT of personal_record/ })
  await app.db.transaction(async (tx) => {
    await tx.query(write, [user])
    await tx.query('update app_user set revision = revision + 1 where id = $1', [user])
  })
  await t.rejects(app.db.query(`update provider_priority set priority = 1 + priority where provider = 'garmin'`), {
    message: /ranking did not move/,
  })
})
