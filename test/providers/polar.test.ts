// What is asked of Polar: dates of the person's clock, nights before what needs them, who has connected, what it counts.
import t from 'tap'
import { durationSeconds } from '../../server/providers/polar/duration.ts'
import { ascent } from '../../server/providers/polar/exercises.ts'
import { cloud } from '../../server/providers/polar/index.ts'
import { objects, streams } from '../../server/providers/polar/streams.ts'
import { sports, workoutType } from '../../server/providers/polar/workouts.ts'
import type { Answer, Request, StreamState } from '../../server/providers/provider.ts'
import { recorder } from '../support/provider-call.ts'

const DAY_MS = 86_400_000
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
const answer = (json: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json,
})
const stream = (name: string) => streams.find((one) => one.name === name)!

t.test('ranges are dates by the clock of the person, as many as Polar accepts', async (t) => {
  const fromMs = Date.UTC(2026, 2, 1, 22)
  const ranges = ['activities', 'cardio_load', 'alertness', 'body_temperature', 'spo2', 'ecg'].flatMap((name) =>
    [null, '+05:45', '-11:00', 'Europe/Berlin'].map((zone) => {
      const { first, windowDays } = stream(name)
      const { from = '', to = '' } = first({ fromMs, untilMs: fromMs + windowDays * DAY_MS }, { ...STATE, zone })!
        .query!
      return [from, (Date.parse(to) - Date.parse(from)) / DAY_MS + 1]
    }),
  )
  t.strictSame([...new Set(ranges.map(([from, days]) => `${from} ${days}`))], ['2026-03-01 28', '2026-03-02 28'])
  const { first, windowDays } = stream('continuous_heart_rate')
  const memo = first({ fromMs, untilMs: fromMs + windowDays * DAY_MS }, STATE)!.memo as {
    query: Record<string, string>
  }
  t.strictSame(memo.query, { from: '2026-03-01', to: '2026-03-07' }, '28 days weigh 16 MB')
  const midnight = { fromMs: Date.UTC(2026, 2, 10), untilMs: Date.UTC(2026, 2, 11) }
  t.strictSame(stream('activities').first(midnight, STATE)!.query, { from: '2026-03-10', to: '2026-03-10' })
})

t.test('the samples, zones and routes of workouts come when they are wanted', async (t) => {
  const query = (options: StreamState['options']) =>
    stream('exercises').first({ fromMs: 0, untilMs: 1 }, { ...STATE, options })!.query
  t.strictSame(query({ samples: true, zones: true, route: true }), { samples: 'true', zones: 'true', route: 'true' })
  t.strictSame(query({ samples: 'yes', limit: 50 }), { samples: 'false', zones: 'false', route: 'false' })
  const one = objects.exercise.request({ id: '2AC312F' }, { ...STATE, options: { route: true } })
  t.strictSame(one, { path: '/v3/exercises/2AC312F', query: { samples: 'false', zones: 'false', route: 'true' } })
})

const night = (date: string, start: string, end: string) => ({ date, sleep_start_time: start, sleep_end_time: end })

t.test('the nights go with what was measured in them', async (t) => {
  const { first, next } = stream('continuous_heart_rate')
  const asked = first({ fromMs: Date.UTC(2026, 2, 9), untilMs: Date.UTC(2026, 2, 11) }, STATE)!
  t.strictSame([asked.path, asked.args], ['/v3/users/sleep', { of: 'nights', nights: {} }])
  const nights = [
    night('2026-03-10', '2026-03-09T23:41:00+01:00', '2026-03-10T06:52:00+01:00'),
    night('2026-03-09', '2026-03-08T22:00:00', '2026-03-09T06:00:00'),
    night('../etc', '2026-03-08T22:00:00Z', '2026-03-09T06:00:00Z'),
    night('2026-03-08', 'late', '2026-03-08T06:00:00Z'),
    { date: '2026-03-07', 'sleep-start-time': '2026-03-06T23:00:00Z', 'sleep-end-time': '2026-03-07T07:00:00Z' },
    null,
  ]
  const more = next!(answer({ nights }), asked)!
  t.strictSame(
    [more.path, more.query, more.memo],
    ['/v3/users/continuous-heart-rate', { from: '2026-03-09', to: '2026-03-10' }, undefined],
  )
  const at = (day: number, hour: number, minute = 0) => Date.UTC(2026, 2, day, hour, minute)
  t.strictSame(more.args, {
    of: 'data',
    nights: {
      '2026-03-10': [at(9, 22, 41), at(10, 5, 52), 60],
      '2026-03-09': [at(8, 22), at(9, 6), null],
      '2026-03-07': [at(6, 23), at(7, 7), 0],
    },
  })
  t.equal(next!(answer({ heart_rates: [] }), more), null)
  t.strictSame(next!(answer(undefined, 204), asked)!.args, { of: 'data', nights: {} }, 'no nights at all')
})

t.test('a night that is told of brings its recharge, which has no notice', async (t) => {
  const one = night('2026-03-10', '2026-03-09T23:41:00+01:00', '2026-03-10T06:52:00+01:00')
  const request = objects.night.request({ date: '2026-03-10' }, STATE) as Request
  t.equal(request.path, '/v3/users/sleep/2026-03-10')
  const [wish] = objects.night.follow!(answer(one), request, STATE)
  const recharge = wish?.kind === 'object' ? objects.recharge.request(wish.args, STATE) : null
  t.strictSame(recharge, {
    path: '/v3/users/nightly-recharge/2026-03-10',
    args: { of: 'data', nights: { '2026-03-10': [Date.UTC(2026, 2, 9, 22, 41), Date.UTC(2026, 2, 10, 5, 52), 60] } },
  })
  t.strictSame(objects.night.follow!(answer({}), request, STATE), [])
  const none = [{ date: '../x' }, { date: 7 }, {}, null].map((args) => [
    objects.night.request(args as never, STATE),
    objects.recharge.request(args as never, STATE),
    objects.exercise.request({ id: '../x' }, STATE),
  ])
  t.strictSame(none.flat(), Array(12).fill(null))
})

t.test('the zone is that of the newest night or workout', async (t) => {
  const nights = [
    night('2026-03-09', '2026-03-08T23:00:00-05:00', '2026-03-09T06:00:00-05:00'),
    night('2026-03-10', '2026-03-09T23:00:00+05:45', '2026-03-10T06:00:00+05:45'),
    night('2026-03-08', '2026-03-07T23:00:00+01:00', '2026-03-08T06:00:00+01:00'),
  ]
  const asked = { path: '' }
  t.equal(stream('sleep').zone!(answer({ nights }), asked), '+05:45')
  t.equal(stream('sleep').zone!(answer({ nights: [] }), asked), null)
  const exercises = [
    { start_time: '2026-03-08T10:00:00', start_time_utc_offset: 60 },
    { 'start-time': '2026-03-09T10:00:00', 'start-time-utc-offset': -210 },
  ]
  t.equal(stream('exercises').zone!(answer(exercises), asked), '-03:30')
  t.equal(
    stream('exercises').zone!(answer([{ start_time: '2026-03-10T10:00:00', start_time_utc_offset: 9999 }]), asked),
    null,
  )
  t.equal(stream('exercises').zone!(answer({ message: 'x' }), asked), null)
})

t.test('an account is named by its tokens, and registered under a name of ours', async (t) => {
  const oauth = cloud.oauth({ more: {} })
  const tokens = (told: unknown) => ({ access: 'a', accessSeconds: 1, refresh: null, scope: null, answer: told })
  const { call } = recorder([], '')
  const ids = await Promise.all(
    [{ x_user_id: 10579 }, { x_user_id: '10579' }, { x_user_id: 'a/b' }, {}, null].map((told) =>
      oauth.identify(tokens(told), call).then(
        ({ id }) => id,
        (error: Error) => error.message,
      ),
    ),
  )
  const nobody = 'Polar did not name the account'
  t.strictSame(ids, ['10579', '10579', nobody, nobody, nobody])
  const account = { id: '10579', username: null, zone: null, ref: '5b1f0d0e-3c55-4f3e-9a3b-1b1f6e0c2a77' }
  const enrolled = await Promise.all(
    [200, 201, 409, 403, 204, 500, 401].map(async (status) => {
      const { call, asked } = recorder([answer(undefined, status)], '')
      const said = await oauth.enrol!(account, call).catch((error: Error) => error)
      return [asked, said instanceof Error ? 'again' : said?.replace(/.*(https\S+?)\. .*/, '$1')]
    }),
  )
  const asked = [{ path: '/v3/users', method: 'POST', json: { 'member-id': account.ref } }]
  t.strictSame(enrolled, [
    ...Array(3).fill([asked, undefined]),
    [asked, 'https://account.polar.com'],
    ...Array(3).fill([asked, 'again']),
  ])
  const leaving = recorder([answer(undefined, 204)], '')
  await oauth.leave!(account, leaving.call)
  t.strictSame(leaving.asked, [{ path: '/v3/users/10579', method: 'DELETE' }])
})

t.test("Polar's own count of requests", async (t) => {
  const read = (headers: Record<string, string>) => cloud.api.readBudget!(answer(null, 200, headers))
  t.strictSame(
    read({ 'ratelimit-limit': '520, 5100', 'ratelimit-usage': '3, 5101', 'ratelimit-reset': '812, 43100' }),
    [
      { per: 'application', seconds: 900, limit: 520, remaining: 517, resetSeconds: 812 },
      { per: 'application', seconds: 86_400, limit: 5100, remaining: 0, resetSeconds: 43_100 },
    ],
  )
  t.strictSame(read({ 'ratelimit-limit': '520' }), [{ per: 'application', seconds: 900, limit: 520 }])
  t.strictSame(read({ 'ratelimit-limit': 'none' }), [])
  t.strictSame(read({}), [])
})

t.test('lengths of time', async (t) => {
  const cases: [string | undefined, number | undefined][] = [
    ['PT52M0.4S', 3120.4],
    ['PT1H2M3.5S', 3723.5],
    ['PT2H', 7200],
    ['P1DT1M', 86_460],
    ['P2D', 172_800],
    ['PT0S', 0],
    ['PT1,5S', 1.5],
    ['PT90M', 5400],
    ['PT', undefined],
    ['P', undefined],
    ['P1DT', undefined],
    ['PT1M2H', undefined],
    ['-PT1S', undefined],
    ['PT1.5M', undefined],
    ['52', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  t.strictSame(
    cases.filter(([text, seconds]) => durationSeconds(text) !== seconds),
    [],
  )
})

t.test('a spike of the altitude is no ascent', async (t) => {
  const cases: [(number | undefined)[], number | undefined][] = [
    [[100, 101, 102], 2],
    [[100, 101, 102, 103], 3],
    [[100, 100, 900, 100, 100], 0],
    [[100, 90, 80], 0],
    [[10, undefined, 11, 12, undefined, 13], 3],
    [[5], undefined],
    [[], undefined],
  ]
  t.strictSame(
    cases.map(([altitudes]) => ascent(altitudes)),
    cases.map(([, metres]) => metres),
  )
})

t.test('sports are known by any spelling, by their families, and by the coarser name', async (t) => {
  const names = sports.flatMap(([, ...own]) => own)
  t.equal(new Set(names).size, names.length, 'one type each')
  const cases: [string | undefined | null, string | undefined, string][] = [
    ['TRAIL_RUNNING', 'RUNNING', 'trail_running'],
    ['trail running', undefined, 'trail_running'],
    ['CROSS-COUNTRY_SKIING', undefined, 'cross_country_skiing'],
    [undefined, 'CROSS-COUNTRY SKIING', 'cross_country_skiing'],
    ['NIGHT_RUNNING', 'OTHER', 'running'],
    ['FAT_BIKING', 'OTHER', 'cycling'],
    ['LES_MILLS_SOMETHING', 'OTHER', 'group_exercise'],
    ['WATERSPORTS_RAFTING', undefined, 'water_sports'],
    ['QUIDDITCH', 'SOCCER', 'soccer'],
    [undefined, 'OTHER', 'generic'],
    ['QUIDDITCH', 'QUIDDITCH', 'other'],
    [undefined, undefined, 'other'],
  ]
  t.strictSame(
    cases.filter(([detailed, sport, type]) => workoutType(detailed ?? undefined, sport) !== type),
    [],
  )
})
