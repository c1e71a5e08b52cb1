// Compressed chunks accept writes like any other, and compressing them blocks nobody. On an engine without chunks this is
// trivially true.
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import type { SampleColumns } from '../../server/batch/columns.ts'
import { compressChunks } from '../../server/db/compress.ts'
import { type Database, openDatabase } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { applyStrategy } from '../../server/rollups/strategy.ts'
import { writeSamples } from '../../server/store/samples.ts'
import { createTestDatabase } from '../support/app.ts'
import { withoutDeadlock } from '../support/opened.ts'
import { eachEngine, MANY } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'

const BASE_MS = Date.UTC(2025, 2, 1)
const HEART_RATE = 1
/** Over a month. */
const ROWS = MANY < 10_000 ? 13_000 : 130_000
const STEP_MS = 2_600_000_000 / ROWS
/** Compressed samples that a statement may open, unless it lifts this limit of the extension. */
const OPENED = MANY < 10_000 ? 10_000 : 100_000

async function open(t: Test, engine: Engine): Promise<{ db: Database; url: string; source: number }> {
  const address = new URL(await createTestDatabase(t, engine))
  address.searchParams.set('options', `-c timescaledb.max_tuples_decompressed_per_dml_transaction=${OPENED}`)
  const url = address.href
  let isOver = false
  // An idle connection may be cut off with the database.
  const onError = (error: Error) => isOver || t.fail(error.message)
  const db = openDatabase({ url, name: 'pulsebase test', maxConnections: 6, statementTimeoutMs: 60_000, onError })
  t.teardown(() => {
    isOver = true
    return db.end()
  })
  const { id } = await db.one<{ id: number }>(
    `with someone as (insert into app_user default values returning id)
     insert into data_source (user_id, provider, source) select id, 'apple', 'a' from someone returning id`,
  )
  return { db, url, source: id }
}

/** One sample every `stepMs` from the base on, `value` more than its number. */
function columns(count: number, stepMs: number, value: number, offsetMs = 0): SampleColumns {
  return {
    source: 0,
    seriesId: HEART_RATE,
    timeMs: Float64Array.from({ length: count }, (_, n) => BASE_MS + offsetMs + n * stepMs),
    value: Float64Array.from({ length: count }, (_, n) => value + n),
    zoneMin: new Int16Array(count).fill(60),
    lastsS: null,
    zoneTaken: null,
    origins: null,
  }
}

const write = (db: Database, source: number, samples: SampleColumns) =>
  withoutDeadlock(() => db.transaction((tx) => writeSamples(tx, [samples], [source])))

const stored = (db: Database) =>
  db.one<{ n: number; total: number }>('select count(*) as n, sum(value) as total from sample')

const isWaiting = async (db: Database) =>
  (await db.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .length > 0

/** Sum of the values of `columns(count, …, value)`. */
const sum = (count: number, value: number) => count * value + (count * (count - 1)) / 2

eachEngine(t, 'compressed chunks', async (t, engine) => {
  await t.test('take overwrites, late samples and deletions of any size', async (t) => {
    const { db, source } = await open(t, engine)
    await write(db, source, columns(ROWS, STEP_MS, 0))
    await refreshRollups(db)
    while (await compressChunks(db, '0'));
    t.strictSame(await stored(db), { n: ROWS, total: sum(ROWS, 0) })

    const [counts] = await write(db, source, columns(ROWS, STEP_MS, 1))
    t.match(counts, { inserted: 0, updated: ROWS }, 'every sample is overwritten in one transaction')
    t.strictSame(await stored(db), { n: ROWS, total: sum(ROWS, 1) })
    const [late] = await write(db, source, columns(500, STEP_MS, 7, STEP_MS / 2))
    t.match(late, { inserted: 500, updated: 0 }, 'samples between compressed ones are new')
    while (await compressChunks(db, '0'));
    t.strictSame(await stored(db), { n: ROWS + 500, total: sum(ROWS, 1) + sum(500, 7) })
    t.strictSame(await write(db, source, columns(ROWS, STEP_MS, 1)), [], 'a repeated upload changes nothing')

    await refreshRollups(db)
    const { gone } = await db.one<{ gone: number }>(
      `with meant as (select source_id, series_id, date_part('epoch', ts) as at from sample where ts < '2025-03-30')
       select count(*) as gone
       from (select array_agg(source_id) as sources, array_agg(series_id) as series, array_agg(at) as ats from meant) m,
            delete_sample_points(m.sources, m.series, m.ats)`,
    )
    t.ok(gone > OPENED, `${gone} are deleted in one transaction`)
    await refreshRollups(db)
    const left = await stored(db)
    t.equal(left.n, ROWS + 500 - gone)
    for (const table of ['rollup_15min', 'rollup_1hour', 'rollup_1day']) {
      t.strictSame(await db.one(`select sum(n)::int8 as n, sum(total) as total from ${table}`), left, table)
    }
    while (await compressChunks(db, '0'));
    await db.transaction((tx) => tx.query('select delete_sources($1)', [[source]]))
    t.equal((await stored(db)).n, 0, 'all data of a source is deleted')
    t.strictSame(await db.one('select count(*) as n from rollup_15min'), { n: 0 })
  })

  await t.test('are read whole by whoever began to read before', async (t) => {
    const { db, source } = await open(t, engine)
    await write(db, source, columns(ROWS, STEP_MS, 0))
    await refreshRollups(db)
    // A statement that waits, or a page that is long, sees the database as of its beginning.
    const reader = await db.pool.connect()
    const counts = async () => {
      const { rows } = await reader.query(
        `select (select count(*)::int4 from sample) as samples,
                (select sum(n)::int4 from rollup_15min) as quarters, (select sum(n)::int4 from rollup_1day) as days`,
      )
      return rows
    }
    const all = [{ samples: ROWS, quarters: ROWS, days: ROWS }]
    try {
      await reader.query('begin isolation level repeatable read')
      // Sees the database as of now, and holds no lock on it.
      await reader.query('select from schema_migration')
      while (await compressChunks(db, '0'));
      t.strictSame(await counts(), all, 'as of before they were compressed')
      await reader.query('commit')
      t.strictSame(await counts(), all, 'as of after')
    } finally {
      reader.release()
    }
  })

  await t.test('are read with what was stored in them since a refresh of several series began', async (t) => {
    const { db, url, source } = await open(t, engine)
    await applyStrategy(url, 'per_series', () => {})
    const series = [HEART_RATE, 2, 3]
    const dirty = (seriesId: number) =>
      db.query(
        `insert into rollup_dirty (source_id, series_id, lo, hi) select $1, $2, to_timestamp($3), to_timestamp($3)`,
        [source, seriesId, BASE_MS / 1000],
      )
    for (const seriesId of series) await write(db, source, { ...columns(100, 900_000, 1), seriesId })
    while (await refreshRollups(db));
    while (await compressChunks(db, '0'));
    const session = { url, name: 'pulsebase refreshes', maxConnections: 1, statementTimeoutMs: 60_000, onError() {} }
    const refreshing = openDatabase(session)
    // Like a process that has done so for a while, whose caches know all that it needs.
    for (let n = 0; n < 2; n += 1) {
      for (const seriesId of [...series, ...series]) await dirty(seriesId)
      while (await refreshRollups(refreshing));
    }
    for (const seriesId of series) await dirty(seriesId)
    const holder = await db.pool.connect()
    await holder.query('begin')
    await holder.query('select from rollup_dirty where series_id = 2 for update')
    const refreshed = refreshRollups(refreshing)
    t.ok(await waitUntil(async () => await isWaiting(db), 10_000, 10), 'it waits at the second of three series')
    await write(db, source, { ...columns(50, 900_000, 7, 450_000), seriesId: 3 })
    await holder.query('commit')
    holder.release()
    await refreshed
    while (await refreshRollups(refreshing));
    t.strictSame(await db.query('select series_id, sum(n)::int4 as n from rollup_1day group by 1 order by 1'), [
      { series_id: 1, n: 100 },
      { series_id: 2, n: 100 },
      { series_id: 3, n: 150 },
    ])

    await dirty(2)
    const writer = await db.pool.connect()
    await writer.query('select pg_advisory_lock(writer) from rollup_dirty')
    const waited = refreshRollups(refreshing)
    t.ok(await waitUntil(() => isWaiting(db), 10_000, 10), 'it waits for whoever has not told all sessions yet')
    await writer.query('select pg_advisory_unlock_all()')
    writer.release()
    await waited
    t.strictSame(await db.query('select from rollup_dirty'), [])
    await refreshing.end()
  })

  await t.test('may be dropped while others are in use', async (t) => {
    const { db, source } = await open(t, engine)
    await write(db, source, columns(2, 40 * 86_400_000, 0))
    const chunks = await db.query<{ chunk: string; starts: string; ends: string }>(
      engine.name === 'timescale'
        ? `select format('%I.%I', chunk_schema, chunk_name) as chunk, range_start as starts, range_end as ends
           from timescaledb_information.chunks where hypertable_name = 'sample'`
        : `select 'sample' as chunk, now() as starts, now() as ends where false`,
    )
    if (engine.name === 'timescale') t.equal(chunks.length, 2)
    const [one, other] = await Promise.all(chunks.map(() => db.pool.connect()))
    if (!one || !other) return
    try {
      for (const [place, holder] of [one, other].entries()) {
        await holder.query('begin')
        await holder.query(`lock table ${chunks[place]?.chunk} in access exclusive mode`)
      }
      const compressed = compressChunks(db, '0')
      const waits = `select l.relation::regclass::text as chunk from pg_locks l
                     join pg_stat_activity a on a.pid = l.pid and a.query like '%compress_next%'
                     where not l.granted and l.relation is not null`
      let waited: { chunk: string }[] = []
      while (waited.length === 0) waited = await db.query<{ chunk: string }>(waits)
      const free = chunks.findIndex(({ chunk }) => chunk !== waited[0]?.chunk)
      const dropper = free === 0 ? one : other
      await dropper.query(
        `select drop_chunks('sample', older_than => $1::timestamptz, newer_than => $2::timestamptz)`,
        [chunks[free]?.ends, chunks[free]?.starts],
      )
      await dropper.query('commit')
      t.equal(await compressed, false, 'one is in use, and the other is gone')
      await (free === 0 ? other : one).query('rollback')
    } finally {
      one.release()
      other.release()
    }
  })

  await t.test('are compressed during uploads: neither loses data or blocks the other forever', async (t) => {
    const { db, source } = await open(t, engine)
    await write(db, source, columns(5_000, 60_000, 0))
    const held = await db.pool.connect()
    try {
      await held.query('begin')
      await held.query(`insert into sample values ('2025-03-01 00:00:10Z', 5, $1, 1, 60)`, [source])
      while (await compressChunks(db, '0'));
      const left = await db.query(
        engine.name === 'timescale'
          ? `select from timescaledb_information.chunks where hypertable_name = 'sample' and not is_compressed`
          : 'select',
      )
      t.equal(left.length, 1, 'a chunk in use is left for another run')
      await held.query('commit')
    } finally {
      held.release()
    }
    let writing = true
    const compressor = async () => {
      let rounds = 0
      while (writing) {
        await compressChunks(db, '0')
        rounds += 1
        await delay(5)
      }
      return rounds
    }
    const compressing = compressor()
    for (let round = 1; round <= 10; round += 1) {
      await write(db, source, columns(300, 60_000, round, round % 2 === 0 ? 0 : round * 1000))
    }
    writing = false
    t.ok((await compressing) > 0)
    // Even rounds overwrite the first 300, odd ones add 300 each but for second 10, which is 'held' already there once.
    const { n } = await stored(db)
    t.equal(n, 5_000 + 1 + 5 * 300)
    const { total } = await db.one<{ total: number }>(
      `select sum(value) as total from sample where date_part('second', ts) = 0 and ts < to_timestamp($1)`,
      [(BASE_MS + 300 * 60_000) / 1000],
    )
    t.equal(total, sum(300, 10), 'the last overwrite is stored')
  })
})
