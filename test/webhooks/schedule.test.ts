import t from 'tap'
import { DELAYS_SECONDS, delayAfter, retryAfterSeconds } from '../../server/webhooks/schedule.ts'

const MIDDLE = 0.5

t.test('ten attempts, over three days and a half', async (t) => {
  const delays = DELAYS_SECONDS.slice(1).map((_, index) => delayAfter(index + 1, undefined, MIDDLE))
  t.strictSame(delays, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400])
  t.equal(delayAfter(10, undefined, MIDDLE), undefined, 'and no more')
  t.equal(delayAfter(11, 60, MIDDLE), undefined, 'whatever the receiver asks for')
})

t.test('a delay is up to a fifth shorter or longer', async (t) => {
  t.equal(delayAfter(2, undefined, 0), 240)
  t.ok((delayAfter(2, undefined, 0.999_999) as number) < 360)
  t.ok((delayAfter(2, undefined, 0.999_999) as number) > 359)
})

t.test('what the receiver asks for counts between once and twice the delay', async (t) => {
  t.equal(delayAfter(1, 2, MIDDLE), 5)
  t.equal(delayAfter(1, 7, MIDDLE), 7)
  t.equal(delayAfter(1, 3600, MIDDLE), 10)
  t.equal(delayAfter(2, 400, 0), 400, 'of the delay as it was drawn')
  t.equal(delayAfter(2, 500, 0), 480)
})

t.test('Retry-After in seconds, as a date by the clock of the receiver, or as nonsense', async (t) => {
  const now = Date.parse('2026-02-24T10:00:00Z')
  t.equal(retryAfterSeconds('120', undefined, now), 120)
  t.equal(retryAfterSeconds('Tue, 24 Feb 2026 10:02:00 GMT', undefined, now), 120)
  t.equal(retryAfterSeconds('Tue, 24 Feb 2026 11:02:00 GMT', 'Tue, 24 Feb 2026 11:00:00 GMT', now), 120)
  t.equal(retryAfterSeconds('Tue, 24 Feb 2026 09:00:00 GMT', undefined, now), 0)
  for (const nonsense of ['', '-5', 'soon', '1e9', '99999999999'])
    t.equal(retryAfterSeconds(nonsense, undefined, now), undefined, nonsense)
})
