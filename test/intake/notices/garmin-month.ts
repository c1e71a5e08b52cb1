// A month of people's lives as Garmin tells it: each day as it becomes known, and then all of it as the past of somebody who
// has just connected.
import type { Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import type { Engine } from '../../support/servers.ts'
import { differences, type Span, storedLines } from '../../support/truth.ts'
import { linesOf } from '../../support/truth-of-all.ts'
import { type Backfilling, runsOf, start, startBackfills } from '../pulls/backfills.ts'

const DAY_MS = 86_400_000
/** What Garmin sends of the past; the first day may not be whole. */
const PAST_DAYS = 28
const PATIENCE_MS = 60_000

/**
 * People who are connected while days pass; then these leave, and others connect the same accounts and ask for the past.
 * Either way what is stored is what is true.
 */
export async function monthHolds(t: Test, engine: Engine, { people, days }: { people: number; days: number }) {
  const all = await startBackfills(t, engine, {
    ...{ world: { people, days: days + 10 }, historicalSyncOnConnect: false },
  })
  const { simulator } = all
  await simulator.control('POST', 'settings', { provider: 'garmin', own: { heart_rate_seconds: 60 } })
  await simulator.control('POST', 'clock', { offset_seconds: -days * 86_400 })
  const users = await connectAll(all)
  const consentMs = await now(all)
  for (let day = 1; day <= days; day += 1) await all.deliver(86_400)
  t.strictSame(await malformed(all), [], 'every notice was opened, and nothing in it rejected')
  t.strictSame(await wrongOf(all, users, { fromMs: consentMs + DAY_MS, asItWas: true }), [], 'told as it became known')

  await leaveAll(all, users)
  const others = await connectAll(all)
  for (const user of others.values()) await start(all, user)
  await all.ask()
  await all.deliver()
  await all.pass(301)
  await all.ask()
  const runs = await Promise.all([...others.values()].map((user) => runsOf(all, user)))
  const ended = runs.flat().map(({ source, status }) => `${source} ${status}`)
  t.strictSame(ended, Array(people).fill('backfill success'))
  t.strictSame(await malformed(all), [])
  t.strictSame(await wrongOf(all, others, { fromMs: consentMs + (days - PAST_DAYS) * DAY_MS }), [], 'told as the past')
}

const now = async ({ simulator }: Backfilling) => Date.parse((await simulator.control('GET', 'clock')).body.now)

/** Users by person. */
async function connectAll(all: Backfilling): Promise<Map<string, string>> {
  const users = new Map<string, string>()
  for (const { key } of (await all.simulator.control('GET', 'people')).body) users.set(key, await all.join(key))
  return users
}

/** Until Garmin knows it, it would send nothing of the past to whoever comes next; what it says of that comes behind. */
async function leaveAll({ app, simulator }: Backfilling, users: ReadonlyMap<string, string>): Promise<void> {
  for (const user of users.values()) {
    const { status } = await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
    if (status !== 200) throw new Error(`the deletion was answered ${status}`)
  }
  const left = async () => {
    const { body } = await simulator.control('GET', 'log?provider=garmin')
    return body.filter(({ path }: { path: string }) => path.endsWith('/user/registration')).length === users.size
  }
  if (!(await waitUntil(left, PATIENCE_MS, 50))) throw new Error('not everybody has left')
}

const malformed = ({ app }: Backfilling) =>
  app.db.query(
    `select state, 0 as rejected from notification where state = 'malformed'
     union all
     select status, rejected from upload where status = 'failed' or rejected > 0`,
  )

/** What is stored and not true, and what is true and not stored. */
async function wrongOf(
  all: Backfilling,
  users: ReadonlyMap<string, string>,
  { fromMs, ...told }: Pick<Span, 'fromMs' | 'asItWas'>,
): Promise<string[]> {
  const nowMs = await now(all)
  const wrong: string[] = []
  for (const [person, user] of users) {
    const path = `truth?person=${person}&from=${new Date(fromMs - 2 * DAY_MS).toISOString().slice(0, 10)}&minutes=true`
    const { body: truth } = await all.simulator.control('GET', path)
    const firstMs = Date.parse(truth.person.first_day) + 2 * DAY_MS
    const span = { ...told, fromMs: Math.max(fromMs, firstMs), untilMs: nowMs + DAY_MS, nowMs }
    const stored = await storedLines(all.app, user, 'garmin', span)
    if (stored.size < 1_000) wrong.push(`${person}: only ${stored.size} lines`)
    const lines = differences(stored, linesOf.garmin(truth, span))
    const due = told.asItWas ? toBeBrought(truth.blood_pressures, nowMs) : []
    const left = lines.filter((line) => !due.some((second) => line.startsWith('missing: ') && line.includes(second)))
    wrong.push(...left.map((line) => `${person}: ${line}`))
  }
  return wrong.slice(0, 40)
}

/** Phones bring what a cuff has measured with what the watch has. */
const BRINGS_MS = 3 * 3_600_000

/** The seconds of blood pressures that no phone may have brought yet, as lines have them. */
const toBeBrought = (measured: readonly { at: string }[], nowMs: number): string[] =>
  measured
    .map(({ at }) => Date.parse(at))
    .filter((atMs) => atMs > nowMs - BRINGS_MS)
    .map((atMs) => ` ${Math.floor(atMs / 1000)} `)
