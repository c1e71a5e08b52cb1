// What is asked of Fitbit: dates of the person's clock, series of days that belong together, pages; and that its API has ended.
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../../server/errors.ts'
import { RetiredApis } from '../../server/intake/pulls/retired.ts'
import { verdictOf } from '../../server/intake/pulls/verdicts.ts'
import { providerReport } from '../../server/oauth/provider-report.ts'
import { requestTokens } from '../../server/oauth/token-request.ts'
import { type OAuthClient, requireClient } from '../../server/provider-client/clients.ts'
import { cloud } from '../../server/providers/fitbit/index.ts'
import { streams, workouts } from '../../server/providers/fitbit/streams.ts'
import { sports, workoutType } from '../../server/providers/fitbit/workouts.ts'
import { localDate, localInstant, zoneMinAt } from '../../server/providers/local-time.ts'
import type { Answer, Request, StreamState, Window } from '../../server/providers/provider.ts'
import { batchOf, rowsOf } from '../support/parcels.ts'
import { recorder } from '../support/provider-call.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const DAY = 86_400_000
const WINDOW: Window = { fromMs: Date.UTC(2026, 2, 6, 10, 20), untilMs: Date.UTC(2026, 2, 8, 9, 5) }
const STATE: StreamState = { scope: null, zone: 'Europe/Berlin', options: {}, isHistory: false, grantedMs: 0 }
const answer = (json: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json,
})
const stream = (name: string) => streams.find((one) => one.name === name)!

t.test('dates by the clock of the person', async (t) => {
  const path = (name: string, zone: string | null, window = WINDOW) =>
    stream(name).first(window, { ...STATE, zone })?.path
  t.equal(path('hrv', 'Europe/Berlin'), '/1/user/-/hrv/date/2026-03-06/2026-03-08.json')
  t.equal(path('sleep', 'Pacific/Kiritimati'), '/1.2/user/-/sleep/date/2026-03-07/2026-03-08.json')
  t.equal(path('sleep', 'America/Los_Angeles'), '/1.2/user/-/sleep/date/2026-03-06/2026-03-08.json')
  t.equal(path('weight', '-05:00'), '/1/user/-/body/log/weight/date/2026-03-06/2026-03-08.json')
  t.equal(path('weight', null), path('weight', 'UTC'))
  t.equal(path('profile', null), '/1/user/-/profile.json')
  const longest: Record<string, number> = { heart: 365, sleep: 100, weight: 31 }
  const dated = streams.filter(({ name }) => !['activities', 'days', 'profile'].includes(name))
  const property = fc.property(
    fc.integer({ min: 0, max: 400 * DAY }),
    fc.constantFrom('Europe/Berlin', 'Pacific/Kiritimati', 'America/Los_Angeles', '+05:45', null),
    fc.constantFrom(...dated),
    (at, zone, { name, windowDays, first }) => {
      const window = { fromMs: WINDOW.fromMs + at, untilMs: WINDOW.fromMs + at + windowDays * DAY }
      const [from, until] = /(\d{4}-\d\d-\d\d)\/(\d{4}-\d\d-\d\d)/
        .exec(first(window, { ...STATE, zone })!.path)!
        .slice(1)
      const days = (Date.parse(until!) - Date.parse(from!)) / DAY + 1
      const isWhole = from === localDate(window.fromMs, zone) && until === localDate(window.untilMs - 1, zone)
      return isWhole && days <= (longest[name] ?? 30)
    },
  )
  fc.assert(property, { seed: 18, numRuns: runs(150, 3_000) })
})

t.test('eight series of days are asked for one after the other, and make one answer', async (t) => {
  const { first, next } = stream('days')
  const values: Record<string, Record<string, string>> = {
    steps: { '2026-03-06': '9120', '2026-03-07': '8420' },
    distance: { '2026-03-06': '6.12' },
    calories: { '2026-03-06': '2603', '2026-03-07': 'x' },
    caloriesBMR: { '2026-03-06': '1688', '2026-03-07': '1690' },
    minutesLightlyActive: { '2026-03-07': '12' },
    minutesVeryActive: { '2026-03-07': '31' },
  }
  const parts: { args: Request['args']; body: unknown }[] = []
  for (let request: Request | null = first(WINDOW, STATE); request; ) {
    const resource = request.path.split('/')[5] as string
    t.match(request.path, /\/date\/2026-03-06\/2026-03-08\.json$/)
    const rows = Object.entries(values[resource] ?? {}).map(([dateTime, value]) => ({ dateTime, value }))
    const body = { [`activities-${resource}`]: rows }
    parts.push({ args: request.args, body })
    request = next!(answer(body), request)
  }
  t.equal(parts.length, 8)
  const at = '2026-03-08T12:00:00Z'
  const rows = (list: typeof parts) =>
    (
      rowsOf(
        batchOf(
          'fitbit',
          list.map(({ args, body }) => ({ stream: 'days', at, body, args: args as never })),
        ),
      ) as { samples: string[] }
    ).samples
  t.strictSame(rows(parts), rows(parts.slice(-1)), 'the last one has all')
  t.strictSame(rows(parts), [
    'steps day 2026-03-06T00:00:00Z 9120 -',
    'steps day 2026-03-07T00:00:00Z 8420 -',
    'energy day 2026-03-06T00:00:00Z 915 -',
    'basal_energy day 2026-03-06T00:00:00Z 1688 -',
    'basal_energy day 2026-03-07T00:00:00Z 1690 -',
    'exercise_time day 2026-03-07T00:00:00Z 31 -',
    'active_time day 2026-03-07T00:00:00Z 43 -',
    'distance_walking_running day 2026-03-06T00:00:00Z 6120 -',
  ])
})

t.test('workouts go on at the address that Fitbit names, until the window ends', async (t) => {
  const { first, next } = stream('activities')
  const asked = first(WINDOW, STATE)!
  t.strictSame(asked.query, { afterDate: '2026-03-05', sort: 'asc', limit: '100', offset: '0' })
  const link = 'https://api.fitbit.com/1/user/-/activities/list.json?offset=100&limit=100&sort=asc&afterDate=2026-03-05'
  const page = (startTime: string | undefined, more: string | undefined = link) =>
    answer({ activities: [{ startTime }], pagination: { next: more } })
  t.strictSame(next!(page('2026-03-07T07:30:00.000+01:00'), asked), { path: link, memo: asked.memo })
  const ends = [
    page('2026-03-08T10:05:00.000+01:00'),
    page('2026-03-07T07:30:00.000+01:00', ''),
    page(undefined),
    answer({}),
    answer(null),
  ]
  t.strictSame(
    ends.map((one) => next!(one, asked)),
    ends.map(() => null),
  )
  t.match(workouts.list({ window: WINDOW, limit: 500, options: {} }).query, { afterDate: '2026-03-05', limit: '100' })
  t.equal(workouts.one, undefined)
})

t.test('what a list of days says of the rest holds in every zone', async (t) => {
  const listed = (name: string) => stream(name).first(WINDOW, STATE)!.args as { listed: [number, number] }
  t.strictSame(
    ['weight', 'sleep'].map((name) => listed(name).listed.map((ms) => new Date(ms).toISOString().slice(0, 16))),
    [
      ['2026-03-06T12:00', '2026-03-08T10:00'],
      ['2026-03-06T12:00', '2026-03-07T10:00'],
    ],
  )
  const short = { fromMs: WINDOW.untilMs - 60 * MIN, untilMs: WINDOW.untilMs }
  t.equal(stream('weight').first(short, STATE)!.args, undefined)
})

const TOKENS = { access: 'a', accessSeconds: 28_800, refresh: 'r' }

t.test('the tokens name the account, the profile its zone', async (t) => {
  const { identify } = cloud.oauth({ more: {} })
  const got = async (profile: unknown, scope: string | null, user: unknown = '7QZ3KD') => {
    const { call, asked } = recorder([answer(profile)], '')
    const tokens = { ...TOKENS, scope, answer: { user_id: user } }
    const account = await identify(tokens, call).catch((error: Error) => error.message)
    return [typeof account === 'string' ? account : `${account.id} ${account.zone}`, asked.length]
  }
  const user = { timezone: 'Europe/Berlin', offsetFromUTCMillis: 3_600_000 }
  t.strictSame(await got({ user }, 'activity profile sleep'), ['7QZ3KD Europe/Berlin', 1])
  t.strictSame(await got({ user: { offsetFromUTCMillis: -12_600_000 } }, null), ['7QZ3KD -03:30', 1])
  t.strictSame(await got({ user: { offsetFromUTCMillis: 1e12 } }, null), ['7QZ3KD null', 1])
  t.strictSame(await got({ errors: [] }, null), ['7QZ3KD null', 1])
  for (const timezone of ['', 'Europe/\u0000Berlin', 'x'.repeat(61), 7])
    t.strictSame(await got({ user: { timezone } }, null), ['7QZ3KD null', 1], 'what can be no zone')
  t.strictSame(await got({ user }, 'activity'), ['7QZ3KD null', 0], 'no profile was granted')
  for (const id of [undefined, '', '../x', 7])
    t.match(await got({}, null, id ?? null), ['Fitbit did not name the account'])
})

t.test('access ends with either token, by a client that names itself', async (t) => {
  const { call, asked } = recorder([answer({})], 'https://api.fitbit.com/oauth2/token')
  await cloud.oauth({ more: {} }).leave!({ id: 'x', username: null, zone: null, ref: 'r' }, call)
  t.strictSame(asked, [
    {
      ...{
        path: 'https://api.fitbit.com/oauth2/revoke',
        method: 'POST',
        form: {},
        token: { in: 'form', name: 'token' },
      },
      headers: { authorization: `Basic ${Buffer.from('id:secret').toString('base64')}` },
    },
  ])
})

t.test('what is left of the hour', async (t) => {
  const headers = (limit: string, remaining: string, reset: string) => ({
    ...{ 'fitbit-rate-limit-limit': limit, 'fitbit-rate-limit-remaining': remaining },
    'fitbit-rate-limit-reset': reset,
  })
  const hour = { per: 'account', seconds: 3_600, limit: 150 }
  const cases: [Record<string, string>, unknown[]][] = [
    [headers('150', '149', '1478'), [{ ...hour, remaining: 149, resetSeconds: 1_483 }]],
    [headers('150', '0', '9999'), [{ ...hour, remaining: 0 }]],
    [headers('150', 'x', ''), [hour]],
    [headers('0', '0', '5'), []],
    [{}, []],
  ]
  t.strictSame(
    cases.map(([one]) => cloud.api.readBudget!(answer({}, 200, one))),
    cases.map(([, expected]) => expected),
  )
})

const CLIENT = {
  ...{ id: 'fitbit', name: 'Fitbit', provider: cloud, oauth: () => cloud.oauth({ more: {} }) },
  settings: { clientId: 'id', clientSecret: 'secret', more: {} },
} as unknown as OAuthClient

t.test('410: the API has ended, for everybody and for a day', async (t) => {
  t.equal(verdictOf(cloud.api, answer({ errors: [] }, 410)), 'retired')
  t.equal(verdictOf(cloud.api, answer(undefined, 410), { emptyOn404: true }), 'retired')
  t.strictSame(
    [404, 403, 200].map((status) => verdictOf(cloud.api, answer({}, status))),
    ['missing', 'denied', 'ok'],
  )
  const retired = new RetiredApis()
  const now = Date.UTC(2026, 10, 3)
  t.equal(retired.reason(CLIENT, now), undefined)
  t.strictSame([retired.close(CLIENT, now), retired.close(CLIENT, now + MIN)], [true, false], 'said once')
  t.equal(
    retired.reason(CLIENT, now + DAY),
    'Fitbit has ended this API. Connect Google Health instead. It is tried again after 2026-11-04T00:01:00Z',
  )
  t.equal(retired.reason({ ...CLIENT, id: 'oura' }, now), undefined, 'others go on')
  t.equal(retired.reason(CLIENT, now + DAY + MIN), undefined)
  t.ok(retired.close(CLIENT, now + 2 * DAY), 'and is said again when it is asked again')
})

t.test('410 of the token endpoint ends the connection, as a refused refresh token does', async (t) => {
  const oauth = cloud.oauth({ more: {} })
  const refusal = async (status: number, text: string) => {
    const json = text === '' ? undefined : JSON.parse(text)
    const http = { send: async () => ({ status, headers: {}, json, body: Buffer.from(text) }), close: async () => {} }
    const form = { grant_type: 'refresh_token', refresh_token: 'r' }
    const said = await requestTokens({ http, client: { ...CLIENT, oauth: () => oauth }, oauth, form, asked: () => {} })
    return said.kind === 'refusal' ? said.refusal.error : said.kind
  }
  t.equal(await refusal(410, ''), 'gone')
  t.equal(await refusal(410, '{"errors":[{"errorType":"invalid_client"}],"success":false}'), 'invalid_client')
  t.equal(
    await refusal(400, '{"errors":[{"errorType":"invalid_grant","message":"x"}],"success":false}'),
    'invalid_grant',
  )
  t.equal(await refusal(404, ''), null)
  t.equal(await refusal(503, ''), 'later')
  t.strictSame(oauth.refresh?.deadErrors, ['gone'])
})

t.test('who would connect Fitbit is told what to connect instead', async (t) => {
  const report = providerReport(new Map([['fitbit', cloud]]), new Map(), { providers: {}, apiBaseUrl: 'http://us' })
  t.match(report, /^ {2}note {14}Fitbit has ended its API\. Connect Google Health \(google_health\) instead\.$/m)
  try {
    requireClient(new Map(), 'fitbit')
    t.fail('there is no client')
  } catch (error) {
    t.ok(error instanceof AppError)
    t.match(error, {
      status: 400,
      detail: "Provider 'fitbit' is not configured",
      hint: 'Fitbit has ended its API. Connect Google Health (google_health) instead.',
    })
  }
})

const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia', '-03:30']

t.test('a time of the clock is the instant at which the clock shows it', async (t) => {
  const property = fc.property(
    fc.constantFrom(...ZONES),
    fc.integer({ min: Date.UTC(2026, 0, 1) / 1000, max: Date.UTC(2027, 0, 1) / 1000 }),
    (zone, seconds) => {
      const zoneMin = zoneMinAt(zone, seconds * 1000)!
      const text = new Date(seconds * 1000 + zoneMin * MIN).toISOString().slice(0, 23)
      const at = localInstant(text, zone)!
      const shown = new Date(at.ms + zoneMinAt(zone, at.ms)! * MIN).toISOString().slice(0, 23)
      // What is shown twice is the first of both.
      return shown === text && at.zoneMin === zoneMinAt(zone, at.ms) && at.ms <= seconds * 1000
    },
  )
  fc.assert(property, { seed: 18, numRuns: runs(400, 20_000) })
  const at = (text: string, zone: string | null) => {
    const found = localInstant(text, zone)
    return found ? `${new Date(found.ms).toISOString().slice(0, 16)} ${found.zoneMin}` : found
  }
  t.strictSame(
    [
      at('2026-03-29T02:30:00.000', 'Europe/Berlin'),
      at('2026-10-25T02:30:00', 'Europe/Berlin'),
      at('2026-03-07T07:59:59', null),
      at('2026-03-07T07:59:59', 'Nowhere/Land'),
      at('2026-03-07', 'Europe/Berlin'),
      at('', 'Europe/Berlin'),
    ],
    [
      '2026-03-29T01:30 60',
      '2026-10-25T00:30 120',
      '2026-03-07T07:59 null',
      '2026-03-07T07:59 null',
      undefined,
      undefined,
    ],
  )
})

t.test('the stage of every minute: short awakenings interrupt what goes on', async (t) => {
  const start = Date.UTC(2026, 2, 6, 22)
  const local = (minute: number) => new Date(start + 60 * MIN + minute * MIN).toISOString().slice(0, 23)
  const levels = ['light', 'deep', 'rem', 'wake'] as const
  const ours = { light: 'light', deep: 'deep', rem: 'rem', wake: 'awake' }
  const anyNight = fc.record({
    lengths: fc.array(fc.tuple(fc.constantFrom(...levels), fc.integer({ min: 1, max: 40 })), {
      minLength: 1,
      maxLength: 12,
    }),
    wakes: fc.array(fc.tuple(fc.nat(300), fc.integer({ min: 1, max: 3 })), { maxLength: 8 }),
  })
  const property = fc.property(anyNight, ({ lengths, wakes }) => {
    const minutes: string[] = lengths.flatMap(([level, length]) => Array(length).fill(ours[level]))
    let from = 0
    const data = lengths.map(([level, length]) => {
      from += length
      return { dateTime: local(from - length), level, seconds: length * 60 }
    })
    const shortData = wakes.map(([minute, length]) => ({
      dateTime: local(minute),
      level: 'wake',
      seconds: length * 60,
    }))
    for (const [minute, length] of wakes)
      for (let at = minute; at < Math.min(minute + length, minutes.length); at += 1) minutes[at] = 'awake'
    const night = { logId: 1, startTime: local(0), endTime: local(minutes.length), levels: { data, shortData } }
    const part = { stream: 'sleep', at: '2026-03-08T12:00:00Z', zone: 'Europe/Berlin', body: { sleep: [night] } }
    const [stored] = batchOf('fitbit', [part]).events.nights
    const stageAt = (ms: number) => stored?.stages?.find(([, loMs, hiMs]) => loMs <= ms && ms < hiMs)?.[0]
    return stored?.startMs === start && minutes.every((stage, minute) => stageAt(start + minute * MIN) === stage)
  })
  fc.assert(property, { seed: 18, numRuns: runs(150, 3_000) })
  t.pass()
})

t.test('activities by their names, then by their ids', async (t) => {
  const names = sports.flatMap(([, ...own]) => own)
  t.equal(new Set(names).size, names.length)
  t.strictSame(
    [
      workoutType(' Run ', 15),
      workoutType('Course', 90_009),
      workoutType('Yard Work', undefined),
      workoutType('x', 90_019),
      workoutType(undefined, undefined),
    ],
    ['running', 'running', 'chores', 'other', 'other'],
  )
})
