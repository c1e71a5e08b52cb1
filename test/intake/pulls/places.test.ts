// Who is asked at a time: providers that do not answer take nobody's place.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { connectPerson, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

const PEOPLE = 6
const OTHER = 'whoop'
/** Garmin is asked for the past, the others for what is due: together for as many people as one process serves. */
const SLOW = ['garmin', 'oura', 'suunto']
const PATIENCE_MS = 30_000

oneEngine(t, 'while three providers do not answer, another is asked', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    ...{ world: { people: PEOPLE, days: 5 }, historicalSyncOnConnect: false },
  })
  const users: string[] = []
  for (const { key: person } of (await simulator.control('GET', 'people')).body) {
    const user = await createUser(app)
    for (const provider of [OTHER, ...SLOW]) await connectPerson(app, { user, provider, person })
    users.push(user)
  }
  await app.db.query('delete from sync_task')
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const pulling = await startPulling(t, app, async (path, found) => {
    if (SLOW.some((provider) => path.startsWith(`/${provider}/`))) await answered
    return found
  })
  await pulling.pullNow(SLOW)
  for (const user of users) {
    const { status } = await app.request('POST', `/api/v1/providers/garmin/users/${user}/sync/historical`)
    t.equal(status, 200)
  }
  const count = async (sql: string) => (await app.db.query(sql, [SLOW])).length
  const held = () => count('select from provider_grant where provider = any ($1) and process_id is not null')
  const asked = async () => ({
    grants: await app.db.query(
      'select provider, state, process_id, leased_until, asked_at, live_at, history_at, now() from provider_grant',
    ),
    tasks: await app.db.query(
      'select g.provider, t.stream, t.lane, t.due_at from sync_task t join provider_grant g on g.id = t.grant_id',
    ),
    budgets: await app.db.query('select * from rate_budget'),
  })
  if (!(await waitUntil(async () => (await held()) >= 16, PATIENCE_MS, 20)))
    t.fail('not all are being asked', await asked())

  await pulling.pullNow([OTHER])
  const left = `select from sync_task t join provider_grant g on g.id = t.grant_id where g.provider <> all ($1)`
  t.ok(await waitUntil(async () => (await count(left)) === 0, PATIENCE_MS, 20), 'everything was asked of the other')
  t.ok((await held()) >= 16, 'while nobody of them had an answer')
  answer()
})
