// What an answer means, and how long is waited.
import t from 'tap'
import { delaySeconds, retryAfter, verdictOf } from '../../../server/intake/pulls/verdicts.ts'
import type { Answer } from '../../../server/providers/provider.ts'

const answer = (status: number, json: unknown, headers = {}): Answer => ({ status, json, headers })
const later = (afterSeconds: number | null = null) => ({ later: true, afterSeconds })

t.test('by its status, unless the connector knows better', async (t) => {
  const expected: [status: number, json: unknown, verdict: unknown][] = [
    [200, {}, 'ok'],
    [200, undefined, 'wrong'],
    [204, undefined, 'empty'],
    [301, {}, 'wrong'],
    [400, {}, 'wrong'],
    [401, {}, 'auth'],
    [403, {}, 'denied'],
    [404, {}, 'missing'],
    [408, {}, later()],
    [410, {}, 'missing'],
    [422, {}, 'wrong'],
    [425, {}, later()],
    [429, {}, later()],
    [500, undefined, later()],
    [503, {}, later()],
  ]
  t.strictSame(
    expected.map(([status, json]) => [status, json, verdictOf({}, answer(status, json))]),
    expected,
  )
  t.equal(verdictOf({}, answer(404, {}), { emptyOn404: true }), 'empty')
  t.equal(verdictOf({ judge: ({ status }) => (status === 426 ? 'denied' : undefined) }, answer(426, {})), 'denied')
  t.strictSame(verdictOf({}, answer(429, {}, { 'retry-after': '17' })), later(17))
})

t.test('Retry-After is a number or a date', async (t) => {
  const now = Date.parse('2026-03-07T13:00:00Z')
  const texts = [
    '30',
    ' 1.5 ',
    'Sat, 07 Mar 2026 13:02:00 GMT',
    'Sat, 07 Mar 2026 12:00:00 GMT',
    '',
    'soon',
    '99999999',
  ]
  t.strictSame(
    texts.map((text) => retryAfter({ 'retry-after': text }, now)),
    [30, 1.5, 120, 0, null, null, 86_400],
  )
  t.equal(retryAfter({}, now), null)
  const behind = { 'retry-after': 'Sat, 07 Mar 2026 12:01:00 GMT', date: 'Sat, 07 Mar 2026 12:00:00 GMT' }
  t.equal(retryAfter(behind, now), 60, 'by the clock of the provider')
})

t.test('the wait doubles up to an hour, give or take a fifth, unless the provider names one', async (t) => {
  t.strictSame(
    [1, 2, 3, 8, 9, 40].map((failures) => delaySeconds(failures, null, 0.5)),
    [15, 30, 60, 1920, 3600, 3600],
  )
  t.strictSame([delaySeconds(1, null, 0), Math.round(delaySeconds(1, null, 1))], [12, 18])
  t.equal(delaySeconds(3, 7), 7)
  t.strictSame(
    [1, 2, 3, 8, 40].map((failures) => delaySeconds(failures, 0, 0.5)),
    [1, 2, 4, 128, 3600],
    'a provider that asks for no wait is not asked without one',
  )
})
