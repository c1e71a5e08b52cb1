// What is asked of providers: requests, pages, scopes and accounts, without a provider.
import t from 'tap'
import { cloudProviders } from '../../server/providers/index.ts'
import type { Answer, OAuth, Provider, Request, StreamState } from '../../server/providers/provider.ts'
import { grantedScopes } from '../../server/providers/scopes.ts'
import { recorder } from '../support/provider-call.ts'

const DAY_MS = 86_400_000
const WINDOW = { fromMs: Date.UTC(2026, 2, 1, 10), untilMs: Date.UTC(2026, 2, 8, 10, 30) }
const EVERYTHING: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }

const provider = (id: string): Provider => cloudProviders.get(id)!
const answer = (json: unknown, headers: Record<string, string> = {}, status = 200): Answer => ({
  status,
  headers,
  json,
})
const stream = (id: string, name: string) => provider(id).streams!.find((one) => one.name === name)!

/** Providers whose requests and ranges have tests of their own. */
const elsewhere = new Set(['google_health', 'fitbit', 'sensorbio'])

/** A request as one line. */
const line = ({ path, query = {}, form = {}, method = 'GET' }: Request) =>
  `${method} ${path} ${Object.entries({ ...query, ...form })
    .filter(([name]) => name !== 'data_fields' && name !== 'meastypes')
    .map((pair) => pair.join('='))
    .join('&')}`.trim()

t.test('the first request of every stream', async (t) => {
  const days = 'start_date=2026-02-28&end_date=2026-03-09T23:59:59'
  const week = 'limit=25&start=2026-03-01T10:00:00.000Z&end=2026-03-08T10:30:00.000Z'
  const expected: Record<string, Record<string, string | null>> = {
    oura: {
      ...Object.fromEntries(
        'workout sleep daily_sleep daily_readiness daily_activity daily_stress daily_resilience daily_spo2 daily_cardiovascular_age'
          .split(' ')
          .map((name) => [name, `GET /v2/usercollection/${name} ${days}`]),
      ),
      vo2_max: `GET /v2/usercollection/vO2_max ${days}`,
      heartrate:
        'GET /v2/usercollection/heartrate start_datetime=2026-03-01T10:00:00Z&end_datetime=2026-03-08T10:30:00Z',
      personal_info: 'GET /v2/usercollection/personal_info',
    },
    whoop: {
      workout: `GET /v2/activity/workout ${week}`,
      sleep: `GET /v2/activity/sleep ${week}`,
      recovery: `GET /v2/activity/sleep ${week.replace('03-01', '02-27')}`,
      cycle: `GET /v2/cycle ${week}`,
      body: 'GET /v2/user/measurement/body',
    },
    polar: {
      exercises: 'GET /v3/exercises samples=false&zones=false&route=false',
      // The nights say when and in which zone the other things were.
      ...Object.fromEntries(
        ['sleep', 'nightly_recharge', 'continuous_heart_rate'].map((name) => [name, 'GET /v3/users/sleep']),
      ),
      ...Object.fromEntries(
        Object.entries({
          activities: 'activities',
          cardio_load: 'cardio-load/date',
          alertness: 'sleepwise/alertness/date',
          body_temperature: 'biosensing/bodytemperature',
          skin_temperature: 'biosensing/skintemperature',
          spo2: 'biosensing/spo2',
          ecg: 'biosensing/ecg',
        }).map(([name, path]) => [name, `GET /v3/users/${path} from=2026-03-01&to=2026-03-08`]),
      ),
      physical_info: 'GET /v3/users/physical-info',
    },
    garmin: {},
    suunto: {
      workouts:
        'GET /v3/workouts since=1772359200000&until=1772965800000&limit=100&offset=0&filter-by-modification-time=true',
      ...Object.fromEntries(
        ['sleep', 'recovery', 'activity'].map((name) => [
          name,
          `GET /247samples/${name} from=1772359200000&to=1772965799999`,
        ]),
      ),
      // Where the person is.
      statistics: 'GET /247samples/recovery from=1772361000000&to=1772965799999',
    },
    ultrahuman: { metrics: 'GET /user_data/metrics date=2026-03-08' },
    withings: {
      measures: 'POST /measure action=getmeas&category=1&startdate=1772359200&enddate=1772965800',
      activity: 'POST /v2/measure action=getactivity&startdateymd=2026-02-28&enddateymd=2026-03-09',
      workouts: 'POST /v2/measure action=getworkouts&startdateymd=2026-02-28&enddateymd=2026-03-09',
      sleep: 'POST /v2/sleep action=getsummary&startdateymd=2026-02-28&enddateymd=2026-03-09',
      // Only where somebody wants it.
      intraday: null,
    },
    strava: {
      activities: 'GET /athlete/activities after=1772359199&before=1772965800&page=1&per_page=200',
      athlete: 'GET /athlete',
    },
  }
  const asked = Object.fromEntries(
    [...cloudProviders]
      .filter(([id]) => !elsewhere.has(id))
      .map(([id, { streams = [] }]) => [
        id,
        Object.fromEntries(
          streams
            .filter(({ noticesOnly }) => !noticesOnly)
            .map(({ name, first }) => [name, first(WINDOW, EVERYTHING)] as const)
            .map(([name, request]) => [name, request && line(request)]),
        ),
      ]),
  )
  t.strictSame(asked, expected)
  const scopes = [...cloudProviders].flatMap(([id, { streams = [], oauth }]) => {
    const granted = grantedScopes(oauth({ more: {} }).scopes.join(' '), oauth({ more: {} }))
    return streams.filter(({ scope }) => scope && !granted?.has(scope)).map(({ name }) => `${id} ${name}`)
  })
  t.strictSame(scopes, [], 'what a stream needs is asked for')
})

t.test('pages go on where the provider says so, with the same parameters', async (t) => {
  const next = (id: string, name: string, json: unknown) => {
    const one = stream(id, name)
    const request = one.next?.(answer(json), one.first(WINDOW, EVERYTHING)!)
    return request ? line(request) : null
  }
  const cases: [string, string, unknown, string | null][] = [
    [
      'oura',
      'sleep',
      { data: [], next_token: 'a+/=' },
      'start_date=2026-02-28&end_date=2026-03-09T23:59:59&next_token=a+/=',
    ],
    ['oura', 'sleep', { data: [{}], next_token: null }, null],
    ['oura', 'sleep', { data: [{}] }, null],
    ['oura', 'sleep', { data: [{}], next_token: '' }, null],
    ['oura', 'sleep', { data: [{}], next_token: 7 }, null],
    ['oura', 'sleep', undefined, null],
    ['oura', 'personal_info', { id: 'a', next_token: 'b' }, null],
    [
      'whoop',
      'cycle',
      { records: [{}], next_token: 'x' },
      'start=2026-03-01T10:00:00.000Z&end=2026-03-08T10:30:00.000Z&nextToken=x',
    ],
    ['whoop', 'cycle', { records: [], next_token: 'x' }, null],
    ['whoop', 'cycle', { records: [{}], next_token: '' }, null],
    ['whoop', 'cycle', { records: [{}] }, null],
    ['whoop', 'cycle', null, null],
  ]
  const wrong = cases.filter(([id, name, json, expected]) => {
    const got = next(id, name, json)
    return expected === null ? got !== null : !got?.endsWith(expected)
  })
  t.strictSame(wrong, [])
})

t.test('recoveries are asked for after the sleeps they belong to, which tell when and where those were', async (t) => {
  const { first, next } = stream('whoop', 'recovery')
  const night = (id: string, day: number, more = {}) => ({
    id,
    start: `2026-03-0${day}T22:00:00.000Z`,
    end: `2026-03-0${day + 1}T06:00:00.000Z`,
    timezone_offset: '-05:00',
    nap: false,
    ...more,
  })
  const asked = [first(WINDOW, EVERYTHING)!]
  const answers = [
    { records: [night('b', 3), night('nap', 3, { nap: true })], next_token: 'two' },
    { records: [night('a', 2, { timezone_offset: null }), night('broken', 1, { end: null }), null, 5] },
    { records: [{ sleep_id: 'b' }], next_token: 'three' },
    { records: [{ sleep_id: 'a' }] },
  ]
  for (const json of answers) {
    const request = next!(answer(json), asked.at(-1)!)
    if (request) asked.push(request)
  }
  const window = 'start=2026-03-01T10:00:00.000Z&end=2026-03-08T10:30:00.000Z'
  t.strictSame(asked.map(line), [
    `GET /v2/activity/sleep limit=25&${window.replace('03-01', '02-27')}`,
    `GET /v2/activity/sleep limit=25&${window.replace('03-01', '02-27')}&nextToken=two`,
    `GET /v2/recovery limit=25&${window}`,
    `GET /v2/recovery limit=25&${window}&nextToken=three`,
  ])
  const at = (day: number, hour: number) => Date.UTC(2026, 2, day, hour)
  const args = { of: 'recovery', sleeps: { b: [at(3, 22), at(4, 6), -300], a: [at(2, 22), at(3, 6), null] } }
  t.strictSame(
    asked.slice(2).map((request) => request.args),
    [args, args],
  )
  const alone = first(WINDOW, { ...EVERYTHING, scope: new Set(['read:recovery']) })!
  t.equal(line(alone), `GET /v2/recovery limit=25&${window}`, 'without the sleeps, if they were not granted')
  const cycles = first(WINDOW, { ...EVERYTHING, scope: new Set(['read:recovery', 'read:cycles']) })!
  t.equal(line(cycles), `GET /v2/cycle limit=25&${window.replace('03-01', '02-27')}`, 'but with the cycles')
  const open = { id: 8, start: '2026-03-04T22:00:00.000Z', timezone_offset: '+01:00' }
  const closed = { id: 7, start: '2026-03-03T22:00:00.000Z', end: open.start, timezone_offset: '+01:00' }
  const then = next!(answer({ records: [open, closed], next_token: null }), cycles)!
  t.equal(line(then), `GET /v2/recovery limit=25&${window}`)
  t.strictSame(then.args, {
    ...{ of: 'recovery', sleeps: {} },
    cycles: { 7: [at(3, 22), at(4, 22), 60], 8: [at(4, 22), at(5, 22), 60] },
  })
  const made = (text: string) => ({ created_at: text })
  const pages = [
    ['b', 'a', 'a'],
    ['a', 'a'],
    ['a', 'c'],
  ].map((texts) => ({
    ...{ records: texts.map(made), next_token: 'more' },
  }))
  const before: unknown[] = []
  pages.reduce((request, json) => {
    const further = next!(answer(json), request)!
    before.push((further.args as { before?: unknown }).before)
    return further
  }, alone)
  t.strictSame(
    before,
    [
      ['a', 2],
      ['a', 4],
      ['c', 1],
    ],
    'those that were made together go on across pages',
  )
})

t.test('the zone of a page is that of its latest record', async (t) => {
  const second = { nextToken: 'x' }
  const cases: [string, string, unknown, string | null, Request['query']?][] = [
    ['oura', 'sleep', { data: [{ bedtime_end: 'x' }, { bedtime_end: '2026-03-07T07:04:12+05:45' }] }, '+05:45'],
    ['oura', 'sleep', { data: [{ bedtime_end: 7 }] }, null],
    ['oura', 'daily_activity', { data: [{ timestamp: '2026-03-07T04:00:00Z' }] }, 'Z'],
    ['oura', 'daily_activity', {}, null],
    ['whoop', 'sleep', { records: [{ timezone_offset: '-03:30' }, { timezone_offset: '+01:00' }] }, '-03:30'],
    ['whoop', 'sleep', { records: [{ timezone_offset: '-03:30' }] }, null, second],
    ['whoop', 'sleep', { records: [{ timezone_offset: 'home' }] }, null],
    ['whoop', 'sleep', null, null],
  ]
  t.strictSame(
    cases.filter(
      ([id, name, json, zone, query = {}]) => stream(id, name).zone?.(answer(json), { path: '/', query }) !== zone,
    ),
    [],
  )
})

t.test('ranges and histories are those the providers allow', async (t) => {
  // Strava accepts any range, so does Suunto of workouts, and what Polar lists has none.
  const anyRange = new Set([
    'suunto workouts',
    'strava activities',
    'strava athlete',
    ...['exercises', 'sleep', 'nightly_recharge', 'physical_info'].map((name) => `polar ${name}`),
  ])
  const limits = [...cloudProviders].flatMap(([id, { streams = [] }]) =>
    streams
      .filter(({ noticesOnly }) => !noticesOnly)
      .flatMap(({ name, windowDays, historyDays, overlapHours, pollSeconds, byChange }) => {
        const stream = `${id} ${name}`
        // Nights and totals of days are revised; heart rate alone is not.
        const leastHours = byChange || stream === 'sensorbio biometrics' ? 1 : 24
        const wrong = {
          [`windowDays ${windowDays}: more than 30 only for those of anyRange`]:
            windowDays > 30 && !anyRange.has(stream) && !elsewhere.has(id),
          'pollSeconds are missing: what has no history is asked for at most so often':
            historyDays === 0 && pollSeconds === undefined,
          [`overlapHours ${overlapHours}: less than ${leastHours}`]: historyDays !== 0 && overlapHours < leastHours,
        }
        return Object.entries(wrong).flatMap(([why, isWrong]) => (isWrong ? [`${stream}: ${why}`] : []))
      }),
  )
  t.strictSame(limits, [])
  const { first } = stream('oura', 'heartrate')
  const { query } = first({ fromMs: WINDOW.untilMs - 30 * DAY_MS, untilMs: WINDOW.untilMs }, EVERYTHING)!
  t.equal(Date.parse(query!.end_datetime!) - Date.parse(query!.start_datetime!), 30 * DAY_MS)
})

t.test('workouts are listed as the provider has them', async (t) => {
  const query = { window: WINDOW, limit: 50, options: {} }
  const asked = (id: string) =>
    [provider(id).workouts!.list(query), provider(id).workouts!.one!('a/b?c', query)].map(line)
  t.strictSame(asked('oura'), [
    'GET /v2/usercollection/workout start_date=2026-02-28&end_date=2026-03-09T23:59:59',
    'GET /v2/usercollection/workout/a%2Fb%3Fc',
  ])
  t.strictSame(asked('whoop'), [
    'GET /v2/activity/workout limit=25&start=2026-03-01T10:00:00.000Z&end=2026-03-08T10:30:00.000Z',
    'GET /v2/activity/workout/a%2Fb%3Fc',
  ])
})

const TOKENS = { access: 'a', accessSeconds: 60, refresh: null, scope: null, answer: {} }
const ACCOUNT = { id: 'x', username: null, zone: null, ref: 'grant' }
const oauth = (id: string, host?: string, issuer?: string): OAuth =>
  provider(id).oauth({ more: host === undefined ? {} : { AUTH_HOST: host } }, issuer ?? null)

t.test('the account is named by the provider, or there is none', async (t) => {
  const named = async (id: string, json: unknown) => {
    const { call, asked } = recorder([answer(json, {}, 200)], 'https://example.org/token')
    const identity = await oauth(id)
      .identify(TOKENS, call)
      .catch((error: Error) => error.message)
    return [asked.map(line), identity]
  }
  t.strictSame(await named('oura', { id: '8b97e1b6-user', email: 'user@example.com' }), [
    ['GET /v2/usercollection/personal_info'],
    { id: '8b97e1b6-user', username: null, zone: null },
  ])
  t.strictSame(await named('whoop', { user_id: 10129, email: 'jane@example.org' }), [
    ['GET /v2/user/profile/basic'],
    { id: '10129', username: 'jane@example.org', zone: null },
  ])
  for (const json of [{}, null, { id: 7, user_id: 1.5 }, { id: '', user_id: null }]) {
    t.match((await named('oura', json))[1], /did not name the account/)
    t.match((await named('whoop', json))[1], /did not name the account/)
  }
})

t.test('a grant of Oura stays with the service that issued it', async (t) => {
  const told = (...args: Parameters<typeof oauth>) => {
    const { issuer, tokenUrl, scopes } = oauth(...args)
    return [issuer, new URL(tokenUrl).host, scopes.length, scopes[0]]
  }
  const moi = ['moi', 'moi.ouraring.com', 7, 'extapi:personal']
  const legacy = ['legacy', 'api.ouraring.com', 5, 'personal']
  t.strictSame(
    [told('oura'), told('oura', 'legacy'), told('oura', 'moi', 'legacy'), told('oura', 'legacy', 'moi')],
    [moi, legacy, legacy, moi],
  )
})

t.test('a grant is ended as the provider wants it', async (t) => {
  const left = async (one: OAuth, answers: Answer[], tokenUrl: string) => {
    const { call, asked } = recorder(answers, tokenUrl)
    await one.leave!(ACCOUNT, call)
    return asked
  }
  const ok = answer(undefined)
  t.strictSame(await left(oauth('oura'), [ok], 'http://localhost:9/oura/oauth-token'), [
    {
      path: 'http://localhost:9/oura/oauth-revoke',
      method: 'POST',
      token: { in: 'form', name: 'token' },
      form: { token_type_hint: 'access_token', client_id: 'id', client_secret: 'secret' },
    },
  ])
  const revoke = { path: 'https://api.ouraring.com/oauth/revoke', token: { in: 'query', name: 'access_token' } }
  const old = oauth('oura', 'legacy')
  t.strictSame(await left(old, [answer('', {}, 405), ok], old.tokenUrl), [{ ...revoke, method: 'POST' }, revoke])
  t.strictSame(await left(oauth('whoop'), [ok], ''), [{ path: '/v2/user/access', method: 'DELETE' }])
})

t.test('scopes are compared without the prefix, whoever wrote them', async (t) => {
  const granted = (scope: string | null, id: string) => {
    const names = grantedScopes(scope, oauth(id))
    return names && [...names]
  }
  t.strictSame(granted('extapi:daily  extapi:spo2 personal', 'oura'), ['daily', 'spo2', 'personal'])
  t.strictSame(granted('read:sleep,offline', 'whoop'), ['read:sleep', 'offline'])
  t.strictSame(granted('', 'whoop'), [])
  t.equal(granted(null, 'whoop'), null)
})

t.test("the provider's own count of requests", async (t) => {
  const read = (id: string, headers: Record<string, string>) =>
    provider(id).api.readBudget?.(answer(null, headers, 429))
  t.strictSame(
    read('whoop', {
      'x-ratelimit-limit': '100, 100;window=60, 10000;window=86400',
      'x-ratelimit-remaining': '98',
      'x-ratelimit-reset': '3',
    }),
    [
      { per: 'application', seconds: 60, limit: 100, remaining: 98, resetSeconds: 3 },
      { per: 'application', seconds: 86_400, limit: 10_000 },
    ],
  )
  t.strictSame(read('whoop', {}), [])
  t.strictSame(read('whoop', { 'x-ratelimit-limit': 'many, 5;window=x' }), [])
  t.strictSame(read('oura', { 'x-ratelimit-tier': 'application', 'retry-after': '17', 'x-ratelimit-limit': '5000' }), [
    { per: 'application', seconds: 300, remaining: 0, limit: 5000, resetSeconds: 17 },
  ])
  t.strictSame(read('oura', { 'x-ratelimit-tier': 'token', 'retry-after': 'soon' }), [
    { per: 'account', seconds: 300, remaining: 0 },
  ])
  t.strictSame(read('oura', {}), [])
  t.equal(provider('oura').api.judge?.(answer(null, {}, 426)), 'denied')
  t.equal(provider('oura').api.judge?.(answer(null)), undefined)
})
