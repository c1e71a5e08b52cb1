// No write opens more of the columnstore than the batches it changes. Every way in which samples and rollups
// are written has its line here. Plans are made for any parameters, as they are after some repetitions, since such
// plans find no batches: whoever relies on others must see to it.
import type { Test } from 'tap'
import t from 'tap'
import { compressChunks } from '../../server/db/compress.ts'
import type { Database } from '../../server/db/database.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { applyStrategy, type Strategy } from '../../server/rollups/strategy.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { countOpened, type Opened } from '../support/opened.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importerOf,
  type SdkRecord,
  upload,
  waitForBatch,
} from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Rows of a batch at most. */
const BATCH = 1000

/** Where chunks of samples, of quarter hours and of hours end: what is before it can be compressed. */
const END = 14_400 * DAY_MS
/** Of two months: two or three batches of samples of a series in each chunk, six of quarter hours, two of hours. */
const OLD = { from: END - 60 * DAY_MS, to: END, every: 15 * MINUTE_MS }
/** Where there are rollups of minutes, too. */
const NOW = Math.floor(Date.now() / DAY_MS) * DAY_MS
const RECENT = { from: NOW - 17 * DAY_MS, to: NOW - 13 * DAY_MS, every: 5 * MINUTE_MS }
/** Heart rate and steps. */
const SERIES = [1, 80]
/** An hour of both. */
const LATE = END - 20 * DAY_MS + 10 * HOUR_MS
/** A day with nothing yet, and as many samples as fill two batches and a half. */
const EMPTY = END - 400 * DAY_MS
const DENSE = 2_500
const LATER = NOW - 15 * DAY_MS + 10 * HOUR_MS

interface Bench {
  app: TestApp
  db: Database
  users: string[]
  /** Uploads the records of the first user and imports them. */
  send(records: SdkRecord[], deletions?: object[]): Promise<void>
}

/** Three users with the same history, compressed and with rollups that are up to date. */
async function fill(t: Test, engine: Engine, strategy: Strategy): Promise<Bench> {
  const first = await startTestApp(t, engine)
  await applyStrategy(first.databaseUrl, strategy, () => {})
  await first.db.query(
    `do $$ begin execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database()); end $$`,
  )
  const app = await first.another()
  const importer = importerOf(app)
  const sendTo = async (user: string, records: SdkRecord[], deletions: object[] = []) => {
    const { body: answer } = await upload(app, user, body([], { data: { records, deletions } }))
    while (await importer.importUploads(user));
    const batch = await waitForBatch(app, user, answer.batch_id)
    if (batch.status !== 'success') throw new Error(JSON.stringify(batch))
  }
  const users = [await createUser(app), await createUser(app), await createUser(app)]
  for (const user of users) await sendTo(user, [heartRate(OLD.from, 60)])
  for (const { from, to, every } of [OLD, RECENT]) {
    await app.db.query(
      `insert into sample (ts, value, source_id, series_id, zone_offset_min)
       select to_timestamp($1::float8 + n * $3::float8), n * 37 % 1000 / 8.0 + 0.1, d.id, k, 60
       from generate_series(0, (($2::float8 - $1) / $3)::int4 - 1) n, data_source d, unnest($4::int2[]) k
       order by d.id, k, n
       on conflict (source_id, series_id, ts) do update set value = excluded.value`,
      [from / 1000, to / 1000, every / 1000, SERIES],
    )
  }
  const [firstUser = ''] = users
  const bench = { app, db: app.db, users, send: (...sent: [SdkRecord[], object[]?]) => sendTo(firstUser, ...sent) }
  await noteAll(bench)
  await refresh(bench)
  await compress(bench)
  return bench
}

/** Marks everything as changed. */
async function noteAll({ db }: Bench): Promise<void> {
  for (const { from, to } of [OLD, RECENT]) {
    await db.query(
      `select note_added(array_agg(d.id), array_agg(k), array_agg($1::float8), array_agg($2::float8))
       from data_source d, unnest($3::int2[]) k`,
      [from / 1000, to / 1000 - 1, SERIES],
    )
  }
}

async function refresh({ db }: Bench): Promise<void> {
  while (await refreshRollups(db));
}

async function compress({ db }: Bench): Promise<void> {
  while (await compressChunks(db, '0'));
}

/** Records of heart rate with their ids: an hour of quarter hours, unless said otherwise. */
const rates = (startMs: number, value: number, count = 4, everyMs = 15 * MINUTE_MS) =>
  Array.from({ length: count }, (_, n) => {
    const ms = startMs + n * everyMs
    return heartRate(ms, value + (n % 50), { id: `rate-${ms}`, zoneOffset: '+01:00' })
  })

const deletions = (...instants: number[]) => instants.map((ms) => ({ id: `rate-${ms}` }))

interface Write {
  what: string
  work(bench: Bench): Promise<unknown>
  /** Batches of each table that may be opened at most; `{}`: none. */
  batches: Record<string, number>
  /** Tables of which something must be opened, since it changes; those of `batches` unless given. */
  some?: string[]
}

const rollups = (quarters: number) => ({ rollup_15min: quarters, rollup_1hour: quarters, rollup_1day: 1 })

const writes: Write[] = [
  { what: 'new samples between stored ones', work: ({ send }) => send(rates(LATE + 7 * MINUTE_MS, 70)), batches: {} },
  { what: 'the refresh of their hour', work: refresh, batches: rollups(1) },
  { what: 'samples where there were none', work: ({ send }) => send(rates(EMPTY, 70, DENSE, 20_000)), batches: {} },
  { what: 'the refresh of them', work: refresh, batches: {} },
  { what: 'the same samples again', work: ({ send }) => send(rates(LATE + 7 * MINUTE_MS, 70)), batches: {} },
  { what: 'a refresh of nothing', work: refresh, batches: {} },
  { what: 'samples that changed', work: ({ send }) => send(rates(LATE, 80)), batches: { sample: 1 } },
  { what: 'the refresh of what changed', work: refresh, batches: rollups(1) },
  {
    what: 'samples that changed in two months',
    work: ({ send }) => send([...rates(LATE, 90), ...rates(LATE - 30 * DAY_MS, 90)]),
    batches: { sample: 2 },
  },
  { what: 'the refresh of two months', work: refresh, batches: rollups(2) },
  {
    what: 'a refresh of everything, of which nothing changed',
    work: async (bench) => {
      await noteAll(bench)
      await refresh(bench)
    },
    batches: {},
  },
  {
    what: 'a deletion of samples in two months',
    work: ({ send }) => send([], deletions(LATE, LATE - 30 * DAY_MS)),
    batches: { sample: 2 },
  },
  { what: 'the refresh of what is gone', work: refresh, batches: rollups(2) },
  { what: 'a deletion of what is gone already', work: ({ send }) => send([], deletions(LATE)), batches: {} },
  {
    what: 'a deletion of the first and the last of a day, with a batch between',
    work: ({ send }) => send([], deletions(EMPTY, EMPTY + (DENSE - 1) * 20_000)),
    batches: { sample: 2 },
  },
  { what: 'the refresh of that day', work: refresh, batches: rollups(1) },
  {
    what: 'samples of this month that changed',
    work: ({ send }) => send(rates(LATER, 80)),
    // Where chunks end depends on today.
    batches: { sample: 1 },
    some: [],
  },
  {
    what: 'the refresh of this month',
    work: refresh,
    batches: { rollup_1min: 1, rollup_5min: 1, ...rollups(1) },
    some: ['rollup_1min', 'rollup_5min'],
  },
  {
    what: 'local days',
    work: async (bench) => {
      await bench.db.query('update rollup_local_day set stale = true')
      await refresh(bench)
    },
    batches: {},
  },
  // Archiving: test/rollups/archive.test.ts.
]

/** Whether what `countOpened` found is what was allowed and had to be. */
function allowed(opened: Record<string, Opened>, { batches, some = Object.keys(batches) }: Write, tables: string[]) {
  const within = Object.entries(opened).every(([table, rows]) => rows.opened <= (batches[table] ?? 0) * BATCH)
  return within && some.every((table) => opened[table] || !tables.includes(table))
}

const held = ({ db }: Bench) =>
  db.query(
    `select name, n from (
       select 'sample' as name, d.id, (select count(*) from sample s where s.source_id = d.id) as n from data_source d
       union all
       select 'rollup_15min', d.id, (select count(*) from rollup_15min r where r.source_id = d.id) from data_source d
     ) x order by id, name`,
  )

eachEngine(t, 'compressed batches', async (t, engine) => {
  if (engine.name === 'plain') return t.comment('there are none')
  for (const strategy of ['per_series', 'continuous'] as const) {
    await t.test(`are opened only where they change: rollups ${strategy}`, async (t) => {
      const bench = await fill(t, engine, strategy)
      const tables = await bench.db.rows<[string]>('select relname::text from pg_class where relname ~ $1', [
        '^(sample|rollup_)',
      ])
      const faults: object[] = []
      for (const write of writes) {
        const opened = await countOpened(bench.db, () => write.work(bench))
        if (!allowed(opened, write, tables.flat())) faults.push({ what: write.what, batches: write.batches, opened })
        await compress(bench)
      }
      t.strictSame(faults, [])
      await deleteAll(t, bench)
    })
  }
})

async function deleteAll(t: Test, bench: Bench): Promise<void> {
  const { app, db, users } = bench
  const before = await held(bench)
  const path = (user: number, rest = '') => `/api/v1/users/${users[user]}${rest}`
  for (const [what, url] of [
    ['the data of a connection', path(1, '/connections/apple/data')],
    ['a user', path(0)],
  ] as const) {
    const found = await countOpened(db, async () => {
      const { status } = await app.request('DELETE', url, { auth: 'developer' })
      if (status >= 300) throw new Error(`${url}: ${status}`)
    })
    const opened = Object.values(found).reduce((sum, one) => sum + one.opened, 0)
    t.equal(opened, 0, `${what} is deleted without being opened: ${JSON.stringify(found)}`)
    t.ok((found.sample?.removed ?? 0) >= (OLD.to - OLD.from) / OLD.every, 'whole batches go')
  }
  t.strictSame(await held(bench), before.slice(-2), 'all of theirs is gone, and only that')
}
