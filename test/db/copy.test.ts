// Copying in one go: what the server refuses, it refuses with its own error, and the connection goes on.
import t from 'tap'
import type { SampleColumns } from '../../server/batch/columns.ts'
import { copyInto, encodeSamples, SAMPLE_COLUMNS } from '../../server/db/copy.ts'
import { openDatabase } from '../../server/db/database.ts'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'

const START_MS = Date.UTC(2024, 0, 1)
const INTO = `copied (${SAMPLE_COLUMNS})`

function columns(count: number): SampleColumns {
  const places = Array.from({ length: count }, (_, at) => at)
  return {
    source: 0,
    seriesId: 1,
    timeMs: Float64Array.from(places, (at) => START_MS + at * 1000),
    value: Float64Array.from(places, (at) => at / 4),
    zoneMin: new Int16Array(count).fill(60),
    lastsS: null,
    zoneTaken: null,
    origins: null,
  }
}

oneEngine(t, 'copied samples', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openDatabase({
    ...{ url, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 10_000, lockTimeoutMs: 50 },
    onError() {},
  })
  t.teardown(() => db.end())
  await db.query(`create table copied (like sample, primary key (source_id, series_id, ts), check (value >= 0))`)
  const copy = (samples: SampleColumns) =>
    db.transaction((tx) => copyInto(tx.client, INTO, encodeSamples([samples], [7])))
  const counted = () =>
    db.one<{ n: number; sum: number }>('select count(*) as n, coalesce(sum(value), 0) as sum from copied')

  await t.test('arrive, in one message or several', async (t) => {
    await copy(columns(1))
    t.strictSame(await counted(), { n: 1, sum: 0 })
    await db.query('truncate copied')
    const many = 40_000
    await copy(columns(many))
    t.strictSame(await counted(), { n: many, sum: (many * (many - 1)) / 8 })
    await db.query('truncate copied')
    await copy(columns(0))
    t.strictSame(await counted(), { n: 0, sum: 0 })
  })

  await t.test('are refused with the error of the server, after which the connection works', async (t) => {
    const one = columns(20_000)
    const twice = { ...one, timeMs: one.timeMs.map((ms, at) => (at === 10_000 ? (one.timeMs[0] as number) : ms)) }
    await t.rejects(copy(twice), { code: '23505' })
    await t.rejects(copy({ ...one, value: one.value.map((value, at) => (at === 3 ? -1 : value)) }), { code: '23514' })
    await t.rejects(
      db.transaction((tx) => copyInto(tx.client, `nowhere (${SAMPLE_COLUMNS})`, encodeSamples([one], [7]))),
      { code: '42P01' },
      'before it takes any row',
    )
    await t.rejects(
      db.transaction((tx) => copyInto(tx.client, INTO, encodeSamples([one], [7]).subarray(0, 1000))),
      { code: '22P04' },
      'an incomplete row',
    )
    t.strictSame(await counted(), { n: 0, sum: 0 }, 'nothing is left of them')
    await copy(one)
    t.match(await counted(), { n: 20_000 })
  })

  await t.test('fail when the table is locked for longer than the limit', async (t) => {
    const other = openDatabase({
      ...{ url, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 10_000 },
      onError() {},
    })
    t.teardown(() => other.end())
    await other.transaction(async (tx) => {
      await tx.query('lock table copied')
      await t.rejects(copy(columns(20_000)), { code: '55P03' })
    })
    t.match(await counted(), { n: 20_000 })
  })

  await t.test('fail when the connection ends', async (t) => {
    await t.rejects(
      db.transaction(async (tx) => {
        const ended = tx.query('select pg_terminate_backend(pg_backend_pid())')
        const copied = copyInto(tx.client, INTO, encodeSamples([columns(20_000)], [8]))
        await ended.catch(() => {})
        await copied
      }),
    )
    t.match(await counted(), { n: 20_000 })
  })
})
