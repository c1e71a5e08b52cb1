import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Client } from 'pg'
import { waitUntil } from '../server/db/embedded/processes.ts'
import {
  type Bench,
  cpuText,
  figure,
  type Measure,
  median,
  percentile,
  type Timed,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import { type Dataset, generate } from './generate.ts'
import { startHelper } from './processes.ts'
import { type Load, type Request, requestLoop } from './requests.ts'
import type { Service } from './service.ts'
import { upload } from './upload.ts'

/** How fast notices of providers are accepted, and how soon while uploads are imported. */
export const ids = ['V5']

const CLIENTS = 32
const BODY_BYTES = 20_000
const SECRET = randomBytes(24).toString('hex')
const PATIENCE_MS = 300_000

interface Side {
  bench: Bench
  service: Service
  db: Client
  /** The bare server. */
  bare: { origin: string; pid: number; db: Client }
  seconds: number
}

interface Round {
  accepted: Timed<Load>
  bare: Timed<Load>
  /** Until everything that was accepted is opened, seconds. */
  openedLater: number
  busy: Load
}

/** 32 clients send notices of 20 kB back to back: to the service, and to a bare server that inserts each body. */
export async function run(bench: Bench): Promise<Measure[]> {
  const settings = { WHOOP_CLIENT_ID: 'bench', WHOOP_CLIENT_SECRET: SECRET }
  const bodies = bench.quick ? 10 : 25
  const dataset = await generate(join(bench.directory, 'notices'), { kind: 'mixed', bodies, everySeconds: 5, seed: 3 })
  return withDatabase(bench, 'notices', (url) =>
    withDatabase(bench, 'notices_bare', async (bareUrl) => {
      const helper = await startHelper('./bare-main.ts', { DATABASE_URL: bareUrl })
      const stop = bench.closing(helper.stop)
      try {
        const origin = `http://127.0.0.1:${await helper.ask<number>({ listen: true })}`
        return await withService(bench, { url, name: 'notices', settings }, (service) =>
          withClient(url, (db) =>
            withClient(bareUrl, async (bareDb) => {
              const bare = { origin, pid: helper.pid, db: bareDb }
              return measures(await rounds({ bench, service, db, bare, seconds: bench.quick ? 3 : 10 }, dataset))
            }),
          ),
        )
      } finally {
        await stop()
      }
    }),
  )
}

async function rounds(side: Side, dataset: Dataset): Promise<Round[]> {
  const { bench } = side
  const found: Round[] = []
  // The first is not counted: everybody compiles their code.
  for (let round = -1; round < bench.samples; round += 1) {
    const result: Partial<Round> = {}
    const parts = [
      async () => {
        const { pid, origin, db } = side.bare
        await db.query('truncate bare')
        result.bare = await part(side, pid, origin)
      },
      async () => {
        result.accepted = await part(side, side.service.pid, side.service.origin)
        result.openedLater = await opened(side.db)
      },
    ]
    for (const next of round % 2 === 0 ? parts : parts.reverse()) await next()
    result.busy = await whileImporting(side, dataset)
    if (round >= 0) found.push(result as Round)
  }
  return found
}

/** Sends notices to one side, after a checkpoint. */
async function part({ bench, db, seconds }: Side, pid: number, origin: string): Promise<Timed<Load>> {
  await db.query('checkpoint')
  return timed(bench, pid, () => requestLoop(origin, notice, { connections: CLIENTS, seconds }))
}

const filler = 'x'.repeat(BODY_BYTES)

/** A notice that differs from all others, signed as WHOOP signs; of a kind that tells nothing, so that it is opened and gone. */
function notice(): Request {
  const body = Buffer.from(
    `{"user_id":7,"id":"${randomBytes(16).toString('hex')}","type":"bench.updated","filler":"${filler}"}`,
  )
  const time = String(Date.now())
  const signature = createHmac('sha256', SECRET).update(time).update(body).digest('base64')
  return {
    method: 'POST',
    path: '/api/v1/providers/whoop/webhooks',
    headers: {
      'content-type': 'application/json',
      'x-whoop-signature-timestamp': time,
      'x-whoop-signature': signature,
    },
    body,
  }
}

/** Waits until no notice waits to be opened; returns how long that took, in seconds. */
async function opened(db: Client): Promise<number> {
  const started = performance.now()
  const isOpened = async () => (await db.query('select from notification limit 1')).rows.length === 0
  if (!(await waitUntil(isOpened, PATIENCE_MS, 20))) throw new Error('notices are never opened')
  return (performance.now() - started) / 1000
}

/** Sends notices while four users upload, again and again. */
async function whileImporting({ service, db, seconds }: Side, dataset: Dataset): Promise<Load> {
  let [over, uploads] = [false, 0]
  const importing = async () => {
    while (!over) {
      await db.query('truncate sample')
      const users = await Promise.all(Array.from({ length: 4 }, () => service.createUser()))
      await upload(
        service,
        db,
        users.map((userId) => ({ userId, dataset })),
      )
      uploads += 1
    }
  }
  const [, load] = await Promise.all([
    importing(),
    requestLoop(service.origin, notice, { connections: CLIENTS, seconds }).finally(() => {
      over = true
    }),
  ])
  if (uploads === 0) throw new Error('nothing was imported meanwhile')
  await opened(db)
  return load
}

function measures(found: Round[]): Measure[] {
  const rate = ({ count, seconds }: Load) => count / seconds
  const line = (what: string, runs: Timed<Load>[], name: string) => {
    const cpu = runs.map((one) => ({ cpu: one.cpu, count: one.result.count }))
    return `${what} ${figure(median(runs.map(({ result }) => rate(result))))} a second: ${cpuText(cpu, 'notice', name)}`
  }
  const p99 = (load: Load) => percentile(load.latenciesMs, 0.99)
  return [
    {
      id: 'V5',
      what: `notices of ${figure(BODY_BYTES / 1000)} kB accepted a second from ${CLIENTS} clients ÷ a bare server that inserts each`,
      values: found.map(({ accepted, bare }) => rate(accepted.result) / rate(bare.result)),
      target: { at: 'least', value: 1 },
      beside: [
        line(
          'accepted',
          found.map(({ accepted }) => accepted),
          'service',
        ),
        line(
          'bare',
          found.map(({ bare }) => bare),
          'bare server',
        ),
        `the last is opened ${figure(median(found.map(({ openedLater }) => openedLater)))} s later`,
      ],
    },
    {
      id: 'V5',
      what: '99 of 100 notices are answered within, while uploads of four users are imported',
      values: found.map(({ busy }) => p99(busy)),
      unit: 'ms',
      target: { at: 'most', value: 250 },
      beside: [
        `meanwhile ${figure(median(found.map(({ busy }) => rate(busy))))} a second; without imports within ${figure(median(found.map(({ accepted }) => p99(accepted.result))))} ms`,
      ],
    },
  ]
}
