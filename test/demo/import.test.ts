// Weeks of the demo through a real service: what can be read of it is what was made.
import t, { type Test } from 'tap'
import { openApi } from '../../demo/client.ts'
import { type Life, lifeOf, type Totals, totalsOf } from '../../demo/days.ts'
import { type Person, people } from '../../demo/people.ts'
import { addDemo, removeDemo } from '../../demo/run.ts'
import { dateAt } from '../../demo/uploads.ts'
import { DAY_MS, dateOf, HOUR_MS } from '../../simulator/zones.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { accounted, oneEngine, startImports, waitForAll } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

/** Two changes of the clock, two flights and a marathon lie in the days before. */
const NOW = Date.UTC(2025, 10, 7, 15, 20)
const DAYS = runs(16, 30)
/** Fewer for what is not about the days themselves. */
const FEW = 2

const apiOf = async (app: TestApp) => openApi(app.url, await app.developer.token())

/** Users by the name of the person. */
async function usersOf(app: TestApp): Promise<Map<string, string>> {
  const rows = await app.db.query<{ id: string; name: string }>(
    `select id, external_user_id as name from app_user where external_user_id like 'demo:%'`,
  )
  return new Map(rows.map(({ id, name }) => [name.slice('demo:'.length), id]))
}

type Row = Record<string, number | null> & { date: string }

async function summary(app: TestApp, userId: string, kind: string, days: readonly number[]): Promise<Map<string, Row>> {
  const range = `start_date=${dateOf(days[0] ?? 0)}&end_date=${dateOf(days.at(-1) ?? 0)}&limit=100`
  const { body } = await app.request('GET', `/api/v1/users/${userId}/summaries/${kind}?${range}`)
  return new Map(body.data.map((row: Row) => [row.date, row]))
}

/** Compares each day that is over with what the model made of it. */
async function compare(t: Test, app: TestApp, person: Person, userId: string): Promise<void> {
  const today = dateAt(person, NOW)
  const days = Array.from({ length: DAYS }, (_, at) => today - DAYS + 1 + at)
  const [activity, sleep, recovery] = await Promise.all(
    ['activity', 'sleep', 'recovery'].map((kind) => summary(app, userId, kind, days)),
  )
  const life: Life = lifeOf(person)
  const wanted: Record<string, Partial<Totals>> = {}
  const found: Record<string, Partial<Totals>> = {}
  // Today is not over: its last records were not sent yet.
  for (const day of days.slice(0, -1)) {
    const date = dateOf(day)
    const { steps, meters, kcal, asleepMinutes, restingBpm } = totalsOf(life.day(day), NOW)
    const asleep = asleepMinutes === null ? null : Math.floor(asleepMinutes)
    wanted[date] = { steps, meters, kcal: Math.round(kcal), asleepMinutes: asleep, restingBpm }
    const row = activity?.get(date)
    found[date] = {
      steps: row?.steps ?? 0,
      meters: row?.distance_meters ?? 0,
      kcal: Math.round(row?.active_calories_kcal ?? 0),
      asleepMinutes: sleep?.get(date)?.duration_minutes ?? null,
      restingBpm: recovery?.get(date)?.resting_heart_rate_bpm ?? null,
    }
  }
  t.strictSame(found, wanted, person.key)
  const { body } = await app.request('GET', `/api/v1/users/${userId}/events/workouts/totals?${range(days)}`)
  const over = days.flatMap((day) => life.day(day).workouts.filter(({ endMs }) => endMs + 2 * 60_000 <= NOW))
  t.equal(body.count, over.length, 'workouts')
}

const range = (days: readonly number[]) =>
  `start_date=${dateOf((days[0] ?? 0) - 1)}&end_date=${dateOf((days.at(-1) ?? 0) + 1)}`

oneEngine(
  t,
  'what can be read of weeks is what was made, and a second run adds only what is new',
  async (t, engine) => {
    const app = await startTestApp(t, engine)
    await startImports(t, app)
    const api = await apiOf(app)
    const shares: number[] = []
    await addDemo({ api, nowMs: NOW, days: DAYS, onProgress: (share) => shares.push(share) })
    t.strictSame(
      shares,
      [...shares].sort((a, b) => a - b),
      'it says how far it is',
    )
    t.equal(shares.at(-1), 1)
    const users = await usersOf(app)
    t.equal(users.size, 3)
    for (const person of people()) await compare(t, app, person, users.get(person.key) ?? '')

    const samples = () => app.db.one<{ n: number }>('select count(*) as n from sample')
    const events = () =>
      app.db.one(
        'select (select count(*) from sleep) as sleep, (select count(*) from workout) as workouts, (select count(*) from meal) as meals',
      )
    const { n: stored } = await samples()
    const before = await events()
    const again = await addDemo({ api, nowMs: NOW, days: DAYS })
    t.ok(again.uploads <= 6 && again.items < 5_000, 'it sends the last two days again')
    t.equal((await samples()).n, stored, 'nothing twice')
    t.strictSame(await events(), before)
    await addDemo({ api, nowMs: NOW + 3 * HOUR_MS, days: DAYS })
    const added = (await samples()).n - stored
    t.ok(added > 100 && added < 3_000, `three hours are ${added} samples`)
    t.equal((await usersOf(app)).size, 3)
  },
)

oneEngine(t, 'a run that was interrupted is completed by the next one', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const api = await apiOf(app)
  await addDemo({ api, nowMs: NOW, days: 1 })
  await addDemo({ api, nowMs: NOW, days: FEW + 1 })
  const users = await usersOf(app)
  for (const person of people()) {
    const day = dateAt(person, NOW) - FEW
    const rows = await summary(app, users.get(person.key) ?? '', 'activity', [day])
    t.equal(rows.get(dateOf(day))?.steps, totalsOf(lifeOf(person).day(day), NOW).steps, person.key)
  }
})

oneEngine(t, 'the mess is there on purpose, each item of it accounted for', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  await addDemo({ api: await apiOf(app), nowMs: NOW, days: FEW })
  const users = await usersOf(app)
  const batches = await waitForAll(app, users.get('ada') ?? '')
  t.ok(batches.every((batch) => accounted(batch) === batch.received))
  const messy = batches.filter(({ status }) => status !== 'success')
  t.match(messy, [{ status: 'partial', received: 6, inserted: 1, duplicates: 1, ignored_type: 1, dropped_count: 3 }])
  t.match(messy[0], { ignored_types: [{ type: 'heart_rate', likely: 'HKQuantityTypeIdentifierHeartRate' }] })
  const connections = await app.db.query(
    'select provider, status from connection where user_id = $1 order by provider',
    [users.get('cleo') ?? ''],
  )
  t.strictSame(connections, [
    { provider: 'health_connect', status: 'active' },
    { provider: 'samsung', status: 'revoked' },
  ])
  const others = [await waitForAll(app, users.get('ben') ?? ''), await waitForAll(app, users.get('cleo') ?? '')].flat()
  t.ok(others.every(({ status, dropped_count }) => status === 'success' && dropped_count === 0))
  const implausible = [...batches, ...others].filter((batch) => JSON.stringify(batch).includes('"lowest"'))
  t.strictSame(implausible, [], 'nothing that cannot be true')
})

oneEngine(t, 'nothing is left over when it is removed', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const api = await apiOf(app)
  const other: string = (await app.request('POST', '/api/v1/users', { body: { first_name: 'Ada' } })).body.id
  const tables = await app.db.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and c.column_name = 'user_id' and t.table_type = 'BASE TABLE' order by 1`,
  )
  t.ok(tables.length > 10, 'tables of users are found')
  const counted = async () => {
    const counts: Record<string, number> = {}
    for (const name of [...tables.map((one) => one.name), 'sample', 'app_user', 'application'])
      counts[name] = (await app.db.one<{ n: number }>(`select count(*) as n from ${name}`)).n
    return counts
  }
  const before = await counted()
  await addDemo({ api, nowMs: Date.now() - DAY_MS, days: FEW })
  t.ok(((await counted()).sample ?? 0) > 1_000)
  t.equal(await removeDemo(api), 3)
  t.strictSame(await counted(), before)
  t.strictSame(await app.db.query('select id from app_user'), [{ id: other }])
  t.equal(await removeDemo(api), 0, 'there is nothing to remove')
})
