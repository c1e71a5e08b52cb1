// What is asked of Google Health: filters, pages, roll-ups; who has connected; its notices, its handshake and its subscriber.
import { createPublicKey, generateKeyPairSync, verify as verifySignature } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { asReply } from '../../server/api/inbound/notifying.ts'
import { applicationToken } from '../../server/provider-client/application-token.ts'
import { cloud, notices } from '../../server/providers/google_health/index.ts'
import { objects, streams, workouts } from '../../server/providers/google_health/streams.ts'
import { dataTypes } from '../../server/providers/google_health/types.ts'
import { sports, workoutType } from '../../server/providers/google_health/workouts.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import type { Keys } from '../../server/providers/notices.ts'
import type { Answer, Request, StreamState, Window } from '../../server/providers/provider.ts'
import { batchOf, rowsOf } from '../support/parcels.ts'
import { clientOf, recorder, sender, sentFor } from '../support/provider-call.ts'
import { runs } from '../support/thorough.ts'

const HOUR = 3_600_000
const DAY = 86_400_000
const WINDOW: Window = { fromMs: Date.UTC(2026, 2, 6, 10, 20), untilMs: Date.UTC(2026, 2, 8, 9, 5) }
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
const answer = (json: unknown, status = 200): Answer => ({ status, headers: {}, json })
const stream = (name: string) => streams.find((one) => one.name === name)!
const filter = (request: Request | null | undefined) => request?.query?.filter

t.test('26 data types, each with its filter, merged or by source', async (t) => {
  t.equal(streams.length, 26)
  const asked = Object.fromEntries(streams.map(({ name, first }) => [name, filter(first(WINDOW, STATE))]))
  const start = '>= "2026-03-06T10:20:00.000Z" AND'
  const end = '< "2026-03-08T09:05:00.000Z"'
  t.match(asked, {
    steps: `steps.interval.start_time ${start} steps.interval.start_time ${end}`,
    'active-energy-burned': `active_energy_burned.interval.start_time ${start} active_energy_burned.interval.start_time ${end}`,
    'heart-rate': `heart_rate.sample_time.physical_time ${start} heart_rate.sample_time.physical_time ${end}`,
    'daily-resting-heart-rate':
      'daily_resting_heart_rate.date >= "2026-03-05" AND daily_resting_heart_rate.date < "2026-03-09"',
    exercise:
      'exercise.interval.civil_start_time >= "2026-03-05" AND exercise.interval.civil_start_time < "2026-03-10"',
    sleep: `sleep.interval.end_time ${start} sleep.interval.end_time < "2026-03-09T09:05:00.000Z"`,
  })
  const sizes = ['sleep', 'exercise', 'steps'].map((name) => stream(name).first(WINDOW, STATE)?.query?.pageSize)
  t.strictSame(sizes, ['25', '25', '5000'])
  const path = (settings: Record<string, string>) => stream('steps').first(WINDOW, { ...STATE, settings })?.path
  t.strictSame(
    [{}, { USE_RECONCILE: 'true' }, { USE_RECONCILE: 'false' }].map((one) => path(one as Record<string, string>)),
    ['reconcile', 'reconcile', ''].map((end) => `/v4/users/me/dataTypes/steps/dataPoints${end && ':'}${end}`),
  )
})

t.test('as finely as an operator wants it', async (t) => {
  const asked = (granularity: 'hourly' | 'daily', name: string) => stream(name).first(WINDOW, { ...STATE, granularity })
  const hourly = asked('hourly', 'steps')!
  t.match(hourly, {
    path: '/v4/users/me/dataTypes/steps/dataPoints:rollUp',
    method: 'POST',
    json: {
      range: { startTime: '2026-03-06T10:00:00.000Z', endTime: '2026-03-08T10:00:00.000Z' },
      windowSize: '3600s',
    },
  })
  const date = (day: number) => ({ date: { year: 2026, month: 3, day } })
  t.match(asked('daily', 'heart-rate'), {
    path: '/v4/users/me/dataTypes/heart-rate/dataPoints:dailyRollUp',
    json: { range: { start: date(5), end: date(9) }, windowSizeDays: 1 },
  })
  t.strictSame(
    ['oxygen-saturation', 'heart-rate-variability'].map((name) => asked('daily', name)),
    [null, null],
    'there is a type of days',
  )
  t.match(asked('hourly', 'oxygen-saturation')?.path, /:reconcile$/, 'what Google does not roll up comes as it is')
  t.match(asked('daily', 'daily-heart-rate-variability')?.args, { of: 'days' })
  const rolled = dataTypes.filter(({ isRolled }) => isRolled).map(({ name }) => name)
  const property = fc.property(fc.integer({ min: 0, max: 400 * DAY }), fc.constantFrom(...rolled), (at, name) => {
    const { windowDays, first } = stream(name)
    const window = { fromMs: WINDOW.fromMs + at, untilMs: WINDOW.fromMs + at + windowDays * DAY }
    const longest = name === 'heart-rate' || name === 'active-minutes' ? 14 : 90
    return (['hourly', 'daily'] as const).every((granularity) => {
      const { range } = first(window, { ...STATE, granularity })!.json as { range: Record<string, unknown> }
      const [from, until] = Object.values(range).map((one) => {
        const { year, month, day } = (one as { date?: Record<string, number> }).date ?? {}
        return typeof one === 'string' ? Date.parse(one) : Date.UTC(year!, month! - 1, day)
      })
      return until! - from! <= longest * DAY && from! <= window.fromMs && until! >= window.untilMs
    })
  })
  fc.assert(property, { seed: 18, numRuns: runs(100, 2_000) })
})

t.test('pages go on while there is a token, and only the first one lists everything', async (t) => {
  const long = { fromMs: WINDOW.fromMs - 5 * DAY, untilMs: WINDOW.untilMs }
  const first = stream('sleep').first(long, STATE)!
  const span = [Date.UTC(2026, 2, 2), Date.UTC(2026, 2, 8)]
  t.strictSame(first.args, { listed: span, within: span })
  t.equal(stream('sleep').first({ ...WINDOW, fromMs: WINDOW.untilMs - HOUR }, STATE)!.args, undefined)
  const second = stream('sleep').next!(answer({ dataPoints: [], nextPageToken: 'a+/=' }), first)!
  t.strictSame(second, { path: first.path, query: { ...first.query, pageToken: 'a+/=' }, args: { within: span } })
  const third = stream('sleep').next!(answer({ nextPageToken: 'b' }), second)!
  t.strictSame(third.query, { ...first.query, pageToken: 'b' })
  const hourly = stream('steps').first(WINDOW, { ...STATE, granularity: 'hourly' })!
  t.match(stream('steps').next!(answer({ nextPageToken: 'c' }), hourly)?.json, { windowSize: '3600s', pageToken: 'c' })
  const ends = [
    { dataPoints: Array(25).fill({}) },
    {},
    null,
    undefined,
    [],
    { nextPageToken: '' },
    { nextPageToken: 7 },
  ]
  t.strictSame(
    ends.map((json) => stream('sleep').next!(answer(json), first)),
    ends.map(() => null),
  )
})

t.test('an amount is spread over the time in which it was counted', async (t) => {
  const at = '2026-03-08T12:00:00Z'
  const points = (name: string, field: string, value: object, span: [string, string]) => {
    const [startTime, endTime] = span.map((time) => `2026-03-07T${time}Z`)
    const body = { dataPoints: [{ [field]: { ...value, interval: { startTime, endTime } } }] }
    return { stream: name, at, body: body as never }
  }
  const lengths = (...parts: Parameters<typeof batchOf>[1]) =>
    (rowsOf(batchOf('google_health', parts)) as { samples: string[] }).samples.map((row) => row.split(' ')[4] ?? '')
  const steps = { count: '12' }
  t.strictSame(
    [
      lengths(points('steps', 'steps', steps, ['07:03:00', '07:04:00'])),
      lengths(points('steps', 'steps', steps, ['07:14:30', '07:15:30'])),
      lengths(points('steps', 'steps', steps, ['07:03:00', '07:41:00'])),
      lengths(points('steps', 'steps', steps, ['07:03:00', '07:02:00'])),
      lengths(points('basal-energy-burned', 'basalEnergyBurned', { kcal: 71 }, ['07:00:00', '08:00:00'])),
    ],
    [[''], ['60s'], ['2280s'], [''], ['3600s']],
    'a minute within a quarter of an hour needs none',
  )
  const hour = { startTime: '2026-03-07T07:00:00Z', endTime: '2026-03-07T08:00:00Z' }
  const rolled = [
    { stream: 'steps', at, body: { rollupDataPoints: [{ ...hour, steps: { countSum: '900' } }] } },
    { stream: 'heart-rate', at, body: { rollupDataPoints: [{ ...hour, heartRate: { beatsPerMinuteAvg: 70 } }] } },
  ]
  t.strictSame(lengths(...rolled), ['', '3600s'], 'the sum of an hour, not its mean')
})

t.test('the variability of a day counts where the day has no samples', async (t) => {
  const { first, next } = stream('daily-heart-rate-variability')
  const samples = first(WINDOW, STATE)!
  t.match(filter(samples), /^heart_rate_variability\.sample_time\.physical_time >= "2026-03-04T22:20/)
  const page = (...times: [string, string][]) =>
    answer({
      dataPoints: times.map(([physicalTime, utcOffset]) => ({
        heartRateVariability: { sampleTime: { physicalTime, utcOffset } },
      })),
    })
  const more = next!(
    answer({ ...(page(['2026-03-07T23:30:00Z', '3600s']).json as object), nextPageToken: 'x' }),
    samples,
  )!
  t.match(more, { query: { pageToken: 'x' }, args: { of: 'samples', days: ['2026-03-08'] } })
  const days = next!(page(['2026-03-07T00:00:00Z', '-18000s'], ['2026-03-06T10:00:00Z', ''], ['soon', '']), more)!
  t.match(filter(days), /^daily_heart_rate_variability\.date >= "2026-03-05"/)
  t.strictSame(days.args, { of: 'days', days: ['2026-03-06', '2026-03-08'], midnights: ['2026-03-07'] })
  t.equal(next!(answer({}), days), null)
  t.match(next!(answer({ nextPageToken: 'y' }), days), { args: days.args, query: { pageToken: 'y' } })
  const rows = (args: object) => {
    const point = { averageHeartRateVariabilityMilliseconds: 30, date: { year: 2026, month: 3, day: 6 } }
    const body = { dataPoints: [{ dailyHeartRateVariability: point }] }
    const part = { stream: 'daily-heart-rate-variability', at: '2026-03-08T12:00:00Z', args: args as never, body }
    const { samples, spans } = rowsOf(batchOf('google_health', [part])) as { samples: string[]; spans?: object[] }
    return [samples.length, spans?.length ?? 0]
  }
  t.strictSame(
    [
      rows({ of: 'days', days: [], midnights: [] }),
      rows({ of: 'days', days: ['2026-03-06'], midnights: [] }),
      rows({ of: 'days', days: ['2026-03-06'], midnights: ['2026-03-06'] }),
    ],
    [
      [1, 0],
      [0, 1],
      [0, 0],
    ],
    'and goes when samples come, unless one of them is stored in its place',
  )
})

t.test('where the newest point is says where the person is', async (t) => {
  const point = { steps: { interval: { startUtcOffset: '20700s' } } }
  const { zone, first } = stream('steps')
  const asked = first(WINDOW, STATE)!
  const told = [{ dataPoints: [point, {}] }, { dataPoints: [] }, {}, { dataPoints: [{ steps: { interval: {} } }] }]
  t.strictSame(
    told.map((json) => zone!(answer(json), asked)),
    ['+05:45', null, null, null],
  )
  t.equal(
    zone!(answer({ dataPoints: [point] }), { ...asked, query: { pageToken: 'x' } }),
    null,
    'not that of old pages',
  )
})

const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`
const TOKENS = { access: 'a', accessSeconds: 3_599, refresh: 'r', scope: null }

t.test('the account is the id that notices name', async (t) => {
  const oauth = cloud.oauth({ more: {} })
  const identify = async (identity: Answer, settings: Answer, more = {}) => {
    const { call, asked } = recorder([identity, settings], '')
    const tokens = { ...TOKENS, answer: { id_token: token({ email: 'ana@example.com' }) }, ...more }
    const got = await oauth.identify(tokens, call).catch((error: Error) => error.message)
    return [got, asked.map(({ path }) => path)]
  }
  const known = answer({ name: 'users/me/identity', healthUserId: 'AbC123xyz', legacyUserId: '7QZ3KD' })
  const both = ['/v4/users/me/identity', '/v4/users/me/settings']
  t.strictSame(await identify(known, answer({ timeZone: 'Europe/Berlin', utcOffset: '3600s' })), [
    { id: 'AbC123xyz', username: 'ana@example.com', zone: 'Europe/Berlin' },
    both,
  ])
  t.strictSame(await identify(known, answer({}, 403), { answer: {} }), [
    { id: 'AbC123xyz', username: null, zone: null },
    both,
  ])
  const without = { scope: 'https://www.googleapis.com/auth/googlehealth.sleep.readonly' }
  t.match(await identify(known, answer({}), without), [{ zone: null }, both.slice(0, 1)])
  for (const json of [{}, { healthUserId: '' }, { healthUserId: '../x' }, 'x', undefined])
    t.strictSame((await identify(answer(json, 403), answer({})))[0], 'Google did not name the account (status 403)')
})

t.test('access ends with the token, and has ended where it is not known', async (t) => {
  const { leave } = cloud.oauth({ more: {} })
  const statusOf = async (said: Answer, tokenUrl = 'https://oauth2.googleapis.com/token') => {
    const { call, asked } = recorder([said], tokenUrl)
    const { status } = await leave!({ id: 'x', username: null, zone: null, ref: 'r' }, call)
    return [status, asked[0]?.path, asked[0]?.token]
  }
  const place = ['https://oauth2.googleapis.com/revoke', { in: 'form', name: 'token' }]
  t.strictSame(await statusOf(answer({})), [200, ...place])
  const elsewhere = ['http://localhost:9/google_health/revoke', { in: 'form', name: 'token' }]
  t.strictSame(await statusOf(answer({}), 'http://localhost:9/google_health/token'), [200, ...elsewhere])
  t.strictSame(await statusOf(answer({ error: 'invalid_token' }, 400)), [404, ...place])
  t.strictSame(await statusOf(answer({ error: 'invalid_request' }, 400)), [400, ...place])
  const linked = answer({ error: { status: 'FAILED_PRECONDITION', details: [{ reason: 'ACCOUNT_NOT_LINKED' }] } }, 400)
  t.strictSame([linked, answer({ error: {} }, 400), answer({}, 403)].map(cloud.api.judge!), [
    'denied',
    undefined,
    undefined,
  ])
})

const KEYS: Keys = {
  ...{ clientId: 'id', client: ['s'], given: null, confirmed: [] },
  ...{ own: { WEBHOOK_SECRET: 'hush' }, more: { WEBHOOK_SECRET_PREVIOUS: 'before' } },
}
const verdict = (authorization: string | undefined, text = '[]', keys = KEYS) =>
  notices.verify(
    {
      ...{ body: Buffer.from(text), query: {}, nowSeconds: 0 },
      headers: authorization === undefined ? {} : { authorization },
    },
    keys,
  )

t.test('the handshake: 201 with our secret, refused without', async (t) => {
  const probe = '{"type":"verification"}'
  t.strictSame(
    ['Bearer hush', 'Bearer before'].map((one) => verdict(one, probe)),
    [
      { status: 201, json: { status: 'verified' } },
      { status: 201, json: { status: 'verified' } },
    ],
  )
  const wrong = [
    undefined,
    '',
    'hush',
    'bearer hush',
    'Bearer  hush',
    'Bearer hus',
    'Bearer hush ',
    'Bearer ',
    'Basic hush',
  ]
  for (const body of [probe, '[]', '{']) {
    t.strictSame(
      wrong.map((one) => verdict(one, body)),
      wrong.map(() => 'refused'),
    )
  }
  const unset = { ...KEYS, own: {}, more: {} }
  t.strictSame([verdict('Bearer ', probe, unset), verdict('Bearer undefined', probe, unset)], ['refused', 'refused'])
  const others = [
    '[]',
    '{',
    '[{"type":"verification"}]',
    '{"type":"x"}',
    `{"type":"verification","x":"${'y'.repeat(1_100)}"}`,
  ]
  t.strictSame(
    others.map((one) => verdict('Bearer hush', one)),
    others.map(() => 'signed'),
  )
  t.equal(notices.accepted, 204, 'every other answer would be sent again')
})

const AT = Date.UTC(2026, 2, 8, 12)
const open = (json: unknown) =>
  notices.open({ body: Buffer.from(''), json, atMs: AT, subscriptionIds: [], wantsSamples: false })
const data = (more: object = {}) => ({
  data: {
    ...{ version: '1', clientProvidedSubscriptionName: '0b9a6f0e', healthUserId: 'AbC123xyz', operation: 'UPSERT' },
    dataType: 'floors',
    intervals: [
      {
        physicalTimeInterval: { startTime: '2026-03-07T07:00:00Z', endTime: '2026-03-07T08:00:00Z' },
        civilIso8601TimeInterval: { startTime: '2026-03-07T08:00:00', endTime: '2026-03-07T09:00:00' },
      },
    ],
    ...more,
  },
})
/** Account, stream or object, and the span. */
const said = (json: unknown) => {
  const opened = open(json)
  if (opened === 'malformed') return opened
  return opened.map((one) => {
    if (one.kind !== 'fetch') return one.kind
    const { wish } = one
    const { fromMs, untilMs } = (wish.kind === 'span' ? wish.window : wish.args) as unknown as Window
    const span = [fromMs, untilMs].map((ms) => new Date(ms).toISOString().slice(0, 16))
    return [one.account, wish.kind === 'span' ? wish.stream : `-${wish.object}`, ...span].join(' ')
  })
}

t.test('what notices lead to', async (t) => {
  const physical = 'AbC123xyz floors 2026-03-07T07:00 2026-03-07T08:00'
  t.strictSame([said([data()]), said(data()), said(data({ operation: 'UPDATE' }))], Array(3).fill([physical]))
  t.strictSame(said([data(), {}, 7, data({ healthUserId: 'other', dataType: 'moods' })]), [physical])
  t.strictSame(said(data({ operation: 'DELETE' })), [physical.replace('floors', '-floors')])
  t.strictSame(
    (said(data({ dataType: 'steps' })) as string[]).map((one) => one.split(' ')[1]),
    [...['steps', 'active-energy-burned', 'basal-energy-burned']],
  )
  const spans: [object, string][] = [
    [{ intervals: [] }, '2026-03-07T12:00 2026-03-08T12:00'],
    [{ intervals: undefined }, '2026-03-07T12:00 2026-03-08T12:00'],
    [
      { intervals: [{ physicalTimeInterval: { startTime: '2026-03-08T11:00:00Z' } }] },
      '2026-03-08T11:00 2026-03-08T12:00',
    ],
    [
      {
        intervals: [
          ...data().data.intervals,
          { physicalTimeInterval: { startTime: '2026-03-01T00:00:00Z', endTime: '2026-03-01T01:00:00Z' } },
        ],
      },
      '2026-03-01T00:00 2026-03-07T08:00',
    ],
    [
      { intervals: [{ civilIso8601TimeInterval: '2026-03-07T08:00:00/2026-03-07T09:00:00' }] },
      '2026-03-06T10:00 2026-03-08T14:00',
    ],
    [
      { intervals: [{ civilIso8601TimeInterval: { startTime: '2026-03-07T08:00:00' } }] },
      '2026-03-06T10:00 2026-03-08T14:00',
    ],
    [
      {
        dataType: 'daily-resting-heart-rate',
        intervals: [{ civilDateTimeInterval: { startDateTime: { date: { year: 2026, month: 3, day: 7 } } } }],
      },
      '2026-03-07T00:00 2026-03-08T00:00',
    ],
  ]
  t.strictSame(
    spans.map(([more]) => (said(data(more)) as string[])[0]?.split(' ').slice(2).join(' ')),
    spans.map(([, span]) => span),
  )
  const malformed = [undefined, 'x', [], {}, [{}], { data: { healthUserId: 'a' } }, { data: { dataType: 'steps' } }]
  t.strictSame(
    malformed.map(said),
    malformed.map(() => 'malformed'),
  )
})

t.test('of what was deleted, what is left is asked for, and replaces what is stored', async (t) => {
  const args = { fromMs: Date.UTC(2026, 2, 7, 7), untilMs: Date.UTC(2026, 2, 7, 8) }
  const request = objects.floors!.request(args, STATE)!
  const span = [args.fromMs, args.untilMs]
  t.strictSame(request.args, { listed: span, within: span, deleted: true })
  t.match(filter(request), /^floors\.interval\.start_time >= "2026-03-07T07:00:00.000Z"/)
  t.strictSame(objects.floors!.next!(answer({ nextPageToken: 'x' }), request)?.args, { within: span })
  const hourly = objects.floors!.request(args, { ...STATE, granularity: 'hourly' })!
  t.match(hourly.path, /:rollUp$/, 'of sums there are new ones')
  const nothing = [{}, { fromMs: 2, untilMs: 1 }, { fromMs: 'x', untilMs: 1 }, null]
  t.strictSame(
    nothing.map((one) => objects.floors!.request(one as never, STATE)),
    nothing.map(() => null),
  )
})

const SERVICE = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const FILE = JSON.stringify({
  client_email: 'ours@project.iam.gserviceaccount.com',
  private_key_id: 'k1',
  private_key: SERVICE.privateKey.export({ type: 'pkcs8', format: 'pem' }),
})
const MORE = { SERVICE_ACCOUNT_FILE: FILE, PROJECT_ID: '4711' }

t.test('a service account asks for the token of the application', async (t) => {
  const settings = { clientId: 'id', clientSecret: 's', more: MORE }
  const request = cloud.api.application!(settings, 'https://oauth2.googleapis.com/token', 1_772_000_000) as Request
  t.match(request, { path: 'https://oauth2.googleapis.com/token', method: 'POST' })
  const [header, claims, signature] = request.form!.assertion!.split('.') as [string, string, string]
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  t.strictSame(read(header), { alg: 'RS256', typ: 'JWT', kid: 'k1' })
  t.strictSame(read(claims), {
    iss: 'ours@project.iam.gserviceaccount.com',
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    aud: 'https://oauth2.googleapis.com/token',
    ...{ iat: 1_772_000_000, exp: 1_772_003_600 },
  })
  const key = createPublicKey(SERVICE.publicKey.export({ type: 'spki', format: 'pem' }))
  t.ok(verifySignature('RSA-SHA256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url')))
  for (const more of [{}, { PROJECT_ID: '1' }, { SERVICE_ACCOUNT_FILE: FILE }])
    t.match(cloud.api.application!({ ...settings, more }, '', 0), /^Set GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE and/)
  const problem = (name: string, value: string) => cloud.settingProblem!(name, value) !== undefined
  t.strictSame(
    [FILE, '{', '{}', FILE.replace('BEGIN', 'BEGUN')].map((text) => problem('SERVICE_ACCOUNT_FILE', text)),
    [false, true, true, true],
  )
  t.strictSame(
    ['4711', 'my-project', ''].map((text) => problem('PROJECT_ID', text)),
    [false, true, true],
  )
  t.strictSame(
    ['ours-1', 'abc', 'Ours', '1abc'].map((text) => problem('SUBSCRIBER_ID', text)),
    [false, true, true, true],
  )
})

t.test('the subscriber with our name, and no other one', async (t) => {
  const calls = notices.subscriptions!({
    settings: { clientId: 'id', clientSecret: 's', more: MORE },
    own: { WEBHOOK_SECRET: 'hush' },
  })
  const url = 'https://us.example/api/v1/providers/google_health/webhooks'
  const created = calls.create({}, url)
  t.match(created, {
    path: '/v4/projects/4711/subscribers',
    method: 'POST',
    as: 'application',
    query: { subscriberId: 'pulsebase' },
    json: { endpointUri: url, endpointAuthorization: { secret: 'Bearer hush' } },
  })
  const { subscriberConfigs } = created.json as unknown as { subscriberConfigs: { dataTypes: string[] }[] }
  const types = subscriberConfigs[0]!.dataTypes
  t.strictSame(
    types.filter((type) => !dataTypes.some(({ name }) => name === type)),
    [],
  )
  const one = (id: string, more = {}) => ({
    ...{ name: `projects/4711/subscribers/${id}`, endpointUri: url, state: 'ACTIVE', subscriberConfigs },
    ...more,
  })
  const read = (json: unknown) => calls.read(answer(json)).map(({ id, url, isActive }) => [id, url, isActive])
  t.strictSame(read({ subscribers: [one('staging'), one('pulsebase')] }), [['pulsebase', url, true]])
  t.strictSame(
    [read({ subscribers: [one('staging')] }), read({}), read({ totalSize: 0 }), read(null)],
    [[], [], [], []],
  )
  t.strictSame(read({ name: 'operations/1', done: true, response: one('pulsebase') }), [['pulsebase', url, true]])
  t.strictSame(read({ name: 'operations/1', done: false }), [['pulsebase', null, undefined]])
  t.strictSame(read({ name: 'operations/1', done: true, error: { code: 9 } }), [])
  const stopped = [{ state: 'INACTIVE' }, { state: 'UNVERIFIED' }, { subscriberConfigs: [{ dataTypes: ['steps'] }] }]
  t.strictSame(
    stopped.map((more) => read({ subscribers: [one('pulsebase', more)] })[0]?.[2]),
    [false, false, false],
  )
  const kept = calls.read(answer({ subscribers: [one('pulsebase')] }))[0]!
  t.match(calls.update!(kept, `${url}2`), {
    path: '/v4/projects/4711/subscribers/pulsebase',
    method: 'PATCH',
    query: { updateMask: 'endpointUri,subscriberConfigs,endpointAuthorization' },
    json: { endpointUri: `${url}2` },
  })
  t.match(calls.remove('pulsebase'), { method: 'DELETE', query: { force: 'true' } })
})

t.test('requests of the application carry its token; without one they have id and secret in their form', async (t) => {
  const asked = { path: '/v4/projects/1/subscribers', as: 'application' } as const
  const other = { path: '/v4/x', as: 'nobody' } as const
  const sent = [
    ...(await sentFor(cloud, [asked, other], { token: null, applicationToken: 'ours' })),
    ...(await sentFor(cloud, [{ ...asked, method: 'POST', form: {} }], { token: null })),
  ]
  t.strictSame(
    sent.map(({ headers, body }) => [headers.authorization, body]),
    [
      ['Bearer ours', undefined],
      [undefined, undefined],
      [undefined, 'client_id=id&client_secret=secret'],
    ],
  )
})

t.test('the token of the application is asked for once, until shortly before its end', async (t) => {
  const client = clientOf(cloud, MORE)
  const oauth = client.oauth(null)
  const granted = (token: string, expires_in: unknown) => answer({ access_token: token, expires_in })
  const { http, sent } = sender([
    answer({ error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }, 400),
    granted('short', 60),
    granted('long', '3600'),
  ])
  const ask = () => applicationToken({ http, client, oauth }).catch((error: Error) => `${error.name}: ${error.message}`)
  const refused =
    'NoApplicationToken: no token for the application from google_health, status 400: invalid_grant: Invalid JWT Signature.'
  t.strictSame([await ask(), await ask(), await ask(), await ask()], [refused, 'short', 'long', 'long'])
  t.equal(sent.length, 3)
  t.match(sent[0], { method: 'POST', url: { href: 'https://oauth2.googleapis.com/token' } })
  t.equal(sent[0]?.headers.authorization, undefined)
  const bare = clientOf(cloud)
  await t.rejects(applicationToken({ http, client: bare, oauth }), {
    message: /^Set GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE/,
  })
  const others = clientOf(cloudProviders.get('strava')!)
  t.equal(await applicationToken({ http, client: others, oauth }), undefined, 'others want none')
  t.equal(sent.length, 3)
})

t.test('a notice that was taken is answered 204, without a body', async (t) => {
  const { status, body } = asReply({ status: notices.accepted ?? 200, json: null })
  t.strictSame([status, body], [204, null])
  t.equal(asReply({ status: 201, json: { status: 'verified' } }).body, '{"status":"verified"}')
})

t.test('points on whatever pages, in whatever order and however often, are the same rows', async (t) => {
  const point = (minute: number) => ({
    steps: {
      count: String(minute % 90),
      interval: { startTime: new Date(WINDOW.fromMs + minute * 60_000).toISOString(), startUtcOffset: '3600s' },
    },
  })
  const night = (day: number) => ({
    dataPointName: `night-${day}`,
    sleep: {
      interval: {
        startTime: new Date(WINDOW.fromMs + day * DAY).toISOString(),
        endTime: new Date(WINDOW.fromMs + day * DAY + 7 * HOUR).toISOString(),
        startUtcOffset: '3600s',
      },
      summary: { minutesAsleep: String(300 + day) },
    },
  })
  const stored = (parts: readonly [name: string, points: readonly object[]][]) => {
    const at = '2026-04-08T12:00:00Z'
    const body = (points: readonly object[]) => ({ dataPoints: points })
    const batch = batchOf(
      'google_health',
      parts.map(([name, points]) => ({ stream: name, at, body: body(points) })),
    )
    const { samples, nights = [] } = rowsOf(batch) as { samples: string[]; nights?: object[] }
    const unique = new Set([...samples, ...nights.map((one) => JSON.stringify(one))])
    return JSON.stringify([...unique].sort())
  }
  const everyStep = Array.from({ length: 30 }, (_, minute) => point(minute))
  const everyNight = Array.from({ length: 6 }, (_, day) => night(day))
  const expected = stored([
    ['steps', everyStep],
    ['sleep', everyNight],
  ])
  const anyCut = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 6 }), fc.infiniteStream(fc.nat(2)))
  const property = fc.property(anyCut, fc.boolean(), ([size, nights, picks], isReversed) => {
    const pages = (name: string, points: readonly object[], length: number) =>
      Array.from({ length: Math.ceil(points.length / length) }, (_, page): [string, readonly object[]] => [
        name,
        points.slice(page * length, (page + 1) * length),
      ])
    const cut = [...pages('steps', everyStep, size), ...pages('sleep', everyNight, nights)]
    const again = cut.filter(() => picks.next().value === 0)
    return stored(isReversed ? [...again, ...cut].reverse() : [...cut, ...again]) === expected
  })
  fc.assert(property, { seed: 18, numRuns: runs(60, 1_000) })
  t.pass()
})

t.test('a meal without a name of its own is known by what it is, whatever its title holds', async (t) => {
  const meal = (foodDisplayName: string, kcal: number) => ({
    nutritionLog: { foodDisplayName, energy: { kcal }, interval: { startTime: '2026-03-07T07:00:00Z' } },
  })
  const idOf = (one: object) =>
    batchOf('google_health', [{ stream: 'nutrition-log', at: '2026-03-08T12:00:00Z', body: { dataPoints: [one] } }])
      .events.meals[0]?.externalId ?? ''
  const ids = [
    meal('Oatmeal', 310),
    meal('Oatmeal', 311),
    meal('Oat\u0000meal\ud800', 310),
    meal('x'.repeat(5_000), 310),
  ].map(idOf)
  t.equal(new Set(ids).size, 4)
  t.strictSame(
    ids.filter((id) => !/^nutrition-log:1772866800000:[\w-]{22}$/.test(id)),
    [],
  )
  t.equal(idOf(meal('Oatmeal', 310)), ids[0])
})

t.test('exercises by their types, and as Google lists them', async (t) => {
  const names = sports.flatMap(([, ...own]) => own)
  t.equal(new Set(names).size, names.length)
  t.strictSame(['PICKELBALL', ' trail_run ', 'POLO', undefined].map(workoutType), [
    ...['pickleball', 'trail_running', 'other', 'other'],
  ])
  const listed = workouts.list({ window: WINDOW, limit: 100, options: {} })
  t.match(listed, { path: '/v4/users/me/dataTypes/exercise/dataPoints', query: { pageSize: '25' } })
  t.equal(workouts.one!('a/b', { window: WINDOW, limit: 1, options: {} }).path, `${listed.path}/a%2Fb`)
})
