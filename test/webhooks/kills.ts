import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { Test } from 'tap'
import { createTestDatabase } from '../support/app.ts'
import type { Engine } from '../support/servers.ts'
import { onDatabase, type Service, startService } from '../support/service.ts'
import {
  attemptsOf,
  createEndpoint,
  deliveriesOf,
  eventually,
  openTestDatabase,
  recordEvents,
  recordEventsIn,
  startReceiver,
  unfinished,
} from '../support/webhooks.ts'

/** Settings of a service that delivers to this machine. */
export const SETTINGS = {
  OUTGOING_WEBHOOKS_ENABLED: 'true',
  WEBHOOKS_ALLOW_HTTP: 'true',
  WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
}
const ENDPOINTS = ['/one', '/two', '/three']
const FINISH_MS = 120_000

/**
 * Kills the real service with SIGKILL, again and again, while it delivers what transactions record: no committed event
 * is missing, repeated ones have the same id, and no rolled back event arrives.
 */
export async function surviveKills(
  t: Test,
  engine: Engine,
  { commits, kills, rolledBack, seed }: { commits: number; kills: number; rolledBack: number; seed: number },
): Promise<void> {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  for (const path of ENDPOINTS) await createEndpoint(db, receiver.origin + path)
  const plan = fc.sample(fc.noBias(fc.integer({ min: 0, max: Math.ceil((commits * 3) / kills) })), {
    numRuns: kills,
    seed,
  })

  const ids = new Map<string, string>()
  let written = 0
  let undone = 0
  async function record(name: string, commit: boolean): Promise<void> {
    await db
      .transaction(async (tx) => {
        const { uid } = await tx.one<{ uid: string }>(
          `insert into event (type, key, data) values ('workout.created', $1, convert_to($2, 'UTF8')) returning uid`,
          [name, JSON.stringify({ name })],
        )
        await tx.query(`select pg_notify('event', '')`)
        if (!commit) throw new Error('undone')
        ids.set(`{"type":"workout.created","data":{"name":"${name}"}}`, `msg_${uid.replaceAll('-', '')}`)
      })
      .catch((error: Error) => {
        if (error.message !== 'undone') throw error
      })
  }
  /** Commits and rolls back one round's share. */
  async function writeShare(round: number): Promise<void> {
    while (written < Math.round((commits * (round + 1)) / kills)) {
      written += 1
      await record(`kept ${written} ${randomBytes(4).toString('hex')}`, true)
      if (undone < (rolledBack * written) / commits) {
        undone += 1
        await record(`undone ${undone}`, false)
      }
    }
  }

  const environment = { ...onDatabase(url), ...SETTINGS }
  for (const [round, calls] of plan.entries()) {
    const service = await startService(t, environment)
    const known = receiver.calls.length
    const writing = writeShare(round)
    let over = false
    // This many calls, or all there are.
    await Promise.race([receiver.got(known + calls, FINISH_MS), writing.then(() => settled(() => over))])
    over = true
    await service.kill()
    await writing
  }
  /** All is delivered; or nobody waits for that any more, and the count, which is not cheap, ends. */
  async function settled(isOver = () => false): Promise<void> {
    await eventually(
      () => unfinished(db),
      (left) => left === 0 || isOver(),
      FINISH_MS,
    )
  }
  const service = await startService(t, environment)
  await settled()
  t.equal(await service.stop(), 0)

  t.equal(ids.size, commits)
  for (const path of ENDPOINTS) {
    const calls = receiver.calls.filter((call) => call.path === path)
    const received = new Set(calls.map(({ body }) => body))
    t.equal([...ids.keys()].filter((body) => !received.has(body)).length, 0, `${path}: none of ${commits} is missing`)
    t.equal(
      calls.filter(({ id, body }) => ids.get(body) !== id).length,
      0,
      'each with its own id, and none that was undone',
    )
    t.comment(`${calls.length - received.size} of ${calls.length} calls of ${path} were repetitions`)
  }
  t.equal(undone, rolledBack)
  const { attempts } = await db.one<{ attempts: number }>('select count(*) as attempts from attempt')
  t.equal(attempts, commits * ENDPOINTS.length, 'each delivery has one attempt that is recorded')
}

/** Kills the real service at each critical point of a delivery: every event arrives, repeated ones with the same id. */
export async function surviveEachMoment(t: Test, engine: Engine): Promise<void> {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  let answering = true
  const receiver = await startReceiver(t, (_, response) => {
    if (answering) response.end('ok')
  })
  const endpoint = await createEndpoint(db, receiver.origin)
  let service: Service | undefined
  const start = async () => {
    service = await startService(t, { ...onDatabase(url), ...SETTINGS })
  }
  /** Records an event and kills the service while it waits to write to `table`, before it has written. */
  const dieBeforeWritingTo = (table: 'event' | 'attempt', statement: string) =>
    db.transaction(async (tx) => {
      await tx.query(`lock table ${table} in share mode`)
      // The lock also keeps others from recording events.
      const [id] = table === 'event' ? await recordEventsIn(tx, [{}]) : await recordEvents(db, [{}])
      const waiting = `from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%${statement}%'`
      await eventually(
        () => db.query(`select ${waiting}`),
        ({ length }) => length > 0,
      )
      await service?.kill()
      // The database would still execute the statement it has received.
      await db.query(`select pg_terminate_backend(pid, 10000) ${waiting}`)
      return id
    })

  const recorded = (deliveries: number) =>
    eventually(
      () => deliveriesOf(db, endpoint),
      (rows) =>
        rows.length === deliveries && rows.every(({ state, attempts }) => state === 'delivered' && attempts === 1),
    )

  await start()
  const before = await dieBeforeWritingTo('event', 'fan_out')
  t.equal(receiver.calls.length, 0, 'before the call')
  await start()
  await receiver.got(1)

  answering = false
  const [during] = await recordEvents(db, [{}])
  await receiver.got(2)
  await service?.kill()
  answering = true
  await start()
  await receiver.got(3)
  // Else it is this one that waits for the table, too.
  await recorded(2)

  const after = await dieBeforeWritingTo('attempt', 'record_attempts')
  t.equal(receiver.calls.length, 4, 'after the call, which was answered')
  await start()
  await receiver.got(5)
  await recorded(3)
  t.equal(await service?.stop(), 0)
  t.strictSame(
    receiver.calls.map(({ id }) => id),
    [before, during, during, after, after],
  )
  t.match(await attemptsOf(db, endpoint), Array(3).fill({ succeeded: true, response_status: 200 }), 'each is told once')
}
