// What is asked of Suunto: pages, ranges, days by the person's clock; who has connected, what it refuses, how it notifies.
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { callOf } from '../../server/provider-client/call.ts'
import type { OAuthClient } from '../../server/provider-client/clients.ts'
import type { HttpRequest } from '../../server/provider-client/http.ts'
import type { Keys } from '../../server/providers/notices.ts'
import type { Answer, Request, StreamState } from '../../server/providers/provider.ts'
import { cloud, notices } from '../../server/providers/suunto/index.ts'
import { objects, streams, workouts } from '../../server/providers/suunto/streams.ts'
import { sports, workoutType } from '../../server/providers/suunto/workouts.ts'
import { recorder } from '../support/provider-call.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const DAY_MS = 86_400_000
const UNTIL = Date.UTC(2026, 2, 11, 9)
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
const answer = (json: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json,
})
const stream = (name: string) => streams.find((one) => one.name === name)!
const window = (days: number) => ({ fromMs: UNTIL - days * DAY_MS, untilMs: UNTIL })
const query = (request: Request | null | undefined) => new URLSearchParams(request?.query).toString()

t.test('workouts by change or by start, in the pages that were asked for', async (t) => {
  const { first, next } = stream('workouts')
  const range = `since=${UNTIL - DAY_MS}&until=${UNTIL}`
  const rows = (count: number) => answer({ error: null, payload: Array(count).fill({}) })
  const cases: [string, StreamState, string, (string | null)[]][] = [
    ['a pull', STATE, 'limit=100&offset=0&filter-by-modification-time=true', ['100', null]],
    [
      'the past',
      { ...STATE, isHistory: true, options: { filter_by_modification_time: true } },
      'limit=100&offset=0&filter-by-modification-time=false',
      ['100', null],
    ],
    [
      'a sync',
      { ...STATE, options: { limit: 50, offset: 0, filter_by_modification_time: false } },
      'limit=50&offset=0&filter-by-modification-time=false',
      ['50', '50'],
    ],
    [
      'one page of a sync',
      { ...STATE, options: { limit: 20, offset: 0, filter_by_modification_time: true } },
      'limit=20&offset=0&filter-by-modification-time=true',
      [null, null],
    ],
    [
      'a later page',
      { ...STATE, options: { limit: 50, offset: 150 } },
      'limit=50&offset=150&filter-by-modification-time=true',
      [null, null],
    ],
    [
      'what cannot be',
      { ...STATE, options: { limit: 1_000, offset: 'x' } },
      'limit=100&offset=0&filter-by-modification-time=true',
      [null, null],
    ],
  ]
  const got = cases.map(([name, state]) => {
    const request = first(window(1), state)!
    const pages = [100, 50].map((count) => next!(rows(count), request)?.query?.offset ?? null)
    return [name, query(request).replace(`${range}&`, ''), pages]
  })
  t.strictSame(
    got,
    cases.map(([name, , expected, pages]) => [name, expected, pages]),
  )
  t.equal(next!(answer({ message: 'x' }), first(window(1), STATE)!), null)
  const wished = { window: window(1), limit: 50, options: { offset: 50, filter_by_modification_time: false } }
  t.equal(query(workouts.list(wished)), `${range}&limit=50&offset=50&filter-by-modification-time=false`)
  t.equal(workouts.one!('a/b', wished).path, '/v3/workouts/a%2Fb')
  t.strictSame(
    ['67604889', '../x', '', 7].map((key) => objects.workout.request({ key }, STATE)?.path ?? null),
    ['/v3/workouts/67604889', null, null, null],
  )
})

t.test('rows of all day, both ends included, and where they say the person is', async (t) => {
  for (const [name, days] of [
    ['sleep', 20],
    ['recovery', 20],
    ['activity', 7],
  ] as const) {
    const { first, windowDays, zone } = stream(name)
    t.equal(windowDays, days)
    const request = first(window(days), STATE)!
    t.strictSame(request.query, { from: String(UNTIL - days * DAY_MS), to: String(UNTIL - 1) })
    t.equal(request.args, undefined, 'nothing that makes an answer another one')
    const rows = [
      '2026-03-10T08:30:00.000+01:00',
      '2026-03-10T18:30:00.000+05:45',
      '2026-03-09T08:30:00.000Z',
      'x',
      null,
    ]
    const told = answer(rows.map((timestamp) => ({ timestamp })))
    t.strictSame(
      [zone!(told, request), zone!(answer([]), request), zone!(answer({ x: 1 }), request)],
      ['+05:45', null, null],
    )
  }
})

t.test('a key of the older product is asked there', async (t) => {
  const { first, next, emptyOn404 } = stream('activity')
  const request = first(window(2), STATE)!
  const older = next!(answer({ statusCode: 404 }, 404), request)!
  t.strictSame([older.path, older.query, emptyOn404], ['/247', request.query, true])
  t.strictSame([next!(answer([]), request), next!(answer({}, 404), older)], [null, null])
  const days = stream('statistics')
  const asked = days.first(window(2), { ...STATE, zone: '+01:00' })!
  t.equal(days.next!(answer({}, 404), asked)?.path, '/247/daily-activity-statistics')
  t.equal(days.next!(answer([]), asked), null)
})

const anySpan = fc.record({
  zone: fc.constantFrom(-600, -210, 0, 60, 345, 840),
  fromMs: fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 2, 1) }),
  ms: fc.integer({ min: 1, max: 14 * DAY_MS }),
})
const zoneText = (zone: number) => {
  const two = (number: number) => String(number).padStart(2, '0')
  return `${zone < 0 ? '-' : '+'}${two(Math.floor(Math.abs(zone) / 60))}:${two(Math.abs(zone) % 60)}`
}
const local = (ms: number, zone: number) => new Date(ms + zone * MIN).toISOString()

t.test('days are asked for from midnight to midnight by the clock of the person', async (t) => {
  const { first, next } = stream('statistics')
  const property = fc.property(anySpan, ({ zone, fromMs, ms }) => {
    const span = { fromMs, untilMs: fromMs + ms }
    const request = first(span, { ...STATE, zone: zoneText(zone) })!
    const [start, end] = [request.query!.startdate!, request.query!.enddate!].map((text) => Date.parse(`${text}Z`))
    const isMidnight = (at: number) => local(at, zone).endsWith('T00:00:00.000Z')
    const holds = isMidnight(start!) && isMidnight(end!) && start! <= fromMs && end! >= span.untilMs
    return holds && start! > fromMs - DAY_MS && end! < span.untilMs + DAY_MS && end! - start! <= 16 * DAY_MS
  })
  fc.assert(property, { seed: 17, numRuns: runs(200, 5_000) })
  const prelude = first(window(3), STATE)!
  t.strictSame([prelude.path, prelude.args], ['/247samples/recovery', { of: 'zone' }], 'where the person is, first')
  const rows = answer([{ timestamp: '2026-03-10T18:30:00.000+05:45' }])
  const then = next!(rows, prelude)!
  t.strictSame(
    [then.path, then.query, then.args],
    [
      '/247samples/daily-activity-statistics',
      { startdate: '2026-03-07T18:15:00', enddate: '2026-03-11T18:15:00' },
      { of: 'days', zoneMin: 345 },
    ],
  )
  const unknown = next!(answer({ statusCode: 404 }, 404), prelude)!
  t.strictSame(unknown.args, { of: 'days', zoneMin: null })
  t.equal(unknown.query!.startdate, '2026-03-08T00:00:00')
})

const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`

t.test('an account is the user name, which notices have', async (t) => {
  const oauth = cloud.oauth({ more: {} })
  const { call } = recorder([], '')
  const identify = (access: string, told: unknown) =>
    oauth.identify({ access, accessSeconds: 1, refresh: null, scope: null, answer: told }, call).then(
      ({ id, username }) => [id, username],
      (error: Error) => error.message,
    )
  t.strictSame(await identify('opaque', { user: 'johndoe' }), ['johndoe', 'johndoe'])
  t.strictSame(await identify(token({ user: 'johndoe', sub: '1' }), {}), ['johndoe', 'johndoe'])
  const nobody = await Promise.all(
    ['opaque', '', token({ sub: '1' }), 'a.b.c'].map((one) => identify(one, { user: '' })),
  )
  t.strictSame(nobody, Array(4).fill('Suunto did not name the account'))
  const leaving = recorder([answer('')], 'https://auth.example/oauth/token')
  await oauth.leave!({ id: 'x', username: 'x', zone: null, ref: 'r' }, leaving.call)
  t.strictSame(leaving.asked, [{ path: 'https://auth.example/oauth/deauthorize', query: { client_id: 'id' } }])
})

t.test('the key of the subscription goes to the API, and nowhere else', async (t) => {
  const sent: HttpRequest[] = []
  const client = {
    provider: cloud,
    apiUrl: 'https://cloudapi.suunto.com',
    settings: { clientId: 'id', clientSecret: 's', more: { SUBSCRIPTION_KEY: 'hush' } },
  } as unknown as OAuthClient
  const http = {
    async send(request: HttpRequest) {
      sent.push(request)
      return { status: 200, headers: {}, body: Buffer.from(''), json: {} }
    },
  }
  const call = callOf({ http: http as never, client, oauth: cloud.oauth({ more: {} }), token: 'T' })
  await call({ path: '/v3/workouts' })
  await call({ path: 'https://cloudapi-oauth.suunto.com/oauth/deauthorize' })
  t.strictSame(
    sent.map(({ headers }) => headers['ocp-apim-subscription-key']),
    ['hush', undefined],
  )
  t.strictSame(cloud.api.headers!({ clientId: 'id', clientSecret: 's', more: {} }), {})
})

t.test('a quota that is used up is no refusal', async (t) => {
  const quota = (text: string) => answer({ statusCode: 403, message: text }, 403)
  const cases: [Answer, unknown][] = [
    [quota('Out of call volume quota. Quota will be replenished in 01:02:03.'), 3_723],
    [quota('Out of call volume quota. Quota will be replenished in 2.00:00:01.'), 172_801],
    [quota('Out of call volume quota.'), null],
    [answer({ message: 'Rate limit is exceeded. Try again in 7 seconds.' }, 429), 7],
    [answer({ message: 'Rate limit is exceeded.' }, 429), null],
    [answer({ message: 'Rate limit is exceeded. Try again in 7 seconds.' }, 429, { 'retry-after': '9' }), 'by status'],
    [quota('Access denied due to invalid subscription key.'), 'by status'],
    [answer({ error: null, payload: [] }), 'by status'],
    [answer([]), 'by status'],
    [answer({ error: { code: 'NOT_FOUND' }, payload: null }), 'missing'],
    [answer({ error: 'x' }), 'wrong'],
  ]
  const got = cases.map(([one]) => {
    const verdict = cloud.api.judge!(one) ?? 'by status'
    return typeof verdict === 'object' ? verdict.afterSeconds : verdict
  })
  t.strictSame(
    got,
    cases.map(([, expected]) => expected),
  )
})

const KEYS: Keys = {
  ...{ clientId: 'id', client: ['s'], own: { WEBHOOK_SECRET: 'hush' }, given: null, confirmed: [], more: {} },
}

t.test('a notice is signed with our secret, in hexadecimal digits', async (t) => {
  const body = '{"type":"SUUNTO_247_SLEEP_CREATED","username":"johndoe","samples":[]}'
  const mac = (secret: string, text = body) => createHmac('sha256', secret).update(text).digest('hex')
  const verdict = (signature: string | undefined, keys = KEYS, text = body) =>
    notices.verify(
      {
        ...{ body: Buffer.from(text), query: {}, nowSeconds: 0 },
        headers: signature === undefined ? {} : { 'x-hmac-sha256-signature': signature },
      },
      keys,
    )
  const good = mac('hush')
  t.strictSame(
    [good, good.toUpperCase(), `sha256=${good}`, ` ${good} `].map((one) => verdict(one)),
    Array(4).fill('signed'),
  )
  const wrong = [
    undefined,
    '',
    good.slice(2),
    `${good}00`,
    `sha1=${good}`,
    mac('other'),
    mac(''),
    mac('s'),
    'f'.repeat(64),
  ]
  t.strictSame(
    wrong.map((one) => verdict(one)),
    wrong.map(() => 'refused'),
  )
  t.equal(verdict(good, KEYS, `${body} `), 'refused')
  t.equal(verdict(mac(''), { ...KEYS, own: {} }), 'refused', 'no secret is set')
  t.equal(verdict(mac(''), { ...KEYS, own: { WEBHOOK_SECRET: '' } }), 'refused')
})

t.test('what notices lead to', async (t) => {
  const open = (json: unknown) => {
    const opened = notices.open({ body: Buffer.from(''), json, atMs: 0, subscriptionIds: [], wantsSamples: false })
    if (opened === 'malformed') return opened
    return opened.map((one) => {
      const wish =
        one.kind === 'fetch' && one.wish.kind === 'object' ? objects.workout.request(one.wish.args, STATE)?.path : ''
      return `${one.account} ${one.kind} ${one.kind === 'data' ? one.stream : wish}`
    })
  }
  const of = (type: string, more = {}) => ({ type, username: 'johndoe', samples: [], ...more })
  t.strictSame(
    ['SLEEP', 'ACTIVITY', 'RECOVERY'].flatMap((one) => open(of(`SUUNTO_247_${one}_CREATED`))),
    ['johndoe data sleep', 'johndoe data activity', 'johndoe data recovery'],
  )
  t.strictSame(open(of('WORKOUT_CREATED', { workout: { workoutKey: '676' } })), [
    'johndoe data workouts',
    'johndoe fetch /v3/workouts/676',
  ])
  t.strictSame([open(of('ROUTE_CREATED')), open(of('SOMETHING_NEW'))], [[], []])
  const malformed = [
    of('WORKOUT_CREATED'),
    of('WORKOUT_CREATED', { workout: { workoutKey: '../x' } }),
    of('SUUNTO_247_SLEEP_CREATED', { username: null }),
    { username: 'johndoe' },
  ]
  t.strictSame(
    malformed.map(open),
    malformed.map(() => 'malformed'),
  )
})

t.test('activities by their ids', async (t) => {
  const ids = sports.flatMap(([, ...own]) => own.map(([id]) => id))
  t.strictSame(
    ids.toSorted((a, b) => a - b),
    Array.from({ length: 122 }, (_, id) => id).filter((id) => id !== 89),
    'each once',
  )
  t.strictSame([22, 90, 89, undefined].map(workoutType), ['trail_running', 'snorkeling', 'other', 'other'])
})
