import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { LOOP_DELAY_MS } from '../server/metrics.ts'
import {
  type Bench,
  type Cpu,
  cpuText,
  figure,
  type Measure,
  median,
  percentile,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import { DATA_START_MS, type Dataset, generate, RECORDS_PER_BODY, seededRandom } from './generate.ts'
import { type Helper, residentMb, startHelper, watchMemory } from './processes.ts'
import type { Service } from './service.ts'
import { upload } from './upload.ts'

/** What long uploads do to the memory of the service and to concurrent readers. */
export const ids = ['I6', 'I7']

const PROBE_BODIES = 10
const PROBE_WINDOW_SECONDS = 3_600
const EVERY_SECONDS = 5

interface Round {
  one: { idleMb: number; peakMb: number; cpu: Cpu; seconds: number }
  four: { idleMb: number; peakMb: number } | undefined
  probe: { idleMs: number; busyMs: number; eventLoopMs: number } | undefined
}

/**
 * One user uploads a million samples, two requests in flight, while another user's data is read 20 times a second; then
 * four users do so at once. Each starts with a service that has imported nothing yet.
 */
export async function run(bench: Bench): Promise<Measure[]> {
  const bodies = bench.quick ? 100 : 500
  const plan = { kind: 'heart rate', bodies, everySeconds: EVERY_SECONDS, seed: 3 } as const
  const dataset = await generate(join(bench.directory, 'memory'), plan)
  const seen = await generate(join(bench.directory, 'memory-seen'), { ...plan, bodies: PROBE_BODIES })
  const rounds: Round[] = []
  // A round takes minutes, and peaks vary little.
  const count = bench.quick ? 1 : Math.ceil(bench.samples / 2)
  for (let round = 0; round < count; round += 1) {
    rounds.push(await withDatabase(bench, 'memory', (url) => measureRound(bench, url, dataset, seen)))
  }
  return measures(bench, dataset.records, rounds)
}

async function measureRound(bench: Bench, url: string, dataset: Dataset, seen: Dataset): Promise<Round> {
  const reader = await withService(bench, { url, name: 'memory-prepare' }, async (service) => {
    const userId = await service.createUser()
    await withClient(url, (db) => upload(service, db, [{ userId, dataset: seen }]))
    return userId
  })
  const one = await withService(bench, { url, name: 'memory-one' }, (service) =>
    oneUpload(bench, service, { url, dataset, reader }),
  )
  if (!bench.wanted('I6')) return { ...one, four: undefined }
  const four = await withService(bench, { url, name: 'memory-four' }, async (service) => {
    const idleMb = await settledMb(service)
    const peak = watchMemory(service.pid)
    await withClient(url, async (db) => upload(service, db, await jobs(service, dataset, 4)))
    return { idleMb, peakMb: peak() }
  })
  return { ...one, four }
}

async function jobs(service: Service, dataset: Dataset, users: number) {
  return Promise.all(Array.from({ length: users }, async () => ({ userId: await service.createUser(), dataset })))
}

/** Memory of a service that has just started. */
async function settledMb(service: Service): Promise<number> {
  await delay(2_000)
  return residentMb(service.pid)
}

/** `reader`: the user whose data is read meanwhile. */
async function oneUpload(
  bench: Bench,
  service: Service,
  { url, dataset, reader }: { url: string; dataset: Dataset; reader: string },
): Promise<Omit<Round, 'four'>> {
  const idleMb = await settledMb(service)
  const probe = bench.wanted('I7') ? await startHelper('probe.ts') : undefined
  const stop = probe && bench.closing(probe.stop)
  try {
    const idleMs = probe && (await idleProbe(bench, probe, service, reader))
    return await withClient(url, async (db) => {
      const uploads = await jobs(service, dataset, 1)
      await eventLoopMs(service)
      await probe?.ask({ start: true })
      const peak = watchMemory(service.pid)
      const { seconds, cpu } = await timed(bench, service.pid, () => upload(service, db, uploads))
      const peakMb = peak()
      const one = { idleMb, peakMb, cpu, seconds }
      if (!probe || idleMs === undefined) return { one, probe: undefined }
      const busyMs = percentile(await probe.ask<number[]>({ stop: true }), 0.99)
      return { one, probe: { idleMs, busyMs, eventLoopMs: await eventLoopMs(service) } }
    })
  } finally {
    await stop?.()
  }
}

/** p99 of the probe on an idle service; the first requests warm up and are not counted. */
async function idleProbe(bench: Bench, probe: Helper, service: Service, reader: string): Promise<number> {
  const random = seededRandom(4)
  const covered = PROBE_BODIES * RECORDS_PER_BODY * EVERY_SECONDS - PROBE_WINDOW_SECONDS
  const paths = Array.from({ length: 500 }, () => {
    const start = DATA_START_MS / 1000 + Math.floor(random() * covered)
    return `/api/v1/users/${reader}/timeseries?types=heart_rate&limit=100&start_time=${start}&end_time=${start + PROBE_WINDOW_SECONDS}`
  })
  await probe.ask({ origin: service.origin, headers: service.headers, paths, perSecond: 20 })
  await probe.ask({ start: true })
  await delay(3_000)
  await probe.ask({ stop: true })
  await probe.ask({ start: true })
  await delay(bench.quick ? 10_000 : 20_000)
  return percentile(await probe.ask<number[]>({ stop: true }), 0.99)
}

/**
 * p99 of the event loop's delay since the last call. prom-client empties its histogram at each read of /metrics, so a
 * read before and one after enclose the upload. The histogram holds the time between two ticks of a timer, whose
 * interval is no delay.
 */
async function eventLoopMs(service: Service): Promise<number> {
  const text = await (await fetch(`${service.origin}/metrics`)).text()
  const seconds = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1]
  if (!seconds) throw new Error('/metrics does not show nodejs_eventloop_lag_p99_seconds')
  return Number(seconds) * 1000 - LOOP_DELAY_MS
}

function measures(bench: Bench, records: number, rounds: Round[]): Measure[] {
  const uploads = rounds.map(({ one }) => ({ cpu: one.cpu, count: records }))
  const rate = `one upload ${middle(rounds, ({ one }) => records / one.seconds)} records/s: ${cpuText(uploads, 'record')}`
  return [...memory(records, rounds, rate), ...latency(rounds, rate)].filter(({ id }) => bench.wanted(id))
}

const middle = (rounds: Round[], pick: (round: Round) => number | undefined) =>
  figure(median(rounds.map(pick).filter((value) => value !== undefined)))

function memory(records: number, rounds: Round[], rate: string): Measure[] {
  const above = ({ idleMb, peakMb }: { idleMb: number; peakMb: number }) => peakMb - idleMb
  const [idle, peak, four] = [
    middle(rounds, ({ one }) => one.idleMb),
    middle(rounds, ({ one }) => one.peakMb),
    middle(rounds, (round) => round.four?.peakMb),
  ]
  return [
    {
      id: 'I6',
      what: `peak memory above idle, one upload of ${figure(records)} samples`,
      values: rounds.map(({ one }) => above(one)),
      unit: 'MB',
      target: { at: 'most', value: 256 },
      beside: [`resident: idle ${idle} MB, peak ${peak} MB with one upload, ${four} MB with four`, rate],
    },
    {
      id: 'I6',
      what: 'peak memory above idle, four such uploads at once ÷ one',
      values: rounds.flatMap((round) => (round.four ? [above(round.four) / above(round.one)] : [])),
      target: { at: 'most', value: 2 },
      beside: [],
    },
  ]
}

function latency(rounds: Round[], rate: string): Measure[] {
  const probes = rounds.flatMap(({ probe }) => probe ?? [])
  const [idle, busy] = [middle(rounds, ({ probe }) => probe?.idleMs), middle(rounds, ({ probe }) => probe?.busyMs)]
  return [
    {
      id: 'I7',
      what: 'p99 of a read probe during that upload ÷ idle',
      values: probes.map(({ idleMs, busyMs }) => busyMs / idleMs),
      target: { at: 'most', value: 5 },
      beside: [`p99 of the probe: idle ${idle} ms, during the upload ${busy} ms`, rate],
    },
    {
      id: 'I7',
      what: 'p99 of the event loop’s delay during that upload',
      values: probes.map(({ eventLoopMs }) => eventLoopMs),
      unit: 'ms',
      target: { at: 'most', value: 20 },
      beside: [],
    },
  ]
}
