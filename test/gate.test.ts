// Which callers are let in, wait or are refused, whoever arrives and leaves.
import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { AppError } from '../server/errors.ts'
import { Gate, type GateLimits, type Leave } from '../server/gate.ts'

const FOREVER_MS = 2 ** 31 - 1
const limits = (some: Partial<GateLimits>): GateLimits => ({
  ...{ what: 'things', capacity: 2, perKey: 2, waiting: 10, waitMs: FOREVER_MS, retrySeconds: 7 },
  ...some,
})

/** A client that hangs up on request. */
class TestClient extends EventEmitter {
  destroyed = false
  hangUp() {
    this.destroyed = true
    this.emit('close')
  }
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'let in',
    (error) => (error instanceof AppError ? error.code : String(error)),
  )

t.test('takes turns by key, and within a key by arrival', async (t) => {
  const gate = new Gate(limits({ capacity: 1, perKey: 1 }))
  const order: string[] = []
  const first = await gate.enter('a')
  const leaves: Leave[] = []
  const enter = (name: string) =>
    gate.enter(name.slice(0, 1)).then((leave) => {
      order.push(name)
      leaves.push(leave)
    })
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(enter)
  first()
  first()
  for (const _ of all) {
    await nextTurn()
    leaves.pop()?.()
  }
  await Promise.all(all)
  t.strictSame(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'], 'also with one place, of which nobody of them holds any')
  t.equal(gate.held(), 0)
})

t.test('lets in whose key holds less before one that came earlier', async (t) => {
  const gate = new Gate(limits({ capacity: 3, perKey: 3 }))
  const held = await Promise.all([gate.enter('busy'), gate.enter('busy'), gate.enter('busy')])
  const again = codeOf(gate.enter('busy'))
  const other = gate.enter('other')
  held[0]?.()
  await other
  t.equal(gate.waiting(), 1)
  held[1]?.()
  t.equal(await again, 'let in')
})

t.test('does not let what is light overtake what is heavy', async (t) => {
  const gate = new Gate(limits({ capacity: 10, perKey: 10 }))
  const leave = await gate.enter('a', { weight: 5 })
  const heavy = gate.enter('b', { weight: 10 })
  const light = codeOf(gate.enter('c'))
  await nextTurn()
  t.equal(gate.waiting(), 2)
  leave()
  const leaveHeavy = await heavy
  t.equal(gate.waiting(), 1)
  leaveHeavy()
  t.equal(await light, 'let in')
})

t.test('refuses who waits too long, who finds the line full, and nobody else', async (t) => {
  let refusals = 0
  const counted = (some: Partial<GateLimits>) => new Gate(limits(some), () => refusals++)
  const slow = counted({ capacity: 1, waitMs: 1 })
  await slow.enter('a')
  const late = await slow.enter('b').catch((error) => error)
  t.match(late, { status: 503, detail: 'Too many things at once; please retry.', headers: { 'Retry-After': '7' } })
  const short = counted({ capacity: 1, waiting: 4 })
  await short.enter('a')
  const codes = ['a', 'a', 'a', 'b', 'c', 'd'].map((key) => {
    const client = new TestClient()
    return { code: codeOf(short.enter(key, { client })), client }
  })
  t.strictSame([await codes[2]?.code, await codes[5]?.code], ['overloaded', 'overloaded'], 'half of it for one key')
  t.equal(short.waiting(), 4)
  for (const { client } of codes) client.hangUp()
  t.equal(short.waiting(), 0, 'who hangs up gives up the place')
  t.equal(await codes[0]?.code, 'client_left')
  t.equal(refusals, 3)
  t.equal(
    await codeOf(short.enter('a', { client: Object.assign(new TestClient(), { destroyed: true }) })),
    'client_left',
  )
})

const Step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('enter' as const), key: fc.nat(3), weight: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('leave' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hang up' as const), which: fc.nat(20) }) },
)

t.test('holds no more than it may and keeps nobody waiting who fits, whatever happens', async (t) => {
  const property = fc.asyncProperty(
    fc.record({ capacity: fc.integer({ min: 4, max: 9 }), perKey: fc.integer({ min: 4, max: 6 }) }),
    fc.array(Step, { maxLength: 40 }),
    async (some, steps) => {
      const gate = new Gate(limits({ ...some, perKey: Math.min(some.perKey, some.capacity), waiting: 1000 }))
      const perKey = Math.min(some.perKey, some.capacity)
      const inside = new Map<number, { key: number; weight: number; leave: Leave }>()
      const waiting = new Map<number, { key: number; weight: number; client: TestClient }>()
      const heldOf = (key?: number) =>
        [...inside.values()].filter((one) => key === undefined || one.key === key).reduce((n, one) => n + one.weight, 0)
      for (const [id, step] of steps.entries()) {
        if (step.do === 'enter') {
          const { key, weight } = step
          const client = new TestClient()
          waiting.set(id, { key, weight, client })
          gate.enter(String(key), { weight, client }).then(
            (leave) => {
              waiting.delete(id)
              inside.set(id, { key, weight, leave })
            },
            () => waiting.delete(id),
          )
        } else {
          const from = step.do === 'leave' ? inside : waiting
          const [id, one] = [...from][step.which % Math.max(1, from.size)] ?? []
          if (id === undefined || !one) continue
          if ('leave' in one) {
            inside.delete(id)
            one.leave()
          } else one.client.hangUp()
        }
        await nextTurn()
        const keys = [0, 1, 2, 3]
        const eligible = [...waiting.values()].filter((one) => heldOf(one.key) + one.weight <= perKey)
        // Next is one of those whose keys hold least; if it does not fit, nobody overtakes it.
        const least = Math.min(...eligible.map(({ key }) => heldOf(key)))
        const next = eligible.filter(({ key }) => heldOf(key) === least)
        const wrong =
          heldOf() > some.capacity ||
          keys.some((key) => heldOf(key) > perKey) ||
          gate.held() !== heldOf() ||
          gate.waiting() !== waiting.size ||
          (next.length > 0 && next.every(({ weight }) => heldOf() + weight <= some.capacity))
        if (wrong) return false
      }
      for (const { client } of [...waiting.values()]) client.hangUp()
      // One of them may have been let in when another left the line.
      await nextTurn()
      for (const { leave } of [...inside.values()]) leave()
      return gate.held() === 0 && gate.waiting() === 0
    },
  )
  await fc.assert(property, { seed: 20_261_122, numRuns: 100 })
  t.pass()
})
