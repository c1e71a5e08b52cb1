// No write opens more of the columnstore than the batches it changes. Each way in which samples and rollups are written
// has its line here; an archive with nothing to do is in test/rollups/archive-late.test.ts. Plans are made for any
// parameters, as they are after some repetitions, since such plans find no batches: whoever relies on others must see to it.
import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import t from 'tap'
import { type SeriesType, seriesByName } from '../../server/catalogue/series.ts'
import { compressChunks } from '../../server/db/compress.ts'
import type { Database } from '../../server/db/database.ts'
import { archive } from '../../server/rollups/archive.ts'
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
  iso,
  record,
  upload,
  WATCH,
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

/** Protein of the first user: two batches and a half within five days, between which nutrients come. */
const PROTEIN = 'dietary_protein'
const EATEN = END - 45 * DAY_MS
const SNACK = EATEN + 2 * DAY_MS + 30_000

interface Bench {
  app: TestApp
  db: Database
  users: string[]
  /** Uploads what is in `data` for the first user that is left, and imports it. */
  send(data: Partial<Record<'records' | 'deletions' | 'workouts', object[]>>): Promise<void>
}

/**
 * Three users with the same history, compressed and with rollups that are up to date. It is sparse: `sparse` says whether that
 * makes a difference, so that it has no quarter hours.
 */
async function fill(t: Test, engine: Engine, strategy: Strategy, sparse: boolean): Promise<Bench> {
  const first = await startTestApp(t, engine)
  await applyStrategy(first.databaseUrl, strategy, () => {})
  await first.db.query(
    `do $$ begin execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database()); end $$`,
  )
  if (!sparse) await first.db.query('create or replace function sparse_at_most() returns float8 language sql return 0')
  const app = await first.another()
  const importer = importerOf(app)
  const sendTo = async (user: string, data: object) => {
    const { body: answer } = await upload(app, user, body([], { data }))
    while (await importer.importUploads(user));
    const batch = await waitForBatch(app, user, answer.batch_id)
    if (batch.status !== 'success') throw new Error(JSON.stringify(batch))
  }
  const users = [await createUser(app), await createUser(app), await createUser(app)]
  for (const user of users) await sendTo(user, { records: [heartRate(OLD.from, 60)] })
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
  const bench: Bench = { app, db: app.db, users, send: (data) => sendTo(users[0] as string, data) }
  await addProtein(bench)
  await noteAll(bench)
  await refresh(bench)
  await compress(bench)
  return bench
}

async function addProtein({ db, users }: Bench): Promise<void> {
  const { id } = seriesByName.get(PROTEIN) as SeriesType
  await db.query(
    `with added as (
       insert into sample (ts, value, source_id, series_id)
       select to_timestamp($1::float8 + n * 180), n % 9 + 0.5, d.id, $2::int2
       from generate_series(0, $3::int4 - 1) n, data_source d
       where d.user_id = $4
       returning source_id, series_id, date_part('epoch', ts) as at
     )
     select note_added(array_agg(k.source_id), array_agg(k.series_id), array_agg(k.lo), array_agg(k.hi))
     from (select source_id, series_id, min(at) as lo, max(at) as hi from added group by 1, 2) k`,
    [EATEN / 1000, id, DENSE, users[0] as string],
  )
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

/** Grams of protein, as a part of a meal that may come later. */
const protein = (id: string, value: number) =>
  record('HKQuantityTypeIdentifierDietaryProtein', SNACK, value, { unit: 'g', id, parentId: 'snack' })

/** A run with two heart rates of its own. */
const run = (startMs: number) => ({
  ...{ id: 'run', type: 'running', source: WATCH, startDate: iso(startMs), endDate: iso(startMs + HOUR_MS) },
  samples: [11, 50].map((minute) => {
    return { type: 'heartRate', value: 150, unit: 'bpm', timestamp: iso(startMs + minute * MINUTE_MS) }
  }),
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
  {
    what: 'new samples between stored ones',
    work: ({ send }) => send({ records: rates(LATE + 7 * MINUTE_MS, 70) }),
    batches: {},
  },
  { what: 'the refresh of their hour', work: refresh, batches: rollups(1) },
  {
    what: 'samples where there were none',
    work: ({ send }) => send({ records: rates(EMPTY, 70, DENSE, 20_000) }),
    batches: {},
  },
  { what: 'the refresh of them', work: refresh, batches: {} },
  {
    what: 'the same samples again',
    work: ({ send }) => send({ records: rates(LATE + 7 * MINUTE_MS, 70) }),
    batches: {},
  },
  { what: 'a refresh of nothing', work: refresh, batches: {} },
  { what: 'samples that changed', work: ({ send }) => send({ records: rates(LATE, 80) }), batches: { sample: 1 } },
  { what: 'the refresh of what changed', work: refresh, batches: rollups(1) },
  {
    what: 'samples that changed in two months',
    work: ({ send }) => send({ records: [...rates(LATE, 90), ...rates(LATE - 30 * DAY_MS, 90)] }),
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
    work: ({ send }) => send({ deletions: deletions(LATE, LATE - 30 * DAY_MS) }),
    batches: { sample: 2 },
  },
  { what: 'the refresh of what is gone', work: refresh, batches: rollups(2) },
  { what: 'a deletion of what is gone already', work: ({ send }) => send({ deletions: deletions(LATE) }), batches: {} },
  {
    what: 'a deletion of the first and the last of a day, with a batch between',
    work: ({ send }) => send({ deletions: deletions(EMPTY, EMPTY + (DENSE - 1) * 20_000) }),
    batches: { sample: 2 },
  },
  { what: 'the refresh of that day', work: refresh, batches: rollups(1) },
  {
    what: 'samples of this month that changed',
    work: ({ send }) => send({ records: rates(LATER, 80) }),
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
]

/** Writes of samples alone, for which it makes no difference how rollups are kept. */
const rewrites: Write[] = [
  {
    what: 'values corrected to implausible ones',
    work: ({ send }) => send({ records: rates(LATE + 3 * HOUR_MS, 900) }),
    batches: { sample: 1 },
  },
  {
    what: 'values corrected to plausible ones',
    work: ({ send }) => send({ records: rates(LATE + 3 * HOUR_MS, 75) }),
    batches: { sample: 1 },
  },
  {
    what: 'a nutrient whose meal is not there yet',
    work: ({ send }) => send({ records: [protein('bar', 8)] }),
    batches: {},
  },
  {
    what: 'another nutrient at the same instant',
    work: ({ send }) => send({ records: [protein('milk', 4)] }),
    batches: { sample: 1 },
  },
  {
    what: 'the meal of these nutrients',
    work: ({ send }) => send({ records: [record('HKCorrelationTypeIdentifierFood', SNACK, 1, { id: 'snack' })] }),
    batches: { sample: 1 },
  },
  { what: 'a workout with samples', work: ({ send }) => send({ workouts: [run(LATE + DAY_MS)] }), batches: {} },
  {
    what: 'the same workout at another time',
    work: ({ send }) => send({ workouts: [run(LATE + 6 * DAY_MS)] }),
    batches: { sample: 1 },
  },
  { what: 'the refresh of all these', work: refresh, batches: rollups(2) },
]

/** Whether what `countOpened` found is what was allowed and had to be. */
function allowed(opened: Record<string, Opened>, { batches, some = Object.keys(batches) }: Write, tables: string[]) {
  const within = Object.entries(opened).every(([table, rows]) => rows.opened <= (batches[table] ?? 0) * BATCH)
  return within && some.every((table) => opened[table] || !tables.includes(table))
}

const held = ({ db, users }: Bench) =>
  db.query(
    `select name, n from (
       select 'sample' as name, d.user_id, (select count(*) from sample s where s.source_id = d.id) as n from data_source d
       union all
       select 'rollup_15min', d.user_id, (select count(*) from rollup_15min r where r.source_id = d.id) from data_source d
     ) x order by array_position($1::uuid[], user_id), name`,
    [users],
  )

/** Rows that each write has opened. */
type Figures = Map<string, number>

/** Writes one after the other, each into compressed chunks; returns those that opened more than they may, or less than they must. */
async function runAll<One extends Write>(
  bench: Bench,
  all: readonly One[],
  figures: Figures,
  wrong: (one: One) => Promise<object | undefined> = async () => undefined,
): Promise<object[]> {
  // Sparse time has no quarter hours.
  const tables = await bench.db.rows<[string]>(
    `select relname::text from pg_class
     where relname ~ '^(sample|rollup_)' and (relname <> 'rollup_15min' or sparse_at_most() = 0)`,
  )
  const faults: object[] = []
  for (const one of all) {
    const opened = await countOpened(bench.db, () => one.work(bench))
    figures.set(one.what, total(opened, 'opened'))
    const { what, batches } = one
    if (!allowed(opened, one, tables.flat())) faults.push({ what, batches, opened })
    const other = await wrong(one)
    if (other) faults.push({ what, ...other })
    await compress(bench)
  }
  return faults
}

const total = (found: Record<string, Opened>, kind: keyof Opened) =>
  Object.values(found).reduce((sum, one) => sum + one[kind], 0)

eachEngine(t, 'compressed batches', async (t, engine) => {
  if (engine.name === 'plain') return t.comment('there are none')
  for (const [strategy, sparse] of [
    ['per_series', false],
    ['continuous', false],
    ['per_series', true],
  ] as const) {
    await t.test(`are opened only where they change: rollups ${strategy}${sparse ? ', sparse' : ''}`, async (t) => {
      const bench = await fill(t, engine, strategy, sparse)
      const figures: Figures = new Map()
      const documented = strategy === 'per_series' && !sparse
      t.strictSame(await runAll(bench, documented ? [...writes, ...rewrites] : writes, figures), [])
      await deleteAll(t, bench, figures)
      await archiveAll(t, bench, figures, sparse)
      if (documented) t.strictSame(await others(figures), [], 'as docs/rollups.md says')
    })
  }
})

async function deleteAll(t: Test, bench: Bench, figures: Figures): Promise<void> {
  const { app, db, users } = bench
  const before = await held(bench)
  const path = (user: number, rest = '') => `/api/v1/users/${users[user]}${rest}`
  for (const [what, url] of [
    ['the deletion of the data of a connection', path(1, '/connections/apple/data')],
    ['the deletion of a user', path(0)],
  ] as const) {
    const found = await countOpened(db, async () => {
      const { status } = await app.request('DELETE', url, { auth: 'developer' })
      if (status >= 300) throw new Error(`${url}: ${status}`)
    })
    figures.set(what, total(found, 'opened'))
    t.equal(total(found, 'opened'), 0, `${what} opens nothing: ${JSON.stringify(found)}`)
    t.ok((found.sample?.removed ?? 0) >= (OLD.to - OLD.from) / OLD.every, 'whole batches go')
  }
  t.strictSame(await held(bench), before.slice(-2), 'all of theirs is gone, and only that')
  users.splice(0, 2)
}

/** Lets the archive run a year after the end of the old samples, with these settings. */
const archival =
  (days: { archive_after_days: number; delete_after_days?: number }): Write['work'] =>
  async ({ db }) => {
    const { archive_after_days, delete_after_days = null } = days
    await db.query('update archival set archive_after_days = $1, delete_after_days = $2', [
      archive_after_days,
      delete_after_days,
    ])
    while (await archive(db, END + 365 * DAY_MS));
  }

/** What is done once a single user is left, and how many samples and quarter hours of old ones there are then. */
const archived: (Write & { left: [samples: number, quarterHours: number] })[] = [
  {
    what: 'an archive of a month',
    work: archival({ archive_after_days: 395 }),
    batches: {},
    left: [5_760, 11_520],
  },
  {
    what: 'samples of an archived month',
    work: ({ send }) => send({ records: rates(EMPTY, 70) }),
    batches: {},
    left: [5_764, 11_520],
  },
  {
    what: 'an archive of these, and of another month',
    work: archival({ archive_after_days: 365 }),
    batches: {},
    left: [0, 11_524],
  },
  {
    what: 'a purge of a month of rollups',
    work: archival({ archive_after_days: 365, delete_after_days: 395 }),
    // Those of each series in which the month ends.
    batches: { rollup_15min: 2, rollup_1hour: 2, rollup_1day: 2 },
    left: [0, 5_760],
  },
]

const LEFT_SQL = `
  select (select count(*) from sample where ts < to_timestamp($1)),
         (select count(*) from rollup_15min where bucket < to_timestamp($1))`

async function archiveAll(t: Test, bench: Bench, figures: Figures, sparse: boolean): Promise<void> {
  const faults = await runAll(bench, archived, figures, async ({ left }) => {
    const [found] = await bench.db.rows<[number, number]>(LEFT_SQL, [END / 1000])
    // Of sparse time there are quarter hours once its samples are gone.
    const wanted = sparse && left[0] > 0 ? [left[0], 5_760] : left
    return String(found) === String(wanted) ? undefined : { left: found, wanted }
  })
  t.strictSame(faults, [], 'the archive')
}

/** The figures that differ from those of the page: it may not say less than was opened, nor anything where nothing was. */
async function others(figures: Figures): Promise<unknown[]> {
  const page = await readFile(new URL('../../docs/rollups.md', import.meta.url), 'utf8')
  const [, table = ''] = page.split('## Rows that a write opens')
  const rows = [...table.matchAll(/^\| ([^|]+?) +\| [^|]+\| +([\d,]+) +\|$/gm)].map(([, what = '', now = '']) => {
    return { what, now: Number(now.replaceAll(',', '')), found: figures.get(what) ?? Number.NaN }
  })
  const wrong = rows.filter(({ now, found }) => !(found <= now && found > 0 === now > 0))
  return rows.length > 10 ? wrong : ['no table']
}
