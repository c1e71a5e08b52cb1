// What filter_by_priority shows and what it costs, with outdated rollups, with archived samples, and across a flight:
// contract D-14, 12.1, 12.7. The expected rows are in timeseries-oracle.test.ts.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, oneEngine, PHONE, startImports, timeseries } from '../support/sdk.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const NOW = Date.now()
/** Samples before it are older than 60 days; it lies in the middle of these days. */
const FLOOR = Math.floor((NOW - 60 * DAY_MS) / (30 * DAY_MS)) * 30 * DAY_MS
const DAYS = 12
const START = FLOOR - (DAYS / 2) * DAY_MS
/** In the middle of an hour and of a quarter hour; the phone notices it later. */
const LANDED = FLOOR + 2 * DAY_MS + 10 * HOUR_MS + 7 * MINUTE_MS

interface Item {
  timestamp: string
  value: number
  source: { device: string }
}

/**
 * A sample every eight minutes: of the watch, which stays at home on some days, and of the phone. Days end at half
 * hours.
 */
async function filled(app: TestApp): Promise<string> {
  const user = await createUser(app)
  const times = Array.from({ length: DAYS * 180 }, (_, n) => START + n * 8 * MINUTE_MS)
  const localDay = (ms: number, zoneMin: number) => Math.floor((ms - START + zoneMin * MINUTE_MS) / DAY_MS)
  const watch = times
    .map((ms) => ({ ms, zoneMin: ms < LANDED ? 330 : 570 }))
    .filter(({ ms, zoneMin }) => ![2, 5, 9].includes(localDay(ms, zoneMin)))
    .map(({ ms, zoneMin }, n) => heartRate(ms, 60 + (n % 50), { zoneOffset: zoneMin === 330 ? '+05:30' : '+09:30' }))
  const phone = times
    .map((ms) => ms + 3 * MINUTE_MS)
    .map((ms, n) =>
      heartRate(ms, 120 + (n % 50), {
        source: PHONE,
        zoneOffset: ms < LANDED + 9 * HOUR_MS ? '+05:30' : '+09:30',
      }),
    )
  await importBody(app, user, body(watch))
  await importBody(app, user, body(phone))
  return user
}

const range = {
  start_time: new Date(START - DAY_MS).toISOString(),
  end_time: new Date(START + (DAYS + 2) * DAY_MS).toISOString(),
  filter_by_priority: true,
}

/** Sends the request right after the user's data has changed, so that no cached result is valid. */
async function ask(app: TestApp, user: string, query: Record<string, string | number | undefined>) {
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [user])
  const { status, body } = await timeseries(app, user, { ...range, ...query })
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body as {
    data: Item[]
    pagination: { next_cursor: string | null; previous_cursor: string | null; total_count: number }
  }
}

/** All rows; throws if the way back shows others, or if the total differs. */
async function walk(app: TestApp, user: string, resolution: string): Promise<Item[]> {
  const limit = resolution === 'raw' || resolution === '1min' ? 700 : 250
  const forward: Item[][] = []
  const backward: Item[][] = []
  let page = await ask(app, user, { resolution, limit })
  const total = page.pagination.total_count
  forward.push(page.data)
  while (page.pagination.next_cursor) {
    page = await ask(app, user, { resolution, limit, cursor: page.pagination.next_cursor })
    forward.push(page.data)
  }
  backward.push(page.data)
  while (page.pagination.previous_cursor) {
    page = await ask(app, user, { resolution, limit, cursor: page.pagination.previous_cursor })
    backward.unshift(page.data)
  }
  if (JSON.stringify(forward.flat()) !== JSON.stringify(backward.flat())) throw new Error(`${resolution}: the way back`)
  if (total !== forward.flat().length) throw new Error(`${resolution}: ${total} of ${forward.flat().length}`)
  return forward.flat()
}

const RESOLUTIONS = ['raw', '1min', '15min', '1hour'] as const
type Answers = Record<(typeof RESOLUTIONS)[number], Item[]>

async function walkAll(app: TestApp, user: string): Promise<Answers> {
  const walks = RESOLUTIONS.map(async (resolution) => [resolution, await walk(app, user, resolution)])
  return Object.fromEntries(await Promise.all(walks))
}

oneEngine(t, 'filter_by_priority', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const imports = await startImports(t, app)
  const user = await filled(app)
  await imports.stop()
  const behind = await walkAll(app, user)

  await t.test('shows whole quarter hours of either source, and no day of both', async (t) => {
    t.ok((await app.db.query('select 1 from rollup_dirty')).length > 0, 'rollups are behind')
    const devices = behind.raw.map(({ source }) => source.device)
    const changes = devices.filter((device, n) => n > 0 && device !== devices[n - 1]).length
    t.strictSame(new Set(devices), new Set(['Watch7,5', 'iPhone17,1']))
    t.ok(changes >= 6 && changes < 40, `${changes} changes`)
    t.equal(behind['1min'].length, behind.raw.length)
    const quarter = ({ timestamp, source }: Item) =>
      `${Math.floor(Date.parse(timestamp) / (15 * MINUTE_MS))} ${source.device}`
    t.equal(behind['15min'].length, new Set(behind.raw.map(quarter)).size)
    t.ok(behind['1hour'].length > DAYS * 24, 'there are hours of which either source has a part')
  })

  await t.test('shows the same when the rollups have caught up', async (t) => {
    while (await refreshRollups(app.db));
    t.equal((await app.db.query('select 1 from rollup_dirty')).length, 0)
    t.strictSame(await walkAll(app, user), behind)
  })

  await t.test('shows the same buckets of archived samples', async (t) => {
    await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 60 } })
    while (await archive(app.db, NOW));
    const kept = (items: Item[]) => items.filter(({ timestamp }) => Date.parse(timestamp) >= FLOOR)
    const { raw, '1min': minutes, ...wide } = behind
    t.ok(kept(raw).length > 0 && kept(raw).length < raw.length)
    t.strictSame(await walkAll(app, user), { ...wide, raw: kept(raw), '1min': kept(minutes) })
  })

  await t.test('reads no samples but those of the page, where quarter hours are kept', async (t) => {
    await app.db.query('create or replace function sparse_at_most() returns float8 language sql return 0')
    await app.db.query('select keep_quarters(source_id, series_id, now()) from sparse_time')
    while (await refreshRollups(app.db));
    const first = async (resolution: string, limit: number) => ask(app, user, { resolution, limit })
    const before = {
      raw: await first('raw', 50),
      quarters: await first('15min', 1000),
      hours: await first('1hour', 50),
    }
    // Nothing marks it as changed: a reader that opens these samples finds none.
    await app.db.query('delete from sample where ts >= to_timestamp($1)', [(FLOOR + DAY_MS) / 1000])
    t.strictSame(
      { raw: await first('raw', 50), quarters: await first('15min', 1000), hours: await first('1hour', 50) },
      before,
    )
    t.ok(before.raw.pagination.total_count > 700, 'all of them count')
  })
})
