// Providers that want accounts registered, and whose tokens are never renewed: Polar.
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import { cloud } from '../../server/providers/polar/index.ts'
import type { TestApp } from '../support/app.ts'
import {
  authorize,
  callBack,
  connectAccount,
  connectionEvents,
  startCloudApp,
  startGrantJobs,
} from '../support/clouds.ts'
import { type OAuthProvider, startProvider } from '../support/oauth-provider.ts'
import { createUser, oneEngine } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'

const { enrol } = cloud.oauth({ more: {} })

/** A provider that registers as Polar does: `answers`, in turn, and then 409; `members` were registered. */
async function start(t: Test, engine: Engine, answers: number[] = [200]) {
  const provider = await startProvider(t, 'polar', { refresh: null, enrol: enrol! })
  const members: string[] = []
  provider.fault = async ({ method, path }, response) => {
    if (method !== 'POST' || path !== '/v3/users') return false
    const status = answers.shift() ?? 409
    if (status === 200) members.push(path)
    response.writeHead(status, { 'content-type': 'application/json' }).end(status === 200 ? '{}' : '')
    return true
  }
  const app = await startCloudApp(t, engine, [provider], { identifyMs: 3_000 })
  return { app, provider, members, users: [await createUser(app), await createUser(app)] as const }
}

const registered = ({ asked }: OAuthProvider) => asked.filter(({ path }) => path === '/v3/users').length
const left = ({ asked }: OAuthProvider) => asked.filter(({ method }) => method === 'DELETE').length
const statusOf = (app: TestApp, user: string) =>
  app.db.one('select status, status_reason from connection where user_id = $1', [user])

oneEngine(
  t,
  'an account is registered before its connection is stored, and once for all who share it',
  async (t, engine) => {
    const { app, provider, members, users } = await start(t, engine, [500, 200])
    const grant = await connectAccount(app, provider, users[0])
    t.equal(members.length, 1, 'after another attempt')
    t.equal(await connectAccount(app, provider, users[1]), grant)
    t.strictSame([registered(provider), members.length], [3, 1], '409: it is registered')
    await startGrantJobs(t, app)
    const disconnect = (user: string) => app.request('DELETE', `/api/v1/users/${user}/connections/polar`)
    t.equal((await disconnect(users[0])).status, 204)
    t.match(await statusOf(app, users[1]), { status: 'active' })
    t.equal(left(provider), 0, 'the registration is of both')
    t.equal((await disconnect(users[1])).status, 204)
    t.ok(await waitUntil(async () => left(provider) === 1, 20_000, 20), 'and ends with the last one')
  },
)

oneEngine(t, 'somebody who has not accepted the consents is told so, and nothing is stored', async (t, engine) => {
  const { app, provider, users } = await start(t, engine, [403])
  const { body } = await authorize(app, provider, users[0])
  const answer = await callBack(app, provider.consent(body.authorization_url))
  t.equal(answer.status, 303)
  const location = new URL(answer.headers.get('location') ?? '', 'http://x')
  t.equal(location.pathname, '/api/v1/oauth/error')
  t.match(location.searchParams.get('message'), /mandatory consents first, at https:\/\/account\.polar\.com/)
  const rows = await app.db.query('select from connection union all select from provider_grant')
  t.equal(rows.length, 0)
})

oneEngine(t, 'a registration that does not succeed leaves nothing behind', async (t, engine) => {
  const { app, provider, users } = await start(t, engine, [204, 500, 500, 204, 500, 500])
  const { body } = await authorize(app, provider, users[0])
  const answer = await callBack(app, provider.consent(body.authorization_url))
  t.match(answer.headers.get('location'), /oauth\/error/)
  t.equal((await app.db.query('select from connection')).length, 0)
})

oneEngine(t, 'a token that is never renewed ends with the second refusal, a minute later', async (t, engine) => {
  const { app, provider, users } = await start(t, engine)
  for (const user of users) await connectAccount(app, provider, user)
  const grant = await connectAccount(app, provider, users[0])
  const tokens = openAccessTokens(app.deps.oauth)
  const { version, token } = await tokens.access(grant)
  const refused = () =>
    tokens.renew(grant, version).then(
      () => 'a token',
      (error: Error) => error.message,
    )
  const again = /has refused the access of this connection/
  t.match(await refused(), again)
  t.match(await refused(), again, 'at once is no confirmation')
  t.equal((await tokens.access(grant)).token, token, 'it is tried until then')
  const ago = (interval: string) =>
    app.db.query(`update provider_grant set refused_at = now() - $2::interval where id = $1`, [grant, interval])
  await ago('20 minutes')
  t.match(await refused(), again, 'neither is one of long ago')
  t.match(await statusOf(app, users[0]), { status: 'active' })
  await ago('61 seconds')
  t.match(await refused(), /authorization expired/)
  for (const user of users)
    t.strictSame(await statusOf(app, user), { status: 'revoked', status_reason: 'deregistration' })
  const revoked = (await connectionEvents(app)).filter(({ type }) => type === 'connection.revoked')
  t.strictSame(
    revoked.map(({ data }) => data.reason),
    ['deregistration', 'deregistration'],
  )
  t.equal(await connectAccount(app, provider, users[0]), grant, 'a new consent continues the grant')
})
