// Which spans of a stream are asked for: no instant is left out, whatever fails, and none is asked for without need.
import fc from 'fast-check'
import t from 'tap'
import { type Cursor, duePull, leftAfter, type Span, windowOf } from '../../../server/intake/pulls/windows.ts'
import type { Stream } from '../../../server/providers/provider.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW = Date.parse('2026-03-07T13:00:00Z')

const stream = (more: Partial<Stream> = {}): Stream => ({
  ...{ name: 'sleep', family: '247', windowDays: 30, historyDays: null, overlapHours: 48, first: () => null },
  ...more,
})

const days = (ms: number) => ms / DAY_MS

t.test(
  'the windows of a span follow each other without a gap, none is too long, and history has the newest first',
  async (t) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 90 }),
        fc.integer({ min: 1, max: 400 * DAY_MS }),
        fc.boolean(),
        (windowDays, length, isHistory) => {
          const whole: Span = { loMs: NOW - length, hiMs: NOW }
          let left: Span | undefined = whole
          let edge = isHistory ? whole.hiMs : whole.loMs
          while (left) {
            const window = windowOf(stream({ windowDays }), isHistory, left)
            if ((isHistory ? window.untilMs : window.fromMs) !== edge) return false
            if (window.untilMs - window.fromMs > windowDays * DAY_MS || window.untilMs <= window.fromMs) return false
            edge = isHistory ? window.fromMs : window.untilMs
            left = leftAfter(window, isHistory, left)
          }
          return edge === (isHistory ? whole.loMs : whole.hiMs)
        },
      ),
    )
    t.strictSame(
      windowOf(stream({ historyDays: 0, windowDays: 1 }), false, { loMs: NOW - 9 * DAY_MS, hiMs: NOW }),
      { fromMs: NOW - 9 * DAY_MS, untilMs: NOW },
      'what has no past is asked for once',
    )
  },
)

t.test('a pull begins where the last one ended, less what may come late', async (t) => {
  const covered = NOW - HOUR_MS
  const cursor: Cursor = {
    ...{ begunMs: NOW - 60 * DAY_MS, coveredMs: covered, closedMs: null },
    ...{ reachedWeekMs: NOW - HOUR_MS, reachedMonthMs: NOW - DAY_MS },
  }
  const at = { grantedMs: NOW - 60 * DAY_MS, nowMs: NOW }
  const due = (more: Partial<Cursor>, of: Partial<Stream> = {}) => {
    const pull = duePull(stream(of), { ...cursor, ...more }, at)
    return pull && [days(NOW - pull.loMs), pull.reachDays]
  }
  const usual = days(HOUR_MS) + 2
  t.strictSame(
    {
      usual: due({}),
      'first of a day': due({ reachedWeekMs: NOW - DAY_MS }),
      'first of a week': due({ reachedMonthMs: NOW - 7 * DAY_MS }),
      'never reached': due({ reachedMonthMs: null, reachedWeekMs: null }),
      'after an outage': due({ coveredMs: NOW - 40 * DAY_MS, reachedMonthMs: NOW - 40 * DAY_MS }),
      'begun lately': due({ begunMs: NOW - 3 * DAY_MS, reachedMonthMs: null, reachedWeekMs: null }),
      'closed for a while': due({ closedMs: NOW + 1 }),
      'open again': due({ closedMs: NOW - 1 }),
      'polled seldom': due({}, { pollSeconds: 86_400 }),
      'polled seldom, due': due({ coveredMs: NOW - 22 * HOUR_MS }, { pollSeconds: 86_400, historyDays: 0 }),
      'by change': due({ reachedWeekMs: null, reachedMonthMs: null }, { byChange: true, overlapHours: 1 }),
    },
    {
      usual: [usual, null],
      'first of a day': [7, 7],
      'first of a week': [28, 28],
      'never reached': [28, 28],
      'after an outage': [42, 28],
      // As old as the first pull, and no older: what was before is history.
      'begun lately': [5, 7],
      'closed for a while': undefined,
      'open again': [usual, null],
      'polled seldom': undefined,
      'polled seldom, due': [22 / 24 + 2, null],
      'by change': [2 / 24, null],
    },
  )
})

t.test('the first pull begins at the consent', async (t) => {
  const times = { grantedMs: NOW - HOUR_MS, nowMs: NOW }
  t.equal(duePull(stream({ noticesOnly: true }), undefined, times), undefined, 'what only notices bring is not pulled')
  t.strictSame(duePull(stream(), undefined, times), { loMs: NOW - HOUR_MS - 2 * DAY_MS, reachDays: null })
  const failing: Cursor = {
    ...{ begunMs: NOW - 9 * DAY_MS, coveredMs: null, reachedWeekMs: null, reachedMonthMs: null, closedMs: null },
  }
  t.strictSame(
    duePull(stream(), failing, times),
    { loMs: NOW - 11 * DAY_MS, reachDays: null },
    'or at an earlier one, since when nothing could be stored',
  )
})
