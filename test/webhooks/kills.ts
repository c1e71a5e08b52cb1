import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { Test } from 'tap'
import { createTestDatabase } from '../support/app.ts'
import type { Engine } from '../support/servers.ts'
import { onDatabase, startService } from '../support/service.ts'
import { createEndpoint, eventually, openTestDatabase, startReceiver } from '../support/webhooks.ts'

const SETTINGS = {
  OUTGOING_WEBHOOKS_ENABLED: 'true',
  WEBHOOKS_ALLOW_HTTP: 'true',
  WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
}
const ENDPOINTS = ['/one', '/two', '/three']
const FINISH_MS = 120_000

/**
 * Kills the real service with SIGKILL, again and again, while it delivers what transactions record: nothing that was
 * committed is missing, what comes twice has the same id, and nothing comes of what was rolled back.
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
  /** Commits and undoes its share of all. */
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
    // So many calls, or all there are.
    await Promise.race([receiver.got(known + calls, FINISH_MS), writing.then(() => settled())])
    await service.kill()
    await writing
  }
  async function settled(): Promise<void> {
    await eventually(
      () =>
        db.one<{ left: number }>(
          `select (select count(*) from event where pending) +
                  (select count(*) from delivery where state <> 'delivered') as left`,
        ),
      ({ left }) => left === 0,
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
