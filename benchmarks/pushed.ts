import { join } from 'node:path'
import type { Client } from 'pg'
import { openVault } from '../server/vault.ts'
import { newSecret, sealSecret } from '../server/webhooks/secrets.ts'
import {
  type Bench,
  cpuText,
  figure,
  type Measure,
  median,
  type Timed,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import { type Counts, type Dataset, generate } from './generate.ts'
import { type Helper, startHelper } from './processes.ts'
import { SECRET_KEY, type Service } from './service.ts'
import { upload } from './upload.ts'

/** What webhooks cost the users who upload. */
export const ids = ['W3']

const USERS = 4
const ON = {
  OUTGOING_WEBHOOKS_ENABLED: 'true',
  WEBHOOKS_ALLOW_HTTP: 'true',
  WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
}

interface Side {
  service: Service
  db: Client
}

/**
 * The uploads of I1 to two services, each with its own database: one without webhooks, one with an endpoint that wants
 * every event and never answers. They take turns; the table is emptied before every part.
 */
export async function run(bench: Bench): Promise<Measure[]> {
  const bodies = bench.quick ? 10 : 25
  const dataset = (name: string, kind: 'heart rate' | 'mixed', seed: number) =>
    generate(join(bench.directory, `pushed-${name}`), { kind, bodies, everySeconds: 5, seed })
  const datasets = [await dataset('beats', 'heart rate', 1), await dataset('mix', 'mixed', 2)]
  const receiver = await startHelper('receiver.ts')
  const stop = bench.closing(receiver.stop)
  try {
    return await withSide(bench, 'off', {}, (off) =>
      withSide(bench, 'on', ON, async (on) => {
        await hangingEndpoint(on.db, receiver)
        return measures(await rounds(bench, off, on, datasets))
      }),
    )
  } finally {
    await stop()
  }
}

function withSide<T>(bench: Bench, name: string, settings: Record<string, string>, work: (side: Side) => Promise<T>) {
  return withDatabase(bench, `pushed_${name}`, (url) =>
    withService(bench, { url, name: `pushed-${name}`, settings }, (service) =>
      withClient(url, (db) => work({ service, db })),
    ),
  )
}

async function hangingEndpoint(db: Client, receiver: Helper): Promise<void> {
  const origin = `http://127.0.0.1:${await receiver.ask<number>({ listen: true })}`
  const { sealed, keyId } = sealSecret(openVault(SECRET_KEY), 'ep_bench', newSecret())
  const values = ['ep_bench', `${origin}/hang`, sealed, keyId]
  await db.query('insert into endpoint (uid, url, secret, key_id) values ($1, $2, $3, $4)', values)
}

interface Rounds {
  records: number
  off: Timed<Counts>[]
  on: Timed<Counts>[]
}

async function rounds(bench: Bench, off: Side, on: Side, datasets: Dataset[]): Promise<Rounds> {
  const perUser = Array.from({ length: USERS }, (_, user) => datasets[user % datasets.length] as Dataset)
  const records = perUser.reduce((sum, { records }) => sum + records, 0)
  // Not counted: both compile their code.
  for (const side of [off, on]) await part(bench, side, perUser)
  const found: Rounds = { records, off: [], on: [] }
  for (let round = 0; round < bench.samples; round += 1) {
    const parts = [
      async () => found.off.push(await part(bench, off, perUser)),
      async () => found.on.push(await part(bench, on, perUser)),
    ]
    for (const next of round % 2 === 0 ? parts : parts.reverse()) await next()
  }
  const recorded = (await on.db.query<{ samples: number }>('select count(*)::int4 as samples from event')).rows[0]
  if (!recorded?.samples) throw new Error('no events were recorded')
  return found
}

async function part(bench: Bench, { service, db }: Side, perUser: Dataset[]): Promise<Timed<Counts>> {
  await db.query('truncate sample')
  await db.query('truncate event cascade')
  const jobs = await Promise.all(perUser.map(async (dataset) => ({ userId: await service.createUser(), dataset })))
  await db.query('checkpoint')
  return timed(bench, service.pid, () => upload(service, db, jobs))
}

function measures({ records, off, on }: Rounds): Measure[] {
  const figureLine = (what: string, runs: Timed<Counts>[]) => {
    const cpu = cpuText(
      runs.map((run) => ({ cpu: run.cpu, count: records })),
      'record',
    )
    return `${what} ${figure(records / median(runs.map(({ seconds }) => seconds)))} records/s: ${cpu}`
  }
  return [
    {
      id: 'W3',
      what: 'ingest with webhooks on and an endpoint that hangs ÷ off',
      values: off.map(({ seconds }, round) => seconds / (on[round] as Timed<Counts>).seconds),
      target: { at: 'least', value: 0.9 },
      beside: [figureLine('off', off), figureLine('on', on)],
    },
  ]
}
