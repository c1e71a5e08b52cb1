// What is asked of Ultrahuman: days of the person's clock, each by itself; who has connected; and where a day was.
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import type { Answer, OAuth, Request, StreamState } from '../../server/providers/provider.ts'
import { cloud } from '../../server/providers/ultrahuman/index.ts'
import { streams } from '../../server/providers/ultrahuman/streams.ts'
import { whoIs } from '../../server/providers/ultrahuman/who-is.ts'
import { batchOf, rowsOf, type TestPart } from '../support/parcels.ts'
import { recorder } from '../support/provider-call.ts'
import { runs } from '../support/thorough.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
const answer = (json: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json,
})
const [stream] = streams as [(typeof streams)[0] & object]

/** The days that a window leads to, in the order in which they are asked for. */
function days(fromMs: number, untilMs: number, zone: string | null): (string | undefined)[] {
  const dates: (string | undefined)[] = []
  let request: Request | null = stream.first({ fromMs, untilMs }, { ...STATE, zone })
  for (; request; request = stream.next!(answer({}), request)) {
    dates.push(request.query?.date)
    if (!isDeepStrictEqual(stream.skip!(request), stream.next!(answer({}), request)))
      throw new Error(`${request.query?.date}: a day that cannot be had ends nothing`)
  }
  return dates
}

t.test('the days of a window, by the clock of the person, the last one first', async (t) => {
  const at = (day: number, hour = 0) => Date.UTC(2026, 2, day, hour)
  const cases: [number, number, string | null, string][] = [
    [at(5, 22), at(8, 10), 'Europe/Berlin', '08 07 06 05'],
    [at(5, 23), at(8, 10), 'Europe/Berlin', '08 07 06'],
    [at(5, 22), at(8, 23), '+05:45', '09 08 07 06'],
    [at(5, 3), at(8, 3), 'America/New_York', '07 06 05 04'],
    [at(5, 3), at(8, 3), null, '08 07 06 05 04'],
    [at(5, 13), at(8, 3), null, '08 07 06 05'],
    [at(8), at(8, 1), '+00:00', '08'],
    [at(7), at(8), '+00:00', '07'],
  ]
  t.strictSame(
    cases.map(([from, until, zone]) =>
      days(from, until, zone)
        .map((date) => date?.slice(-2))
        .join(' '),
    ),
    cases.map(([, , , expected]) => expected),
  )
  const request = stream.first({ fromMs: at(6), untilMs: at(8) }, { ...STATE, zone: '+00:00' }) as Request
  t.strictSame(
    [request, stream.next!(answer({}), request)].map((one) => [one?.path, one?.query, one?.args]),
    ['2026-03-07', '2026-03-06'].map((date) => ['/user_data/metrics', { date }, { date }]),
  )
})

t.test('no day of a window is left out, and none that has not begun is asked for', async (t) => {
  const property = fc.property(
    fc.constantFrom(-660, -210, 0, 60, 345, 780),
    fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 5, 1) }),
    fc.integer({ min: 1, max: 30 * DAY_MS }),
    (zone, fromMs, length) => {
      const [sign, size] = [zone < 0 ? '-' : '+', Math.abs(zone)]
      const text = `${sign}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`
      const local = (ms: number) => new Date(ms + zone * 60_000).toISOString().slice(0, 10)
      // An hour at a time, and the last instant.
      const expected = new Set([local(fromMs + length - 1)])
      for (let ms = fromMs; ms < fromMs + length; ms += HOUR_MS) expected.add(local(ms))
      const asked = days(fromMs, fromMs + length, text)
      return asked.join() === [...expected].sort().reverse().join()
    },
  )
  fc.assert(property, { seed: 18, numRuns: runs(200, 5_000) })
  t.pass()
})

const oauth: OAuth = cloud.oauth({ more: {} })
const TOKENS = { access: 'a', accessSeconds: 60, refresh: null, scope: null, answer: {} }

t.test('an account that is not named is connected all the same', async (t) => {
  const identify = async (...answers: Answer[]) => {
    const { call, asked } = recorder(answers, '')
    const { id, username, zone } = await oauth.identify(TOKENS, call)
    return [asked.map(({ path }) => path).join(' '), id, username, zone]
  }
  const me = '/user_data/user_info'
  t.strictSame(await identify(answer({ user_id: '5385273', email: 'user@example.com', timezone: 'Europe/Berlin' })), [
    ...[me, '5385273', 'user@example.com', 'Europe/Berlin'],
  ])
  const named: [unknown, unknown[]][] = [
    [{ data: { user_id: 7, username: 'ana' }, id: 8 }, ['7', 'ana', null]],
    [{ id: 8, timezone: '+05:45' }, ['8', null, '+05:45']],
    [{ data: { id: 'u-9', email: 'x@y', timezone: 'Nowhere/Land' } }, ['u-9', 'x@y', null]],
    [{ user_id: 1.5, id: '' }, [null, null, null]],
    [{ user_id: 'a b', data: [] }, [null, null, null]],
    [null, [null, null, null]],
  ]
  for (const [json, expected] of named) t.strictSame((await identify(answer(json))).slice(1), expected)
  t.strictSame(await identify(answer({ id: 7 }, 403)), [me, null, null, null])
  t.strictSame(await identify(answer('', 500), answer({ id: 7 })), [`${me} ${me}`, '7', null, null])
  t.strictSame(await identify(answer('', 500), answer('', 502)), [`${me} ${me}`, null, null, null])
  const silent = Object.assign(async () => Promise.reject(new Error('no answer')), recorder([], '').call)
  t.match(await oauth.identify(TOKENS, silent as never), { id: null })
  const hanging = Object.assign(() => new Promise<never>(() => {}), recorder([], '').call)
  t.match(await whoIs(hanging as never, 5), { id: null }, 'nobody waits for it')
  const leaving = recorder([answer('')], 'https://partner.example/api/partners/oauth/token')
  await oauth.leave!({ id: null, username: null, zone: null, ref: 'r' }, leaving.call)
  t.strictSame(leaving.asked, [
    {
      ...{ path: 'https://partner.example/api/partners/oauth/revoke', method: 'POST' },
      ...{ token: { in: 'form', name: 'token' }, form: { client_id: 'id', client_secret: 'secret' } },
    },
  ])
  t.equal(oauth.refresh?.idleDays, 0.5, 'a refresh token may live for a day')
})

t.test('an application without access is told so', async (t) => {
  const { problem } = cloud.api
  t.match(problem!(answer(undefined, 403)), /has not enabled access/)
  t.strictSame(
    [answer({ error: 'invalid_scope' }, 403), answer(undefined, 401), answer({})].map((one) => problem!(one)),
    [undefined, undefined, undefined],
  )
})

const AT = '2026-04-02T12:00:00Z'
const entry = (type: string, object: object) => ({ type, object })
const body = (zone: string, metrics: Record<string, object[]>) => ({
  status: 200,
  data: { latest_time_zone: zone, metrics },
})

t.test('a day is where it began, if the person has travelled since', async (t) => {
  const heart = (zone: string, date: string, startMs: number | undefined, ms: number) => {
    const object = { values: [{ value: 60, timestamp: ms / 1000 }] }
    const start = startMs === undefined ? {} : { day_start_timestamp: startMs / 1000 }
    const part = { stream: 'metrics', at: AT, body: body(zone, { [date]: [entry('hr', { ...start, ...object })] }) }
    return (rowsOf(batchOf('ultrahuman', [part])) as { samples: string[] }).samples[0]?.split(' ').at(-1)
  }
  const at = (text: string) => Date.parse(text)
  const cases: [string, Parameters<typeof heart>, string][] = [
    ['at home', ['Europe/Berlin', '2026-03-07', at('2026-03-06T23:00Z'), at('2026-03-07T10:00Z')], '60'],
    ['since then in Tokyo', ['Asia/Tokyo', '2026-03-07', at('2026-03-06T23:00Z'), at('2026-03-07T10:00Z')], '60'],
    [
      'where the clock changes',
      ['Europe/Berlin', '2026-03-29', at('2026-03-28T23:00Z'), at('2026-03-29T10:00Z')],
      '120',
    ],
    ['in Nepal', ['Asia/Kathmandu', '2026-03-07', at('2026-03-06T18:15Z'), at('2026-03-07T10:00Z')], '345'],
    ['no start', ['Asia/Tokyo', '2026-03-07', undefined, at('2026-03-07T10:00Z')], '540'],
    ['a start that is none', ['Asia/Tokyo', '2026-03-07', at('2026-03-01T00:00Z'), at('2026-03-07T10:00Z')], '540'],
    ['an odd start', ['Asia/Tokyo', '2026-03-07', at('2026-03-06T23:07Z'), at('2026-03-07T10:00Z')], '540'],
  ]
  t.strictSame(
    cases.map(([name, args]) => [name, heart(...args)]),
    cases.map(([name, , expected]) => [name, expected]),
  )
})

t.test('however days are put into answers, in whatever order, and repeated: the rows are the same', async (t) => {
  const dates = ['2026-03-05', '2026-03-06', '2026-03-07']
  const dayOf = (date: string, place: number) => [
    entry('hr', {
      day_start_timestamp: Date.parse(date) / 1000 - 3_600,
      values: [{ value: 60 + place, timestamp: Date.parse(date) / 1000 }],
    }),
    entry('steps', { total: 1000 * (place + 1), values: [{ value: 10, timestamp: Date.parse(date) / 1000 + 3_600 }] }),
    entry('sleep_rhr', { value: 50 + place }),
    entry('recovery_index', { value: 70 + place }),
    entry('sleep', {
      bedtime_start: Date.parse(date) / 1000 - 7_200,
      bedtime_end: Date.parse(date) / 1000 + 20_000,
      quick_metrics: [],
    }),
  ]
  const single = dates.map(
    (date, place): TestPart => ({
      stream: 'metrics',
      at: AT,
      args: { date },
      body: body('Europe/Berlin', { [date]: dayOf(date, place) }),
    }),
  )
  const together: TestPart = {
    ...{ stream: 'metrics', at: AT, args: { date: '2026-03-07' } },
    body: body('Europe/Berlin', Object.fromEntries(dates.map((date, place) => [date, dayOf(date, place)]))),
  }
  const sorted = (parts: readonly TestPart[]) => {
    const { samples, nights, scores } = rowsOf(batchOf('ultrahuman', parts)) as Record<string, unknown[]>
    const lines = [...(samples ?? []), ...(nights ?? []), ...(scores ?? [])].map((one) => JSON.stringify(one))
    return [...new Set(lines)].sort().join('\n')
  }
  const expected = sorted(single)
  const property = fc.property(
    fc.shuffledSubarray(single, { minLength: 3 }),
    fc.array(fc.constantFrom(...single, together), { maxLength: 4 }),
    (order, more) => sorted([...more, ...order]) === expected && sorted([together, ...more]) === expected,
  )
  fc.assert(property, { seed: 18, numRuns: runs(25, 1_000) })
  t.pass()
})
