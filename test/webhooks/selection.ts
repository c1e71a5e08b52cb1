import fc from 'fast-check'
import type { Test } from 'tap'
import { eventNames } from '../../server/catalogue/events.ts'
import { type Scope, scopes } from '../../server/catalogue/scopes.ts'
import { createTestDatabase } from '../support/app.ts'
import type { Engine } from '../support/servers.ts'
import {
  createEndpoint,
  createUsers,
  eventually,
  openTestDatabase,
  recordEvents,
  startDelivering,
  startReceiver,
  unfinished,
} from '../support/webhooks.ts'

const USERS = 3
const TYPES = eventNames.slice(0, 5)

/** Indices of users and types; null = any. */
interface AnEndpoint {
  types: number[] | null
  user: number | null
  scope: Scope | null
  disabled: 'by_hand' | 'gone' | 'failing' | null
}
interface AnEvent {
  type: number
  user: number
  /** Null: it was recorded before events had one. */
  scope: Scope | null
}

const anEndpoint: fc.Arbitrary<AnEndpoint> = fc.record({
  types: fc.option(fc.uniqueArray(fc.nat(TYPES.length - 1), { minLength: 1 })),
  user: fc.option(fc.nat(USERS - 1)),
  scope: fc.option(fc.constantFrom(...scopes), { freq: 2 }),
  disabled: fc.option(fc.constantFrom('by_hand', 'gone', 'failing'), { freq: 5 }),
})
const anEvent: fc.Arbitrary<AnEvent> = fc.record({
  type: fc.nat(TYPES.length - 1),
  user: fc.nat(USERS - 1),
  scope: fc.option(fc.constantFrom(...scopes)),
})
const aSet = fc.record({
  endpoints: fc.array(anEndpoint, { minLength: 1, maxLength: 8 }),
  events: fc.array(anEvent, { minLength: 1, maxLength: 8 }),
})

/** The rules, one after the other, that decide whether an endpoint is sent an event. */
function wants({ types, user, scope, disabled }: AnEndpoint, event: AnEvent): boolean {
  if (disabled !== null) return false
  if (user !== null && user !== event.user) return false
  if (scope !== null && event.scope !== null && scope !== event.scope) return false
  return types === null || types.includes(event.type)
}

/** Delivers random events to random sets of endpoints, and compares received with expected events. */
export async function compareSelections(t: Test, engine: Engine, numRuns: number, seed: number): Promise<void> {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const users = await createUsers(db, USERS)
  await startDelivering(t, url)
  let sent = 0
  for (const { endpoints, events } of fc.sample(aSet, { numRuns, seed })) {
    receiver.calls.length = 0
    await db.query('delete from endpoint')
    for (const [index, { types, user, scope, disabled }] of endpoints.entries()) {
      await createEndpoint(db, `${receiver.origin}/${index}`, {
        filterTypes: types?.map((type) => TYPES[type] as string) ?? null,
        filterScope: scope,
        userId: user === null ? null : (users[user] as string),
        ...(disabled && { disabledReason: disabled }),
      })
    }
    const ids = await recordEvents(
      db,
      events.map(({ type, user, scope }) => ({ type: TYPES[type] as string, userId: users[user] as string, scope })),
    )
    const expected = endpoints.flatMap((endpoint, at) =>
      events.flatMap((event, index) => (wants(endpoint, event) ? [`/${at} ${ids[index]}`] : [])),
    )
    await eventually(
      () => unfinished(db),
      (left) => left === 0,
    )
    const came = receiver.calls.map(({ path, id }) => `${path} ${id}`)
    if (JSON.stringify(came.sort()) !== JSON.stringify(expected.sort()))
      t.strictSame(came, expected, JSON.stringify({ endpoints, events }))
    sent += came.length
  }
  t.ok(sent > numRuns, `${sent} deliveries to ${numRuns} sets of endpoints are those that should be`)
}
