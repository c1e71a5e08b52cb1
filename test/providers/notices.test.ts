// Notices of every provider that sends any: who is believed, what is answered, what follows, and how they are subscribed to.
import { createHmac } from 'node:crypto'
import t from 'tap'
import { cloudProviders, notifyingProviders } from '../../server/providers/index.ts'
import type { InboundRequest, Keys, Notices, Subscribed, Wanted } from '../../server/providers/notices.ts'
import type { Answer, Request, Wish } from '../../server/providers/provider.ts'

const NOW = Date.UTC(2026, 2, 10, 12) / 1000
const AT = NOW * 1000
const SECRET = 'the client secret'
const KEYS: Keys = {
  clientId: 'id',
  client: [SECRET, 'the former one'],
  own: { WEBHOOK_VERIFICATION_TOKEN: 'verify me', WEBHOOK_VERIFY_TOKEN: 'verify me', WEBHOOK_KEY: 'unguessable' },
  given: 'abe1f3ae-fd33-11e8-8eb2-f2801f1b9fd1',
  confirmed: [],
  more: {},
}
const of = (id: string): Notices => notifyingProviders.get(id)!
const mac = (secret: string, text: string, encoding: 'hex' | 'base64') =>
  createHmac('sha256', secret).update(text).digest(encoding)

const BODY: Record<string, object> = {
  oura: {
    ...{ event_type: 'update', data_type: 'sleep', object_id: '96e7772a-64a7-4342-9c5f-000000000001' },
    ...{ event_time: '2026-03-07T07:20:31+00:00', user_id: '8b97e1b6-user' },
  },
  polar: {
    ...{ event: 'EXERCISE', user_id: 10579, entity_id: '2AC312F', timestamp: '2026-03-10T17:20:12Z' },
    url: 'https://www.polaraccesslink.com/v3/exercises/2AC312F',
  },
  strava: {
    ...{ object_type: 'activity', object_id: 15550123456, aspect_type: 'create', updates: {}, owner_id: 48211907 },
    ...{ subscription_id: 301222, event_time: 1772867500 },
  },
  whoop: {
    ...{ user_id: 10129, id: '3f0a2d7e-6b1c-4a55-9d0e-5b8f1c2d3e4f', type: 'sleep.updated' },
    trace_id: 'e369c784-5100-49e8-8098-75d35c47b31b',
  },
}

/** How each provider signs. */
const SIGNED: Record<string, (body: string, time: string, secret?: string) => Record<string, string>> = {
  oura: (body, time, secret = SECRET) => ({
    'x-oura-timestamp': time,
    'x-oura-signature': mac(secret, time + body, 'hex').toUpperCase(),
  }),
  polar: (body, _, secret = KEYS.given!) => ({ 'polar-webhook-signature': mac(secret, body, 'hex') }),
  strava: (body, time, secret = 'signs') => ({
    'x-strava-signature': `t=${time},v1=${mac(secret, `${time}.${body}`, 'hex')}`,
  }),
  whoop: (body, time, secret = SECRET) => ({
    'x-whoop-signature-timestamp': time,
    'x-whoop-signature': mac(secret, time + body, 'base64'),
  }),
}

const inbound = (body: string, headers: Record<string, string> = {}, query = {}): InboundRequest => ({
  ...{ body: Buffer.from(body), headers, query, nowSeconds: NOW },
})

t.test('the providers that notify, and streams of what is asked for because of that', async (t) => {
  const names = ['garmin', 'google_health', 'polar', 'suunto', 'whoop', 'strava', 'oura', 'withings']
  t.strictSame([...notifyingProviders.keys()], names)
  for (const id of notifyingProviders.keys()) {
    const { streams = [], objects = {} } = cloudProviders.get(id)!
    const names = streams.map(({ name }) => name)
    t.strictSame(
      Object.entries(objects).filter(([, { stream }]) => !names.includes(stream)),
      [],
    )
  }
})

t.test(
  'what is signed as the provider signs is believed, at any of its times and secrets, and nothing else',
  async (t) => {
    const wrong: string[] = []
    for (const id of ['oura', 'whoop', 'polar']) {
      const body = JSON.stringify(BODY[id])
      const sign = SIGNED[id]!
      const now = String(NOW)
      const verdict = (text: string, headers: Record<string, string>, keys = KEYS) =>
        of(id).verify(inbound(text, headers), keys)
      const expect = (name: string, got: unknown, expected: string) =>
        got !== expected && wrong.push(`${id} ${name}: ${JSON.stringify(got)}`)
      const good = sign(body, now)
      expect('as documented', verdict(body, good), 'signed')
      const [name, signature] = Object.entries(good).at(-1) as [string, string]
      const changed: Record<string, string>[] = [
        {},
        { ...good, [name]: '' },
        { ...good, [name]: signature.slice(0, -1) },
        { ...good, [name]: signature.slice(0, -2) },
        { ...good, [name]: `${signature}00` },
        { ...good, [name]: signature.replace(/^./, (first) => (first === '0' ? '1' : '0')) },
        { ...good, [name]: 'f'.repeat(64) },
        sign(body, now, 'another secret'),
        sign(body, now, ''),
        ...Object.values(SIGNED)
          .filter((other) => other !== sign)
          .map((other) => other(body, now)),
      ]
      for (const [place, headers] of changed.entries()) expect(`changed ${place}`, verdict(body, headers), 'refused')
      expect('another body', verdict(`${body} `.replace('1', '2'), good), 'refused')
      expect('cut', verdict(body.slice(0, -1), good), 'refused')
      expect('no secret', verdict(body, good, { ...KEYS, client: [], given: null }), 'refused')
      expect('empty secret', verdict(body, sign(body, now, ''), { ...KEYS, client: [''], given: '' }), 'refused')
      if (id === 'polar') continue
      expect('former secret', verdict(body, sign(body, now, 'the former one')), 'signed')
      expect('milliseconds', verdict(body, sign(body, String(NOW * 1000 + 17))), 'signed')
      const far = id === 'oura' ? 3_600 : 300
      expect('still fresh', verdict(body, sign(body, String(NOW - far))), 'signed')
      for (const time of [String(NOW - far - 1), String(NOW + far + 1), '', 'now', '-1', '1e9', String(NOW * 1e6)])
        expect(`time ${time}`, verdict(body, sign(body, time)), 'refused')
      const [timeName] = Object.keys(good) as [string]
      expect('other time', verdict(body, { ...good, [timeName]: String(NOW - 1) }), 'refused')
      if (id === 'whoop') expect('case', verdict(body, { ...good, [name]: signature.toLowerCase() }), 'refused')
    }
    t.strictSame(wrong, [])
    const spaced = JSON.stringify(BODY.oura, null, 2)
    const headers = SIGNED.oura!(JSON.stringify(BODY.oura), String(NOW))
    t.equal(of('oura').verify(inbound(spaced, headers), KEYS), 'signed', 'signed as JSON writes it again')
    t.equal(of('oura').verify(inbound('{', headers), KEYS), 'refused')
  },
)

t.test('Strava is taken, never believed', async (t) => {
  const body = JSON.stringify(BODY.strava)
  const sign = SIGNED.strava!
  const now = String(NOW)
  const signing = { ...KEYS, more: { WEBHOOK_SIGNING_SECRET: 'signs' } }
  const confirmed = { ...KEYS, confirmed: ['WEBHOOK_KEY'] }
  const shorter = { ...KEYS, more: { WEBHOOK_SIGNATURE_TOLERANCE_SECONDS: '60' } }
  const cases: [
    name: string,
    headers: Record<string, string>,
    query: Record<string, string>,
    keys: Keys,
    verdict: string,
  ][] = [
    ['nothing', {}, {}, KEYS, 'unsigned'],
    ['a fresh time', sign(body, now, 'x'), {}, KEYS, 'unsigned'],
    ['an old time', sign(body, String(NOW - 301)), {}, KEYS, 'refused'],
    ['a time too old for the setting', sign(body, String(NOW - 61)), {}, shorter, 'refused'],
    ['no time', { 'x-strava-signature': 'v1=00' }, {}, KEYS, 'refused'],
    ['a header that is none', { 'x-strava-signature': '' }, {}, KEYS, 'refused'],
    ['signed', sign(body, now), {}, signing, 'unsigned'],
    ['signed with another', sign(body, now, 'x'), {}, signing, 'refused'],
    ['signed long ago', sign(body, String(NOW - 301)), {}, signing, 'refused'],
    ['not signed', {}, {}, signing, 'refused'],
    ['the key', {}, { k: 'unguessable' }, confirmed, 'unsigned'],
    ['no key', {}, {}, confirmed, 'refused'],
    ['another key', {}, { k: 'guessed' }, confirmed, 'refused'],
    ['an empty key', {}, { k: '' }, confirmed, 'refused'],
    ['another key, before it is demanded', {}, { k: 'guessed' }, KEYS, 'refused'],
    ['no key of ours', {}, {}, { ...confirmed, own: {} }, 'refused'],
    [
      'key, and a wrong signature',
      sign(body, now, 'x'),
      { k: 'unguessable' },
      { ...signing, confirmed: ['WEBHOOK_KEY'] },
      'refused',
    ],
  ]
  const got = cases.map(([name, headers, query, keys]) => [
    name,
    of('strava').verify(inbound(body, headers, query), keys),
  ])
  t.strictSame(
    got,
    cases.map(([name, , , , verdict]) => [name, verdict]),
  )
})

t.test('a ping of Polar needs no proof, and nothing that carries more is one', async (t) => {
  const verify = (body: unknown) =>
    of('polar').verify(inbound(typeof body === 'string' ? body : JSON.stringify(body)), KEYS)
  const ping = { timestamp: '2026-03-10T07:00:00Z', event: 'PING' }
  const answered = { status: 200, json: { status: 'ok' } }
  t.strictSame(verify(ping), answered)
  const unproven = [
    { ...ping, user_id: 10579 },
    { ...ping, user_id: null },
    { event: 'ping' },
    [ping],
    'PING',
    '',
    { ...ping, more: 'x'.repeat(1000) },
  ]
  t.strictSame(
    unproven.map(verify),
    unproven.map(() => 'refused'),
  )
})

t.test('challenges are answered to whoever knows our token', async (t) => {
  const { challenge: oura } = of('oura')
  const wrong = { status: 401, json: { detail: 'Invalid verification token' } }
  t.strictSame(oura!({ verification_token: 'verify me', challenge: 'abc' }, KEYS), {
    status: 200,
    json: { challenge: 'abc' },
  })
  for (const query of [
    { verification_token: 'verify', challenge: 'abc' },
    { challenge: 'abc' },
    { verification_token: 'verify me' },
  ])
    t.strictSame(oura!(query, KEYS), wrong)
  t.strictSame(
    oura!({ verification_token: '', challenge: 'abc' }, { ...KEYS, own: { WEBHOOK_VERIFICATION_TOKEN: '' } }),
    wrong,
  )
  const { challenge: strava } = of('strava')
  const asked = { 'hub.mode': 'subscribe', 'hub.challenge': 'abc', 'hub.verify_token': 'verify me' }
  const echoed = { status: 200, json: { 'hub.challenge': 'abc' } }
  t.strictSame(strava!(asked, KEYS), echoed)
  t.strictSame(strava!({ ...asked, k: 'unguessable' }, KEYS), { ...echoed, confirms: 'WEBHOOK_KEY' })
  t.strictSame(strava!({ ...asked, k: 'guessed' }, KEYS), echoed)
  t.strictSame(strava!({ ...asked, 'hub.mode': 'unsubscribe' }, KEYS), {
    status: 400,
    json: { detail: 'Invalid hub.mode' },
  })
  t.strictSame(strava!({ ...asked, 'hub.verify_token': 'x' }, KEYS), {
    status: 403,
    json: { detail: 'Invalid verify token' },
  })
  t.strictSame(strava!({ 'hub.mode': 'subscribe' }, { ...KEYS, own: {} }), {
    status: 403,
    json: { detail: 'Invalid verify token' },
  })
  t.strictSame([of('polar').challenge, of('whoop').challenge], [undefined, undefined])
})

const open = (id: string, json: unknown, subscriptionIds: readonly string[] = []) =>
  of(id).open({ body: Buffer.from(''), json, atMs: AT, subscriptionIds, wantsSamples: false })

/** What a wish asks for, as one line. */
function asked(id: string, wish: Wish): string {
  if (wish.kind === 'span') {
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 16)
    return `${wish.stream} ${day(wish.window.fromMs)} ${day(wish.window.untilMs)} ${wish.everySeconds ?? ''}`.trim()
  }
  const state = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
  return `${wish.key} ${cloudProviders.get(id)!.objects![wish.object]!.request(wish.args, state)?.path}`
}

const lines = (id: string, json: unknown, subscriptionIds?: readonly string[]) => {
  const opened = open(id, json, subscriptionIds)
  if (opened === 'malformed') return opened
  return opened.map((one) => {
    const what = 'wish' in one ? asked(id, one.wish) : ''
    return [one.account, one.kind, ...(one.kind === 'delete' ? [one.stream, one.externalId] : []), what]
      .join(' ')
      .trim()
  })
}

t.test('what notices of Strava lead to', async (t) => {
  const one = (more: object) => lines('strava', { ...BODY.strava, ...more }, ['301222'])
  const fetch = '48211907 fetch activity:15550123456 /activities/15550123456'
  t.strictSame(one({}), [fetch])
  t.strictSame(one({ aspect_type: 'update', updates: { title: 'Hills', private: 'false' } }), [fetch])
  t.strictSame(one({ aspect_type: 'delete' }), [
    '48211907 delete activities 15550123456 activity:15550123456 /activities/15550123456',
  ])
  const athlete = { object_type: 'athlete', object_id: 48211907, aspect_type: 'update' }
  t.strictSame(one({ ...athlete, updates: { authorized: 'false' } }), ['48211907 deauthorise'])
  t.strictSame(one({ ...athlete, updates: { authorized: false } }), ['48211907 deauthorise'])
  t.strictSame(one({ ...athlete, aspect_type: 'delete', updates: null }), ['48211907 deauthorise'])
  t.strictSame(one({ ...athlete, updates: { authorized: 'true' } }), [])
  t.strictSame(one({ ...athlete, updates: {} }), [])
  t.strictSame(one({ object_type: 'route' }), [])
  t.strictSame(one({ aspect_type: 'kudos' }), [])
  t.strictSame(one({ object_id: '9223372036854775807' }), [
    '48211907 fetch activity:9223372036854775807 /activities/9223372036854775807',
  ])
  t.strictSame(lines('strava', BODY.strava, ['301222', '7']), [fetch])
  t.strictSame(lines('strava', BODY.strava, ['7']), [], 'of an application that is not ours')
  t.strictSame(lines('strava', BODY.strava, []), [], 'without a subscription Strava sends nothing')
  t.strictSame(lines('strava', { ...BODY.strava, subscription_id: null }, ['7']), [])
  for (const more of [
    { owner_id: null },
    { owner_id: '../x' },
    { object_id: 1.5 },
    { object_type: 7 },
    { aspect_type: null },
  ])
    t.equal(one(more), 'malformed')
})

t.test('what notices of Polar lead to', async (t) => {
  const one = (more: object) => lines('polar', { user_id: 10579, timestamp: '2026-03-10T17:20:12Z', ...more })
  t.strictSame(one(BODY.polar!), ['10579 fetch exercise:2AC312F /v3/exercises/2AC312F'])
  t.strictSame(one({ event: 'SLEEP', date: '2026-03-10', url: 'https://evil.example/' }), [
    '10579 fetch night:2026-03-10 /v3/users/sleep/2026-03-10',
  ])
  const day = '2026-03-10T00:00 2026-03-11T00:00'
  t.strictSame(one({ event: 'CONTINUOUS_HEART_RATE', date: '2026-03-10' }), [
    `10579 fetch continuous_heart_rate ${day}`,
  ])
  t.strictSame(one({ event: 'ACTIVITY_SUMMARY', date: '2026-03-10' }), [
    `10579 fetch activities ${day}`,
    `10579 fetch cardio_load ${day} 3600`,
  ])
  t.strictSame(one({ event: 'SLEEP_WISE_ALERTNESS', from: '2026-03-09', to: '2026-03-10' }), [
    '10579 fetch alertness 2026-03-09T00:00 2026-03-11T00:00',
  ])
  t.strictSame(one({ event: 'PHYSICAL_INFORMATION' }), ['10579 fetch physical_info 2026-03-09T12:00 2026-03-10T12:00'])
  t.strictSame(
    one({ event: 'SLEEP_WISE_CIRCADIAN_BEDTIME', from: '2026-03-09', to: '2026-03-10' }),
    [],
    'is not stored',
  )
  t.strictSame(one({ event: 'SOMETHING_NEW' }), [])
  t.strictSame(one({ event: 'PING', user_id: null }), [])
  const malformed = [
    { event: 'EXERCISE', entity_id: '../users' },
    { event: 'EXERCISE' },
    { event: 'SLEEP', date: '2026-02-30T' },
    { event: 'SLEEP', from: '2026-03-09', to: '2026-03-10' },
    { event: 'ACTIVITY_SUMMARY', date: 'today' },
    { event: 'SLEEP_WISE_ALERTNESS', from: '2026-03-10', to: '2026-03-09' },
    { event: 'SLEEP_WISE_ALERTNESS', from: '2026-03-10' },
    { event: 'EXERCISE', entity_id: 'A1', user_id: null },
    { event: 7 },
  ]
  t.strictSame(
    malformed.map(one),
    malformed.map(() => 'malformed'),
  )
})

t.test('what notices of Oura lead to', async (t) => {
  const one = (more: object) => lines('oura', { ...BODY.oura, ...more })
  const id = '96e7772a-64a7-4342-9c5f-000000000001'
  const pulse = '8b97e1b6-user fetch heartrate 2026-03-09T12:00 2026-03-10T12:00 900'
  t.strictSame(one({}), [`8b97e1b6-user fetch sleep:${id} /v2/usercollection/sleep/${id}`, pulse])
  t.strictSame(one({ data_type: 'vo2_max', event_type: 'create' }), [
    `8b97e1b6-user fetch vo2_max:${id} /v2/usercollection/vO2_max/${id}`,
  ])
  t.strictSame(one({ event_type: 'delete', data_type: 'workout' }), [
    `8b97e1b6-user delete workout ${id} workout:${id} /v2/usercollection/workout/${id}`,
  ])
  t.strictSame(one({ object_id: null, data_type: 'daily_activity' }), [
    '8b97e1b6-user fetch daily_activity 2026-03-08T12:00 2026-03-10T12:00',
    pulse,
  ])
  t.strictSame(one({ data_type: 'tag' }), [])
  t.strictSame(
    [one({ user_id: null }), one({ data_type: 5 }), one({ object_id: '../../personal_info' })],
    Array(3).fill('malformed'),
  )
  const { missing } = cloudProviders.get('oura')!.objects!.sleep!
  const wish = missing!({ id, atMs: AT }).wish!
  t.equal(asked('oura', wish), 'sleep 2026-03-08T12:00 2026-03-10T12:00', 'a 404 is no deletion')
})

t.test('what notices of WHOOP lead to', async (t) => {
  const one = (more: object) => lines('whoop', { ...BODY.whoop, ...more })
  const id = '3f0a2d7e-6b1c-4a55-9d0e-5b8f1c2d3e4f'
  t.strictSame(one({}), [`10129 fetch sleep:${id} /v2/activity/sleep/${id}`])
  t.strictSame(one({ type: 'workout.updated' }), [`10129 fetch workout:${id} /v2/activity/workout/${id}`])
  t.strictSame(one({ type: 'recovery.updated' }), [`10129 fetch recovery:${id} /v2/activity/sleep/${id}`])
  t.strictSame(one({ type: 'sleep.deleted' }), [`10129 delete sleep ${id} sleep:${id} /v2/activity/sleep/${id}`])
  t.strictSame(one({ type: 'recovery.deleted' }), [
    `10129 delete recovery whoop:recovery:${id} recovery:${id} /v2/activity/sleep/${id}`,
  ])
  t.strictSame([one({ id: '1043' }), one({ type: 'cycle.updated' }), one({ type: 'sleep.seen' })], [[], [], []])
  t.strictSame([one({ user_id: null }), one({ id: null }), one({ type: 'sleep' })], Array(3).fill('malformed'))
  const { recovery, sleep } = cloudProviders.get('whoop')!.objects!
  t.strictSame(sleep!.missing!({ id, atMs: AT }), { gone: id })
  t.equal(asked('whoop', recovery!.missing!({ id, atMs: AT }).wish!), 'recovery 2026-03-08T12:00 2026-03-10T12:00')
})

t.test('a recovery of WHOOP is found through its sleep', async (t) => {
  const { request, next } = cloudProviders.get('whoop')!.objects!.recovery!
  const state = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
  const id = '3f0a2d7e-6b1c-4a55-9d0e-5b8f1c2d3e4f'
  const first = request({ id, atMs: AT }, state)!
  const sleep = {
    ...{ id, cycle_id: 93845, start: '2026-03-09T22:00:00.000Z', end: '2026-03-10T06:00:00.000Z' },
    ...{ timezone_offset: '-05:00', nap: false },
  }
  const then = next!({ status: 200, headers: {}, json: sleep }, first)!
  t.equal(then.path, '/v2/cycle/93845/recovery')
  const times = [Date.UTC(2026, 2, 9, 22), Date.UTC(2026, 2, 10, 6), -300]
  t.strictSame(then.args, { of: 'recovery', sleeps: { [id]: times }, one: true })
  t.equal(next!({ status: 200, headers: {}, json: { sleep_id: id } }, then), null)
  t.equal(next!({ status: 200, headers: {}, json: { ...sleep, cycle_id: '../x' } }, first), null)
})

t.test('bodies that are none are malformed, whoever sent them', async (t) => {
  const bodies = [undefined, null, 7, 'x', [], {}, [{}]]
  t.strictSame(
    [...notifyingProviders].filter(([, { isForm }]) => !isForm).map(([id]) => bodies.map((json) => open(id, json))),
    Array(7).fill(bodies.map(() => 'malformed')),
  )
})

const subscriptions = (id: string) =>
  of(id).subscriptions!({ settings: { clientId: 'id', clientSecret: 'secret', more: {} } as never, own: KEYS.own })

/** A request as method, path and what it carries. */
const line = ({ method = 'GET', path, as, headers, query, form, json }: Request) => [
  `${method} ${path} ${as}`,
  { ...headers, ...query, ...form, ...(json as object) },
]

const URL_OF_OURS = 'https://api.example.org/api/v1/providers/x/webhooks'
const answer = (json: unknown, status = 200): Answer => ({ status, headers: {}, json })

t.test('subscriptions at Oura: one for each collection and event', async (t) => {
  const { wanted, list, create, update, remove, one, renew, read, refusal, activate } = subscriptions('oura')
  t.equal(new Set(wanted.map(({ dataType, eventType }) => `${dataType} ${eventType}`)).size, 16)
  const client = { 'x-client-id': 'id', 'x-client-secret': 'secret' }
  const of: Wanted = { dataType: 'sleep', eventType: 'create' }
  const body = { callback_url: URL_OF_OURS, verification_token: 'verify me', event_type: 'create', data_type: 'sleep' }
  const known: Subscribed = { id: 'a/b', url: 'x', ...of, shown: {} }
  const path = '/v2/webhook/subscription'
  t.strictSame(
    [list(), create(of, URL_OF_OURS), update!(known, URL_OF_OURS), remove('a/b'), one!('a/b'), renew!(known)].map(line),
    [
      [`GET ${path} nobody`, client],
      [`POST ${path} nobody`, { ...client, ...body }],
      [`PUT ${path}/a%2Fb nobody`, { ...client, ...body }],
      [`DELETE ${path}/a%2Fb nobody`, client],
      [`GET ${path}/a%2Fb nobody`, client],
      [`PUT ${path}/renew/a%2Fb nobody`, client],
    ],
  )
  const told = {
    id: 'u1',
    callback_url: URL_OF_OURS,
    event_type: 'create',
    data_type: 'sleep',
    expiration_time: '2026-06-01T10:00:00.123456789',
  }
  const expected = { id: 'u1', url: URL_OF_OURS, ...of, expiresAtMs: Date.UTC(2026, 5, 1, 10, 0, 0, 123), shown: told }
  t.strictSame([read(answer(told)), read(answer([told, null, {}]))], [[expected], [expected]])
  t.strictSame(read(answer({ ...told, expiration_time: null }))[0]?.shown, { ...told, expiration_time: null })
  t.strictSame(
    [refusal!(answer({ detail: 'Forbidden' }, 403)), refusal!(answer({}, 422)), activate],
    ['missing', undefined, undefined],
  )
})

t.test('the subscription at Strava: its address has our key, which is shown to nobody', async (t) => {
  const { wanted, list, create, update, remove, one, renew, read, refusal } = subscriptions('strava')
  t.strictSame([wanted, update, one, renew], [[{}], undefined, undefined, undefined])
  const client = { client_id: 'id', client_secret: 'secret' }
  t.strictSame([list(), create({}, URL_OF_OURS), create({}, `${URL_OF_OURS}?a=1`), remove('7')].map(line), [
    ['GET /push_subscriptions nobody', client],
    [
      'POST /push_subscriptions application',
      { callback_url: `${URL_OF_OURS}?k=unguessable`, verify_token: 'verify me' },
    ],
    [
      'POST /push_subscriptions application',
      { callback_url: `${URL_OF_OURS}?a=1&k=unguessable`, verify_token: 'verify me' },
    ],
    ['DELETE /push_subscriptions/7 nobody', client],
  ])
  const told = {
    id: 301222,
    application_id: 5,
    created_at: '2026-03-01T00:00:00Z',
    updated_at: '2026-03-01T00:00:00Z',
    resource_state: 2,
  }
  const { resource_state: _, ...shown } = told
  const urls = [
    `${URL_OF_OURS}?k=unguessable`,
    `${URL_OF_OURS}?a=1&k=unguessable`,
    `${URL_OF_OURS}?k=x&a=1`,
    URL_OF_OURS,
  ]
  t.strictSame(
    urls.map((callback_url) => read(answer([{ ...told, callback_url }]))),
    [URL_OF_OURS, `${URL_OF_OURS}?a=1`, `${URL_OF_OURS}?a=1`, URL_OF_OURS].map((url, place) => [
      { id: '301222', url, isActive: place < 2, shown: { ...shown, callback_url: url } },
    ]),
    'with another key, or none, it is not as it should be',
  )
  t.strictSame(read(answer({ id: 301222 }, 201))[0]?.url, null)
  t.strictSame([read(answer([])), read(answer({ message: 'x' }, 400))], [[], []])
  const refused = (code: string) =>
    refusal!(answer({ message: 'Bad Request', errors: [{ resource: 'PushSubscription', field: '', code }] }, 400))
  t.strictSame([refused('already exists'), refused('GET to callback URL does not return 200')], ['exists', undefined])
})

t.test('the webhook at Polar: its key is told once', async (t) => {
  const { wanted, list, create, update, remove, one, renew, activate, read } = subscriptions('polar')
  t.strictSame([wanted, one, renew], [[{}], undefined, undefined])
  const basic = { authorization: `Basic ${Buffer.from('id:secret').toString('base64')}` }
  const known: Subscribed = { id: 'abdf33', url: 'x', shown: {} }
  const events = [
    'EXERCISE',
    'SLEEP',
    'CONTINUOUS_HEART_RATE',
    'ACTIVITY_SUMMARY',
    'SLEEP_WISE_ALERTNESS',
    'PHYSICAL_INFORMATION',
  ]
  const body = { ...basic, events, url: URL_OF_OURS }
  t.strictSame(
    [list(), create({}, URL_OF_OURS), update!(known, URL_OF_OURS), remove('abdf33'), activate!(known)].map(line),
    [
      ['GET /v3/webhooks nobody', basic],
      ['POST /v3/webhooks nobody', body],
      ['PATCH /v3/webhooks/abdf33 nobody', body],
      ['DELETE /v3/webhooks/abdf33 nobody', basic],
      ['POST /v3/webhooks/activate nobody', basic],
    ],
  )
  const data = { id: 'abdf33', events: ['EXERCISE', 'SLEEP'], url: URL_OF_OURS }
  const created = read(answer({ data: { ...data, signature_secret_key: 'hush' } }, 201))
  t.strictSame(created, [{ id: 'abdf33', url: URL_OF_OURS, isActive: true, signingSecret: 'hush', shown: data }])
  t.strictSame(read(answer({ data: [{ ...data, active: false }] })), [
    { id: 'abdf33', url: URL_OF_OURS, isActive: false, shown: data },
  ])
  t.strictSame(
    [read(answer({ data: [] })), read(answer({ error: {} }, 400)), read(answer(undefined, 204))],
    [[], [], []],
  )
})

t.test('WHOOP is told on its own pages where to notify', async (t) => {
  t.equal(of('whoop').subscriptions, undefined)
})
