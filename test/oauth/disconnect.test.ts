// Every way that a connection to a cloud provider ends, and what the provider is asked then (contract 3.6, 3.8, 3.9).
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Transaction } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { openLog } from '../../server/log.ts'
import { endConnection, endGrant } from '../../server/oauth/disconnect.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import type { TestApp } from '../support/app.ts'
import {
  authorize,
  callBack,
  connectAccount,
  connectionEvents,
  dumpOf,
  startCloudApp,
  startGrantJobs,
} from '../support/clouds.ts'
import { type Fault, type OAuthProvider, startProvider } from '../support/oauth-provider.ts'
import { createUser, eachEngine, oneEngine } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'
import { runs } from '../support/thorough.ts'

const WAIT_MS = 20_000

interface World {
  app: TestApp
  provider: OAuthProvider
  users: [string, string]
}

async function start(t: Test, engine: Engine, jobs = true): Promise<World> {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  if (jobs) await startGrantJobs(t, app)
  return { app, provider, users: [await createUser(app), await createUser(app)] }
}

const disconnect = async (app: TestApp, user: string, auth: 'key' | { bearer: string } = 'key') =>
  (await app.request('DELETE', `/api/v1/users/${user}/connections/polar`, { auth })).status
const purge = async (app: TestApp, user: string) =>
  (await app.request('DELETE', `/api/v1/users/${user}/connections/polar/data`)).status
const deleteUser = async (app: TestApp, user: string) =>
  (await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })).status

/** The provider has refused to refresh the grant of an account. */
const endByRefusal = (app: TestApp, account: string) =>
  app.db.transaction(async (tx) => {
    const [grant] = await tx.query<{ id: string }>('select id from provider_grant where account_id = $1 for update', [
      account,
    ])
    if (grant) await endGrant(tx, app.deps.oauth.settings, grant.id, { status: 'revoked', reason: 'refresh_failed' })
  })

/** Requests to end a grant. */
const left = ({ asked }: OAuthProvider) => asked.filter(({ method }) => method === 'DELETE')
const leaveJobs = (app: TestApp) =>
  app.db.query<{ key: string | null; due_s: number; locked: boolean }>(
    `select key, date_part('epoch', run_at - now()) as due_s, locked_at is not null as locked
     from graphile_worker.jobs where task_identifier = 'leave'`,
  )
const noJobs = (app: TestApp) => waitUntil(async () => (await leaveJobs(app)).length === 0, WAIT_MS, 20)
const grants = async (app: TestApp) =>
  (await app.db.query<{ account_id: string }>('select account_id from provider_grant order by 1')).map(
    ({ account_id }) => account_id,
  )

/** Answers requests to end a grant in the provider's place. */
const leaving =
  (answer: (response: import('node:http').ServerResponse) => void | Promise<void>): Fault =>
  async ({ method }, response) => {
    if (method === 'DELETE') await answer(response)
    return method === 'DELETE'
  }

oneEngine(t, 'a provider is asked to end what nobody uses any more', async (t, engine) => {
  const { app, provider, users } = await start(t, engine)
  const [ada, ben] = users
  for (const user of users) await connectAccount(app, provider, user)
  t.equal(await disconnect(app, ada), 204)
  t.strictSame(await grants(app), ['ada'], 'the other user shares the account')
  t.equal(await disconnect(app, ada), 204, 'again')
  t.equal(await disconnect(app, ben), 204)
  t.ok(await waitUntil(async () => left(provider).length > 0 && (await leaveJobs(app)).length === 0, WAIT_MS, 20))
  t.strictSame(await grants(app), [])
  t.equal(left(provider).length, 1)
  t.notOk(provider.accepts(left(provider)[0]?.authorization.slice('Bearer '.length) ?? ''))
  const revoked = (await connectionEvents(app)).filter(({ type }) => type === 'connection.revoked')
  t.strictSame(
    revoked.map(({ data }) => [data.user_id, data.reason]),
    [
      [ada, 'user_disconnected'],
      [ben, 'user_disconnected'],
    ],
  )
  const connections = await app.db.query('select status, status_reason, grant_id from connection')
  const ended = { status: 'revoked', status_reason: 'user_disconnected', grant_id: null }
  t.strictSame(connections, [ended, ended])

  await t.test('not when a phone signs its user out', async (t) => {
    await connectAccount(app, provider, ada)
    t.equal(await disconnect(app, ada, { bearer: await app.sdkToken(ada) }), 204)
    t.strictSame(await leaveJobs(app), [])
    t.strictSame(await grants(app), [])
  })
  await t.test('when the data is deleted, and when the user is', async (t) => {
    await connectAccount(app, provider, ada)
    t.equal(await purge(app, ada), 204)
    await connectAccount(app, provider, ben, { account: 'ben' })
    t.equal(await deleteUser(app, ben), 200)
    t.ok(await waitUntil(async () => left(provider).length === 3, WAIT_MS, 20))
    t.ok(await noJobs(app))
    t.strictSame(await grants(app), [])
  })
  await t.test('when the user connects another account, which starts anew', async (t) => {
    const first = await connectAccount(app, provider, ada, { account: 'first' })
    const second = await connectAccount(app, provider, ada, { account: 'second' })
    t.not(first, second)
    t.ok(await waitUntil(async () => left(provider).length === 4, WAIT_MS, 20))
    t.strictSame(await grants(app), ['second'])
    const { token } = await openAccessTokens(app.deps.oauth).access(second)
    t.ok(provider.accepts(token))
  })
  await t.test('when a consent lacks what is needed, and nobody has a better one', async (t) => {
    const { body } = await authorize(app, provider, ada)
    await callBack(app, provider.consent(body.authorization_url, { account: 'wary', scope: 'x:sleep' }))
    t.equal(left(provider).length, 5)
    t.strictSame(await grants(app), ['second'])
  })
})

oneEngine(t, 'a connection that ended does not keep the grant of those who connect again', async (t, engine) => {
  const { app, provider, users } = await start(t, engine)
  const [ada, ben] = users
  const bothRefused = async () => {
    for (const user of users) await connectAccount(app, provider, user)
    provider.revoke('ada')
    const tokens = openAccessTokens(app.deps.oauth)
    const { id } = await app.db.one<{ id: string }>('select id from provider_grant')
    for (const _ of ['refused', 'refused again']) {
      await app.db.query('update provider_grant set access_until = now(), refresh_due_at = null')
      await tokens.access(id).catch(() => {})
    }
    const ended = await app.db.query('select status, status_reason, grant_id is not null as kept from connection')
    const refused = { status: 'revoked', status_reason: 'refresh_failed', kept: true }
    t.strictSame(ended, [refused, refused])
    return id
  }
  await t.test('an ended grant stays for those who may connect again', async (t) => {
    const id = await bothRefused()
    t.equal(await disconnect(app, ben), 204)
    t.strictSame(await grants(app), ['ada'])
    t.equal(await connectAccount(app, provider, ada), id)
    await disconnect(app, ada)
    await noJobs(app)
  })
  const ends: [string, () => Promise<unknown>][] = [
    ['the other one disconnects', () => disconnect(app, ben)],
    ['the other one moves to another account', () => connectAccount(app, provider, ben, { account: 'ben' })],
    ['the other one is deleted', () => deleteUser(app, ben)],
  ]
  for (const [name, end] of ends) {
    await t.test(name, async (t) => {
      await bothRefused()
      await connectAccount(app, provider, ben)
      const asked = left(provider).length
      await end()
      t.ok(await waitUntil(async () => left(provider).length === asked + 1, WAIT_MS, 20))
      t.ok(await noJobs(app))
      t.strictSame(
        (await grants(app)).filter((account) => account === 'ada'),
        [],
      )
      const [former] = await app.db.query('select status, status_reason from connection where user_id = $1', [ada])
      t.strictSame(former, { status: 'revoked', status_reason: 'refresh_failed' }, 'as it was')
      await disconnect(app, ben)
      await noJobs(app)
    })
  }
})

oneEngine(t, 'a provider that does not end a grant is asked again, three times in an hour', async (t, engine) => {
  const { app, provider, users } = await start(t, engine)
  const [ada] = users
  await connectAccount(app, provider, ada)
  provider.fault = leaving((response) => void response.writeHead(500).end())
  await disconnect(app, ada)
  const waits: number[] = []
  for (const attempt of [1, 2]) {
    await waitUntil(async () => left(provider).length === attempt, WAIT_MS, 20)
    await waitUntil(async () => (await leaveJobs(app)).some(({ due_s, locked }) => !locked && due_s > 0), WAIT_MS, 20)
    // Not the attempt that is just ending.
    for (const { due_s } of await leaveJobs(app)) if (due_s > 0) waits.push(Math.round(due_s / 60))
    await app.db.query('update graphile_worker._private_jobs set run_at = now() where key is not null')
  }
  t.ok(await waitUntil(async () => left(provider).length === 3, WAIT_MS, 20))
  t.ok(await noJobs(app))
  t.strictSame(waits, [5, 30])
  t.equal(new Set(left(provider).map(({ authorization }) => authorization)).size, 1)

  await t.test('a new consent in between stops that, and lives', async (t) => {
    const asked = left(provider).length
    await connectAccount(app, provider, ada)
    await disconnect(app, ada)
    await waitUntil(async () => left(provider).length === asked + 1, WAIT_MS, 20)
    await waitUntil(async () => (await leaveJobs(app)).some(({ locked }) => !locked), WAIT_MS, 20)
    const grant = await connectAccount(app, provider, ada)
    t.ok(await noJobs(app))
    t.ok(provider.accepts((await openAccessTokens(app.deps.oauth).access(grant)).token))
    t.equal(left(provider).length, asked + 1)
  })
})

oneEngine(t, 'a job that never could be done does not keep whose account it was', async (t, engine) => {
  const { app } = await start(t, engine)
  await app.db.query(
    `select graphile_worker.add_job('leave', '{"username": "ada@example.org"}', run_at => now() + interval '1 day')
     from generate_series(1, 3)`,
  )
  await app.db.query(
    `update graphile_worker._private_jobs j
     set attempts = case when n < 3 then max_attempts else 1 end, created_at = now() - make_interval(mins => (60 / n)::int4 + 5)
     from (select id, row_number() over (order by id) as n from graphile_worker._private_jobs) one where one.id = j.id`,
  )
  await app.db.query(`select graphile_worker.add_job('prune')`)
  t.ok(await waitUntil(async () => (await leaveJobs(app)).length < 3, WAIT_MS, 20))
  t.equal((await leaveJobs(app)).length, 2, 'those of the last hour, and those that are tried again, stay')
})

oneEngine(t, 'a consent while the provider ends a former one', async (t, engine) => {
  const { app, provider, users } = await start(t, engine)
  const [ada] = users
  for (const ends of ['the former one alone', 'everything of the account'] as const) {
    await t.test(ends, async (t) => {
      await connectAccount(app, provider, ada)
      let answer = () => {}
      provider.fault = leaving(async (response) => {
        await new Promise<void>((resolve) => {
          answer = resolve
        })
        if (ends === 'everything of the account') provider.revoke('ada')
        response.writeHead(204).end()
      })
      const asked = left(provider).length
      await disconnect(app, ada)
      await waitUntil(async () => left(provider).length > asked, WAIT_MS, 20)
      const { body } = await authorize(app, provider, ada)
      const callback = callBack(app, provider.consent(body.authorization_url))
      await delay(300)
      t.strictSame(await grants(app), [], 'it waits')
      answer()
      const location = (await callback).headers.get('location')
      t.match(
        location,
        ends === 'the former one alone' ? '/oauth/success' : '/oauth/error?message=Polar+has+just+ended',
      )
      provider.fault = undefined
      await noJobs(app)
      const grant = await connectAccount(app, provider, ada)
      t.ok(provider.accepts((await openAccessTokens(app.deps.oauth).access(grant)).token))
      await disconnect(app, ada)
      await noJobs(app)
    })
  }
})

oneEngine(t, 'what is stored, logged and answered shows no token', async (t, engine) => {
  const { app, provider, users } = await start(t, engine, false)
  const [ada, ben] = users
  const lines: string[] = []
  const log = openLog('trace', { write: (line) => lines.push(line) })
  const parts = { ...app.deps.oauth, log }
  const grant = await connectAccount(app, provider, ada)
  await connectAccount(app, provider, ben, { account: 'ben' })
  await disconnect(app, ben)
  const answers: string[] = []
  const troubles: Fault[] = [
    ({ form }, response) => !!response.writeHead(400).end(JSON.stringify({ error: form.refresh_token })),
    ({ form }, response) =>
      !!response.writeHead(429).end(JSON.stringify({ error: 'x', error_description: form.client_secret })),
    (_, response) => !!response.socket?.destroy(),
    (_, response) => !!response.writeHead(400).end(JSON.stringify({ error: 'invalid_grant' })),
  ]
  for (const fault of troubles) {
    provider.fault = fault
    await app.db.query(`update provider_grant set access_until = now(), refresh_due_at = null`)
    await openAccessTokens(parts)
      .access(grant)
      .catch(({ message }) => answers.push(message))
  }
  const found = await dumpOf(app.db)
  const all = [...found, ...lines, ...answers]
  const shown = [...provider.issued].filter((secret) => all.some((text) => text.includes(secret)))
  t.strictSame(shown, [])
  t.equal(answers.length, troubles.length)
  t.ok(lines.length > 3 && found.some((row) => row.includes('Name of ada')), 'there was something to look at')
  const hexes = [...provider.issued].map((secret) => Buffer.from(secret).toString('hex'))
  t.notOk(
    found.some((row) => hexes.some((hex) => row.includes(hex))),
    'nor in its bytes',
  )
})

oneEngine(t, 'a request to end a former consent, made between a new one and its connection', async (t, engine) => {
  const { app, provider, users } = await start(t, engine)
  const [ada] = users
  const found: unknown[] = []
  for (const ends of ['the former one alone', 'everything of the account']) {
    await connectAccount(app, provider, ada)
    // The provider has said whose consent it is; what is said does not arrive before the former one was ended.
    const { body } = await authorize(app, provider, ada)
    const path = provider.consent(body.authorization_url)
    let disconnected = false
    provider.fault = async (asked, response) => {
      const { method } = asked
      if (method === 'GET' && asked.path === '/me' && !disconnected) {
        disconnected = true
        const before = left(provider).length
        await disconnect(app, ada)
        await waitUntil(async () => left(provider).length > before, WAIT_MS, 20)
        await noJobs(app)
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'ada', name: 'Ada' }))
        return true
      }
      if (method !== 'DELETE') return false
      if (ends === 'everything of the account') provider.revoke('ada')
      response.writeHead(204).end()
      return true
    }
    const location = (await callBack(app, path)).headers.get('location') ?? ''
    provider.fault = undefined
    found.push([ends, location.split('&')[0], await grants(app)])
  }
  t.strictSame(found, [
    ['the former one alone', '/api/v1/oauth/success?provider=polar', ['ada']],
    [
      'everything of the account',
      '/api/v1/oauth/error?message=Polar+has+just+ended+an+earlier+connection+of+this+account.+Please+connect+again.',
      [],
    ],
  ])
})

oneEngine(t, 'the first consent of a user, stored while they disconnect, leaves no grant behind', async (t, engine) => {
  const { app, provider, users } = await start(t, engine)
  const [ada] = users
  let looked = false
  const ended = await app.db.transaction((tx) => {
    const query: Transaction['query'] = async <Row>(sql: string, values: []) => {
      const rows = await tx.query<Row>(sql, values)
      if (!looked && sql.includes("status <> 'active' order by id for update")) {
        looked = true
        await connectAccount(app, provider, ada)
      }
      return rows
    }
    const ending = { userId: ada, provider: 'polar', tellProvider: true }
    return endConnection({ ...tx, query } as Transaction, app.deps.oauth.settings, ending)
  })
  t.ok(looked && ended)
  t.strictSame(await grants(app), [])
  t.ok(await waitUntil(async () => left(provider).length === 1, WAIT_MS, 20), 'the provider is asked to end it')
  t.ok(await noJobs(app))
})

oneEngine(t, 'of two accounts that a user connects at the same moment one is left', async (t, engine) => {
  const { app, provider } = await start(t, engine)
  const left: string[] = []
  for (let round = 0; round < 8; round += 1) {
    const user = await createUser(app)
    const consents = ['one', 'two'].map(async (name) => {
      const { body } = await authorize(app, provider, user)
      return callBack(app, provider.consent(body.authorization_url, { account: `${name} ${round}` }))
    })
    const answers = await Promise.all(consents)
    left.push(...answers.flatMap(({ status }) => (status === 303 ? [] : [`status ${status}`])))
  }
  const unused = await app.db.query<{ account_id: string }>(
    `select account_id from provider_grant g where not exists (select from connection c where c.grant_id = g.id)`,
  )
  t.strictSame([...left, ...unused.map(({ account_id }) => account_id)], [])
})

eachEngine(
  t,
  'people who connect, move, disconnect and leave at the same time leave nothing behind',
  async (t, engine) => {
    const { app, provider } = await start(t, engine)
    const users = await Promise.all(Array.from({ length: 4 }, () => createUser(app)))
    const accounts = ['one', 'two']
    const rounds = runs(12, 120)
    const wrong: string[] = []
    const pick = <T>(from: readonly T[], at: number): T => from[at % from.length] as T
    const actions: ((user: string, at: number) => Promise<unknown>)[] = [
      async (user, at) => {
        const { status, body } = await authorize(app, provider, user)
        if (status !== 200) return
        const answer = await callBack(app, provider.consent(body.authorization_url, { account: pick(accounts, at) }))
        if (![303, 400, 503].includes(answer.status)) wrong.push(`consent ${answer.status}`)
      },
      async (user) => {
        const status = await disconnect(app, user)
        if (![204, 404, 503].includes(status)) wrong.push(`disconnect ${status}`)
      },
      async (user) => {
        const status = await purge(app, user)
        if (![204, 404, 503].includes(status)) wrong.push(`purge ${status}`)
      },
      (_, at) => endByRefusal(app, pick(accounts, at)),
    ]
    let seed = 7
    const next = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed
    }
    const walk = async () => {
      for (let round = 0; round < rounds; round += 1) await pick(actions, next())(pick(users, next()), next())
    }
    await Promise.all(Array.from({ length: 4 }, walk))
    t.strictSame(wrong, [])
    const { lost, unused } = await app.db.one<{ lost: number; unused: number }>(
      `select (select count(*) from connection where status = 'active' and grant_id is null) as lost,
            (select count(*) from provider_grant g
             where not exists (select from connection c
                               where c.grant_id = g.id and (c.status = 'active' or g.state = 'ended'))) as unused`,
    )
    t.strictSame({ lost, unused }, { lost: 0, unused: 0 })
    for (const user of users) await deleteUser(app, user)
    t.strictSame(await grants(app), [])
    const { deadlocks } = await app.db.one<{ deadlocks: number }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    t.equal(deadlocks, 0)
  },
)
