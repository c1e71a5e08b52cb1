// A task of a pull: what of it is stored when it goes on, ends or fails.
import t from 'tap'
import { Task, type TaskRow } from '../../../server/intake/pulls/task.ts'
import type { Received } from '../../../server/provider-client/http.ts'
import type { Request, Stream } from '../../../server/providers/provider.ts'
import { isoInstant } from '../../../server/time.ts'

const NOW = Date.parse('2026-03-07T13:00:00Z')
const DAY_MS = 86_400_000
const day = (ago: number) => new Date(NOW - ago * DAY_MS).toISOString()

const stream: Stream = {
  ...{ name: 'sleep', family: '247', windowDays: 30, historyDays: null, overlapHours: 48, first: () => null },
}

const row = (more: Partial<TaskRow> = {}): TaskRow => ({
  ...{ id: 7, kind: 'pull', stream: 'sleep', run_key: 'r', lane: 'live', lo: day(2), hi: null, reach_days: null },
  ...{ object: null, args: null, generation: 0 },
  ...{ options: {}, position: null, attempts: 0, failing_since: null, last_hash: null },
  ...more,
})

const task = (more: Partial<TaskRow> = {}) => new Task(row(more), stream, NOW)
const answer = (text: string): Received => ({ status: 200, headers: {}, json: {}, body: Buffer.from(text) })
const page = (n: number): Request => ({ path: '/sleep', query: { page: String(n) } })

t.test('a task that is interrupted goes on with the page that is not stored', async (t) => {
  const first = task()
  first.keep(page(1), answer('one'), '+01:00')
  t.equal(first.turnPage(page(1), page(2)), undefined)
  const paused = first.paused()
  t.match(paused, { id: 7, stream: 'sleep', answers: 1, position: { request: page(2), pages: 1 } })
  t.notOk('ended' in paused)
  t.strictSame(
    first.takeParts().map(({ body, zone, args }) => [body.toString(), zone, args]),
    [['one', '+01:00', null]],
  )
  const again = task({ position: { request: page(2), pages: 1 }, hi: paused.hi as string })
  t.strictSame(again.request, page(2))
  t.equal(again.nextWindow(), false)
  t.match(again.done(), { ended: true, report: { status: 'success' }, cursor: { covered_until: paused.hi } })
})

t.test('a day that cannot be read keeps no other one back, and the cursor before it', async (t) => {
  const first = task({ lo: day(70) })
  first.keep(page(1), answer('one'), null)
  t.equal(first.nextWindow(), true)
  first.skip('HTTP 422: no')
  t.equal(first.hasMoved, true)
  t.equal(first.turnPage(page(2), page(3)), undefined)
  const paused = first.paused()
  t.match(paused, { answers: 1, position: { request: page(3), pages: 1, skipped: 'HTTP 422: no' } })
  const again = task({ lo: paused.lo as string, hi: paused.hi as string, position: paused.position as never })
  again.keep(page(3), answer('three'), null)
  again.skip('HTTP 500')
  t.equal(again.nextWindow(), true)
  t.match(again.paused(), { position: { skipped: 'HTTP 422: no' } }, 'from one window to the next')
  const last = task({ lo: day(5), hi: day(0), position: { skipped: 'HTTP 422: no' } })
  last.keep(page(4), answer('four'), null)
  t.equal(last.nextWindow(), false)
  const failed = { ended: true, answers: 1, report: { status: 'failed', code: 'wrong', error: 'HTTP 422: no' } }
  t.match(last.done(), { ...failed, cursor: { failing: true, covered_until: undefined } })
  const whole = task({ lo: day(70) })
  whole.keep(page(1), answer('one'), null)
  whole.nextWindow()
  whole.skip('HTTP 422: no')
  whole.nextWindow()
  whole.nextWindow()
  t.match(whole.done(), {
    report: { status: 'failed' },
    cursor: { failing: true, covered_until: isoInstant(NOW - 40 * DAY_MS) },
  })
})

t.test('an answer like the last one moves the cursor, and is not stored', async (t) => {
  const ask = (text: string, lastHash: string | null) => {
    const one = task({ last_hash: lastHash })
    one.keep(page(1), answer(text), null)
    one.nextWindow()
    const outcome = one.done()
    return { outcome, stored: one.takeParts().length }
  }
  const { outcome, stored } = ask('same', null)
  t.equal(stored, 1)
  const hash = outcome.cursor?.hash ?? ''
  t.match(hash, /^[\da-f]{64}$/)
  const again = ask('same', hash)
  t.equal(again.stored, 0)
  t.match(again.outcome, { answers: 0, ended: true, cursor: { hash, covered_until: isoInstant(NOW) } })
  t.equal(ask('other', hash).stored, 1)
})

t.test('history and what somebody asked for leave the cursor alone', async (t) => {
  for (const kind of ['history', 'sync'] as const) {
    const one = task({ kind, lane: kind === 'sync' ? 'asked' : 'history', hi: day(0), lo: day(70) })
    t.notOk('cursor' in one.done(), kind)
    t.notOk('cursor' in one.failed('not_permitted', 'no'), kind)
  }
  const history = task({ kind: 'history', lane: 'history', hi: day(0), lo: day(70) })
  const windows: number[][] = []
  do windows.push([history.window.fromMs, history.window.untilMs].map((ms) => (NOW - ms) / DAY_MS))
  while (history.nextWindow())
  t.strictSame(windows, [
    [30, 0],
    [60, 30],
    [70, 60],
  ])
})

t.test('a next page that is this one, or the 500th, ends the stream', async (t) => {
  const one = task()
  one.keep(page(1), answer('{}'), null)
  t.match(one.turnPage(page(1), { ...page(1) }), 'again and again')
  const many = task({ position: { request: page(499), pages: 499 } })
  many.keep(page(499), answer('{}'), null)
  t.match(many.turnPage(page(499), page(500)), 'again and again')
})

t.test('a next page is not followed that could not be stored', (t) => {
  const next = (path: string, args = null as string | null) => task().turnPage(page(1), { path, args })
  t.strictSame(
    ['/a\0', '/\ud800', '/\udfff\ud800', '/\\u0000', '/\\\0', '/\u{1f4a4}'].map((path) => next(path) === undefined),
    [false, false, false, true, false, true],
  )
  t.match(next('/', 'x'.repeat(2 ** 18)), 'cannot be asked for')
  t.equal(next('/', 'x'.repeat(2 ** 17)), undefined)
  t.end()
})

t.test('an answer that does not fit with others waits until they are stored', (t) => {
  const one = task()
  const large = answer('x'.repeat(5 * 2 ** 20))
  t.ok(one.takes(page(1), large), 'alone it does')
  one.keep(page(1), answer('x'), null)
  t.ok(one.takes(page(1), answer('y')))
  t.notOk(one.takes(page(1), large))
  t.notOk(one.takes({ ...page(1), args: 'x'.repeat(5 * 2 ** 20) }, answer('y')), 'what goes with it counts')
  t.end()
})

t.test('a window that fails leaves those before it done', (t) => {
  const one = task({ lo: day(70) })
  t.strictSame(one.failed('wrong', '').cursor, { failing: true })
  t.ok(one.nextWindow())
  const { cursor } = one.failed('wrong', '')
  t.strictSame(cursor, { failing: true, covered_until: isoInstant(NOW - 40 * DAY_MS) })
  t.end()
})

t.test('what fails is tried again, for a day, or a week of history', async (t) => {
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
  const first = task().later('HTTP 503', null)
  t.match(first, { attempts: 1, failing: true, position: null })
  t.ok(Date.parse(first.due_at ?? '') > Date.now())
  t.match(task({ attempts: 3, failing_since: ago(0.9) }).later('HTTP 503', 60), { attempts: 4 })
  const gaveUp = { ended: true, report: { status: 'failed', code: 'gave_up', error: 'HTTP 503' } }
  t.match(task({ attempts: 30, failing_since: ago(1.1) }).later('HTTP 503', 60), {
    ...gaveUp,
    cursor: { failing: true },
  })
  const history = { kind: 'history', lane: 'history', hi: day(0) } as const
  t.match(task({ ...history, failing_since: ago(6) }).later('HTTP 503', 60), { failing: true })
  t.match(task({ ...history, failing_since: ago(8) }).later('HTTP 503', 60), gaveUp)
})

t.test('a stream without permission is left alone for a day', async (t) => {
  const closed = { failing: true, closed_seconds: 86_400, closed_why: 'not_permitted' } as const
  t.strictSame(task().failed('not_permitted', 'HTTP 403').cursor, closed)
  t.strictSame(task().failed('wrong', 'HTTP 400').cursor, { failing: true })
})

t.test('a thing that is not there is asked for again after 1 and 10 minutes; then it is gone', async (t) => {
  const asked = (missing: number | undefined) => {
    const thing = task({ kind: 'object', object: 'one', args: { id: '7' }, position: missing ? { missing } : null })
    // Of a first request that was answered nothing remains.
    thing.keep(page(1), answer('a part'), null)
    const outcome = thing.absent({ gone: 'external', wish: { kind: 'notice', key: 'sleep', stream: 'sleep' } })
    return { outcome, parts: thing.takeParts() }
  }
  const [first, second, third] = [asked(undefined), asked(1), asked(2)]
  const secondsUntil = (at: string | undefined) => Math.round((Date.parse(at ?? '') - Date.now()) / 10_000) * 10
  t.match(first.outcome, { generation: 0, position: { missing: 1 }, answers: 0 })
  t.equal(secondsUntil(first.outcome.due_at), 60)
  t.match(second.outcome, { position: { missing: 2 } })
  t.equal(secondsUntil(second.outcome.due_at), 600)
  t.strictSame(
    [first.parts, second.parts, 'ended' in first.outcome, 'wishes' in second.outcome],
    [[], [], false, false],
  )
  t.match(third.outcome, { ended: true, answers: 1, wishes: [{ key: 'sleep' }], report: { status: 'success' } })
  t.match(third.parts, [{ stream: 'sleep', gone: 'external', body: Buffer.alloc(0), args: { id: '7' } }])
})

t.test('a thing that was there and cannot be had any more has failed', async (t) => {
  const thing = task({ kind: 'object', object: 'one', args: { url: 'x' }, position: { missing: 2 } })
  t.match(thing.absent({ lost: 'it ended' }), { ended: true, report: { status: 'failed', error: 'it ended' } })
})

t.test(
  'what follows from answers is wished for once they are stored, and not if they are those of the last time',
  async (t) => {
    const wish = (key: string) => ({ kind: 'object', key, stream: 'sleep', object: 'one', args: null }) as const
    const asked = (lastHash: string | null) => {
      const one = task({ last_hash: lastHash })
      one.keep(page(1), answer('same'), null)
      one.follow([wish('a'), wish('b'), wish('a')])
      return one
    }
    const first = asked(null)
    t.strictSame(
      first.paused().wishes?.map(({ key }) => key),
      ['a', 'b'],
    )
    t.notOk('wishes' in first.paused(), 'once')
    t.match(asked(null).failed('wrong', 'text'), { wishes: [wish('a'), wish('b')] })
    const whole = asked(null)
    whole.nextWindow()
    const outcome = whole.done()
    t.match(outcome, { wishes: [wish('a'), wish('b')] })
    const again = asked(outcome.cursor?.hash ?? null)
    again.nextWindow()
    t.notOk('wishes' in again.done())
  },
)
