// What a provider gets wrong, stream by stream, and what of it a developer sees.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import type { TestApp } from '../../support/app.ts'
import {
  askedOnce,
  connectPerson,
  type Pulling,
  reportsOf,
  type Simulated,
  settled,
  startPulling,
  startSimulated,
  timePasses,
} from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

const cursorsOf = async ({ db }: TestApp) =>
  new Map(
    (
      await db.query<{ stream: string; covered: string | null; closed: boolean; failing: boolean }>(
        `select stream, covered_until as covered, closed_until > now() as closed, failing_since is not null as failing
         from stream_cursor`,
      )
    ).map((row) => [row.stream, row]),
  )

/** Faults by the stream that they strike, once; what its report says then; whether it was asked again at once. */
const FAULTS: [stream: string, path: string, kind: string, outcome: string][] = [
  ['daily_activity', 'daily_activity', '500', 'success'],
  ['daily_cardiovascular_age', 'daily_cardiovascular_age', 'deep', 'failed wrong'],
  ['daily_readiness', 'daily_readiness', 'html', 'failed wrong'],
  ['daily_resilience', 'daily_resilience', '503', 'success'],
  ['daily_sleep', 'daily_sleep', '404', 'failed wrong'],
  ['daily_spo2', 'daily_spo2', '422', 'failed wrong'],
  ['daily_stress', 'daily_stress', '403', 'failed not_permitted'],
  ['heartrate', 'heartrate', 'none', 'success'],
  ['personal_info', 'personal_info', 'none', 'success'],
  ['sleep', '/sleep', 'half', 'success'],
  ['vo2_max', 'vO2_max', '400', 'failed wrong'],
  ['workout', 'workout', '429', 'success'],
]

interface Started extends Simulated {
  pulling: Pulling
}

oneEngine(t, 'each stream fails by itself', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    world: { people: 1, days: 20 },
    historicalSyncOnConnect: false,
  })
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'oura', person: 'ana' })
  const pulling = await startPulling(t, app)
  await settled(app)
  const started: Started = { app, simulator, pulling }
  await app.db.query(`update stream_cursor set covered_until = covered_until - interval '1 day'`)
  const before = await cursorsOf(app)
  await t.test('and what may pass is tried again', (t) => faults(t, started, before))

  await t.test('the next pull goes on where each of them stopped, but for what is not permitted', async (t) => {
    await simulator.control('DELETE', 'log')
    await pulling.pullNow()
    await settled(app)
    const log: { path: string; query: string }[] = (await simulator.control('GET', 'log?provider=oura')).body
    t.notOk(log.some(({ path }) => path.includes('daily_stress')))
    const failing = [...(await cursorsOf(app)).values()].filter((one) => one.failing).map((one) => one.stream)
    t.strictSame(failing, ['daily_stress'])
    t.strictSame(new Set((await reportsOf(app)).map(({ status }) => status)), new Set(['success']))
  })

  await t.test('what is the same as before is not stored again', async (t) => {
    await pulling.pullNow()
    await settled(app)
    const counts = () =>
      app.db.one(`
        select (select count(*) from sample) as samples, (select count(*) from event) as events,
               (select revision from app_user) as revision, (select coalesce(max(seq), 0) from upload) as uploads`)
    const first = await counts()
    await pulling.pullNow()
    await settled(app)
    t.strictSame(await counts(), first)
    const [run] = await app.db.query(`select status, items_received from sync_run order by started_at desc limit 1`)
    t.match(run, { status: 'success', items_received: 0 })
  })

  await t.test('a token that is refused is replaced once, then the grant is left alone', async (t) => {
    await simulator.control('DELETE', 'log')
    await simulator.control('POST', 'faults', { kind: '401', provider: 'oura', path: '/sleep' })
    await pulling.pullNow()
    await askedOnce(app)
    const log: { path: string; status: number }[] = (await simulator.control('GET', 'log?provider=oura')).body
    t.equal(log.filter(({ path, status }) => path.endsWith('/sleep') && status === 401).length, 2)
    t.equal(log.filter(({ path }) => path.includes('token')).length, 1, 'one refresh')
    const left = await app.db.query(`select stream, due_at > now() + interval '50 minutes' as later from sync_task`)
    t.strictSame(left, [{ stream: 'sleep', later: true }])
    const { status } = await app.db.one<{ status: string }>('select status from connection')
    t.equal(status, 'active')
  })
})

async function faults(
  t: Parameters<Parameters<typeof oneEngine>[2]>[0],
  { app, simulator, pulling }: Started,
  before: Awaited<ReturnType<typeof cursorsOf>>,
) {
  for (const [, path, kind] of FAULTS) {
    if (kind !== 'none') await simulator.control('POST', 'faults', { kind, provider: 'oura', path, times: 1 })
  }
  await pulling.pullNow()
  await askedOnce(app)
  const failures = (await app.db.query<{ stream: string }>('select stream from sync_task where attempts > 0')).map(
    ({ stream }) => stream,
  )
  const passing = FAULTS.filter(([, , kind, outcome]) => kind !== 'none' && outcome === 'success')
  t.ok(failures.length > 0 && failures.every((stream) => passing.some(([name]) => name === stream)), `${failures}`)
  for (let times = 0; times < 6 && (await app.db.query('select from sync_task')).length > 0; times += 1) {
    await timePasses(app)
    await askedOnce(app)
  }
  await settled(app)
  const reports = await reportsOf(app)
  t.strictSame(
    reports.map(({ native_type: stream, status, error_code: code }) => [stream, code ? `${status} ${code}` : status]),
    FAULTS.map(([stream, , , outcome]) => [stream, outcome]),
  )
  const said = (stream: string) => reports.find((one) => one.native_type === stream)?.error ?? ''
  t.match(said('vo2_max'), /^HTTP 400: /)
  t.equal(said('daily_readiness'), 'HTTP 200: the answer cannot be read', 'and nothing that may be a measurement')
  const [run] = await app.db.query(`select status, stage from sync_run order by started_at desc limit 1`)
  t.strictSame(run, { status: 'partial', stage: 'completed' })
  const after = await cursorsOf(app)
  const moved = [...after].filter(([stream, { covered }]) => covered !== before.get(stream)?.covered)
  const succeeded = FAULTS.filter(([, , , outcome]) => outcome === 'success').map(([stream]) => stream)
  t.strictSame(moved.map(([stream]) => stream).sort(), succeeded.sort(), 'no cursor passes what is not stored')
  t.strictSame(
    [...after.values()].filter(({ closed }) => closed).map(({ stream }) => stream),
    ['daily_stress'],
  )
}

/** What a provider sends that is no error by its status; what becomes of the stream, then of the next pull without it. */
const STRANGE: { kind: string; path?: string; more?: object; first: string; next: 'same' | 'more' | 'any' }[] = [
  { kind: 'big', path: '/cycle', more: { times: 1 }, first: 'cycle in_progress', next: 'same' },
  { kind: 'text_numbers', path: '/cycle', first: 'rejected', next: 'more' },
  { kind: 'next_elsewhere', path: '/cycle', first: 'cycle failed wrong', next: 'same' },
  { kind: 'next_itself', path: '/cycle', first: 'cycle failed wrong', next: 'same' },
  {
    kind: 'half_streams',
    more: { streams: ['cycle', 'workout'] },
    first: 'cycle in_progress, workout in_progress',
    next: 'same',
  },
  { kind: 'clock', first: '', next: 'any' },
  { kind: 'shuffle', first: '', next: 'same' },
  { kind: 'duplicate', first: '', next: 'same' },
]

oneEngine(t, 'what is strange in answers costs nothing else, and is made good by the next pull', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    world: { people: STRANGE.length, days: 12 },
    historicalSyncOnConnect: false,
  })
  const people: { key: string }[] = (await simulator.control('GET', 'people')).body
  const users: string[] = []
  for (const [place, { kind, path, more }] of STRANGE.entries()) {
    const person = people[place]?.key ?? ''
    const user = await createUser(app)
    users.push(user)
    await connectPerson(app, { user, provider: 'whoop', person })
    await simulator.control('POST', 'faults', { kind, provider: 'whoop', person, ...(path && { path }), ...more })
  }
  const pulling = await startPulling(t, app)
  const lastRuns = async () => {
    const rows = await app.db.query<{ user_id: string; rejected: number; changes: number; outcome: string }>(
      `select distinct on (r.user_id) r.user_id, r.items_rejected as rejected,
              r.items_inserted + r.items_updated + r.items_deleted as changes,
              (select coalesce(string_agg(concat_ws(' ', p.native_type, p.status, p.error_code), ', ' order by p.native_type), '')
               from sync_run_report p
               where p.user_id = r.user_id and p.run_key = r.run_key and p.status <> 'success') as outcome
       from sync_run r order by r.user_id, r.started_at desc`,
    )
    return users.map((user) => rows.find(({ user_id }) => user_id === user))
  }
  const imported = async () => (await app.db.query(`select from upload where status = 'queued'`)).length === 0
  await askedOnce(app)
  t.ok(await waitUntil(imported, 30_000, 20))
  t.strictSame(
    (await lastRuns()).map((run, place) => [STRANGE[place]?.kind, run?.outcome || (run?.rejected ? 'rejected' : '')]),
    STRANGE.map(({ kind, first }) => [kind, first]),
  )
  await simulator.control('DELETE', 'faults')
  await timePasses(app)
  await settled(app)
  await app.db.query('update stream_cursor set last_hash = null')
  await pulling.pullNow()
  await settled(app)
  t.strictSame(
    (await lastRuns()).map((run, place) => {
      const { kind, next } = STRANGE[place] ?? {}
      const found = run?.changes ? 'more' : 'same'
      return [kind, run?.outcome, run?.rejected, next === 'any' ? next : found]
    }),
    STRANGE.map(({ kind, next }) => [kind, '', 0, next]),
  )
  const { ended } = await app.db.one<{ ended: number }>(
    `select count(*) as ended from connection where status <> 'active'`,
  )
  t.equal(ended, 0)
})
