// A database server that is stopped at once, as by a power cut, in the middle of deliveries, and started again.
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { signalProcess } from '../../server/db/embedded/processes.ts'
import { freePort } from '../../server/db/embedded/server.ts'
import { startEmbeddedDatabase } from '../../server/db/embedded.ts'
import { onDatabase, startService } from '../support/service.ts'
import { inTestLong, runs } from '../support/thorough.ts'
import {
  createEndpoint,
  eventually,
  openTestDatabase,
  recordEvents,
  startReceiver,
  unfinished,
} from '../support/webhooks.ts'
import { SETTINGS } from './kills.ts'

const ENDPOINTS = ['/one', '/two', '/three']
const RESTARTS = runs(1, 5)
const FINISH_MS = 60_000

t.test('the database is stopped and started again while events are recorded and delivered', inTestLong, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'pulsebase-restart-'))
  await chmod(dataDir, 0o755)
  t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }))
  const port = await freePort()
  const start = () => startEmbeddedDatabase({ dataDir, port, log() {} })
  let server = await start()
  t.teardown(() => server.stop())
  const postmaster = async () =>
    Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)

  const service = await startService(t, { ...onDatabase(server.url), ...SETTINGS })
  const db = openTestDatabase(t, server.url)
  const held: ServerResponse[] = []
  let holding = false
  const receiver = await startReceiver(t, (_, response) => {
    if (holding) held.push(response)
    else response.end('ok')
  })
  for (const path of ENDPOINTS) await createEndpoint(db, receiver.origin + path)

  /** Ids of the events whose commit was confirmed, by their body. */
  const committed = new Map<string, string>()
  let stopWriting = false
  async function write(writer: number): Promise<void> {
    for (let number = 0; !stopWriting; number += 1) {
      const name = `${writer} ${number}`
      try {
        const [id = ''] = await recordEvents(db, [{ data: { name } }])
        committed.set(`{"type":"workout.created","data":${JSON.stringify({ name })}}`, id)
      } catch {
        // It is unknown whether it was committed. The server is down: wait for it, then write the next event.
        await eventually(
          () => db.query('select 1').catch(() => []),
          ({ length }) => length === 1,
        )
      }
    }
  }
  const writing = Promise.all([write(1), write(2)])
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await receiver.got(receiver.calls.length + 30)
    holding = true
    await eventually(
      async () => held.length,
      (calls) => calls >= 2 * ENDPOINTS.length,
    )
    signalProcess(await postmaster(), 'SIGQUIT')
    await server.exited
    t.ok(held.length >= 2 * ENDPOINTS.length, `${held.length} calls were on their way when the database went`)
    // Some are answered while it is down, the others lose their connection.
    for (const [index, response] of held.splice(0).entries()) {
      if (index % 3 > 0) response.end('ok')
      else response.destroy()
    }
    holding = false
    await server.stop()
    server = await start()
  }
  await receiver.got(receiver.calls.length + 30)
  stopWriting = true
  await writing
  await eventually(
    () => unfinished(db),
    (left) => left === 0,
    FINISH_MS,
  )
  t.ok(service.alive())
  t.equal((await service.request('GET', '/readyz', { auth: 'none' })).status, 200)

  const stored = await db.query<{ body: string; id: string }>(
    `select '{"type":"workout.created","data":' || convert_from(data, 'UTF8') || '}' as body,
            'msg_' || replace(uid::text, '-', '') as id
     from event`,
  )
  const idOf = new Map(stored.map(({ body, id }) => [body, id]))
  t.equal(idOf.size, stored.length)
  t.strictSame(
    [...committed].filter(([body, id]) => idOf.get(body) !== id),
    [],
    `each of ${committed.size} events that were committed is still there`,
  )
  for (const path of ENDPOINTS) {
    const calls = receiver.calls.filter((call) => call.path === path)
    const received = new Set(calls.map(({ body }) => body))
    t.equal(stored.filter(({ body }) => !received.has(body)).length, 0, `${path}: none of ${stored.length} is missing`)
    t.equal(calls.filter(({ id, body }) => idOf.get(body) !== id).length, 0, 'what comes again has the same id')
    t.comment(`${calls.length - received.size} of ${calls.length} calls of ${path} were repetitions`)
  }
  t.equal(await service.stop(), 0)
})
