// Errors that a provider sends back instead of a consent: the operator learns of them, and the person where it helps.
import t from 'tap'
import { openLog } from '../../server/log.ts'
import type { TestApp } from '../support/app.ts'
import { authorize, callBack, startCloudApp } from '../support/clouds.ts'
import { startProvider } from '../support/oauth-provider.ts'
import { startSimulated } from '../support/people.ts'
import { createUser, oneEngine } from '../support/sdk.ts'

/** Lines of the log about errors of consents from here on. */
function logged(app: TestApp): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => {
    const { level, provider, error, msg, ...rest } = JSON.parse(line)
    if (/consent/.test(msg)) lines.push({ level, provider, error, more: 'error_description' in rest })
  }
  Object.assign(app.deps.oauth, { log: openLog('info', { write }) })
  return lines
}

const WARN = 40
const counted = async (app: TestApp) =>
  [...(await app.deps.metrics.registry.metrics()).matchAll(/^pulsebase_consents_refused_total\{(.*)\} (\d+)$/gm)]
    .map(([, labels, count]) => `${labels} ${count}`)
    .sort()
const messageOf = ({ headers }: { headers: Headers }) =>
  new URL(headers.get('location') ?? '', 'http://us').searchParams.get('message')

oneEngine(t, 'an error instead of a consent is logged and counted, without what else was sent', async (t, engine) => {
  const provider = await startProvider(t, 'polar')
  const app = await startCloudApp(t, engine, [provider])
  const user = await createUser(app)
  const lines = logged(app)
  const errors = ['access_denied', 'request_forbidden', 'made_up', `"<b>${'x'.repeat(300)}`]
  for (const error of errors) {
    const { state } = (await authorize(app, provider, user)).body
    const sent = new URLSearchParams({ error, state, error_description: 'Grace Hopper, grace@example.org' })
    const answer = await callBack(app, `/api/v1/oauth/polar/callback?${sent}`)
    t.equal(answer.status, 303)
    t.notMatch(answer.headers.get('location'), /proof=/, 'the page shows nothing of it')
  }
  const line = { level: WARN, provider: 'polar', more: false }
  t.strictSame(lines, [
    { ...line, error: 'access_denied' },
    { ...line, error: 'request_forbidden' },
    { ...line, error: 'made_up' },
    { ...line, error: `??b?${'x'.repeat(60)}` },
  ])
  const counts = ['provider="polar",error="access_denied" 1', 'provider="polar",error="other" 2']
  t.strictSame(await counted(app), [...counts, 'provider="polar",error="request_forbidden" 1'])

  await t.test('but not what anybody can send', async (t) => {
    for (const state of ['', `&state=${'x'.repeat(43)}`])
      await callBack(app, `/api/v1/oauth/polar/callback?error=access_denied${state}`)
    t.equal(lines.length, errors.length)
    t.equal((await counted(app)).length, 3)
  })
})

oneEngine(t, 'a person whom WHOOP admits no more reads so', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine)
  await simulator.control('POST', 'settings', { provider: 'whoop', member_limit: 1 })
  const lines = logged(app)
  const people: { key: string }[] = (await simulator.control('GET', 'people')).body
  const answers = []
  for (const { key } of people.slice(0, 2)) {
    const user = await createUser(app)
    const { body } = await app.request('GET', `/api/v1/oauth/whoop/authorize?user_id=${user}`)
    const url = new URL(body.authorization_url)
    url.searchParams.set('auto', key)
    const consent = await fetch(url, { redirect: 'manual' })
    const { pathname, search } = new URL(consent.headers.get('location') ?? '')
    answers.push(await callBack(app, pathname + search))
  }
  const [first, second] = answers
  t.match(first?.headers.get('location'), '/api/v1/oauth/success')
  const why = 'this service may not connect your account at Whoop; perhaps it has as many people as it is allowed'
  const text = `request_forbidden: ${why}. Nothing was connected. Please tell whoever runs the service.`
  t.equal(second && messageOf(second), text)
  const page = await callBack(app, second?.headers.get('location') ?? '', { accept: 'text/html' })
  t.match(page.body, text, 'the page shows it')
  t.strictSame(lines, [{ level: WARN, provider: 'whoop', error: 'request_forbidden', more: false }])
  t.equal((await app.db.query('select from connection')).length, 1)
})
