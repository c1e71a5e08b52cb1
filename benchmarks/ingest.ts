import { join } from 'node:path'
import type { Client } from 'pg'
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
import { copyFile, exportRows } from './copy.ts'
import { type Counts, type Dataset, generate, generateDisordered } from './generate.ts'
import type { Service } from './service.ts'
import { type Job, upload } from './upload.ts'

/** How fast uploads are imported: fresh, repeated and disordered ones. */
export const ids = ['I1', 'I2', 'I3']

/** The measurements of one round; parts that no wanted measure needs are absent. */
interface Round {
  fresh: Timed<Counts>
  whole: Timed<Counts> | undefined
  again: Timed<Counts> | undefined
  disordered: Timed<Counts> | undefined
  copied: { seconds: number; databaseCpu: number } | undefined
  walBytesPerRow: number | undefined
}

interface Suite {
  bench: Bench
  service: Service
  db: Client
  url: string
  /** One dataset for each user. */
  clean: Dataset[]
  disordered: Dataset[]
  whole: Dataset[]
  csv: string
  records: number
}

/**
 * Four users upload at the same time, two requests in flight each; two of them send heart rate, two a mix of twelve
 * types. Before every part the table is emptied and a checkpoint is made.
 */
export async function run(bench: Bench): Promise<Measure[]> {
  const bodies = bench.quick ? 10 : 25
  const at = (name: string) => join(bench.directory, `ingest-${name}`)
  const beats = { kind: 'heart rate', bodies, everySeconds: 5, seed: 1 } as const
  const mix = { kind: 'mixed', bodies, everySeconds: 5, seed: 2 } as const
  const perUser = <T>(one: T, other: T) => [one, one, other, other]
  const clean = perUser(await generate(at('beats'), beats), await generate(at('mix'), mix))
  const disordered = perUser(
    await generateDisordered(at('beats-disordered'), beats),
    await generateDisordered(at('mix-disordered'), mix),
  )
  const day = await generate(at('whole'), { ...mix, kind: 'whole' })
  const records = clean.reduce((sum, dataset) => sum + dataset.records, 0)
  return withDatabase(bench, 'ingest', (url) =>
    withService(bench, { url, name: 'ingest' }, (service) =>
      withClient(url, async (db) => {
        const csv = at(`${bench.engine.name}.csv`)
        const suite: Suite = { bench, service, db, url, clean, disordered, whole: [day, day, day, day], csv, records }
        // Not counted: the service compiles its code, and the rows to copy are created.
        await freshPart(suite)
        await exportRows(url, csv)
        const rounds: Round[] = []
        for (let round = 0; round < bench.samples; round += 1) rounds.push(await measureRound(suite, round))
        return measures(bench, records, rounds)
      }),
    ),
  )
}

/** Every other round runs backwards, so that neither side always comes first. */
async function measureRound(suite: Suite, round: number): Promise<Round> {
  const { bench, disordered: datasets, whole } = suite
  const result: Partial<Round> = {}
  const parts = [
    async () => {
      const { jobs, fresh } = await freshPart(suite)
      result.fresh = fresh
      if (!bench.wanted('I2')) return
      result.again = await uploadPart(suite, jobs, 'again')
      result.walBytesPerRow = await walOfRepeat(suite, jobs)
    },
    async () => {
      if (bench.wanted('I1')) result.whole = await uploadPart(suite, await newUsers(suite, whole), 'fresh')
    },
    async () => {
      if (bench.wanted('I1')) result.copied = await copyFile(bench.engine, suite)
    },
    async () => {
      if (!bench.wanted('I3')) return
      const jobs = await newUsers(suite, datasets)
      result.disordered = await uploadPart(suite, jobs, 'fresh')
    },
  ]
  for (const part of round % 2 === 0 ? parts : parts.reverse()) await part()
  const { fresh, whole: all, again, disordered, copied, walBytesPerRow } = result
  if (!fresh) throw new Error('a round without a fresh upload')
  return { fresh, whole: all, again, disordered, copied, walBytesPerRow }
}

async function freshPart(suite: Suite): Promise<{ jobs: Job[]; fresh: Timed<Counts> }> {
  const jobs = await newUsers(suite, suite.clean)
  return { jobs, fresh: await uploadPart(suite, jobs, 'fresh') }
}

/** Empties the table and creates users that have never uploaded anything. */
async function newUsers({ service, db }: Suite, datasets: Dataset[]): Promise<Job[]> {
  await db.query('truncate sample')
  return Promise.all(datasets.map(async (dataset) => ({ userId: await service.createUser(), dataset })))
}

/** Times an upload, and checks that it did what is to be measured. */
async function uploadPart(suite: Suite, jobs: Job[], kind: 'fresh' | 'again'): Promise<Timed<Counts>> {
  const { bench, service, db } = suite
  await db.query('checkpoint')
  const run = await timed(bench, service.pid, () => upload(service, db, jobs))
  const expected: Counts = { inserted: 0, repeated: 0, rejected: 0 }
  for (const { dataset } of jobs) {
    const { inserted, repeated, rejected } = dataset.expected
    expected.inserted += kind === 'fresh' ? inserted : 0
    expected.repeated += kind === 'fresh' ? repeated : repeated + inserted
    expected.rejected += rejected
  }
  const [got, wanted] = [JSON.stringify(run.result), JSON.stringify(expected)]
  if (got !== wanted) throw new Error(`a ${kind} upload gave ${got} where ${wanted} was expected`)
  return run
}

/**
 * WAL of one more repetition, per row. First comes autovacuum's work of the first minutes in production: the first
 * reader of a page since its rows were committed marks them, and with checksums a mark is WAL. Autovacuum itself is off
 * meanwhile, and the checkpoint means that every touched page is written to the WAL as a whole once.
 */
async function walOfRepeat(suite: Suite, jobs: Job[]): Promise<number> {
  const { db, records } = suite
  const autovacuum = async (change: string) => {
    await db.query(`alter system ${change}`)
    await db.query('select pg_reload_conf()')
  }
  await autovacuum('set autovacuum = off')
  try {
    await db.query('vacuum')
    await db.query('checkpoint')
    const before = (await db.query<{ lsn: string }>('select pg_current_wal_lsn() as lsn')).rows[0]?.lsn
    await upload(suite.service, db, jobs)
    const { rows } = await db.query<{ bytes: string }>(
      'select pg_wal_lsn_diff(pg_current_wal_lsn(), $1::pg_lsn) as bytes',
      [before],
    )
    return Number(rows[0]?.bytes) / records
  } finally {
    await autovacuum('reset autovacuum')
  }
}

/** The measurements of all rounds; empty for a part that no wanted measure needs. */
interface Results {
  rounds: Round[]
  /** Of a fresh upload. */
  records: number
  /** The rate and the CPU time of fresh uploads. */
  fresh: string
}

function measures(bench: Bench, records: number, rounds: Round[]): Measure[] {
  const fresh = figureLine('fresh upload', partOf(rounds, 'fresh'), records)
  const results = { rounds, records, fresh }
  return [againstCopy(results), wholeDays(results), ...repeated(results), disordered(results)].filter(({ id }) =>
    bench.wanted(id),
  )
}

function partOf<Part extends keyof Round>(rounds: Round[], part: Part) {
  return rounds.map((round) => round[part]).filter((value) => value !== undefined)
}

/** Fresh uploads ÷ another part, by their time. */
const againstFresh = (rounds: Round[], part: 'again' | 'disordered') =>
  rounds.flatMap(({ fresh, [part]: other }) => (other ? [fresh.seconds / other.seconds] : []))

function figureLine(what: string, runs: Timed<Counts>[], records: number): string {
  const rate = figure(records / median(runs.map((run) => run.seconds)))
  const cpu = runs.map((run) => ({ cpu: run.cpu, count: records }))
  return `${what} ${rate} records/s: ${cpuText(cpu, 'record')}`
}

function againstCopy({ rounds, records, fresh }: Results): Measure {
  const copied = partOf(rounds, 'copied')
  const rate = figure(records / median(copied.map(({ seconds }) => seconds)))
  const cpu = figure(median(copied.map(({ databaseCpu }) => (databaseCpu / records) * 1e6)))
  return {
    id: 'I1',
    what: 'ingest through the API ÷ \\copy of the same rows',
    values: rounds.flatMap((round) => (round.copied ? [round.copied.seconds / round.fresh.seconds] : [])),
    target: { at: 'least', value: 0.4 },
    beside: [fresh, `copy ${rate} rows/s: database ${cpu} µs of CPU a row`],
  }
}

function wholeDays({ rounds, records }: Results): Measure {
  return {
    id: 'I1',
    what: 'the same of bodies with sleep and workouts, items ÷ rows',
    values: rounds.flatMap(({ copied, whole }) =>
      copied && whole ? [copied.seconds / records / (whole.seconds / whole.result.inserted)] : [],
    ),
    target: { at: 'least', value: 0.35 },
    beside: [figureLine('with sleep and workouts', partOf(rounds, 'whole'), records)],
  }
}

function repeated({ rounds, records, fresh }: Results): Measure[] {
  return [
    {
      id: 'I2',
      what: 'the same upload again ÷ fresh',
      values: againstFresh(rounds, 'again'),
      target: { at: 'least', value: 1.3 },
      beside: [fresh, figureLine('again', partOf(rounds, 'again'), records)],
    },
    {
      id: 'I2',
      what: 'WAL of an unchanged row',
      values: partOf(rounds, 'walBytesPerRow'),
      unit: 'B',
      target: { at: 'most', value: 20 },
      beside: [],
    },
  ]
}

function disordered({ rounds, records, fresh }: Results): Measure {
  return {
    id: 'I3',
    what: 'shuffled, 30 % repeated, 1 % bad ÷ clean, records/s',
    values: againstFresh(rounds, 'disordered'),
    target: { at: 'least', value: 0.6 },
    beside: [fresh, figureLine('disordered', partOf(rounds, 'disordered'), records)],
  }
}
