// Quarter hours are not kept of months with few samples: which months these are, and that they come and go without a trace in
// any answer. Random schedules of it are in exact.test.ts and archive-random.long.ts.
import type { Test } from 'tap'
import t from 'tap'
import { compressChunks } from '../../server/db/compress.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { thinRollups } from '../../server/rollups/thin.ts'
import { countOpened } from '../support/opened.ts'
import { type Bench, eachStrategy, open } from './model.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MONTH_MS = 30 * 24 * HOUR_MS
/** The month of today, and others from it. */
const month = (n: number) => (Math.floor(Date.now() / MONTH_MS) + n) * MONTH_MS
/** What they are before: months that are over, with each strategy (see `open`). */
const OLD = -8

/** Variability (RMSSD), a change of which makes scores outdated. */
const SERIES = 7

/** Adds samples of a series, one each `everyMs`, as an import does. */
async function add(
  { db, sources }: Bench,
  startMs: number,
  endMs: number,
  everyMs: number,
  { source, series } = { source: 0, series: SERIES },
): Promise<void> {
  await db.query(
    `with added as (
       insert into sample (ts, value, source_id, series_id, zone_offset_min)
       select to_timestamp($1::float8 / 1000 + n * $3::float8 / 1000), n % 97 + 1, $4, $5, 60
       from generate_series(0, ceil(($2::float8 - $1) / $3)::int4 - 1) n
       on conflict do nothing
       returning date_part('epoch', ts) as at
     )
     select note_added(array[$4::int4], array[$5::int2], array[min(at)], array[max(at)]) from added`,
    [startMs, endMs, everyMs, sources[source] as number, series],
  )
}

async function refresh({ db }: Bench): Promise<void> {
  while (await refreshRollups(db));
}

async function thin({ db }: Bench): Promise<void> {
  while (await thinRollups(db));
}

/** Quarter hours that are stored of each month, by its number from this one. */
async function quarters({ db, sources }: Bench): Promise<Record<number, number>> {
  const rows = await db.rows<[number, number]>(
    `select (floor(date_part('epoch', bucket) / 2592000) - $2)::int4, count(*) from rollup_15min where source_id = $1
     group by 1 order by 1`,
    [sources[0] as number, month(0) / MONTH_MS],
  )
  return Object.fromEntries(rows)
}

/** What reads return of these months that depends on quarter hours. */
async function answers({ db, sources }: Bench, from: number, until: number): Promise<unknown> {
  const key = [sources[0] as number, SERIES, month(from) / 1000, month(until) / 1000]
  const spans = `$1, $2::int2, to_timestamp($3 + 4321), to_timestamp($4 - 1234)`
  return {
    buckets: await db.rows(`select * from bucket_page(${spans}, '15 minutes', 100000, false, null)`, key),
    count: await db.rows(`select bucket_count(${spans}, '15 minutes', null), sample_count(${spans})`, key),
    extremes: await db.rows(`select * from bucket_extremes(${spans}, '15 minutes', null) order by 1`, key),
    hours: await db.rows(`select * from bucket_page(${spans}, '1 hour', 100000, false, null)`, key),
    spans: await db.rows(
      `select v.* from (
         select array_agg(to_timestamp($3::float8 + n * 5000)) as los, array_agg(to_timestamp($3::float8 + n * 5000 + 9999)) as his
         from generate_series(0, 500) n
       ) a cross join lateral sums_in_spans($1, $2::int2, a.los, a.his) v where $4::float8 > 0 order by 1`,
      key,
    ),
    days: await db.rows(
      `select day, n, total, lowest, highest from local_days($1, $2::int2, ($3 / 86400)::int4, ($4 / 86400)::int4, true) order by 1`,
      key,
    ),
    within: await db.rows(
      `select * from quarter_hours_within($1, $2::int2, (
         select range_agg(tstzrange(to_timestamp($3::float8 + n * 5400), to_timestamp($3::float8 + n * 5400 + 2700)))
         from generate_series(0, 500) n where $4::float8 > 0
       )) order by 1`,
      key,
    ),
  }
}

eachStrategy(t, 'sparse months', async (t, engine, strategy) => {
  const start = async (t: Test) => open(t, engine, strategy)

  await t.test('of a long history are never written, dense ones are', async (t) => {
    const bench = await start(t)
    await add(bench, month(OLD), month(OLD + 1), HOUR_MS / 8)
    await add(bench, month(OLD + 1), month(OLD + 2), HOUR_MS / 9)
    await add(bench, month(OLD + 3), month(OLD + 4), 12 * HOUR_MS)
    const before = await answers(bench, OLD, OLD + 4)
    await refresh(bench)
    t.strictSame(await quarters(bench), { [OLD + 1]: 2_880 })
    t.strictSame(await answers(bench, OLD, OLD + 4), before)
  })

  await t.test('lose their quarter hours at night, and what changes no sample makes no score outdated', async (t) => {
    const bench = await start(t)
    await bench.db.query('create or replace function sparse_at_most() returns float8 language sql return 0')
    await add(bench, month(OLD), month(OLD + 2), 15 * MINUTE_MS)
    await add(bench, month(OLD + 2), month(OLD + 3), 2 * MINUTE_MS)
    await refresh(bench)
    while (await compressChunks(bench.db, '0'));
    await bench.db.query('create or replace function sparse_at_most() returns float8 language sql return 8')
    await bench.db.query('delete from score_due')
    const before = await answers(bench, OLD, OLD + 3)
    t.strictSame(await quarters(bench), { [OLD]: 2_880, [OLD + 1]: 2_880, [OLD + 2]: 2_880 })
    const opened = await countOpened(bench.db, () => thin(bench))
    t.strictSame(await quarters(bench), { [OLD + 2]: 2_880 })
    t.ok((opened.rollup_15min?.opened ?? 0) <= 2_000, `a batch at each end of a chunk: ${JSON.stringify(opened)}`)
    t.strictSame(await answers(bench, OLD, OLD + 3), before)
    t.strictSame(await countOpened(bench.db, () => thin(bench)), {}, 'once')
    await bench.db.query('update archival set archive_after_days = 5')
    while (await archive(bench.db, month(OLD + 2)));
    t.strictSame(await quarters(bench), { [OLD]: 2_880, [OLD + 2]: 2_880 }, 'archived, they are back')
    t.equal((await bench.db.query('select from sample where ts < to_timestamp($1)', [month(OLD + 1) / 1000])).length, 0)
    t.strictSame(await bench.db.query('select * from score_due'), [])
  })

  await t.test('wait for whoever has all rollups, and are not left to another night', async (t) => {
    const bench = await start(t)
    await add(bench, month(OLD), month(OLD + 1), HOUR_MS)
    await refresh(bench)
    await bench.db.transaction(async (tx) => {
      await tx.query(`select pg_advisory_xact_lock(hashtextextended('refresh all rollups', 0))`)
      t.equal(await thinRollups(bench.db), true, 'there is more to do')
    })
    t.equal(await thinRollups(bench.db), false)
    t.equal((await bench.db.query('select from sparse_time where judged_to is null')).length, 0)
  })

  await t.test('are archived even though another session was at them when the run began', async (t) => {
    const bench = await start(t)
    const { db, sources } = bench
    const dense = { source: 0, series: SERIES + 1 }
    await add(bench, month(OLD), month(OLD + 1), HOUR_MS)
    await add(bench, month(OLD), month(OLD + 1), 2 * MINUTE_MS, dense)
    await refresh(bench)
    await db.query('update archival set archive_after_days = 5')
    const archived = async (series: number) => {
      const one =
        'select archived_to is not null as archived from source_series where source_id = $1 and series_id = $2'
      return (await db.one<{ archived: boolean }>(one, [sources[0] as number, series])).archived
    }
    const said: string[] = []
    let run: Promise<boolean> | undefined
    await db.transaction(async (tx) => {
      t.equal(
        (await tx.one<{ ours: boolean }>('select claim_series($1, $2) as ours', [sources[0] as number, SERIES])).ours,
        true,
      )
      run = archive(db, month(OLD + 2), (message) => said.push(message))
      t.ok(await waitUntil(() => archived(dense.series), 10_000))
      t.equal(await archived(SERIES), false)
    })
    t.equal(await run, false)
    t.equal(await archived(SERIES), true)
    t.notMatch(said.join(), /left/)
  })

  await t.test('that become dense are filled', async (t) => {
    const bench = await start(t)
    await add(bench, month(OLD), month(OLD + 1), 15 * MINUTE_MS)
    await refresh(bench)
    t.strictSame(await quarters(bench), {})
    await add(bench, month(OLD) + 1, month(OLD + 1), 5 * MINUTE_MS)
    const before = await answers(bench, OLD, OLD + 1)
    await refresh(bench)
    t.strictSame(await quarters(bench), { [OLD]: 2_880 })
    t.strictSame(await bench.db.query('select from rollup_dirty'), [])
    t.strictSame(await answers(bench, OLD, OLD + 1), before)
  })

  await t.test('have quarter hours where two sources are merged', async (t) => {
    const bench = await open(t, engine, strategy, true)
    for (const source of [1, 0]) await add(bench, month(OLD), month(OLD + 1), HOUR_MS, { source, series: 80 })
    await refresh(bench)
    await thin(bench)
    t.strictSame(await quarters(bench), { [OLD]: 720 })
  })

  await t.test('are judged once they are over', async (t) => {
    const bench = await start(t)
    await add(bench, month(0), Date.now(), HOUR_MS)
    await refresh(bench)
    await thin(bench)
    t.ok((await quarters(bench))[0], 'this month has quarter hours')
  })
})
