// What is asked of Sensor Bio: pages by the last record, days by their dates, HTTP/2; who has connected.
import fc from 'fast-check'
import t from 'tap'
import type { Answer, Request, StreamState, Window } from '../../server/providers/provider.ts'
import { cloud } from '../../server/providers/sensorbio/index.ts'
import { millisOf, streams } from '../../server/providers/sensorbio/streams.ts'
import { sports, workoutType } from '../../server/providers/sensorbio/workouts.ts'
import { batchOf, rowsOf } from '../support/parcels.ts'
import { recorder, sentFor } from '../support/provider-call.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const DAY = 86_400_000
const WINDOW: Window = { fromMs: Date.UTC(2026, 2, 6, 10, 20), untilMs: Date.UTC(2026, 2, 8, 9, 5) }
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
const answer = (json: unknown, status = 200): Answer => ({ status, headers: {}, json })
const stream = (name: string) => streams.find((one) => one.name === name)!

t.test('pages begin with the last record of the one before, until the window ends', async (t) => {
  const { first, next } = stream('biometrics')
  const asked = first(WINDOW, STATE)!
  t.strictSame(asked.query, { 'last-timestamp': String(WINDOW.fromMs), limit: '50' })
  t.equal(asked.args, undefined, 'nothing that makes an answer another one')
  const page = (timestamp: unknown, link: string | undefined = 'https://api.sensorbio.com/v1/biometrics?limit=50') =>
    answer({ data: [{ timestamp: WINDOW.fromMs }, { timestamp }], links: { next: link } })
  const later = WINDOW.fromMs + MIN
  t.strictSame(next!(page(later), asked), { ...asked, query: { ...asked.query, 'last-timestamp': String(later) } })
  t.equal(next!(page(String(later)), asked)?.query?.['last-timestamp'], String(later), 'as text')
  const ends: Answer[] = [
    page(later, ''),
    answer({ data: [{ timestamp: later }], links: {} }),
    answer({ data: [{ timestamp: later }] }),
    answer({ data: [], links: { next: 'https://api.sensorbio.com/v1/biometrics' } }),
    page(WINDOW.fromMs),
    page(WINDOW.fromMs - MIN),
    page(WINDOW.untilMs),
    page('soon'),
    answer(null),
    answer([]),
  ]
  t.strictSame(
    ends.map((one) => next!(one, asked)),
    ends.map(() => null),
  )
  const link = 'https://elsewhere.example/v1/other?last-timestamp=5&cursor=abc&limit=50'
  const followed = next!(page(later, link), asked)!
  t.strictSame(
    [followed.path, followed.query],
    ['/v1/biometrics', { 'last-timestamp': '5', cursor: 'abc', limit: '50' }],
    'a cursor as it is given, at the address that is known',
  )
  t.equal(next!(page(later, link), followed), null, 'not the same one again')
  t.match(next!(page(later, link.replace('abc', 'abd')), followed), { query: { cursor: 'abd' }, memo: asked.memo })
})

/** What a band measured, as the API gives it: records after an instant, 50 at a time. */
const serve = (times: readonly number[], request: Request, links: boolean): Answer => {
  const after = Number(request.query?.['last-timestamp'])
  const data = times.filter((timestamp) => timestamp > after).slice(0, 50)
  const rest = times.filter((timestamp) => timestamp > (data.at(-1)?.valueOf() ?? 0)).length
  const more = rest > 0 || links ? { next: 'https://api.sensorbio.com/v1/biometrics?limit=50' } : {}
  return answer({ data: data.map((timestamp, place) => ({ timestamp, bpm: 50 + (place % 40) })), links: more })
}

t.test('every record of a window is found, in as many pages as it takes', async (t) => {
  const { first, next } = stream('biometrics')
  const anyTimes = fc.array(fc.integer({ min: 0, max: 3 * DAY }), { maxLength: 400 })
  const property = fc.property(anyTimes, fc.boolean(), (offsets, links) => {
    const times = [...new Set(offsets)].sort((a, b) => a - b).map((ms) => WINDOW.fromMs - DAY / 2 + ms)
    const found = new Set<number>()
    let pages = 0
    for (let request = first(WINDOW, STATE); request && pages < 20; pages += 1) {
      const page = serve(times, request, links)
      for (const { timestamp } of (page.json as { data: { timestamp: number }[] }).data) found.add(timestamp)
      request = next!(page, request)
    }
    const wanted = times.filter((ms) => ms > WINDOW.fromMs && ms < WINDOW.untilMs)
    return wanted.every((ms) => found.has(ms)) && pages <= Math.ceil(times.length / 50) + 1
  })
  fc.assert(property, { seed: 18, numRuns: runs(100, 2_000) })
  t.pass()
})

t.test('days one after the other, each with its date', async (t) => {
  const dates = (name: string, window: Window) => {
    const { first, next } = stream(name)
    const asked: Request[] = []
    for (let request = first(window, STATE); request && asked.length < 40; request = next!(answer({}), request))
      asked.push(request)
    return asked
  }
  const asked = dates('steps', WINDOW)
  t.strictSame(
    asked.map(({ query, args }) => [query, args]),
    ['2026-03-05', '2026-03-06', '2026-03-07', '2026-03-08'].map((date) => [{ date, granularity: 'day' }, { date }]),
  )
  const { skip, next } = stream('steps')
  t.strictSame(
    asked.map((one) => skip!(one)),
    asked.map((one) => next!(answer({}), one)),
    'a day that cannot be read keeps no other one back',
  )
  t.strictSame(dates('sleep', WINDOW)[1]?.query, { date: '2026-03-06' }, 'no parameter that is not documented')
  const property = fc.property(
    fc.integer({ min: 0, max: 400 * DAY }),
    fc.integer({ min: 1, max: 30 * DAY }),
    fc.integer({ min: -720, max: 840 }),
    (at, ms, zone) => {
      const window = { fromMs: WINDOW.fromMs + at, untilMs: WINDOW.fromMs + at + ms }
      const found = dates('sleep', window).map(({ query }) => query!.date)
      const local = (instant: number) => new Date(instant + zone * MIN).toISOString().slice(0, 10)
      const isOnce = new Set(found).size === found.length && found.length <= 33
      return isOnce && found.includes(local(window.fromMs)) && found.includes(local(window.untilMs - 1))
    },
  )
  fc.assert(property, { seed: 18, numRuns: runs(100, 2_000) })
})

t.test('HTTP/2 is asked for, at the API', async (t) => {
  const sent = await sentFor(cloud, [{ path: '/v1/user' }], { token: 'T' })
  t.match(sent, [{ http2: true, headers: { authorization: 'Bearer T', accept: 'application/json' } }])
})

t.test('the account, in an envelope or without', async (t) => {
  const { identify, scopes } = cloud.oauth({ more: {} })
  t.strictSame(scopes, [])
  const tokens = { access: 'a', accessSeconds: 3_600, refresh: null, scope: null, answer: {} }
  const got = async (json: unknown, status = 200) =>
    identify(tokens, recorder([answer(json, status)], '').call).catch((error: Error) => error.message)
  t.strictSame(await got({ data: { id: 'u-1', name: 'Ana' } }), { id: 'u-1', username: 'Ana', zone: null })
  t.strictSame(await got({ id: 77 }), { id: '77', username: null, zone: null })
  for (const json of [{}, { data: {} }, { id: '' }, { id: 1.5 }, { id: '../x' }, undefined])
    t.equal(await got(json, 500), 'Sensor Bio did not name the account (status 500)')
})

t.test('seconds and milliseconds, as numbers or as text', async (t) => {
  const times = [1_772_836_200, 1_772_836_200_000, '1772836200', ' 1772836200000 ', 0, -1, '', 'x', null, undefined, {}]
  t.strictSame(times.map(millisOf), [...Array(4).fill(1_772_836_200_000), ...Array(7).fill(undefined)])
})

t.test('the same records on any pages, in any order and again, are the same rows', async (t) => {
  const night = (id: number) => ({
    id: `n${id}`,
    start_timestamp: 1_772_836_200 + id * 86_400,
    end_timestamp: 1_772_863_800 + id * 86_400,
    total_sleep_mins: 400 + id,
  })
  const stored = (pages: readonly (readonly object[])[]) => {
    const parts = pages.map((data) => ({ stream: 'sleep', at: '2026-04-08T12:00:00Z', body: { data } }))
    const { nights = [] } = rowsOf(batchOf('sensorbio', parts)) as { nights?: object[] }
    return JSON.stringify([...new Set(nights.map((one) => JSON.stringify(one)))].sort())
  }
  const all = Array.from({ length: 6 }, (_, id) => night(id))
  const anyPages = fc.array(fc.shuffledSubarray(all, { minLength: 1 }), { minLength: 1, maxLength: 4 })
  const property = fc.property(anyPages, (pages) => stored([...pages, all]) === stored([all]))
  fc.assert(property, { seed: 18, numRuns: runs(60, 1_000) })
  t.pass()
})

t.test('a date that has yet to begin in UTC has steps once there are some', async (t) => {
  const at = '2026-03-07T18:30:00Z'
  const of = (value: number) => ({
    date: '2026-03-08',
    granularity: 'day',
    metrics: [{ name: 'Steps', value, unit: '' }],
  })
  const samples = (value: number) => rowsOf(batchOf('sensorbio', [{ stream: 'steps', at, body: of(value) }])).samples
  t.strictSame(samples(0), [])
  t.match(samples(312), [/^steps day 2026-03-08T00:00:00Z 312/])
})

t.test('the value of a date and what was measured at its midnight are one sample, whichever comes first', async (t) => {
  const at = '2026-04-08T12:00:00Z'
  const row = { timestamp: Date.UTC(2026, 2, 7), bpm: 52, hrv: 61, spo2: 95, brpm: 14 }
  const rest = { resting_bpm: 50, resting_hrv: 58, spo2: 0.97 }
  const parts = [
    { stream: 'biometrics', at, body: { data: [row, { ...row, timestamp: row.timestamp + MIN }] } },
    { stream: 'scores', at, body: { data: { date: '2026-03-07', sleep: { biometrics: rest } } } },
  ]
  const both = [parts, parts.toReversed()].map((one) => rowsOf(batchOf('sensorbio', one)).samples)
  t.strictSame(both[0], both[1])
  t.match(both[0], [
    'heart_rate 2026-03-07T00:00:00Z 52 -',
    'heart_rate 2026-03-07T00:01:00Z 52 -',
    'resting_heart_rate 2026-03-07T00:00:00Z 50 -',
    'heart_rate_variability_rmssd 2026-03-07T00:00:00Z 58 -',
    'heart_rate_variability_rmssd 2026-03-07T00:01:00Z 61 -',
    'oxygen_saturation 2026-03-07T00:00:00Z 97 -',
    'oxygen_saturation 2026-03-07T00:01:00Z 95 -',
  ])
})

t.test('workouts by their names', async (t) => {
  const names = sports.flatMap(([, ...own]) => own)
  t.equal(new Set(names).size, names.length)
  t.strictSame([' Bike Ride ', 'HIIT', 'unheard of', undefined].map(workoutType), [
    ...['cycling', 'cardio_training', 'other', 'other'],
  ])
})
