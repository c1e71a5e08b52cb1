// What a turn of a grant survives: text that no database takes, refused storage, people who come and go meanwhile.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { endGrant } from '../../../server/oauth/disconnect.ts'
import type { Received } from '../../../server/provider-client/http.ts'
import type { TestApp } from '../../support/app.ts'
import { connectPerson, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

const ONE = { world: { people: 1, days: 10 }, historicalSyncOnConnect: false }

const outcomesOf = async ({ db }: TestApp) =>
  Object.fromEntries(
    (
      await db.query<{ stream: string; outcome: string }>(
        `select native_type as stream, concat_ws(' ', status, error_code, error) as outcome from sync_run_report`,
      )
    ).map(({ stream, outcome }) => [stream, outcome]),
  )

const page = (json: unknown): Partial<Received> => ({ json, body: Buffer.from(JSON.stringify(json)) })

/** What a provider answers in place of a stream, and what becomes of it. */
const ANSWERS: [path: string, stream: string, answer: Partial<Received>, outcome: string][] = [
  [
    'daily_stress',
    'daily_stress',
    { status: 400, body: Buffer.from('bad \0 request \u{d800}') },
    'failed wrong HTTP 400: bad \ufffd request \ufffd',
  ],
  [
    'daily_sleep',
    'daily_sleep',
    page({ data: [], next_token: 'a\0' }),
    'failed wrong The provider named a next page that cannot be asked for',
  ],
  [
    'workout',
    'workout',
    page({ data: [], next_token: '\ud800' }),
    'failed wrong The provider named a next page that cannot be asked for',
  ],
  [
    'daily_spo2',
    'daily_spo2',
    page({ data: [], next_token: 'x'.repeat(2 ** 19) }),
    'failed wrong The provider named a next page that cannot be asked for',
  ],
  ['personal_info', 'personal_info', page({ id: 'a\0', weight: 'NaN', email: '\0' }), 'success'],
]

oneEngine(t, 'text that no database takes costs its stream alone', async (t, engine) => {
  const { app } = await startSimulated(t, engine, ONE)
  await connectPerson(app, { user: await createUser(app), provider: 'oura', person: 'ana' })
  await startPulling(t, app, (path, answer) => {
    const [, , replaced] = ANSWERS.find(([end]) => path.endsWith(`/${end}`)) ?? []
    return { ...answer, ...replaced }
  })
  await settled(app)
  const found = await outcomesOf(app)
  t.strictSame(
    ANSWERS.map(([, stream]) => [stream, found[stream]]),
    ANSWERS.map(([, stream, , outcome]) => [stream, outcome]),
  )
  const others = Object.entries(found).filter(([stream]) => !ANSWERS.some(([, one]) => one === stream))
  t.strictSame([...new Set(others.map(([, outcome]) => outcome))], ['success'])
})

oneEngine(
  t,
  'answers that cannot be stored fail their stream, and keep no other from being stored',
  async (t, engine) => {
    const { app } = await startSimulated(t, engine, ONE)
    await connectPerson(app, { user: await createUser(app), provider: 'whoop', person: 'ana' })
    // As any value would that the database cannot hold.
    await app.db.query(
      `create function refuse() returns trigger language plpgsql as
     $$ begin raise exception 'invalid byte sequence' using errcode = '22021'; end $$`,
    )
    await app.db.query(
      `create trigger refuse before update on sync_run_report for each row
     when (new.native_type = 'sleep' and new.status = 'success') execute function refuse()`,
    )
    await startPulling(t, app)
    await settled(app)
    t.strictSame(await outcomesOf(app), {
      ...{ workout: 'success', recovery: 'success', cycle: 'success', body: 'success' },
      sleep: 'failed wrong The answers cannot be stored',
    })
    const [cursor] = await app.db.query(
      `select covered_until, failing_since is not null as failing from stream_cursor where stream = 'sleep'`,
    )
    t.strictSame(cursor, { covered_until: null, failing: true })
    const [{ uploads }] = (await app.db.query('select count(*) as uploads from upload')) as [{ uploads: number }]
    t.ok(uploads > 0)
  },
)

oneEngine(t, 'people who come and go while an account is asked', async (t, engine) => {
  const { app } = await startSimulated(t, engine, { world: { people: 1, days: 20 }, historicalSyncOnConnect: false })
  const [first, second, third] = [await createUser(app), await createUser(app), await createUser(app)]
  const connect = (user: string) => connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  let meanwhile: (() => Promise<unknown>) | undefined
  const pulling = await startPulling(t, app, async (path, answer) => {
    const once = path.endsWith('/recovery') ? meanwhile : undefined
    if (once) meanwhile = undefined
    await once?.()
    return answer
  })
  const workoutsOf = async (user: string) =>
    (await app.db.query('select from workout where user_id = $1', [user])).length
  await connect(first)
  await settled(app)
  const workouts = await workoutsOf(first)
  t.ok(workouts > 0)

  await t.test('what is the same as before is not stored again, recoveries neither', async (t) => {
    await app.db.query(`update stream_cursor set reached_week_at = now(), reached_month_at = now()`)
    await pulling.pullNow()
    await settled(app)
    const [run] = await app.db.query(
      `select items_received as items, (select count(*) from upload u where u.run_key = r.run_key) as uploads
       from sync_run r order by started_at desc limit 1`,
    )
    t.strictSame(run, { items: 0, uploads: 0 })
  })

  await t.test('but for somebody who connects meanwhile, and has a run of what was left', async (t) => {
    meanwhile = () => connect(second)
    await pulling.pullNow()
    await settled(app)
    t.equal(await workoutsOf(second), workouts)
    const runs = await app.db.query(`select source, status from sync_run where user_id = $1`, [second])
    t.strictSame(runs, [{ source: 'linked_account', status: 'success' }])
  })

  await t.test('a sync of one who came later is that of the others', async (t) => {
    const sync = (user: string) => app.request('POST', `/api/v1/providers/whoop/users/${user}/sync`)
    let statuses: number[] = []
    meanwhile = async () => {
      await connect(third)
      statuses = [(await sync(third)).status, (await sync(third)).status]
    }
    const { body } = await sync(first)
    await settled(app)
    t.strictSame(statuses, [200, 200])
    const runs = await app.db.query(
      `select r.run_key = $2 || '_' || r.user_id as same, r.primary_user_id = $3 as of_first, r.status from sync_run r
       where r.user_id = $1 and r.run_key like $2 || '%'`,
      [third, body.task_id, first],
    )
    t.strictSame(runs, [{ same: true, of_first: true, status: 'success' }])
    t.equal(await workoutsOf(third), await workoutsOf(first))
  })

  await t.test('a turn whose task was cancelled gives the grant back at once', async (t) => {
    const connection = await app.db.one<{ id: string }>('select id from connection where user_id = $1', [third])
    const { status } = await app.request('POST', `/api/v1/providers/whoop/users/${third}/sync/historical?days=5`)
    t.equal(status, 200)
    let ended = 0
    meanwhile = async () => {
      ended = (await app.request('DELETE', `/api/v1/users/${third}/connections/whoop`)).status
    }
    const free = async () =>
      (await app.db.query('select from provider_grant where process_id is not null')).length === 0
    t.ok(await waitUntil(async () => ended !== 0 && (await free()), 20_000, 10), 'long before its lease ends')
    t.equal(ended, 204)
    await settled(app)
    t.strictSame(
      await app.db.query('select from upload where connection_id = $1 and status = $2', [connection.id, 'queued']),
      [],
    )
  })
})

oneEngine(
  t,
  'the past that was asked for goes on where access ended, once the person has connected again',
  async (t, engine) => {
    const { app } = await startSimulated(t, engine, { world: { people: 1, days: 60 } })
    const [first, second] = [await createUser(app), await createUser(app)]
    const connect = (user: string) => connectPerson(app, { user, provider: 'whoop', person: 'ana' })
    const left = (user: string) =>
      app.db.query(
        `select t.stream, t.lo, t.hi, r.status, r.scope from sync_task t
       join connection c on c.id = t.connection_id
       left join sync_run r on r.run_key = t.run_key and r.user_id = c.user_id
       where t.kind = 'history' and c.user_id = $1 order by 1`,
        [user],
      )
    await connect(first)
    await connect(second)
    await app.db.query(`update sync_task set hi = hi - interval '40 days' where kind = 'history'`)
    const before = await left(first)
    t.equal(before.length, 4)
    const { id } = await app.db.one<{ id: string }>('select id from provider_grant')
    await app.db.transaction((tx) => endGrant(tx, app.deps.config, id, { status: 'revoked', reason: 'refresh_failed' }))
    const runs = await app.db.query('select distinct status from sync_run')
    t.strictSame(runs, [{ status: 'cancelled' }])
    await connect(first)
    t.strictSame(await left(first), before)
    const again = await app.request('POST', `/api/v1/providers/whoop/users/${first}/sync/historical?days=7`)
    t.match(again.body.message, 'queued')
    await startPulling(t, app)
    const over = async () => (await left(first)).length === 0
    t.ok(await waitUntil(over, 30_000, 20))
    t.equal((await left(second)).length, 4, 'that of another one waits for them')
    await connect(second)
    await settled(app)
    const ended = await app.db.query(
      `select status, run_key = $1 as told from sync_run where scope = 'historical' order by started_at`,
      [again.body.task_id],
    )
    t.strictSame(
      ended.map((one) => Object.values(one as object).join(' ')),
      ['cancelled false', 'cancelled false', 'success true', 'success false'],
    )
  },
)

oneEngine(t, 'streams that are refused at the same time share one new token', async (t, engine) => {
  const { app } = await startSimulated(t, engine, ONE)
  await connectPerson(app, { user: await createUser(app), provider: 'whoop', person: 'ana' })
  let old: string | undefined
  let [now, most] = [0, 0]
  const refused: string[] = []
  await startPulling(t, app, async (path, answer, token) => {
    now += 1
    most = Math.max(most, now)
    // Until others have been asked for, too.
    await waitUntil(async () => most > 1, 5_000, 1)
    now -= 1
    old ??= token
    if (token !== old) return answer
    refused.push(path)
    return { ...answer, status: 401 }
  })
  await settled(app)
  t.strictSame([...new Set(Object.values(await outcomesOf(app)))], ['success'])
  t.ok(refused.length > 1, `${refused}`)
  const { version } = await app.db.one<{ version: number }>('select version from provider_grant')
  t.equal(version, 2)
})
