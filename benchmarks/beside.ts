import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { type Bench, percentile } from './bench.ts'
import { DATA_START_MS, generate, RECORDS_PER_BODY, seededRandom } from './generate.ts'
import type { Plan } from './probe.ts'
import { type Helper, startHelper } from './processes.ts'
import type { Service } from './service.ts'
import { upload } from './upload.ts'

// People who read and upload while something else is measured.

const READERS = 10
const PHONES = 10
const READS_PER_SECOND = 20
const UPLOADS_PER_SECOND = 2
const WINDOW_SECONDS = 3_600
const EVERY_SECONDS = 5
const BODIES = 5
/** Uploads of each phone until they repeat themselves; a tenth of a body each. */
const LIVE_BODIES = 60

/** p99 of pages of 100, and of uploads until they are accepted. */
interface Latencies {
  readonly readMs: number
  readonly uploadMs: number
}

/** People who go on meanwhile. */
export interface Beside {
  /** While nothing else happens; reads and uploads after each other. */
  idle(): Promise<Latencies>
  start(): Promise<void>
  /** Since `start`. */
  stop(): Promise<Latencies>
  end(): Promise<void>
}

/** Ten people with data who page it, 20 pages a second, and ten others whose phones upload, two uploads of 200 records a second. */
export async function startBeside(bench: Bench, service: Service, db: Client): Promise<Beside> {
  const [reads, uploads] = [await startHelper('probe.ts'), await startHelper('probe.ts')]
  const stops = [reads, uploads].map(({ stop }) => bench.closing(stop))
  await reads.ask(await readsOf(bench, service, db))
  await uploads.ask(await uploadsOf(bench, service))
  const p99 = async (helper: Helper) => percentile(await helper.ask<number[]>({ stop: true }), 0.99)
  const alone = async (helper: Helper) => {
    await helper.ask({ start: true })
    await delay(2_000)
    await helper.ask({ stop: true })
    await helper.ask({ start: true })
    await delay(bench.quick ? 6_000 : 20_000)
    return p99(helper)
  }
  return {
    idle: async () => ({ readMs: await alone(reads), uploadMs: await alone(uploads) }),
    async start() {
      for (const helper of [reads, uploads]) await helper.ask({ start: true })
    },
    stop: async () => ({ readMs: await p99(reads), uploadMs: await p99(uploads) }),
    async end() {
      for (const stop of stops) await stop()
    },
  }
}

async function readsOf(bench: Bench, service: Service, db: Client): Promise<Plan> {
  const plan = { kind: 'heart rate', bodies: BODIES, everySeconds: EVERY_SECONDS, seed: 5 } as const
  const dataset = await generate(join(bench.directory, 'beside-read'), plan)
  const users = await Promise.all(Array.from({ length: READERS }, () => service.createUser()))
  await upload(
    service,
    db,
    users.map((userId) => ({ userId, dataset })),
    1,
  )
  const random = seededRandom(6)
  const covered = BODIES * RECORDS_PER_BODY * EVERY_SECONDS - WINDOW_SECONDS
  const paths = Array.from({ length: 1_000 }, (_, place) => {
    const start = DATA_START_MS / 1000 + Math.floor(random() * covered)
    return `/api/v1/users/${users[place % READERS]}/timeseries?types=heart_rate&limit=100&start_time=${start}&end_time=${start + WINDOW_SECONDS}`
  })
  return { origin: service.origin, headers: service.headers, paths, perSecond: READS_PER_SECOND }
}

async function uploadsOf(bench: Bench, service: Service): Promise<Plan> {
  const plan = { kind: 'mixed', bodies: LIVE_BODIES / 10, everySeconds: EVERY_SECONDS, seed: 7 } as const
  const dataset = await generate(join(bench.directory, 'beside-upload'), plan)
  const bodies: Buffer[] = []
  for (let body = 0; body < dataset.bodies; body += 1) bodies.push(...tenthsOf(await dataset.read(body)))
  const users = await Promise.all(Array.from({ length: PHONES }, () => service.createUser()))
  return {
    ...{ origin: service.origin, headers: { ...service.headers, 'content-type': 'application/json' } },
    ...{ paths: users.map((user) => `/api/v1/sdk/users/${user}/sync`), perSecond: UPLOADS_PER_SECOND, bodies },
  }
}

/** The records of a body as ten bodies. */
function tenthsOf(body: Buffer): Buffer[] {
  const whole = JSON.parse(body.toString()) as { data: { records: unknown[] } }
  const { records } = whole.data
  return Array.from({ length: 10 }, (_, tenth) => {
    const some = records.slice((tenth * records.length) / 10, ((tenth + 1) * records.length) / 10)
    return Buffer.from(JSON.stringify({ ...whole, data: { ...whole.data, records: some } }))
  })
}
