import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { listen, type Received } from '../support/receiver.ts'
import { ask, basicOf, clientOf, type Json, type Playing, play, register, START, tokens } from '../support/simulator.ts'

const DAY_S = 86_400

/** Requests about subscriptions, as the application makes them. */
function requestsOf(simulator: Playing, provider: string) {
  const { id, secret } = clientOf(simulator, provider)
  const api = simulator.env[`${provider.toUpperCase()}_API_URL`]
  return {
    oura: (method: string, path: string, body?: object) =>
      ask(`${api}/v2/webhook/subscription${path}`, {
        ...{ method, headers: { 'x-client-id': id, 'x-client-secret': secret } },
        ...(body && { body: JSON.stringify(body) }),
      }),
    polar: (method: string, path: string, body?: object) =>
      ask(`${api}/v3/webhooks${path}`, {
        ...{ method, headers: basicOf(simulator, provider) },
        ...(body && { body: JSON.stringify(body) }),
      }),
    strava: (method: string, path: string, body: Record<string, string> = {}) => {
      const form = new URLSearchParams({ client_id: id, client_secret: secret, ...body })
      return method === 'POST'
        ? ask(`${api}/push_subscriptions`, { method, body: form })
        : ask(`${api}/push_subscriptions${path}?${form}`, { method })
    },
  }
}

const OURA_TYPES = ['workout', 'sleep', 'daily_sleep', 'daily_readiness', 'daily_activity', 'vo2_max']
const OURA_EVENTS = ['create', 'update', 'delete']
const POLAR_EVENTS = [
  ...['EXERCISE', 'SLEEP', 'CONTINUOUS_HEART_RATE', 'SLEEP_WISE_CIRCADIAN_BEDTIME', 'SLEEP_WISE_ALERTNESS'],
  ...['ACTIVITY_SUMMARY', 'PHYSICAL_INFORMATION'],
]

/** A simulator, somebody who is connected, and an application that has subscribed to everything. */
async function subscribed(t: Test, provider: string, { person = 'ana', own = {} } = {}) {
  const simulator = await play(t)
  await simulator.control('POST', 'settings', { provider, limits: [1e6, 1e6, 1e6, 1e6], own })
  const { access_token: token } = await tokens(simulator, provider, { auto: person })
  const receiver = await listen(t)
  const { url } = receiver
  const api = requestsOf(simulator, provider)
  let key = clientOf(simulator, provider).secret
  if (provider === 'whoop') await simulator.control('POST', 'subscriptions', { provider, url })
  if (provider === 'strava') {
    await api.strava('POST', '', { callback_url: url, verify_token: 'v' })
    key = simulator.env.STRAVA_WEBHOOK_SIGNING_SECRET ?? ''
  }
  if (provider === 'oura') {
    const fields = { callback_url: url, verification_token: 'v' }
    for (const data_type of OURA_TYPES)
      for (const event_type of OURA_EVENTS) await api.oura('POST', '', { ...fields, data_type, event_type })
  }
  if (provider === 'polar') {
    await register(simulator, token, person)
    key = (await api.polar('POST', '', { url, events: POLAR_EVENTS })).body.data.signature_secret_key
  }
  /** Lets days pass, and waits until what is due was sent. */
  const pass = async (seconds: number) => {
    await simulator.control('POST', 'clock', { advance_seconds: seconds })
    await simulator.control('POST', 'notices')
  }
  const truth = async () => (await simulator.control('GET', `truth?person=${person}&from=2026-03-01`)).body
  return { simulator, token, receiver, api, key, pass, truth }
}

const hmac = (key: string, text: string) => createHmac('sha256', key).update(text)
const header = ({ headers }: Received, name: string) => String(headers[name] ?? '')

/** What the fact pages say of signatures. */
const GENUINE: Record<string, (notice: Received, key: string, nowMs: number) => boolean> = {
  oura: (notice, key, nowMs) => {
    const timestamp = header(notice, 'x-oura-timestamp')
    const expected = hmac(key, timestamp + notice.text)
      .digest('hex')
      .toUpperCase()
    return Number(timestamp) === nowMs && header(notice, 'x-oura-signature') === expected
  },
  whoop: (notice, key, nowMs) => {
    const timestamp = header(notice, 'x-whoop-signature-timestamp')
    const expected = hmac(key, timestamp + notice.text).digest('base64')
    return Number(timestamp) === nowMs && header(notice, 'x-whoop-signature') === expected
  },
  strava: (notice, key, nowMs) => {
    const [, seconds = '', signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header(notice, 'x-strava-signature')) ?? []
    return (
      Number(seconds) === Math.floor(nowMs / 1000) && signature === hmac(key, `${seconds}.${notice.text}`).digest('hex')
    )
  },
  polar: (notice, key) =>
    header(notice, 'polar-webhook-signature') === hmac(key, notice.text).digest('hex') &&
    header(notice, 'polar-webhook-event') === notice.body.event,
}

/** Every field has to be there, and no other. */
const FIELDS: Record<string, string> = {
  oura: 'data_type event_time event_type object_id user_id',
  whoop: 'id trace_id type user_id',
  strava: 'aspect_type event_time object_id object_type owner_id subscription_id updates',
  polar: 'event timestamp url user_id',
}

t.test('a week brings signed notices of the account, to the registered address with its query', async (t) => {
  for (const provider of ['oura', 'whoop', 'strava', 'polar']) {
    const { simulator, receiver, key, pass } = await subscribed(t, provider)
    await pass(7 * DAY_S)
    const { body: people } = await simulator.control('GET', 'people')
    const account = people.find((one: Json) => one.key === 'ana').accounts[provider]
    const wrong = receiver.notices.flatMap((notice) => {
      const { body, query } = notice
      const found = []
      if (!GENUINE[provider]?.(notice, key, START)) found.push(`${notice.text}: not signed`)
      if (String(body.user_id ?? body.owner_id) !== account) found.push(`${notice.text}: of somebody else`)
      const names = Object.keys(body).filter((name) => !['date', 'entity_id', 'from', 'to'].includes(name))
      if (names.sort().join(' ') !== FIELDS[provider]) found.push(`${notice.text}: fields`)
      if (query.get('k') !== 'secret' || header(notice, 'content-type') !== 'application/json') found.push('address')
      return found
    })
    t.strictSame(wrong, [], provider)
    t.ok(receiver.notices.length >= 2, `${provider}: ${receiver.notices.length} notices`)
    const { body: list } = await simulator.control('GET', `notices?provider=${provider}`)
    t.equal(list.length, receiver.notices.length)
    t.ok(list.every(({ state, attempts }: Json) => state === 'taken' && attempts[0].status === 200))
  }
})

t.test('who follows the notices of forty days of WHOOP has the truth', async (t) => {
  const { simulator, receiver, token, pass, truth } = await subscribed(t, 'whoop', { person: 'bikash' })
  const known = new Map<string, string>()
  for (let day = 0; day < 80; day++) await pass(DAY_S / 2)
  const apply = async ({ type, id }: Json) => {
    const [kind = '', how] = type.split('.')
    if (how === 'deleted') return known.delete(`${kind} ${id}`)
    const path = kind === 'recovery' ? '/v2/recovery' : `/v2/activity/${kind}/${id}`
    if (kind === 'recovery') return known.set(`${kind} ${id}`, '')
    const { status, body } = await simulator.get('whoop', path, token)
    return status === 200 ? known.set(`${kind} ${id}`, body.score_state) : known.delete(`${kind} ${id}`)
  }
  for (const { body } of receiver.notices) await apply(body)
  const { sleeps, workouts } = await truth()
  const fresh = (one: Json) => Date.parse(one.updated_at) > START
  const expected = [
    ...sleeps.filter(fresh).map((one: Json) => `sleep ${one.ids.whoop}`),
    ...sleeps
      .filter((one: Json) => fresh(one) && !one.nap && !one.unscorable)
      .map((one: Json) => `recovery ${one.ids.whoop}`),
    ...workouts.filter(fresh).map((one: Json) => `workout ${one.ids.whoop}`),
  ]
  t.strictSame([...known.keys()].sort(), expected.sort())
  t.ok(expected.length > 80, `${expected.length} records`)
  t.ok(receiver.notices.some(({ body }) => body.type === 'recovery.deleted'))
  const traces = new Set(receiver.notices.map(({ body }) => body.trace_id))
  t.equal(traces.size, receiver.notices.length, 'each has a trace of its own')
})

t.test('what notices of the others name can be fetched', async (t) => {
  const strava = await subscribed(t, 'strava', { person: 'edda' })
  for (let day = 0; day < 20; day++) await strava.pass(DAY_S)
  const present = new Set<string>()
  for (const { body } of strava.receiver.notices)
    if (body.aspect_type === 'delete') present.delete(String(body.object_id))
    else present.add(String(body.object_id))
  const { workouts } = await strava.truth()
  const made = workouts.filter(({ start }: Json) => Date.parse(start) > START).map(({ ids }: Json) => ids.strava)
  t.strictSame(
    made.filter((id: string) => !present.has(id)),
    [],
  )
  const updates = strava.receiver.notices.flatMap(({ body }) => Object.keys(body.updates))
  t.ok(updates.includes('title') && updates.includes('type') && updates.includes('private'), String(updates))
  const polar = await subscribed(t, 'polar')
  await polar.pass(7 * DAY_S)
  const missing: string[] = []
  for (const { body } of polar.receiver.notices) {
    const { pathname, search } = new URL(body.url)
    const { status } = await polar.simulator.get('polar', pathname + search, polar.token)
    if (status !== 200) missing.push(`${body.url}: ${status}`)
  }
  t.strictSame(missing, [])
  t.strictSame(new Set(polar.receiver.notices.map(({ body }) => body.event)), new Set(POLAR_EVENTS))
  const oura = await subscribed(t, 'oura')
  await oura.pass(7 * DAY_S)
  const gone: string[] = []
  const deleted = new Set(
    oura.receiver.notices.filter(({ body }) => body.event_type === 'delete').map(({ body }) => body.object_id),
  )
  for (const { body } of oura.receiver.notices) {
    const path = `/v2/usercollection/${body.data_type.replace('vo2', 'vO2')}/${body.object_id}`
    const { status } = await oura.simulator.get('oura', path, oura.token)
    if ((status === 404) !== deleted.has(body.object_id)) gone.push(`${path}: ${status}`)
  }
  t.strictSame(gone, [])
  t.ok(oura.receiver.notices.length > 60)
})

t.test('what is not taken is sent again, by the schedule of the provider, which can be scaled', async (t) => {
  const pauses = { oura: 10, whoop: 5, strava: 2, polar: 3 }
  for (const [provider, times] of Object.entries(pauses)) {
    const { simulator, receiver, key, pass } = await subscribed(t, provider)
    receiver.status = 500
    await pass(3 * DAY_S)
    const first = receiver.notices.length
    t.ok(first > 0, provider)
    await pass(7200)
    const counts = new Map<string, number>()
    for (const { text } of receiver.notices) counts.set(text, (counts.get(text) ?? 0) + 1)
    t.ok(receiver.notices.length > first, `${provider}: sent again within two hours`)
    for (let hour = 0; hour < times; hour++) await pass(3600)
    const { body: list } = await simulator.control('GET', `notices?provider=${provider}`)
    const old = list.filter(({ happened }: Json) => Date.parse(happened) <= START + 3 * DAY_S * 1000)
    const wrong = old.filter(({ state, attempts }: Json) => state !== 'given up' || attempts.length !== times + 1)
    t.strictSame(
      wrong.map(({ topic, state, attempts }: Json) => [topic, state, attempts.length]),
      [],
      provider,
    )
    t.ok(
      receiver.notices.every((notice) => GENUINE[provider]?.(notice, key, START)),
      'each time signed anew',
    )
  }
  const { simulator, receiver, pass } = await subscribed(t, 'whoop', { own: { retries_keep_time: true } })
  await simulator.control('POST', 'settings', { provider: 'whoop', retry_percent: 0 })
  receiver.status = 503
  await simulator.control('POST', 'clock', { advance_seconds: 8 * 3600 })
  simulator.wait(10)
  await pass(16 * 3600)
  const times = new Set(receiver.notices.map((notice) => header(notice, 'x-whoop-signature-timestamp')))
  t.ok(times.size <= 2, 'the time of the first attempt is kept')
  const byTrace = receiver.notices.filter(({ text }) => text === receiver.notices[0]?.text)
  t.equal(byTrace.length, 6, 'at once when the pauses are scaled to nothing')
})

t.test('an answer that is late is none', async (t) => {
  const { simulator, receiver, pass } = await subscribed(t, 'strava')
  receiver.status = -1
  // One is enough to wait for.
  await simulator.control('POST', 'faults', { kind: 'silent', skip: 1 })
  await pass(6 * DAY_S)
  const { body: list } = await simulator.control('GET', 'notices')
  t.ok(list.length > 0 && list.every(({ attempts }: Json) => attempts[0].status === null && attempts[0].ms >= 1900))
  receiver.status = 200
  await pass(120)
  const { body: after } = await simulator.control('GET', 'notices')
  t.strictSame([after[0].state, after[0].attempts.length], ['taken', 2])
})

t.test('faults: none is sent, each twice, in another order, before the data', async (t) => {
  const said = async (fault: object | null) => {
    const { simulator, receiver, pass } = await subscribed(t, 'oura')
    if (fault) await simulator.control('POST', 'faults', { provider: 'oura', path: '/notices/', ...fault })
    await pass(3 * DAY_S)
    return receiver.notices.map(({ text }) => text)
  }
  const plain = await said(null)
  t.ok(plain.length > 30)
  t.strictSame(await said({ kind: 'silent' }), [])
  t.strictSame(await said({ kind: 'silent', times: 5 }), plain.slice(5))
  t.strictSame(
    await said({ kind: 'silent', path: '/notices/daily' }),
    plain.filter((text) => !text.includes('"daily')),
  )
  t.strictSame(await said({ kind: 'silent', person: 'bikash' }), plain)
  t.strictSame(
    await said({ kind: 'duplicate' }),
    plain.flatMap((text) => [text, text]),
  )
  const shuffled = await said({ kind: 'shuffle' })
  t.ok(String(shuffled) !== String(plain))
  t.strictSame([...shuffled].sort(), [...plain].sort())
  t.strictSame(await said({ kind: '500' }), plain, 'faults of requests are not theirs')

  const { simulator, receiver, token, pass } = await subscribed(t, 'whoop')
  await pass(DAY_S)
  const { id } = receiver.notices.map(({ body }) => body).find(({ type }) => type === 'sleep.updated') ?? {}
  const statuses = []
  await simulator.control('POST', 'faults', { kind: 'early', provider: 'whoop', seconds: DAY_S, times: 1 })
  for (let i = 0; i < 3; i++) statuses.push((await simulator.get('whoop', `/v2/activity/sleep/${id}`, token)).status)
  t.strictSame(statuses, [404, 200, 200], 'data comes later than its notice')
})

t.test('only of who has given consent, and of what may be read', async (t) => {
  const { simulator, receiver, pass } = await subscribed(t, 'whoop')
  await tokens(simulator, 'whoop', { auto: 'bikash', scope: 'offline read:workout' })
  await pass(10 * DAY_S)
  const { body: people } = await simulator.control('GET', 'people')
  const kinds = (key: string) => {
    const account = Number(people.find((one: Json) => one.key === key).accounts.whoop)
    const own = receiver.notices.filter(({ body }) => body.user_id === account)
    return [...new Set(own.map(({ body }) => body.type.split('.')[0]))].sort()
  }
  t.strictSame([kinds('ana'), kinds('bikash'), kinds('clara')], [['recovery', 'sleep', 'workout'], ['workout'], []])
  const before = receiver.notices.length
  await simulator.control('POST', 'revoke', { provider: 'whoop' })
  await pass(3 * DAY_S)
  t.equal(receiver.notices.length, before)
})

t.test('Strava says when an athlete leaves, and sends without a signature if it is told to', async (t) => {
  const { simulator, receiver, pass } = await subscribed(t, 'strava', { own: { signature: false } })
  await simulator.control('POST', 'revoke', { provider: 'strava', person: 'ana' })
  await pass(0)
  const [notice] = receiver.notices
  t.match(notice?.body, { object_type: 'athlete', aspect_type: 'update', updates: { authorized: 'false' } })
  t.equal(notice?.body.object_id, notice?.body.owner_id)
  t.notOk(notice?.headers['x-strava-signature'])
  await pass(5 * DAY_S)
  t.equal(receiver.notices.length, 1, 'and nothing after that')
})

t.test("Oura's subscriptions: challenged while the request is open, one of each kind, for ninety days", async (t) => {
  const simulator = await play(t)
  const receiver = await listen(t)
  const { oura } = requestsOf(simulator, 'oura')
  const fields = { callback_url: receiver.url, verification_token: 'v', event_type: 'create', data_type: 'sleep' }
  const { status, body } = await oura('POST', '', fields)
  t.equal(status, 201)
  t.match(body, { id: /^[0-9a-f-]{36}$/, callback_url: receiver.url, event_type: 'create', data_type: 'sleep' })
  t.equal(body.expiration_time, '2026-06-05T13:00:00.000000000')
  t.match(Object.fromEntries(receiver.others[0]?.query ?? []), { k: 'secret', verification_token: 'v' })
  t.equal((await oura('POST', '', fields)).status, 409)
  t.equal((await oura('POST', '', { ...fields, data_type: 'heartrate' })).status, 422)
  t.equal((await oura('POST', '', { ...fields, event_type: 'made' })).status, 422)
  receiver.word = () => 'another'
  t.equal((await oura('POST', '', { ...fields, event_type: 'update' })).status, 400)
  t.equal((await oura('PUT', `/${body.id}`, { ...fields, callback_url: `${receiver.url}2` })).status, 400)
  receiver.word = (query) => query.get('challenge')
  t.equal((await oura('PUT', `/${body.id}`, { callback_url: `${receiver.url}2` })).status, 422, 'the token is wanted')
  const moved = await oura('PUT', `/${body.id}`, { callback_url: `${receiver.url}2`, verification_token: 'v' })
  t.match(moved, { status: 200, body: { callback_url: `${receiver.url}2`, data_type: 'sleep' } })
  simulator.wait(DAY_S)
  t.equal((await oura('PUT', `/renew/${body.id}`)).body.expiration_time, '2026-06-06T13:00:00.000000000')
  t.strictSame([(await oura('GET', '/')).body.length, (await oura('GET', `/${body.id}`)).body.id], [1, body.id])
  const foreign = ['GET', 'PUT', 'DELETE'].map(async (method) => (await oura(method, '/x')).status)
  t.strictSame(await Promise.all(foreign), [404, 403, 403])
  t.equal((await oura('PUT', '/renew/x')).status, 403)
  simulator.wait(90 * DAY_S)
  t.strictSame((await oura('GET', '')).body, [], 'it has expired')
  const { body: next } = await oura('POST', '', fields)
  t.strictSame([(await oura('DELETE', `/${next.id}`)).status, (await oura('DELETE', `/${next.id}`)).status], [204, 403])
  const url = `${simulator.env.OURA_API_URL}/v2/webhook/subscription`
  t.equal((await ask(url, { headers: { 'x-client-id': 'x', 'x-client-secret': 'y' } })).status, 401)
})

t.test('410 ends a subscription of Oura for everybody', async (t) => {
  const { simulator, receiver, api, pass } = await subscribed(t, 'oura')
  const { body: before } = await api.oura('GET', '')
  receiver.status = 410
  await pass(DAY_S)
  const { body: after } = await api.oura('GET', '')
  t.ok(after.length < before.length, `${after.length} of ${before.length} are left`)
  const { body: list } = await simulator.control('GET', 'notices')
  t.ok(list.every(({ attempts }: Json) => attempts.length <= 1))
})

t.test("Strava's subscription: one, challenged while the request is open", async (t) => {
  const simulator = await play(t)
  const receiver = await listen(t)
  const { strava } = requestsOf(simulator, 'strava')
  const fields = { callback_url: receiver.url, verify_token: 'v' }
  receiver.status = 500
  const failed = await strava('POST', '', fields)
  t.match(failed, { status: 400, body: { errors: [{ code: 'GET to callback URL does not return 200' }] } })
  receiver.status = 200
  receiver.word = () => 'another'
  t.equal((await strava('POST', '', fields)).status, 400)
  receiver.word = (query) => query.get('hub.challenge')
  const { status, body } = await strava('POST', '', fields)
  t.match({ status, body }, { status: 201, body: { id: Number } })
  const query = Object.fromEntries(receiver.others.at(-1)?.query ?? [])
  t.match(query, { k: 'secret', 'hub.mode': 'subscribe', 'hub.verify_token': 'v', 'hub.challenge': /./ })
  t.match(await strava('POST', '', fields), { status: 400, body: { errors: [{ code: 'already exists' }] } })
  t.equal((await strava('POST', '', { ...fields, callback_url: `${receiver.url}${'x'.repeat(255)}` })).status, 400)
  t.match((await strava('GET', '')).body, [{ id: body.id, callback_url: receiver.url, created_at: /Z$/ }])
  t.equal((await strava('DELETE', `/${body.id}`, { client_secret: 'x' })).status, 401)
  t.strictSame(
    [(await strava('DELETE', `/${body.id}`)).status, (await strava('DELETE', `/${body.id}`)).status],
    [204, 404],
  )
  t.ok((await strava('POST', '', fields)).body.id > body.id, 'another one has another id')
})

t.test("Polar's webhook: one, with a PING and a key; put on hold after seven days without success", async (t) => {
  const { simulator, receiver, api, key, pass } = await subscribed(t, 'polar')
  const [first] = receiver.others
  t.match(first?.body, { event: 'PING', timestamp: /Z$/ })
  t.notOk(first?.headers['polar-webhook-signature'], 'nobody knows the key yet')
  t.ok((await simulator.control('GET', 'secrets')).body.some(({ value }: Json) => value === key))
  t.equal((await api.polar('POST', '', { url: receiver.url, events: ['SLEEP'] })).status, 409)
  const [webhook] = (await api.polar('GET', '')).body.data
  t.match(webhook, { url: receiver.url, active: true })
  t.notOk('signature_secret_key' in webhook)
  for (const body of [{ events: ['DAILY_ACTIVITY'] }, { url: 'here' }, { events: [] }])
    t.equal((await api.polar('PATCH', `/${webhook.id}`, body)).status, 400)
  receiver.status = 500
  const failed = await api.polar('PATCH', `/${webhook.id}`, { url: receiver.url })
  t.match(failed, { status: 400, body: { error: { error_type: 'WebhookPingFailedException' } } })
  await pass(2 * DAY_S)
  await pass(4 * DAY_S)
  t.equal((await api.polar('GET', '')).body.data[0].active, true)
  await pass(4 * DAY_S)
  t.equal((await api.polar('GET', '')).body.data[0].active, false)
  const before = receiver.notices.length
  await pass(DAY_S)
  t.equal(receiver.notices.length, before, 'nothing is sent')
  t.equal((await api.polar('POST', '/activate')).status, 400)
  receiver.status = 200
  t.equal((await api.polar('POST', '/activate')).status, 200)
  t.ok(GENUINE.polar?.(receiver.others.at(-1) as Received, key, 0), 'this PING is signed')
  await pass(DAY_S)
  t.ok(receiver.notices.length > before)
  t.equal((await api.polar('PATCH', `/${webhook.id}`, { events: ['SLEEP'] })).status, 200)
  receiver.notices.length = 0
  await pass(2 * DAY_S)
  t.strictSame([...new Set(receiver.notices.map(({ body }) => body.event))], ['SLEEP'])
  t.equal((await api.polar('POST', '/deactivate')).status, 200)
  t.strictSame(
    [(await api.polar('DELETE', `/${webhook.id}`)).status, (await api.polar('DELETE', `/${webhook.id}`)).status],
    [204, 404],
  )
  t.equal((await api.polar('POST', '/activate')).status, 204, 'there is none')
  receiver.status = 302
  const refused = await api.polar('POST', '', { url: receiver.url, events: ['SLEEP'] })
  t.match(refused, { status: 400, body: { error: { error_type: 'WebhookPingFailedException' } } })
})

t.test('control shows and ends subscriptions, and enters those of WHOOP', async (t) => {
  const { simulator, receiver, pass } = await subscribed(t, 'whoop')
  const { body: list } = await simulator.control('GET', 'subscriptions')
  t.match(list, [{ provider: 'whoop', url: receiver.url, topics: null, active: true, expires: null }])
  t.equal((await simulator.control('POST', 'subscriptions', { provider: 'oura', url: receiver.url })).status, 400)
  t.equal((await simulator.control('POST', 'subscriptions', { provider: 'whoop', url: 'here' })).status, 400)
  t.strictSame((await simulator.control('DELETE', 'subscriptions?provider=oura')).body, { removed: 0 })
  t.strictSame((await simulator.control('DELETE', `subscriptions/${list[0].id}`)).body, { removed: 1 })
  await pass(3 * DAY_S)
  t.strictSame(receiver.notices, [])
  await simulator.control('POST', 'subscriptions', { provider: 'whoop', url: receiver.url })
  await simulator.control('POST', 'clock', { offset_seconds: 0 })
  await pass(3 * DAY_S)
  t.ok(receiver.notices.length > 3, 'days that are lived again are told again')
  await simulator.control('DELETE', 'notices')
  t.strictSame((await simulator.control('GET', 'notices')).body, [])
})
