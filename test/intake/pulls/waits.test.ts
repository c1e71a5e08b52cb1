// What keeps a grant from being asked, what runs and callers are told of it, and that it ends once it is mended.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { endPauses } from '../../../server/oauth/pauses.ts'
import type { OAuthClient } from '../../../server/provider-client/clients.ts'
import { openVault } from '../../../server/vault.ts'
import type { TestApp } from '../../support/app.ts'
import { connectPerson, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

const ONE = { world: { people: 1, days: 10 }, historicalSyncOnConnect: false }

const sync = (app: TestApp, user: string, provider: string, query = '') =>
  app.request('POST', `/api/v1/providers/${provider}/users/${user}/sync${query}`)
const workouts = (app: TestApp, user: string, provider: string) =>
  app.request('GET', `/api/v1/providers/${provider}/users/${user}/workouts`)
const connectionOf = async (app: TestApp, user: string) =>
  (await app.request('GET', `/api/v1/users/${user}/connections`)).body[0]

interface Stream {
  data_type: string
  status: string
  error_code: string | null
  error: string | null
  attempt: number
}

async function runOf(app: TestApp, key: string): Promise<{ status: string; error: string | null; streams: Stream[] }> {
  const { body } = await app.request('GET', `/api/v1/sync/history/${key}`)
  return { ...body, streams: body.data_types.filter(({ kind }: { kind: string }) => kind === 'task') }
}

/** Starts a sync, and waits until each of its streams says why it waits. */
async function waiting(app: TestApp, user: string, provider: string): Promise<string> {
  const { task_id: key } = (await sync(app, user, provider)).body
  const said = async () => (await runOf(app, key)).streams.every(({ error }) => error !== null)
  if (!(await waitUntil(said, 20_000, 50))) throw new Error('the run does not say why it waits')
  return key
}

const expire = (app: TestApp) =>
  app.db.query(`update provider_grant set access_until = now() - interval '1 second', retried_at = null`)

oneEngine(t, 'settings that are wrong', async (t, engine) => {
  const { app } = await startSimulated(t, engine, ONE)
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'oura', person: 'ana' })
  await startPulling(t, app)
  await settled(app)
  const { oauth } = app.deps
  // All parts of the service share these, as after a start with other settings.
  const clients = oauth.clients as Map<string, OAuthClient>
  const client = clients.get('oura') as OAuthClient

  await t.test('a client secret: the operator is told, and the next one is tried at once', async (t) => {
    clients.set('oura', { ...client, settings: { ...client.settings, clientSecret: 'a former one' } })
    await expire(app)
    const key = await waiting(app, user, 'oura')
    const { status, streams } = await runOf(app, key)
    t.equal(status, 'in_progress')
    t.strictSame(
      streams.filter(({ status, attempt, error }) => {
        return (
          status !== 'in_progress' ||
          attempt < 2 ||
          !/^Failed to refresh token: invalid_client.*; tried again at 20.*Z$/.test(error ?? '')
        )
      }),
      [],
    )
    for (let times = 0; times < 2; times += 1) {
      const { status, body, headers } = await workouts(app, user, 'oura')
      t.equal(status, 400)
      t.match(body, { detail: /^Failed to refresh token: invalid_client/, hint: /OURA_CLIENT_SECRET/ })
      t.ok(Number(headers.get('retry-after')) > 1_700)
    }
    const metrics = await app.deps.metrics.registry.metrics()
    t.match(metrics, 'pulsebase_provider_grants{provider="oura",state="misconfigured"} 1\n')
    const { body } = await sync(app, user, 'oura', '?async=false')
    t.match(body, {
      success: false,
      async: true,
      task_id: key,
      details: { workouts: { workout: { status: 'in_progress' } } },
    })
    t.match(body.details.workouts.workout.error, /invalid_client/)
    t.equal((await connectionOf(app, user)).status, 'active')

    await endPauses(oauth)
    t.equal((await runOf(app, key)).status, 'in_progress', 'not with the same settings')
    clients.set('oura', client)
    await endPauses(oauth)
    await settled(app)
    const ended = await runOf(app, key)
    t.equal(ended.status, 'success')
    t.strictSame(new Set(ended.streams.map(({ status, error }) => `${status} ${error}`)), new Set(['success null']))
  })

  await t.test('a key that opens no token', async (t) => {
    const right = { ...oauth.vault }
    Object.assign(oauth.vault, openVault('b5a41d35f1c8b6a0e9d7c5b8d2f6c0b9'))
    const key = await waiting(app, user, 'oura')
    const { status, body } = await workouts(app, user, 'oura')
    t.equal(status, 503)
    t.match(body, { detail: 'The tokens of this connection were stored with another SECRET_KEY and cannot be read.' })
    Object.assign(oauth.vault, right)
    await endPauses(oauth)
    await settled(app)
    t.equal((await runOf(app, key)).status, 'success')
  })

  await t.test('somebody who asks makes a grant due again, once a minute', async (t) => {
    clients.set('oura', { ...client, settings: { ...client.settings, clientSecret: 'a former one' } })
    await expire(app)
    const key = await waiting(app, user, 'oura')
    const attempts = async () => Math.max(...(await runOf(app, key)).streams.map(({ attempt }) => attempt))
    const asked = await attempts()
    t.equal((await sync(app, user, 'oura')).body.task_id, key)
    t.equal(await dueNow(app), false, 'not so soon')
    clients.set('oura', client)
    await app.db.query(`update provider_grant set retried_at = now() - interval '61 seconds'`)
    t.equal((await sync(app, user, 'oura')).body.task_id, key)
    await settled(app)
    t.ok((await attempts()) >= asked)
    t.equal((await runOf(app, key)).status, 'success')
  })
})

const dueNow = async (app: TestApp) =>
  (await app.db.query('select from provider_grant where asked_at <= now()')).length > 0

oneEngine(t, 'a stream that waits is asked for by the next sync as well', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, ONE)
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  const pulling = await startPulling(t, app)
  await settled(app)
  await simulator.control('POST', 'faults', { kind: '503', provider: 'whoop', path: '/activity/workout' })
  const { task_id: first } = (await sync(app, user, 'whoop')).body
  const workoutOf = async (key: string) =>
    (await runOf(app, key)).streams.find(({ data_type }) => data_type === 'workout') as Stream
  const othersEnded = async (key: string) =>
    (await runOf(app, key)).streams.every(
      ({ data_type, status }) => status === (data_type === 'workout' ? 'in_progress' : 'success'),
    ) && (await workoutOf(key)).error !== null
  t.ok(await waitUntil(() => othersEnded(first), 20_000, 50))
  t.match(await workoutOf(first), { attempt: 2, error: /^HTTP 503; tried again at 20.*Z$/ })
  const { task_id: second } = (await sync(app, user, 'whoop')).body
  t.not(second, first)
  t.ok(await waitUntil(() => othersEnded(second), 20_000, 50), 'it has the stream, too')

  await app.db.query('delete from sync_task')
  for (const expected of ['in_progress null', 'failed waiting']) {
    await pulling.pullNow()
    const pulled = async () =>
      (
        await app.db.query<{ said: string }>(
          `select concat_ws(' ', p.status, coalesce(p.error_code, 'null')) as said
           from sync_run r join sync_run_report p using (user_id, run_key)
           where r.trace_id is null and p.native_type = 'workout'
             and exists (select from sync_run_report o where o.run_key = r.run_key and o.native_type = 'cycle' and o.status = 'success')
           order by r.started_at desc limit 1`,
        )
      )[0]?.said
    t.ok(await waitUntil(async () => (await pulled()) === expected, 20_000, 50), expected)
  }
})

oneEngine(t, 'a new consent ends the waiting', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, ONE)
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  const pulling = await startPulling(t, app)
  await settled(app)
  await simulator.control('POST', 'faults', { kind: '503', seconds: 3_000, provider: 'whoop', path: '/v2/' })
  await pulling.pullNow()
  const waits = async () =>
    (await app.db.query(`select from sync_task where due_at > now() + interval '10 seconds'`)).length > 0
  t.ok(await waitUntil(waits, 20_000, 50))
  await simulator.control('DELETE', 'faults')
  // As after a refusal of the token, when everything of the grant waits.
  await app.db.query(`update sync_task set due_at = now() + interval '1 hour'`)
  await app.db.query(
    `update provider_grant
     set asked_at = now() + interval '1 hour', live_at = now() + interval '1 hour', process_id = null, leased_until = null`,
  )
  await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  const nothing = async () => (await app.db.query('select from sync_task')).length === 0
  t.ok(await waitUntil(nothing, 20_000, 50))
})

oneEngine(t, 'a consent to less than before', async (t, engine) => {
  const { app } = await startSimulated(t, engine, { world: { people: 1, days: 10 } })
  const [first, second] = [await createUser(app), await createUser(app)]
  await connectPerson(app, { user: first, provider: 'whoop', person: 'ana' })
  await startPulling(t, app)
  await settled(app)
  t.strictSame((await connectionOf(app, first)).failing_streams, [])
  await connectPerson(app, { user: second, provider: 'whoop', person: 'ana', more: { without: 'read:sleep' } })
  await settled(app)
  for (const user of [first, second]) {
    const { status, scope, failing_streams } = await connectionOf(app, user)
    t.strictSame([status, failing_streams], ['active', ['sleep']])
    t.notMatch(scope, /read:sleep/)
    const [run] = (await app.request('GET', `/api/v1/users/${user}/sync/runs`)).body
    t.match(run, { status: 'partial', error: 'sleep: The scope read:sleep was not granted' })
  }
  const { task_id: key } = (await sync(app, first, 'whoop')).body
  await settled(app)
  const run = await runOf(app, key)
  t.match(
    run.streams.find(({ data_type }) => data_type === 'sleep'),
    { status: 'failed', error_code: 'not_permitted', error: 'The scope read:sleep was not granted' },
  )
  await connectPerson(app, { user: first, provider: 'whoop', person: 'ana' })
  await settled(app)
  for (const user of [first, second]) {
    const { scope, failing_streams } = await connectionOf(app, user)
    t.match([scope, failing_streams], [/read:sleep/, []])
  }
})
