// People of the simulator from their consent to what a reader gets, some days of it.
import type { Test } from 'tap'
import { replay } from '../../../server/intake/uploads/replay.ts'
import type { TestApp } from '../../support/app.ts'
import { storedEvents } from '../../support/events.ts'
import {
  connectPerson,
  dayOfPulls,
  type Pulling,
  type Simulated,
  settled,
  startPulling,
  startSimulated,
} from '../../support/people.ts'
import { createUser, storedSamples } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { differences, type Span, storedLines } from '../../support/truth.ts'
import { linesOf } from '../../support/truth-of-all.ts'

const DAY_MS = 86_400_000

type Provider = keyof typeof linesOf

/** Those that also notify of what is asked for. */
const USUAL: readonly Provider[] = ['oura', 'whoop', 'strava', 'polar']

/** Of these everything is compared, and what is no longer true is gone after a day. */
const EXACT: readonly Provider[] = [...USUAL, 'suunto']

/** Of these the main things; some do not tell what was deleted, so what was true once may stay. */
export const OTHERS: readonly Provider[] = ['withings', 'google_health', 'ultrahuman', 'sensorbio', 'fitbit']

/** Days before the consents that Polar's nights are listed of; the first may not be whole. */
export const POLAR_DAYS = 26

/** How long before the first pull of Strava its activities are asked for one by one: `overlapHours`. */
const ALONE_MS = 2 * DAY_MS

export interface Lives {
  people: number
  /** Days before the consents that have to be there. */
  days: number
  /** Days after them, each with a pull at its end. */
  after: number
  /** What everybody connects; absent: Oura, WHOOP, Strava and Polar, and Suunto where what is stored is compared. */
  providers?: readonly Provider[]
}

export interface Lived extends Simulated {
  readonly pulling: Pulling
  /** By person. */
  readonly users: ReadonlyMap<string, string>
  /** When the people gave their consents. */
  readonly consentMs: number
  readonly providers: readonly Provider[]
}

/**
 * Connects people, and compares what is stored with what is true: of the past, then after each further day, in which
 * nights are edited, workouts deleted, and data comes late. What is deleted within the newest day may be there until the
 * next one.
 */
export async function truthHolds(t: Test, engine: Engine, lives: Lives): Promise<void> {
  const { days, after } = lives
  const lived = await startLives(t, engine, { providers: EXACT, ...lives, after: after + 1 })
  const { app, pulling, simulator, users, consentMs } = lived
  const fromMs = Math.floor(consentMs / DAY_MS) * DAY_MS + (2 - days) * DAY_MS
  const stays = new Set<string>()
  let before = await checked(lived, { fromMs, untilMs: consentMs + DAY_MS, nowMs: consentMs })
  t.strictSame(shown(before.wrong), [], 'of the past')
  for (let day = 1; day <= after + 1; day += 1) {
    const nowMs = consentMs + day * DAY_MS
    for (const line of before.wasTrue) if (OTHERS.some((one) => line.includes(` ${one}: `))) stays.add(line)
    await dayOfPulls(app, nowMs)
    await simulator.control('POST', 'clock', { advance_days: 1 })
    await pulling.pullNow()
    await settled(app)
    const now = await checked(lived, { fromMs, untilMs: nowMs + DAY_MS, nowMs })
    const isLate = (line: string) => before.wasTrue.has(line) && !before.late.has(line)
    const late = now.wrong.filter((line) => stays.has(line) || isLate(line))
    if (day <= after) t.strictSame(shown(now.wrong.filter((line) => !late.includes(line))), [], `after ${day} days`)
    else
      t.strictSame(
        shown(now.wrong.filter((line) => before.late.has(line) && !stays.has(line))),
        [],
        'what was deleted late is gone',
      )
    before = { ...now, late: new Set(late) }
  }
  const failed = await app.db.query(`select provider, status, error from sync_run where status <> 'success'`)
  t.strictSame(failed, [], 'and every run succeeded')
  t.strictSame(await changedByReplay(app, [...users.values()]), [], 'reading all answers again changes nothing')
}

/** People who have connected all providers, `after` days before the present, and whose past is fetched. */
export async function startLives(
  t: Test,
  engine: Engine,
  { people, days, after, providers = USUAL }: Lives,
): Promise<Lived> {
  const simulated = await startSimulated(t, engine, {
    world: { people, days: days + Math.max(10, after) },
    historicalSyncOnConnect: false,
    syncTriggersPerHour: 1_000,
  })
  const { app, simulator } = simulated
  await simulator.control('POST', 'clock', { offset_seconds: -after * 86_400 })
  // Otherwise Polar shows nothing of the past.
  await simulator.control('POST', 'settings', { provider: 'polar', own: { old_exercises: true } })
  const consentMs = Date.parse((await simulator.control('GET', 'clock')).body.now)
  await dayOfPulls(app, consentMs)
  const enabled = Object.fromEntries(providers.map((provider) => [provider, true]))
  await app.request('PUT', '/api/v1/oauth/providers', { auth: 'developer', body: { providers: enabled } })
  const users = new Map<string, string>()
  for (const { key } of (await simulator.control('GET', 'people')).body) users.set(key, await createUser(app))
  for (const [person, user] of users) {
    for (const provider of providers) {
      await connectPerson(app, { user, provider, person })
      const path = `/api/v1/providers/${provider}/users/${user}/sync/historical?days=${days + after}`
      const { status, body } = await app.request('POST', path)
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
    }
  }
  const pulling = await startPulling(t, app)
  await settled(app)
  // As if they had been known for long: then Polar lists whatever was uploaded.
  await app.db.query(`update provider_grant set granted_at = granted_at - interval '1 year'`)
  await app.db.query(`update stream_cursor set begun_at = begun_at - make_interval(days => $1)`, [after])
  return { ...simulated, pulling, users, consentMs, providers }
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

/** The first of them: the others are of the same kind. */
export const shown = (lines: readonly string[]) => lines.slice(0, 40)

/** What a check found. */
interface Checked {
  /** Lines that are missing or not true, `person provider: line`. */
  readonly wrong: string[]
  /** How lines that are true now will read when they are not true any more. */
  readonly wasTrue: ReadonlySet<string>
  /** Lines that were true at the last check, and are gone at the next one. */
  readonly late: ReadonlySet<string>
}

/** How many lines there are at least: ten for each whole day. A span begins at a midnight, so soon after one it is short. */
function leastLines(provider: Provider, { fromMs, nowMs }: Span): number {
  if (provider === 'strava') return 1
  return Math.min(30, 10 * Math.floor((nowMs - fromMs) / DAY_MS))
}

/** `polarMs`: what Polar listed when it was asked begins on that day, or the next one. */
export async function checked(
  { app, simulator, users, consentMs, providers }: Lived,
  all: Span,
  polarMs = consentMs - POLAR_DAYS * DAY_MS,
): Promise<Checked> {
  const wrong: string[] = []
  const wasTrue = new Set<string>()
  for (const [person, user] of users) {
    const from = new Date(all.fromMs - 2 * DAY_MS).toISOString().slice(0, 10)
    const truth = (await simulator.control('GET', `truth?person=${person}&from=${from}&minutes=true`)).body
    for (const provider of providers) {
      const sinceMs = provider === 'polar' ? Math.ceil(polarMs / DAY_MS) * DAY_MS : 0
      const span = { ...all, fromMs: Math.max(all.fromMs, sinceMs), aloneMs: consentMs - ALONE_MS }
      const stored = await storedLines(app, user, provider, span)
      const lines = linesOf[provider](truth, span)
      const named = (line: string) => `${person} ${provider}: ${line}`
      if (stored.size < leastLines(provider, span)) wrong.push(named(`only ${stored.size} lines`))
      wrong.push(...differences(stored, lines).map(named))
      const isExact = EXACT.includes(provider)
      const newest = linesOf[provider](truth, isExact ? { ...span, fromMs: all.nowMs - DAY_MS } : span)
      for (const line of newest.required) wasTrue.add(named(`not true: ${line}`))
    }
  }
  return { wrong, wasTrue, late: new Set() }
}
