// Data that arrives after an archive run: it is stored wherever no data of its series is archived, read exactly before and
// after the next run, and otherwise refused quarter hour by quarter hour (contract 13).
import t from 'tap'
import { compressChunks } from '../../server/db/compress.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { withoutArchived } from '../../server/store/archived.ts'
import { lockUser } from '../../server/store/lock.ts'
import { writeSamples } from '../../server/store/samples.ts'
import { createTestDatabase, startTestApp, type TestApp } from '../support/app.ts'
import { countOpened, withoutDeadlock } from '../support/opened.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  PHONE,
  record,
  startImports,
  steps,
  timeseries,
} from '../support/sdk.ts'
import { hearStatements } from '../support/statements.ts'
import { runs } from '../support/thorough.ts'
import { connect } from './model.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const MONTH_MS = 30 * DAY_MS
/** Of history, and until samples are archived: with TimescaleDB each month is a chunk to compress. */
const DAYS = runs(240, 6 * 365)
const ARCHIVED_DAYS = runs(120, 365)
/** Uploads of each user during archive runs: the second half meets the archived first half. */
const ROUNDS = runs(12, 18)
/** Sparse series have so many times fewer values in a short run. */
const SPARSER = runs(12, 1)
const NOW = Date.now()
/** The end of archived time. */
const FLOOR = Math.floor((NOW - ARCHIVED_DAYS * DAY_MS) / MONTH_MS) * MONTH_MS
const FIRST = Math.floor(NOW / DAY_MS - DAYS) * DAY_MS
const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const iso = (ms: number) => new Date(ms).toISOString()

const settings = (app: TestApp, values: object) =>
  app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: values })

async function run(app: TestApp): Promise<void> {
  while (await archive(app.db, NOW));
}

/** Years of a watch and a phone: heart rates and steps of both, with some dense days, and a weight each month. */
function history() {
  const every = (stepMs: number, from = FIRST, until = NOW - HOUR_MS) =>
    Array.from({ length: Math.floor((until - from) / stepMs) }, (_, n) => from + n * stepMs)
  const zoneOffset = '+02:00'
  const dense = [FIRST + Math.round(0.18 * DAYS) * DAY_MS, FLOOR - DAY_MS, FLOOR + 3 * DAY_MS].flatMap((ms) =>
    every(4 * MINUTE_MS, ms, ms + 8 * HOUR_MS),
  )
  return [
    ...every(23 * SPARSER * HOUR_MS).map((ms, n) => heartRate(ms, 50 + (n % 90), { zoneOffset })),
    ...dense.map((ms, n) => heartRate(ms + MINUTE_MS, 60 + (n % 100), { zoneOffset })),
    ...dense.map((ms, n) => steps(ms, n % 60, { zoneOffset })),
    ...every(22 * SPARSER * HOUR_MS).map((ms, n) => steps(ms, 10 + n, { zoneOffset, source: PHONE })),
    ...every(10 * DAY_MS).map((ms, n) => record('HKQuantityTypeIdentifierBodyMass', ms, 70 + (n % 5), { unit: 'kg' })),
  ]
}

type Answers = Record<string, unknown>

/** Pages in CSV without the id of the source, and the number of rows on all pages. */
async function csv(app: TestApp, user: string, query: Record<string, string | boolean>) {
  const range = { start_time: iso(FIRST - DAY_MS), end_time: iso(NOW), limit: 200_000 }
  const { body, headers } = await timeseries(app, user, { ...range, ...query }, { headers: { Accept: 'text/csv' } })
  const lines = String(body).trim().split('\r\n').slice(1)
  const total = Number(headers.get('x-total-count'))
  if (total !== lines.length) throw new Error(`${total} rows were announced, and ${lines.length} came`)
  const { body: first } = await timeseries(app, user, { ...range, ...query, limit: 10 })
  if (first.pagination?.total_count !== total)
    throw new Error(`${JSON.stringify(first).slice(0, 500)} instead of ${total}`)
  return lines.map((line) => line.replace(/,[0-9a-f-]{36},/, ','))
}

/** Everything that can be read of samples: pages of samples and minutes, separate from what the archive keeps. */
async function answers(app: TestApp, user: string): Promise<{ kept: Answers; samples: Record<string, string[]> }> {
  const get = async (path: string) => (await app.request('GET', `/api/v1/users/${user}/${path}`)).body
  const kept: Answers = {}
  const samples: Record<string, string[]> = {}
  for (const resolution of ['raw', '1min', '5min']) samples[resolution] = await csv(app, user, { resolution })
  for (const resolution of ['15min', '1hour']) {
    kept[resolution] = await csv(app, user, { resolution })
    kept[`best ${resolution}`] = await csv(app, user, { resolution, filter_by_priority: true })
  }
  const { user_id, ...data } = await get('summaries/data')
  kept.data = data
  for (const query of ['', '?bucket=week&group_by=series_type', '?bucket=month&group_by=provider'])
    kept[`timeline${query}`] = await get(`summaries/data/timeline${query}`)
  kept.part = await get(
    `summaries/data/timeline?start_date=${day(FIRST + Math.round(0.22 * DAYS) * DAY_MS)}&end_date=${day(FLOOR)}`,
  )
  for (const order of ['asc', 'desc']) {
    const range = `start_date=${day(FIRST - DAY_MS)}&end_date=${day(NOW + DAY_MS)}&limit=100&sort_order=${order}`
    kept[`activity ${order}`] = (await get(`summaries/activity?${range}`)).data
  }
  const around = `start_date=${day(FLOOR - 5 * DAY_MS)}&end_date=${day(FLOOR + 5 * DAY_MS)}&limit=100`
  for (const merge of ['segments', 'none'])
    kept[`activity ${merge}`] = (await get(`summaries/activity?${around}&merge=${merge}`)).data
  const { slow_changing, averaged } = await get('summaries/body')
  kept.body = [slow_changing, averaged.resting_heart_rate_bpm]
  kept.coverage = (
    await get(`coverage?start_date=${day(FLOOR - 180 * DAY_MS)}&end_date=${day(FLOOR + 180 * DAY_MS)}`)
  ).days.map(({ last_upload_at, ...one }: { last_upload_at: string }) => one)
  return { kept, samples }
}

/** The rows of samples that are not archived. */
const since = (samples: Record<string, string[]>, ms: number) =>
  Object.fromEntries(
    Object.entries(samples).map(([name, lines]) => [
      name,
      lines.filter((line) => Date.parse(line.split(',')[0] ?? '') >= ms),
    ]),
  )

const differing = (found: Answers, wanted: Answers) =>
  Object.keys(wanted).filter((name) => JSON.stringify(found[name]) !== JSON.stringify(wanted[name]))

eachEngine(t, 'archiving switched on, then a new user with years of history', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const old = await createUser(app)
  const records = history()
  await importBody(app, old, body(records))
  const oracle = await answers(app, old)
  t.ok((oracle.samples.raw ?? []).length > runs(750, 4_000))
  t.ok((oracle.kept['1hour'] as string[]).length > runs(100, 2_000))

  await settings(app, { archive_after_days: ARCHIVED_DAYS })
  await run(app)
  while (await compressChunks(app.db, '0'));
  const user = await createUser(app)
  const batch = await importBody(app, user, body(records))
  t.match(batch, { status: 'success', inserted: records.length, dropped_count: 0 }, 'all of it is stored')
  const found = await answers(app, user)
  t.strictSame(
    differing({ ...found.kept, ...found.samples }, { ...oracle.kept, ...oracle.samples }),
    [],
    'before the next run',
  )
  while (await refreshRollups(app.db));
  const refreshed = await answers(app, user)
  t.strictSame(
    differing({ ...refreshed.kept, ...refreshed.samples }, { ...oracle.kept, ...oracle.samples }),
    [],
    'and refreshed',
  )
  await run(app)
  const after = await answers(app, user)
  const wanted = { ...oracle.kept, ...since(oracle.samples, FLOOR) }
  t.strictSame(differing({ ...after.kept, ...after.samples }, wanted), [], 'after it')
  const { n } = await app.db.one<{ n: number }>('select count(*) as n from sample where ts < to_timestamp($1)', [
    FLOOR / 1000,
  ])
  t.equal(n, 0, 'and the samples are removed')

  const again = await importBody(app, user, body(records))
  const before = records.filter(({ startDate }) => Date.parse(String(startDate)) < FLOOR).length
  t.match(again, {
    status: 'partial',
    inserted: 0,
    updated: 0,
    dropped_count: before,
    unchanged: records.length - before,
  })
  t.match(again.dropped, [
    {
      index: null,
      type: 'archived',
      msg: `${before} samples of archived quarter hours, which keep only their final sums`,
    },
  ])
  for (const one of [user, old])
    t.strictSame(await csv(app, one, { resolution: '1hour' }), oracle.kept['1hour'], 'which changed nothing')

  await t.test('a run with nothing to do opens nothing and runs few statements', async (t) => {
    while (await compressChunks(app.db, '0'));
    const heard = hearStatements(app.db.pool)
    await run(app)
    const statements = heard()
    t.ok(statements.length > 0 && statements.length < 15, `${statements.length} statements`)
    t.strictSame(
      statements.filter((text) => /\b(from|join) (sample|rollup_\d+\w+)\b|remove_archived|archive_user/.test(text)),
      [],
    )
    t.strictSame(await countOpened(app.db, () => run(app)), {})
  })
})

eachEngine(t, 'a quarter hour of a series is either archived or not', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const at = FLOOR - 100 * DAY_MS
  const range = { start_time: iso(at - DAY_MS), end_time: iso(at + DAY_MS), types: 'heart_rate', limit: 100 }
  const read = async (resolution: string) =>
    (await timeseries(app, user, { ...range, resolution })).body.data.map(
      ({ timestamp, value }: { timestamp: string; value: number }) => `${timestamp.slice(11, 16)} ${value}`,
    )
  const send = async (...records: Record<string, unknown>[]) => {
    const { status, inserted, dropped_count } = await importBody(app, user, body(records))
    return [status, inserted, dropped_count]
  }
  const start = Math.floor(at / HOUR_MS) * HOUR_MS
  const clock = (ms: number) => iso(ms).slice(11, 16)
  await importBody(app, user, body([heartRate(start, 60), heartRate(start + 50 * MINUTE_MS, 80)]))
  await settings(app, { archive_after_days: ARCHIVED_DAYS })
  await run(app)
  t.strictSame(await read('raw'), [])

  await t.test('beside archived quarter hours the others are stored, and together they form the hour', async (t) => {
    t.strictSame(await send(heartRate(start + MINUTE_MS, 99), heartRate(start + 20 * MINUTE_MS, 100)), [
      'partial',
      1,
      1,
    ])
    t.strictSame(await send(steps(start, 30), steps(start + 2 * MINUTE_MS, 31)), ['success', 2, 0], 'of another series')
    for (const refreshed of [false, true]) {
      if (refreshed) while (await refreshRollups(app.db));
      t.strictSame(await read('raw'), [`${clock(start + 20 * MINUTE_MS)} 100`], 'the raw samples that remain')
      t.strictSame(await read('1min'), [`${clock(start + 20 * MINUTE_MS)} 100`])
      t.strictSame(await read('1hour'), [`${clock(start)} 80`])
      t.strictSame(await read('15min'), [
        `${clock(start)} 60`,
        `${clock(start + 15 * MINUTE_MS)} 100`,
        `${clock(start + 45 * MINUTE_MS)} 80`,
      ])
    }
    t.strictSame(await send(heartRate(start + 21 * MINUTE_MS, 120)), ['success', 1, 0], 'as often as it comes')
    t.strictSame(await read('1hour'), [`${clock(start)} 90`])
    await app.db.query(
      "select delete_sample_points(array[s.source_id], array[s.series_id], array[date_part('epoch', s.ts)]) from sample s where s.value = 120",
    )
    await app.db.query('update app_user set revision = revision + 1')
    t.strictSame(await read('1hour'), [`${clock(start)} 80`], 'and deleted')
  })

  await t.test('the next run archives them, too', async (t) => {
    await run(app)
    t.strictSame(await read('raw'), [])
    t.strictSame(await read('1hour'), [`${clock(start)} 80`])
    t.strictSame(await send(heartRate(start + 22 * MINUTE_MS, 61)), ['failed', 0, 1])
  })

  await t.test('when the setting is cleared nothing else is archived, and archived data stays final', async (t) => {
    await settings(app, {})
    t.strictSame(await send(heartRate(start + MINUTE_MS, 99), heartRate(start + 31 * MINUTE_MS, 100)), [
      'partial',
      1,
      1,
    ])
    await run(app)
    t.strictSame(await read('raw'), [`${clock(start + 31 * MINUTE_MS)} 100`])
    t.strictSame(await read('1hour'), [`${clock(start)} 85`])
  })

  await t.test('data older than anything kept is refused, until more is kept', async (t) => {
    await settings(app, { delete_after_days: ARCHIVED_DAYS })
    await run(app)
    t.strictSame([await read('raw'), await read('1hour')], [[], []])
    t.strictSame(await app.db.query('select bucket from rollup_15min'), [])
    const refused = await importBody(app, user, body([heartRate(start, 60)]))
    t.match(refused, {
      status: 'failed',
      dropped: [{ type: 'archived', msg: `1 sample from before ${day(FLOOR)}, which is too long ago to be kept` }],
    })
    await settings(app, {})
    await run(app)
    t.strictSame([await read('raw'), await read('1hour')], [[], []], 'nothing comes back')
    t.strictSame(await send(heartRate(start, 60)), ['success', 1, 0])
    t.strictSame(await read('1hour'), [`${clock(start)} 60`])
  })
})

eachEngine(t, 'archive runs during imports: nothing is lost, and neither waits for the other', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const [imports, others] = [connect(t, url, 'pulsebase imports'), connect(t, url, 'pulsebase archive')]
  const rows = await imports.rows<[id: number, user: string]>(
    `with someone as (insert into app_user select from generate_series(1, 3) returning id)
     insert into data_source (user_id, provider, source) select id, 'apple', 'a' from someone returning id, user_id`,
  )
  const kept = new Map(rows.map(([id]) => [id, new Map<number, number>()]))
  const archivedSql = `select 1 from source_series where source_id = $1 and archived <> '{}'`
  let writing = true
  let refused = 0
  /** Like an import: under the lock of its user, late and repeated, into quarter hours that may be archived meanwhile. */
  const importer = async ([id, user]: [id: number, user: string], seed: number) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (
        round === ROUNDS / 2 &&
        !(await waitUntil(async () => (await imports.query(archivedSql, [id])).length > 0, 60_000, 10))
      )
        throw new Error('nothing was archived in time')
      const first = NOW - (60 - (((round % 6) * 9 + seed) % 55)) * DAY_MS + (round % 3) * 7 * MINUTE_MS
      const count = 300
      const samples = {
        ...{
          source: 0,
          seriesId: 1,
          lastsS: null,
          zoneTaken: null,
          origins: null,
          zoneMin: new Int16Array(count).fill(60),
        },
        timeMs: Float64Array.from({ length: count }, (_, n) => Math.floor(first / 1000) * 1000 + n * 240_000),
        value: Float64Array.from({ length: count }, (_, n) => round + n),
      }
      const store = () =>
        imports.transaction(async (tx) => {
          await lockUser(tx, user)
          const sifted = await withoutArchived(tx, [samples], [id])
          await writeSamples(tx, sifted.kept, [id])
          return sifted
        })
      const sifted = await withoutDeadlock(store)
      for (const { timeMs, value } of sifted.kept)
        for (const [at, ms] of timeMs.entries()) kept.get(id)?.set(ms, value[at] as number)
      refused += sifted.archived.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
    }
  }
  const archiver = async () => {
    for (const days of [50, 30, 20, 5]) {
      await others.query('update archival set archive_after_days = $1', [days])
      await archive(others, NOW, () => {}, 3000)
    }
    return writing
  }
  const compressor = async () => {
    while (writing) if (!(await compressChunks(others, '0'))) await refreshRollups(others)
  }
  const archiving = (async () => {
    while (await archiver());
  })()
  const compressing = compressor()
  await Promise.all(rows.map(importer)).finally(() => {
    writing = false
  })
  await Promise.all([archiving, compressing])
  while (await archive(others, NOW));
  while (await refreshRollups(others));
  t.ok(refused > 0, `${refused} samples belonged to archived quarter hours`)
  for (const [id, samples] of kept) {
    const wanted = new Map<number, [n: number, total: number]>()
    for (const [ms, value] of samples) {
      const quarter = Math.floor(ms / (15 * MINUTE_MS)) * 15 * MINUTE_MS
      const [n, total] = wanted.get(quarter) ?? [0, 0]
      wanted.set(quarter, [n + 1, total + value])
    }
    const found = await others.rows<[number, number, number]>(
      `select date_part('epoch', bucket) * 1000, n, total from quarter_hours($1, 1::int2, to_timestamp($2), to_timestamp($3)) order by 1`,
      [id, Math.floor(NOW / DAY_MS) * 86_400 - 70 * 86_400, Math.floor(NOW / DAY_MS) * 86_400 + 86_400],
    )
    t.strictSame(
      found,
      [...wanted].map(([ms, sums]) => [ms, ...sums]).sort(([a = 0], [b = 0]) => a - b),
    )
    t.strictSame(await others.one('select sum(n)::int8 as n from rollup_1day where source_id = $1', [id]), {
      n: samples.size,
    })
  }
})
