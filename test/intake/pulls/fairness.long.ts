// A provider that does not answer, or refuses, costs the others nothing.
import t from 'tap'
import { loadConfig } from '../../../server/config.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { startTestApp } from '../../support/app.ts'
import { connectPerson, startPulling } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'
import { play } from '../../support/simulator.ts'

const PEOPLE = 8
const MANY = 1_000_000
const MEASURED_MS = 15_000

oneEngine(t, 'one provider is slow, and refuses', async (t, engine) => {
  const simulator = await play(t, { now: Date.now, people: PEOPLE, days: 20 })
  for (const provider of ['oura', 'whoop'])
    await simulator.control('POST', 'settings', { provider, limits: [MANY, MANY] })
  const { providers } = loadConfig(simulator.env)
  const app = await startTestApp(t, engine, { providers, historicalSyncOnConnect: false })
  for (const { key: person } of (await simulator.control('GET', 'people')).body) {
    const user = await createUser(app)
    for (const provider of ['oura', 'whoop']) await connectPerson(app, { user, provider, person })
  }
  const pulling = await startPulling(t, app)
  // With many uploads of a person waiting for their import, nothing is asked for.
  const idle = async () =>
    (
      await app.db.query(
        `select from sync_task t join provider_grant g on g.id = t.grant_id where g.provider = 'whoop'
         union all
         select from upload where status = 'queued'`,
      )
    ).length === 0

  /** Pulls of the provider that works, again and again for a while: how many requests it was asked. */
  async function measured(): Promise<number> {
    await waitUntil(idle, 60_000, 20)
    await simulator.control('DELETE', 'log')
    const ends = Date.now() + MEASURED_MS
    while (Date.now() < ends) {
      await app.db.query('update stream_cursor set last_hash = null')
      await pulling.pullNow()
      await waitUntil(idle, 60_000, 20)
    }
    return (await simulator.control('GET', 'log?provider=whoop')).body.length
  }

  const without = await measured()
  const wrongs: [string, object][] = [
    ['no answer in time', { kind: 'slow', provider: 'oura', ms: 40_000 }],
    ['429', { kind: '429', provider: 'oura', seconds: 2 }],
  ]
  for (const [what, fault] of wrongs) {
    await simulator.control('DELETE', 'faults')
    await simulator.control('POST', 'faults', fault)
    const others = await measured()
    t.ok(others / without >= 0.9, `${what}: ${others} requests of the other provider, ${without} without`)
  }
})
