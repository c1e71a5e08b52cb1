import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { seriesTypes } from '../server/catalogue/series.ts'
import { migrate } from '../server/db/migrate.ts'
import { eachEngine, oneEngine } from './support/sdk.ts'
import type { Engine } from './support/servers.ts'

const SQL = fileURLToPath(new URL('../sql/', import.meta.url))

const filesOf = async (folder: string) =>
  (await readdir(SQL + folder)).filter((name) => name.endsWith('.sql')).map((name) => `${folder}/${name}`)

eachEngine(t, 'an empty database', async (t, engine) => {
  const { url, query } = await emptyDatabase(t, engine)
  const once = [...(await filesOf('migrations')).sort(), ...(await filesOf(engine.name)).sort()]

  await t.test('of several starters one runs every file once, in order, and all of them succeed', async (t) => {
    const log: string[] = []
    await Promise.all(Array.from({ length: 5 }, () => migrate(url, (line) => log.push(line))))
    t.strictSame(
      log,
      [...once, 'routines'].map((name) => `applied sql/${name}`),
    )
    const applied = 'select name, applied_at::text from schema_migration order by applied_at, name'
    const first = await query(applied)
    t.strictSame(first.map(({ name }) => name).sort(), [...once, 'routines'].sort())

    log.length = 0
    await migrate(url, (line) => log.push(line))
    t.strictSame(log, [], 'a later start has nothing to do')
    t.strictSame(await query(applied), first)
  })

  await t.test('the engine is found out, not configured', async (t) => {
    const timescale = engine.name === 'timescale'
    t.equal((await query(`select 1 from pg_extension where extname = 'timescaledb'`)).length, timescale ? 1 : 0)
    if (timescale) {
      const hypertables = `select hypertable_name as name, num_dimensions, d.time_interval::text as width
                           from timescaledb_information.hypertables h
                           join timescaledb_information.dimensions d using (hypertable_schema, hypertable_name)
                           order by d.time_interval`
      t.strictSame(await query(hypertables), [
        { name: 'sample', num_dimensions: 1, width: '30 days' },
        { name: 'rollup_15min', num_dimensions: 1, width: '180 days' },
        { name: 'rollup_1hour', num_dimensions: 1, width: '720 days' },
        { name: 'rollup_1day', num_dimensions: 1, width: '7200 days' },
      ])
    } else {
      t.strictSame(await query(`select relkind from pg_class where oid = 'sample'::regclass`), [{ relkind: 'r' }])
    }
    // The same function on both engines, with the same buckets.
    const bucket = (width: string, at: string) =>
      `select time_bucket(interval '${width}', timestamptz '${at}') at time zone 'UTC' = timestamp '`
    for (const [width, at, start] of [
      ['1 minute', '1999-12-31T23:59:59.9Z', '1999-12-31 23:59:00'],
      ['15 minutes', '2026-02-24T10:29:59Z', '2026-02-24 10:15:00'],
      ['1 hour', '2026-02-24T10:29:59+05:30', '2026-02-24 04:00:00'],
    ] as const) {
      t.strictSame(await query(`${bucket(width, at)}${start}' as same`), [{ same: true }], width)
    }
    t.strictSame(await query(`select indexdef from pg_indexes where tablename = 'sample'`), [
      { indexdef: 'CREATE UNIQUE INDEX sample_pkey ON public.sample USING btree (source_id, series_id, ts)' },
    ])
  })

  await t.test('the catalogue of series types is mirrored, corrections included', async (t) => {
    const stored = 'select id, type, unit, aggregation, category from series_type order by id'
    const catalogue = [...seriesTypes]
      .sort((a, b) => a.id - b.id)
      .map(({ id, type, unit, aggregation, category }) => ({ id, type, unit, aggregation, category }))
    t.strictSame(await query(stored), catalogue)
    await query(`update series_type set unit = 'furlongs' where type = 'heart_rate'`)
    await query(`delete from series_type where type = 'steps'`)
    await migrate(url)
    t.strictSame(await query(stored), catalogue)
  })

  await t.test('routines run again when one of them has changed', async (t) => {
    await query('drop function local_day cascade')
    await query(`update schema_migration set checksum = 'of another text' where name = 'routines'`)
    const log: string[] = []
    await migrate(url, (line) => log.push(line))
    t.strictSame(log, ['applied sql/routines'])
    t.strictSame(await query(`select local_day('2026-02-24T23:30:00Z', 60::int2) as day`), [{ day: 20_509 }])
  })

  await t.test('a file that was edited after it had run stops the start', async (t) => {
    await query(`update schema_migration set checksum = 'of another text' where name = 'migrations/0002-users.sql'`)
    await t.rejects(migrate(url), {
      message: 'sql/migrations/0002-users.sql was changed after it had been applied. Add a new migration instead.',
    })
  })
})

eachEngine(t, 'a file that fails leaves nothing behind, and the next start goes on there', async (t, engine) => {
  const { url, query } = await emptyDatabase(t, engine)
  // The third file creates a table of this name.
  await query('create view sample as select 1')
  await t.rejects(migrate(url), {
    message: 'sql/migrations/0003-samples.sql failed: relation "sample" already exists',
    cause: { code: '42P07' },
  })
  t.strictSame(await query(`select to_regclass('series_type') as left_over, to_regclass('app_user')::text as kept`), [
    { left_over: null, kept: 'app_user' },
  ])
  await query('drop view sample')
  const log: string[] = []
  await migrate(url, (line) => log.push(line))
  t.equal(log[0], 'applied sql/migrations/0003-samples.sql')
})

oneEngine(t, 'a database that cannot be ours is left as it is', async (t, engine) => {
  const relations = `select relname from pg_class where relnamespace = 'public'::regnamespace`

  await t.test('it has tables of something else', async (t) => {
    const { url, query } = await emptyDatabase(t, engine)
    await query('create table app_user (id int); create table event (id int); create table invoice (id int)')
    await t.rejects(migrate(url), {
      message: 'The database has tables of something else (app_user, event): give Pulsebase one of its own.',
    })
    t.equal((await query(relations)).length, 3)
  })

  await t.test('it cannot store every name', async (t) => {
    const { url, query } = await emptyDatabase(t, engine, `encoding 'LATIN1' locale 'C'`)
    await t.rejects(migrate(url), {
      message: "The database has the encoding LATIN1, which cannot store every name: create one with encoding 'UTF8'.",
    })
    t.equal((await query(relations)).length, 0)
  })
})

/** A database without anything of ours. */
async function emptyDatabase(t: Test, { url }: Engine, options = '') {
  const name = `pulsebase_migrate_${randomBytes(8).toString('hex')}`
  await queryAt(url, `create database ${name} template template0 ${options}`)
  t.teardown(() => queryAt(url, `drop database ${name} with (force)`))
  const address = new URL(url)
  address.pathname = `/${name}`
  return { url: address.href, query: (sql: string) => queryAt(address.href, sql) }
}

async function queryAt(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}
