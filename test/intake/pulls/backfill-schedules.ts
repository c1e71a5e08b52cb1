// Random schedules of asking for the past: processes that die, answers that fail, consents that end and come again, seeded.
import type { Test } from 'tap'
import { endGrant } from '../../../server/oauth/disconnect.ts'
import { cloud } from '../../../server/providers/garmin/index.ts'
import { createUser } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { type AskedRange, type Backfilling, startBackfills } from './backfills.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LENGTH = 16

const STREAMS = cloud.backfill?.types.map(({ stream }) => stream) ?? []
const TYPES = new Map(cloud.backfill?.types.map(({ type, stream }) => [type, stream]))

/** A request, and whether the process died before it noted the answer. */
interface Noted extends AskedRange {
  readonly inDoubt: boolean
}

/** One person, and what was asked since the consent. */
interface Course {
  readonly all: Backfilling
  readonly person: string
  readonly user: string
  readonly pick: (below: number) => number
  readonly streams: readonly string[]
  readonly earliestMs: number
  /** Until when the past is asked for next: some hours after the last time. */
  untilMs: number
  asked: Noted[]
  readonly wrong: string[]
}

/** Numbers that look random, the same ones for a seed. */
function pickerOf(seed: number): Course['pick'] {
  let state = seed * 7_919 + 1
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

async function note(course: Course, inDoubt = false): Promise<void> {
  const { all, person, asked, wrong } = course
  for (const one of await all.asked()) {
    const { type, from, to, status } = one
    const before = asked.filter((other) => other.type === type && other.from < to && from < other.to)
    const isRepeat = before.every((other) => other.inDoubt && other.from === from && other.to === to)
    if (!isRepeat || (status === 409 && before.length === 0))
      wrong.push(`${person} ${type} ${from}-${to}: ${status} after ${JSON.stringify(before)}`)
    // Of others the provider has taken nothing.
    if (status === 202 || status === 409) asked.push({ ...one, inDoubt })
  }
  await all.simulator.control('DELETE', 'log')
}

const grantOf = ({ all: { app }, user }: Course) =>
  app.db.query<{ id: string; account_id: string }>(
    `select g.id, g.account_id from provider_grant g join connection c on c.grant_id = g.id
     where c.user_id = $1 and c.status = 'active'`,
    [user],
  )

async function started(course: Course, streams: readonly string[]): Promise<void> {
  const { all, user, earliestMs, untilMs } = course
  const [grant] = await grantOf(course)
  const iso = (ms: number) => new Date(ms).toISOString()
  await all.app.db.query('select start_backfill($1, $2, $3, $4, $5)', [
    ...[grant?.id ?? null, user, [...streams]],
    ...[iso(earliestMs), iso(untilMs)],
  ])
}

const turn = async (course: Course, kills: boolean) => {
  await course.all.app.db.query('delete from rate_budget')
  await course.all.turn(kills)
  await note(course, kills)
}

/** Everything is asked for, and nothing comes any more. */
async function finished(course: Course): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    await course.all.ask()
    await note(course)
    await course.all.pass(4_000)
  }
}

const KINDS = ['503', '429', '403', '401', '400', 'reset']

/** What may happen, and how often. */
const ACTIONS: readonly [times: number, act: (course: Course) => Promise<void>][] = [
  [
    3,
    async (course) => {
      course.untilMs += course.pick(30) * HOUR_MS
      const first = course.pick(course.streams.length)
      await started(course, course.streams.slice(first, first + 1 + course.pick(3)))
    },
  ],
  [3, (course) => turn(course, false)],
  [3, (course) => turn(course, true)],
  [1, ({ all, pick }) => all.pass(pick(600))],
  [1, finished],
  [1, fault],
  [1, withdrawn],
  [1, lost],
]

const choices = ACTIONS.flatMap(([times, act]) => Array<typeof act>(times).fill(act))

async function fault({ all, person, pick }: Course): Promise<void> {
  const one = { kind: KINDS[pick(KINDS.length)], times: 1 + pick(3), person, path: 'backfill' }
  await all.simulator.control('POST', 'faults', { provider: 'garmin', ...one })
}

/** The person withdraws access there, and gives it again. */
async function withdrawn(course: Course): Promise<void> {
  const [grant] = await grantOf(course)
  await course.all.simulator.control('POST', 'revoke', { provider: 'garmin', person: course.person })
  // What is withdrawn within a week of another consent may be that of the one before.
  await course.all.app.db.query(`update provider_grant set granted_at = granted_at - interval '8 days'`)
  await course.all.tell({ deregistrations: [{ userId: grant?.account_id }] })
  // Whatever was repeated belongs to the consent before.
  await note(course)
  course.asked = []
  await course.all.join(course.person, { user: course.user })
}

/** The tokens are lost, and the person gives access again. */
async function lost(course: Course): Promise<void> {
  const { app } = course.all
  const [grant] = await grantOf(course)
  const end = { status: 'revoked', reason: 'refresh_failed' } as const
  await app.db.transaction((tx) => endGrant(tx, app.deps.config, grant?.id ?? '', end))
  await course.all.join(course.person, { user: course.user })
}

/** After random schedules no range was asked for twice but one of which the answer was lost, and none was left out. */
export async function neverOverlaps(t: Test, engine: Engine, { seed, count }: { seed: number; count: number }) {
  const all = await startBackfills(t, engine, { historicalSyncOnConnect: false, world: { people: 1 } })
  const [person] = (await all.simulator.control('GET', 'people')).body
  const nowMs = Date.parse((await all.simulator.control('GET', 'clock')).body.now)
  const wrong: string[] = []
  let repeated = 0
  for (let n = 0; n < count; n += 1) {
    const user = await createUser(all.app)
    const pick = pickerOf(seed + n)
    const place = pick(STREAMS.length - 4)
    const course: Course = {
      ...{ all, person: person.key, user, pick, streams: STREAMS.slice(place, place + 4), wrong, asked: [] },
      ...{ earliestMs: nowMs - 30 * DAY_MS + 300_000, untilMs: nowMs - 15 * DAY_MS },
    }
    await all.join(course.person, { user })
    for (let at = 0; at < LENGTH; at += 1) await choices[course.pick(choices.length)]?.(course)
    await all.simulator.control('DELETE', 'faults')
    await finished(course)
    course.untilMs += 3 * HOUR_MS
    await started(course, course.streams)
    await finished(course)
    for (const stream of course.streams) {
      const gap = longestGap(course, stream)
      if (gap > HOUR_MS) wrong.push(`seed ${seed + n}: ${stream} lacks ${gap / HOUR_MS} hours`)
    }
    repeated += course.asked.filter(({ status }) => status === 409).length
    await all.app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
    await all.simulator.control('POST', 'revoke', { provider: 'garmin', person: person.key })
    await all.simulator.control('DELETE', 'log')
  }
  t.strictSame(wrong.slice(0, 10), [])
  t.ok(repeated > 0, `${repeated} requests were made again whose answer was lost`)
}

/** The longest time between the earliest and the last instant that no request was for. */
function longestGap({ asked, earliestMs, untilMs }: Course, stream: string): number {
  const own = asked.filter(({ type }) => TYPES.get(type) === stream).sort((a, b) => a.from - b.from)
  let [reached, longest] = [earliestMs, 0]
  for (const { from, to } of own) {
    longest = Math.max(longest, from * 1000 - reached)
    reached = Math.max(reached, to * 1000)
  }
  return Math.max(longest, untilMs - reached)
}
