// What notices and answers name becomes a row that can be queued, or nothing.
import t from 'tap'
import { wishRow } from '../../../server/intake/pulls/wishes.ts'
import type { Stream, Wish } from '../../../server/providers/provider.ts'

const stream = (name: string, scope?: string): Stream => ({
  ...{ name, family: '247', windowDays: 30, historyDays: null, overlapHours: 0, first: () => null },
  ...(scope && { scope }),
})

const provider = {
  streams: [stream('workout', 'read:workout'), stream('pulse')],
  objects: {
    one: { stream: 'workout', request: () => null },
    lost: { stream: 'elsewhere', request: () => null },
  },
}

const object = (more: Partial<Wish & { kind: 'object' }> = {}): Wish => ({
  ...{ kind: 'object', object: 'one', key: '7', args: { id: '7' } },
  ...more,
})
const DAY_MS = 86_400_000
const at = Date.parse('2026-03-07T12:00:00Z')
const span = (days: number, more = {}): Wish => ({
  ...{ kind: 'span', stream: 'pulse', window: { fromMs: at - days * DAY_MS, untilMs: at } },
  ...more,
})

t.test('what can be asked for becomes a row', async (t) => {
  const all = null
  t.strictSame(wishRow(provider, all, object()), {
    ...{ kind: 'object', key: 'one:7', stream: 'workout', object: 'one', args: { id: '7' } },
  })
  t.strictSame(wishRow(provider, new Set(['read:workout']), object(), { last: true, after: 60 }), {
    ...{ kind: 'object', key: 'one:7', stream: 'workout', object: 'one', args: { id: '7' }, last: true, after: 60 },
  })
  const row = { kind: 'notice', key: 'pulse', stream: 'pulse', lo: '2026-03-06T12:00:00Z', hi: '2026-03-07T12:00:00Z' }
  t.strictSame(wishRow(provider, all, span(1, { everySeconds: 900 })), { ...row, every: 900 })
  t.match(wishRow(provider, all, span(400)), { ...row, lo: '2026-02-04T12:00:00Z' }, 'a month at most')
})

t.test('what cannot be asked for, is not granted or cannot be stored is nothing', async (t) => {
  const no = [
    wishRow(provider, new Set(), object()),
    wishRow(provider, null, object({ object: 'two' })),
    wishRow(provider, null, object({ object: 'lost' })),
    wishRow(provider, null, object({ object: 'constructor' })),
    wishRow(provider, null, { ...span(1), stream: 'elsewhere' } as Wish),
    wishRow(provider, null, object({ key: 'a\0b' })),
    wishRow(provider, null, object({ key: '\udc00' })),
    wishRow(provider, null, object({ key: 'x'.repeat(201) })),
    wishRow(provider, null, object({ args: { id: 'x'.repeat(5_000) } })),
    wishRow({}, null, object()),
  ]
  t.strictSame(
    no.map((row, at) => [at, row]).filter(([, row]) => row !== undefined),
    [],
  )
})
