// People of the simulator from their consent to what a reader gets, some days of it.
import type { Test } from 'tap'
import { replay } from '../../../server/intake/uploads/replay.ts'
import type { TestApp } from '../../support/app.ts'
import { storedEvents } from '../../support/events.ts'
import { connectPerson, daysPass, type Simulated, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, storedSamples } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { differences, ouraLines, type Span, storedLines, whoopLines } from '../../support/truth.ts'

const DAY_MS = 86_400_000
const LINES = { oura: ouraLines, whoop: whoopLines }
const PROVIDERS = ['oura', 'whoop'] as const

interface Lives {
  people: number
  /** Days before the consents that have to be there. */
  days: number
  /** Days after them, each with a pull at its end. */
  after: number
}

/**
 * Connects people, and compares what is stored with what is true: of the past, then after each further day, in which
 * nights are edited, workouts deleted, and data comes late.
 */
export async function truthHolds(t: Test, engine: Engine, { people, days, after }: Lives): Promise<void> {
  const { app, simulator } = await startSimulated(t, engine, {
    world: { people, days: days + 10 },
    historicalSyncOnConnect: false,
    syncTriggersPerHour: 1_000,
  })
  const pulling = await startPulling(t, app)
  await simulator.control('POST', 'clock', { offset_seconds: -after * 86_400 })
  const users = new Map<string, string>()
  for (const { key } of (await simulator.control('GET', 'people')).body) users.set(key, await createUser(app))
  for (const [person, user] of users) {
    for (const provider of PROVIDERS) {
      await connectPerson(app, { user, provider, person })
      const path = `/api/v1/providers/${provider}/users/${user}/sync/historical?days=${days}`
      const { status, body } = await app.request('POST', path)
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
    }
  }
  await settled(app)
  const now = Date.parse((await simulator.control('GET', 'clock')).body.now)
  // What began before the days that were asked for is not whole.
  const fromMs = now + (after - days + 2) * DAY_MS
  t.strictSame(
    await wrongLines({ app, simulator }, users, { fromMs, untilMs: now + DAY_MS, nowMs: now }),
    [],
    'of the past',
  )
  for (let day = 1; day <= after; day += 1) {
    // Since the last pull, of which the service thinks that it was now.
    await daysPass(app, after - day + 1)
    await simulator.control('POST', 'clock', { advance_days: 1 })
    await pulling.pullNow()
    await settled(app)
    const span = { fromMs, untilMs: now + (day + 1) * DAY_MS, nowMs: now + day * DAY_MS }
    t.strictSame(await wrongLines({ app, simulator }, users, span), [], `after ${day} days`)
  }
  const failed = await app.db.query(`select provider, status, error from sync_run where status <> 'success'`)
  t.strictSame(failed, [], 'and every run succeeded')
  t.strictSame(await changedByReplay(app, [...users.values()]), [], 'reading all answers again changes nothing')
}

/** The users of whom something else is stored when all answers were imported again. */
async function changedByReplay(app: TestApp, users: readonly string[]): Promise<string[]> {
  const stored = async (user: string) =>
    JSON.stringify([
      await storedEvents(app.db, user),
      await storedSamples(app.db, user),
      await app.db.query('select id, start_at from sleep where user_id = $1 order by 1', [user]),
    ])
  const changed: string[] = []
  for (const user of users) {
    const before = await stored(user)
    const means = { db: app.db, threads: app.threads(), settings: app.deps.config }
    const lines: string[] = []
    await replay(means, { batch: null, user, from: null, to: null }, true, (line) => lines.push(line))
    if ((await stored(user)) !== before || !/^Imported [1-9]/.test(lines.at(-1) ?? '')) changed.push(...lines)
  }
  return changed
}

/** At most so many of a person and a provider: the others are of the same kind. */
const SHOWN = 20

async function wrongLines({ app, simulator }: Simulated, users: Map<string, string>, span: Span): Promise<string[]> {
  const wrong: string[] = []
  for (const [person, user] of users) {
    const from = new Date(span.fromMs - 2 * DAY_MS).toISOString().slice(0, 10)
    const truth = (await simulator.control('GET', `truth?person=${person}&from=${from}&minutes=true`)).body
    for (const provider of PROVIDERS) {
      const stored = await storedLines(app, user, provider, span)
      const found = differences(stored, LINES[provider](truth, span))
      if (stored.size < 30) wrong.push(`${person} ${provider}: only ${stored.size} lines`)
      wrong.push(...found.slice(0, SHOWN).map((line) => `${person} ${provider}: ${line}`))
      if (found.length > SHOWN) wrong.push(`${person} ${provider}: and ${found.length - SHOWN} more`)
    }
  }
  return wrong
}
