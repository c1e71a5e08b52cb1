// What is asked of Strava: pages, details, recordings, who has connected, what it counts and refuses.
import t from 'tap'
import type { Answer, Request, StreamState } from '../../server/providers/provider.ts'
import { cloud } from '../../server/providers/strava/index.ts'
import { objects, streams, workouts } from '../../server/providers/strava/streams.ts'
import { sports, workoutType } from '../../server/providers/strava/workouts.ts'
import { recorder } from '../support/provider-call.ts'

const DAY_MS = 86_400_000
const UNTIL = Date.UTC(2026, 2, 8)
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
const HISTORY = { ...STATE, isHistory: true }
const answer = (json: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json,
})
const activities = streams[0]!
const window = (days: number) => ({ fromMs: UNTIL - days * DAY_MS, untilMs: UNTIL })
const started = (id: unknown, daysAgo: number) => ({ id, start_date: new Date(UNTIL - daysAgo * DAY_MS).toISOString() })

t.test('pages go on until one is half empty', async (t) => {
  const first = activities.first(window(7), STATE)!
  const pages = [200, 199, 100, 99, 0].map((items) => {
    const next = activities.next!(answer(Array(items).fill({})), { ...first, query: { ...first.query, page: '3' } })
    return next?.query?.page ?? null
  })
  t.strictSame(pages, ['4', '4', '4', null, null])
  t.equal(activities.next!(answer({ message: 'x' }), first), null)
})

t.test(
  'the calories of an activity come from its detail, or from what is listed, never from both in turn',
  async (t) => {
    const cases: [string, Request, StreamState, number[]][] = [
      ['a pull', activities.first(window(2), STATE)!, STATE, [1, 3, 29]],
      ['a sync of a year', activities.first(window(365), STATE)!, STATE, [1, 3, 29, 31, 200]],
      ['the past', activities.first(window(90), HISTORY)!, HISTORY, [1, 3, 29, 31]],
    ]
    const told = cases.map(([name, request, state, ages]) => {
      const wishes = activities.follow!(answer(ages.map((days) => started(days, days))), request, state)
      const { aloneBeforeMs = Number.NEGATIVE_INFINITY } = request.args as { aloneBeforeMs?: number }
      const asked = wishes.map((wish) => (wish.kind === 'object' ? (wish.args as { id: string }).id : ''))
      const fromList = ages.filter((days) => UNTIL - days * DAY_MS < aloneBeforeMs).map(String)
      return [name, asked, fromList]
    })
    t.strictSame(told, [
      ['a pull', ['1', '3', '29'], []],
      ['a sync of a year', ['1', '3', '29'], ['31', '200']],
      ['the past', [], ['1', '3', '29', '31']],
    ])
    const inTheMorning = { fromMs: UNTIL + 5_000 - 2 * DAY_MS, untilMs: UNTIL + 5_000 }
    const later = { fromMs: inTheMorning.fromMs + 12 * 3_600_000, untilMs: inTheMorning.untilMs + 12 * 3_600_000 }
    t.strictSame(
      activities.first(inTheMorning, STATE)!.args,
      activities.first(later, STATE)!.args,
      'pulls of a day say the same of when, so that the same answer is the same',
    )
  },
)

t.test('ids that are none are not asked for', async (t) => {
  const first = activities.first(window(2), STATE)!
  const page = [
    started('15550123456', 1),
    started('../athlete', 1),
    started(1.5, 1),
    started(-4, 1),
    { id: 7 },
    null,
    'x',
  ]
  const wishes = activities.follow!(answer(page), first, STATE)
  t.strictSame(
    wishes.map((wish) => wish.kind === 'object' && [wish.object, wish.key, wish.args]),
    [['activity', 'activity:15550123456', { id: '15550123456', samples: false, route: false }]],
  )
  const { activity, samples } = objects
  t.strictSame(
    [{ id: '../x' }, {}, null, { id: 5.5 }].map((args) => [
      activity.request(args as never, STATE),
      activity.missing!(args as never),
    ]),
    Array(4).fill([null, {}]),
  )
  t.equal(samples.request({ id: '/x', samples: true, route: true }, STATE), null)
  t.strictSame(activity.missing!({ id: '7' }), { gone: '7' })
})

t.test('what was recorded is asked for after the detail, if it is wanted', async (t) => {
  const json = {
    ...{ id: 15550123456, start_date: '2026-03-07T06:12:30Z', utc_offset: 3600, sport_type: 'TrailRun' },
    ...{ device_name: ' Garmin\u0000 Forerunner\ud800 965 ', device_watts: false },
  }
  const asked = (options: StreamState['options'], body: unknown = json) =>
    objects.activity.follow!(answer(body), { path: '' }, { ...STATE, options }).map((wish) => {
      const request = wish.kind === 'object' ? objects.samples.request(wish.args, STATE) : null
      return [wish.kind === 'object' && wish.key, request?.path, request?.query?.keys, request?.args]
    })
  const args = {
    ...{ of: 'samples', id: '15550123456', startMs: Date.UTC(2026, 2, 7, 6, 12, 30), zoneMin: 60 },
    ...{ device: 'Garmin Forerunner 965', cadenceFactor: 2, hasPower: false },
  }
  const recorded = 'time,heartrate,velocity_smooth,cadence,watts,altitude,temp'
  const one = (keys: string) => [['samples:15550123456', '/activities/15550123456/streams', keys, args]]
  t.strictSame(asked({}), [])
  t.strictSame(asked({ samples: false, zones: true }), [])
  t.strictSame(asked({ samples: true }), one(recorded))
  t.strictSame(asked({ route: true }), one('time,latlng'))
  t.strictSame(asked({ samples: true, route: true }), one(`${recorded},latlng`))
  const first = activities.first(window(2), STATE)!
  const [wish] = activities.follow!(answer([started(7, 1)]), first, { ...STATE, options: { route: true } })
  const detail = wish?.kind === 'object' ? objects.activity.request(wish.args, STATE) : null
  const later = objects.activity.follow!(answer(json), detail!, STATE)
  t.strictSame(
    later.map((one) => one.kind === 'object' && one.object),
    ['samples'],
    'who asked for the list wanted them',
  )
  t.strictSame(asked({ samples: true }, { ...json, start_date: null }), [])
  t.strictSame(asked({ samples: true }, { message: 'x' }), [])
})

t.test('workouts are listed by page', async (t) => {
  const listed = (limit: number, options = {}) => workouts.list({ window: window(1), limit, options }).query
  t.match(listed(50), { page: '1', per_page: '50' })
  t.match(listed(50, { offset: 120 }), { page: '3', per_page: '50' })
  t.equal(workouts.one!('a/b', { window: window(1), limit: 1, options: {} }).path, '/activities/a%2Fb')
})

t.test('the athlete is named with the tokens, else asked for', async (t) => {
  const oauth = cloud.oauth({ more: {} })
  const named = async (told: unknown, json: unknown) => {
    const { call, asked } = recorder([answer(json)], oauth.tokenUrl)
    const tokens = { access: 'a', accessSeconds: 60, refresh: 'r', scope: null, answer: told }
    const identity = await oauth.identify(tokens, call).catch((error: Error) => error.message)
    return [asked.map(({ path }) => path), identity]
  }
  const eka = { id: '48211907', username: 'eka', zone: null }
  t.strictSame(await named({ athlete: { id: 48211907, username: 'eka' } }, null), [[], eka])
  t.strictSame(await named({}, { id: '48211907', username: 'eka' }), [['/athlete'], eka])
  t.strictSame(await named({ athlete: null }, { id: 7, username: '' }), [
    ['/athlete'],
    { ...eka, id: '7', username: null },
  ])
  t.match((await named(null, { message: 'x' }))[1], /did not name the account/)
})

t.test('a grant is ended with the credentials of the application', async (t) => {
  const { call, asked } = recorder([answer(undefined)], 'http://localhost:9/strava/oauth/token')
  await cloud.oauth({ more: {} }).leave!({ id: '7', username: null, zone: null, ref: 'grant' }, call)
  t.strictSame(asked, [
    {
      path: 'http://localhost:9/strava/oauth/revoke',
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('id:secret').toString('base64')}` },
      token: { in: 'form', name: 'token' },
      form: { token_type_hint: 'access_token' },
    },
  ])
})

t.test('a refusal of the token endpoint is read from the field that it names', async (t) => {
  const { errorIn } = cloud.oauth({ more: {} })
  const refusal = (resource: string, field: string) => ({
    message: 'Bad Request',
    errors: [{ resource, field, code: 'invalid' }],
  })
  const cases: [unknown, string | null][] = [
    [refusal('RefreshToken', 'refresh_token'), 'invalid_grant'],
    [refusal('RefreshToken', 'code'), 'invalid_grant'],
    [refusal('AuthorizationCode', 'code'), 'invalid_grant'],
    [refusal('Application', 'client_id'), 'invalid_client'],
    [refusal('Application', 'client_secret'), 'invalid_client'],
    [{ message: 'Bad Request', errors: [] }, null],
    [{ message: 'Authorization Error' }, null],
    ['x', null],
    [undefined, null],
  ]
  t.strictSame(
    cases.filter(([json, error]) => errorIn!(json) !== error),
    [],
  )
})

t.test('a missing permission is no refused token', async (t) => {
  const judge = (status: number, field: string, code: string) =>
    cloud.api.judge!(answer({ message: 'Authorization Error', errors: [{ resource: 'Athlete', field, code }] }, status))
  t.equal(judge(401, 'access_token', 'invalid'), undefined)
  t.equal(judge(401, 'activity:read_permission', 'missing'), 'denied')
  t.equal(judge(404, 'activity:read_permission', 'missing'), undefined)
  t.equal(cloud.api.judge!(answer('x', 401)), undefined)
})

t.test(
  "Strava's own count: the fewest of reads and of all requests are left, until the quarter of the hour",
  async (t) => {
    const read = (headers: Record<string, string>) => cloud.api.readBudget!(answer(null, 200, headers))
    const date = 'Sun, 08 Mar 2026 10:10:30 GMT'
    const both = {
      ...{ 'x-ratelimit-limit': '200,2000', 'x-ratelimit-usage': '150,1990' },
      ...{ 'x-readratelimit-limit': '100,1000', 'x-readratelimit-usage': '31,400' },
    }
    t.strictSame(read({ ...both, date }), [
      { per: 'application', seconds: 900, limit: 100, remaining: 50, resetSeconds: 270 },
      { per: 'application', seconds: 86_400, limit: 1000, remaining: 10, resetSeconds: 49_770 },
    ])
    t.strictSame(read({ ...both, 'x-readratelimit-usage': '104,1000' }), [
      { per: 'application', seconds: 900, limit: 100, remaining: 0 },
      { per: 'application', seconds: 86_400, limit: 1000, remaining: 0 },
    ])
    t.strictSame(read({ 'x-ratelimit-limit': '600, 6000' }), [
      { per: 'application', seconds: 900, limit: 600 },
      { per: 'application', seconds: 86_400, limit: 6000 },
    ])
    t.strictSame(read({}), [])
    t.strictSame(read({ 'x-ratelimit-limit': 'many', date: 'today' }), [])
  },
)

t.test('sports have one type each, and a new one is what its coarser name says', async (t) => {
  const names = sports.flatMap(([, ...own]) => own)
  t.equal(new Set(names).size, names.length)
  t.equal(names.length, 57)
  t.strictSame(
    [
      workoutType('Quidditch', 'Run'),
      workoutType(undefined, 'Ride'),
      workoutType('toString', undefined),
      workoutType('x', 'y'),
    ],
    ['running', 'cycling', 'other', 'other'],
  )
})
