// The list of people says since when there is data of each, and how much came lately.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp } from '../support/app.ts'
import { workout } from '../support/event-lists.ts'
import { body, createUser, eachEngine, heartRate, importBody, startImports, steps } from '../support/sdk.ts'
import { PROCESSES } from '../support/several.ts'
import { hearStatements } from '../support/statements.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

interface Listed {
  id: string
  first_day?: string | null
  last_day?: string | null
  recent_days?: number[]
}

eachEngine(t, 'the list of users with their data', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS
  /** 00:30 of that many days ago. */
  const ago = (days: number) => midnight - days * DAY_MS + HOUR_MS / 2
  const day = (days: number) => new Date(ago(days)).toISOString().slice(0, 10)
  const list = async (query = 'include=data'): Promise<Listed[]> =>
    (await app.request('GET', `/api/v1/users?limit=100&${query}`)).body.items
  const of = async (user: string) => {
    const { first_day, last_day, recent_days = [] } = (await list()).find(({ id }) => id === user) as Listed
    const counted = recent_days.flatMap((n, at) => (n > 0 ? [[29 - at, n]] : []))
    return { first_day, last_day, length: recent_days.length, counted }
  }
  const [ada, ben, cleo] = [await createUser(app), await createUser(app), await createUser(app)]
  await importBody(
    app,
    ada,
    body([
      heartRate(ago(200), 60),
      heartRate(ago(30), 60),
      heartRate(ago(29), 60),
      heartRate(ago(29) + 1000, 61),
      steps(ago(29), 5),
      steps(ago(2), 5, { metadata: { HKWasUserEntered: '1' } }),
      // It cannot be true.
      heartRate(ago(1), 5_000),
    ]),
  )
  await importBody(app, ben, body([], { data: { workouts: [workout('running', ago(3), 20)] } }))
  const expected = {
    [ada]: {
      first_day: day(200),
      last_day: day(2),
      length: 30,
      counted: [
        [29, 3],
        [2, 1],
      ],
    },
    [ben]: { first_day: day(3), last_day: day(3), length: 30, counted: [[3, 1]] },
    [cleo]: { first_day: null, last_day: null, length: 30, counted: [] },
  }
  const all = async () => ({ [ada]: await of(ada), [ben]: await of(ben), [cleo]: await of(cleo) })
  t.strictSame(await all(), expected, 'from samples')
  await refreshRollups(app.db)
  t.strictSame(await all(), expected, 'from rollups')

  await importBody(app, ada, body([heartRate(ago(2), 60), heartRate(ago(5), 61)]))
  const later = {
    ...expected[ada],
    counted: [
      [29, 3],
      [5, 1],
      [2, 2],
    ],
  }
  t.strictSame(await of(ada), later, 'from both')
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 60 } })
  while (await archive(app.db, Date.now(), () => {}));
  t.strictSame(await of(ada), later, 'archived samples as well')

  const names = ['first_day', 'last_day', 'recent_days']
  for (const query of ['', 'include=connections'])
    for (const user of await list(query)) for (const name of names) t.notOk(name in user)
  const [both] = (await list('include=data,connections&sort_by=created_at&sort_order=asc')) as unknown as object[]
  t.match(both, { id: ada, connections: [{ provider: 'apple' }], last_day: day(2) })
  t.strictSame(await list('include=data&search=nobody'), [])
  const heard = hearStatements(app.db.pool)
  await list()
  if (PROCESSES === 1) t.equal(heard().length, 2, 'one statement more')
  t.equal((await app.request('GET', '/api/v1/users?include=days')).status, 422)
})
