// A phone's token only gives access to its own user, however the path spells another user's id.
import t from 'tap'
import { routes } from '../../server/api/index.ts'
import type { Route } from '../../server/http/route.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { workout, workoutBody } from '../support/event-lists.ts'
import { body, createUser, heartRate, importBody, startImports, storedSamples, waitForAll } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const NOON = Date.UTC(2026, 1, 24, 12)

const [engine] = engines()
if (!engine) throw new Error('no engine')

/** Spellings of another user's id in a path that two parsers may read differently. */
type Spelling = (theirs: string, own: string) => string
const SPELLINGS: Record<string, Spelling> = {
  'as it is': (id) => id,
  'NUL before': (id) => `%00${id}`,
  'NUL within': (id) => `${id.slice(0, 8)}%00${id.slice(8)}`,
  'NUL after': (id) => `${id}%00`,
  'NUL between': (id) => [...id].join('%00'),
  'a space after': (id) => `${id}%20`,
  'a space before': (id) => `%20${id}`,
  'a line end after': (id) => `${id}%0A`,
  'a zero-width space within': (id) => `${id.slice(0, 8)}%E2%80%8B${id.slice(8)}`,
  'a byte order mark before': (id) => `%EF%BB%BF${id}`,
  'full-width digits': (id) =>
    encodeURIComponent(id.replaceAll(/\d/g, (digit) => String.fromCharCode(0xff10 + +digit))),
  'upper case': (id) => id.toUpperCase(),
  braces: (id) => `%7B${id}%7D`,
  'no dashes': (id) => id.replaceAll('-', ''),
  'urn:uuid:': (id) => `urn:uuid:${id}`,
  'URN:UUID:': (id) => `URN:UUID:${id}`,
  'NUL twice encoded': (id) => `${id}%2500`,
  'a slash after': (id) => `${id}%2F`,
  'the own id before': (id, own) => `${own}%00${id}`,
  'the own id and a comma before': (id, own) => `${own},${id}`,
  'a folder up from the own id': (id, own) => `${own}%2F..%2F${id}`,
}

/** What routes of cloud providers answer of a phone's platform, once the guard lets a request pass: it cannot be asked. */
const OF_CLOUDS: Record<string, number> = {
  startSync: 501,
  startHistoricalSync: 400,
  getBackfillStatus: 400,
  listProviderWorkouts: 501,
  getProviderWorkout: 501,
  createLinkToken: 400,
}

/** The input a route needs so that only the guard can refuse it. */
const QUERIES: Record<string, string> = {
  getTimeseries: 'start_time=2026-02-24&end_time=2026-02-24',
}
const RANGE = 'start_date=2026-02-24&end_date=2026-02-25'

interface Person {
  id: string
  batch: string
  workout: string
  phone: string
  sleep: string
  cycle: string
  meal: string
}

function bodyOf(route: Route): unknown {
  if (route.path.endsWith('/sync')) return body([heartRate(NOON, 199)])
  if (route.path.endsWith('/logs'))
    return { sdkVersion: '1', provider: 'apple', events: [{ eventType: 'device_state', batteryLevel: 0.5 }] }
  if (route.path.endsWith('/import') || !route.body) return undefined
  if (route.operationId === 'createLinkToken') return { provider: 'apple' }
  return route.path.endsWith('/personal-record') ? { gender: 'female' } : route.path.endsWith('/token') ? undefined : {}
}

async function call(app: TestApp, route: Route, person: Person, id: string, bearer?: string): Promise<TestAnswer> {
  const needs = (route.query as { required?: string[] } | undefined)?.required ?? []
  const query = QUERIES[route.operationId] ?? (needs.includes('start_date') ? RANGE : '')
  const path = route.path
    .replace('{user_id}', id)
    .replace('{provider}', 'apple')
    .replace('{batch_id}', person.batch)
    .replace('{workout_id}', person.workout)
    .replace('{sleep_id}', person.sleep)
    .replace('{cycle_id}', person.cycle)
    .replace('{meal_id}', person.meal)
    .replace('{phone_id}', person.phone)
  const sent = bodyOf(route)
  const auth = bearer
    ? { bearer }
    : route.guard === 'developer' || route.guard === 'app or developer'
      ? 'developer'
      : 'key'
  return app.request(route.method, `${path}${query && `?${query}`}`, {
    auth,
    ...(sent !== undefined && { body: sent }),
  })
}

/** Everything stored about a user, as text, except when a token or key was last used. */
async function everything(app: TestApp, user: string): Promise<Record<string, unknown>> {
  const tables = await app.db.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.column_name = 'user_id' and c.table_schema = 'public' and t.table_type = 'BASE TABLE'
     order by 1`,
  )
  const stored: Record<string, unknown> = {
    samples: await storedSamples(app.db, user),
    app_user: await app.db.query('select u::text from app_user u where id = $1', [user]),
  }
  for (const { name } of tables) {
    stored[name] = (
      await app.db.query<{ row: string }>(`select x::text as row from ${name} x where user_id = $1 order by 1`, [user])
    ).map(({ row }) => row)
  }
  return stored
}

async function person(app: TestApp): Promise<Person> {
  const id = await createUser(app)
  const { batch_id: batch } = await importBody(app, id, body([heartRate(NOON, 60)]))
  await importBody(app, id, workoutBody([workout('running', NOON, 30)]))
  const { body: page } = await app.request('GET', `/api/v1/users/${id}/events/workouts?${RANGE}`)
  await app.request('POST', `/api/v1/users/${id}/token`, { auth: 'developer' })
  const { body: phones } = await app.request('GET', `/api/v1/users/${id}/phones`, { auth: 'developer' })
  const none = '00000000-0000-4000-8000-000000000000'
  return { id, batch, workout: page.data[0].id, phone: phones[0].id, sleep: none, cycle: none, meal: none }
}

t.test("a phone's token and the id of somebody else", async (t) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const [ada, ben] = [await person(app), await person(app)]
  const phone = await app.sdkToken(ada.id)
  await waitForAll(app, ben.id)
  const before = await everything(app, ben.id)
  t.ok(Object.values(before).flat().length > 5, 'there is something to lose')

  const ofUsers = routes.filter(({ path }) => path.includes('{user_id}'))
  t.ok(ofUsers.length >= 39, `${ofUsers.length} routes`)

  await t.test('opens no route', async (t) => {
    const opened: string[] = []
    let asked = 0
    for (const route of ofUsers) {
      const ask = async ([name, spell]: [string, Spelling]) => {
        const { status } = await call(app, route, ben, spell(ben.id, ada.id), phone)
        asked += 1
        if (![401, 403, 404, 422].includes(status)) opened.push(`${status} ${route.method} ${route.path}: ${name}`)
      }
      // All of them for routes open to phones, ten for routes where a phone's token is no credential at all.
      const spellings = Object.entries(SPELLINGS)
      await Promise.all((route.guard.startsWith('sdk') ? spellings : spellings.slice(0, 10)).map(ask))
    }
    t.strictSame(opened, [])
    t.ok(asked >= ofUsers.length * 10, `${asked} requests`)
  })

  await t.test('opens none without a user in its path, either', async (t) => {
    const opened: string[] = []
    for (const route of routes) {
      if (ofUsers.includes(route) || route.guard === 'public') continue
      for (const id of [ben.id, `${ben.id}%00`]) {
        const { status } = await app.request(route.method, route.path.replaceAll(/\{\w+\}/g, id), {
          auth: { bearer: phone },
          ...(route.body && { body: { user_id: ben.id } }),
        })
        if (status !== 401) opened.push(`${status} ${route.method} ${route.path}`)
      }
    }
    t.strictSame(opened, [])
  })

  await t.test('changes nothing of theirs', async (t) => {
    await waitForAll(app, ben.id)
    t.strictSame(await everything(app, ben.id), before)
  })

  await t.test('while the own id opens the routes of phones in every spelling there is (contract 1.2)', async (t) => {
    const answers: string[] = []
    const allowed = ['as it is', 'upper case', 'braces', 'no dashes', 'urn:uuid:']
    for (const route of ofUsers.filter(({ guard }) => guard.startsWith('sdk'))) {
      for (const [name, spell] of Object.entries(SPELLINGS)) {
        const { status } = await call(app, route, ada, spell(ada.id, ada.id), phone)
        if (status < 300 !== allowed.includes(name)) answers.push(`${status} ${route.method} ${route.path}: ${name}`)
      }
    }
    t.strictSame(answers, [])
  })

  await t.test('and every one of these requests is good with the credential it needs', async (t) => {
    const refused: string[] = []
    // The most destructive request last.
    const rank = ({ method, path }: Route) =>
      Number(method === 'DELETE') * (/\/connections\/|\/phones$/.test(path) ? 2 : 1)
    const inOrder = ofUsers.toSorted((a, b) => rank(a) - rank(b))
    for (const route of inOrder.filter(({ path }) => !/stream|\{(sleep|cycle|meal)_id\}/.test(path))) {
      if (route.operationId === 'deleteUser') continue
      const { status, body } = await call(app, route, ben, ben.id)
      if (status >= 300 && status !== OF_CLOUDS[route.operationId])
        refused.push(`${status} ${route.method} ${route.path} ${JSON.stringify(body)}`)
    }
    t.strictSame(refused, [])
  })
})
