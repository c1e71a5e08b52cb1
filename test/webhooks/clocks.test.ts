// The clock of the database, which decides what is due, is set while deliveries wait.
import t from 'tap'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'
import { onDatabase, startService } from '../support/service.ts'
import {
  attemptsOf,
  createEndpoint,
  deliveriesOf,
  eventually,
  openTestDatabase,
  recordEvents,
  startReceiver,
} from '../support/webhooks.ts'
import { SETTINGS } from './kills.ts'

oneEngine(t, 'the clock of the database is set an hour ahead or back', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t, ({ path }, response, calls) => {
    response.writeHead(path === '/fails' && calls.filter((call) => call.path === path).length === 1 ? 503 : 200).end()
  })
  const environment = { ...onDatabase(url), ...SETTINGS }
  const service = await startService(t, environment)
  const failing = await createEndpoint(db, `${receiver.origin}/fails`, { filterTypes: ['test.first'] })
  const answering = await createEndpoint(db, `${receiver.origin}/answers`, { filterTypes: ['test.second'] })
  const calls = (path: string) => receiver.calls.filter((call) => call.path === path)
  const came = (path: string, count: number) =>
    eventually(
      async () => calls(path).length,
      (now) => now === count,
    )
  /** Records an event that is answered, and waits until this many attempts are recorded. */
  const deliverOne = async (count: number) => {
    await recordEvents(db, [{ type: 'test.second' }])
    await came('/answers', count)
    await eventually(
      () => attemptsOf(db, answering),
      ({ length }) => length === count,
    )
  }
  /** Sets the clock ahead, as far as that is possible for one database of a server: moves all stored times back. */
  const setClock = (hours: number) =>
    db.query(
      `with moved_endpoint as (
         update endpoint
         set leased_until = leased_until - $1 * interval '1 hour', failing_since = failing_since - $1 * interval '1 hour'
       ), moved_event as (
         update event set created_at = created_at - $1 * interval '1 hour'
       )
       update delivery set due_at = due_at - $1 * interval '1 hour'`,
      [hours],
    )
  const [first] = await recordEvents(db, [{ type: 'test.first' }])
  await eventually(
    () => attemptsOf(db, failing),
    ({ length }) => length === 1,
  )
  await deliverOne(1)

  // Back: waiting deliveries wait an hour longer, new ones do not.
  await setClock(-1)
  await deliverOne(2)
  const [waiting] = await deliveriesOf(db, failing)
  t.ok((waiting?.due_in ?? 0) > 3_500 && (waiting?.due_in ?? 0) < 3_610, `due in ${waiting?.due_in} s`)

  // A process that dies then holds leases for an hour: its successor does not wait for them.
  await service.kill()
  const leases = await db.query(`select from endpoint where leased_until > now() + interval '10 minutes'`)
  t.ok(leases.length > 0, 'leases of the former time')
  const next = await startService(t, environment)
  await deliverOne(3)
  t.equal(calls('/fails').length, 1, 'the retry still waits')

  // Ahead again: leases have expired and the retry is due at once.
  await setClock(1)
  await came('/fails', 2)
  t.strictSame(
    calls('/fails').map(({ id }) => id),
    [first, first],
  )
  await deliverOne(4)
  await eventually(
    () => db.query<{ state: string; attempts: number }>('select state, attempts from delivery order by event_id'),
    (rows) => rows.every(({ state }) => state === 'delivered'),
  )
  t.equal(receiver.calls.length, 6, 'nothing came twice but what had failed')
  t.equal(await next.stop(), 0)
})
