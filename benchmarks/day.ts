import { type Database, openDatabase } from '../server/db/database.ts'
import { refreshRollups } from '../server/rollups/refresh.ts'
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
import { bodyWith, type Dataset, quantityRecord, seededRandom } from './generate.ts'
import { upload } from './upload.ts'

/** What one of the small uploads costs of which a person's day consists (docs/sizing.md). */
export const ids = ['S3']

const USERS = 40
/** Samples of a quarter of an hour: 457,000 a year. */
const SAMPLES = 13
/** Turns that bring sources and series, and compile code. */
const WARM_ROUNDS = 8
const QUARTER_MS = 900_000
/** Yesterday: rollups of the last days are kept in another way than those of old ones. */
const START_MS = Math.floor(Date.now() / QUARTER_MS) * QUARTER_MS - 86_400_000
const TYPES = [
  ['HeartRate', 'bpm', '62'],
  ['StepCount', 'count', '114'],
  ['ActiveEnergyBurned', 'Cal', '1.204'],
  ['HeartRate', 'bpm', '64'],
  ['BasalEnergyBurned', 'Cal', '0.81'],
  ['DistanceWalkingRunning', 'm', '31.25'],
] as const

/** Many people upload a quarter of an hour each, then all rollups are brought up to date. */
export async function run(bench: Bench): Promise<Measure[]> {
  return withDatabase(bench, 'day', (url) =>
    withService(bench, { url, name: 'day' }, (service) =>
      withClient(url, async (db) => {
        const users: string[] = []
        while (users.length < USERS) users.push(await service.createUser())
        const uploads: Timed<unknown>[] = []
        const refreshes: Timed<unknown>[] = []
        const turn = (round: number) =>
          timed(bench, service.pid, () =>
            upload(
              service,
              db,
              users.map((userId, user) => ({ userId, dataset: quarter(round, user) })),
            ),
          )
        for (let round = 0; round < WARM_ROUNDS; round += 1) await turn(round)
        const jobs = openJobs(url)
        try {
          await refresh(jobs)
          // As autovacuum does; statements are planned for tables of this size.
          await db.query('vacuum (analyze)')
          for (let round = WARM_ROUNDS; round < WARM_ROUNDS + bench.samples; round += 1) {
            uploads.push(await turn(round))
            refreshes.push(await timed(bench, service.pid, () => refresh(jobs)))
          }
          return [cost(uploads, refreshes)]
        } finally {
          await jobs.end()
        }
      }),
    ),
  )
}

function quarter(round: number, user: number): Dataset {
  const random = seededRandom(round * USERS + user)
  const records = Array.from({ length: SAMPLES }, (_, index) => {
    const [name, unit, value] = TYPES[index % TYPES.length] as (typeof TYPES)[number]
    const timeMs = START_MS + round * QUARTER_MS + Math.floor((index * QUARTER_MS) / SAMPLES / 1000) * 1000
    return quantityRecord({ name, unit, value, timeMs }, random)
  })
  const body = Buffer.from(bodyWith({ records, sleep: [], workouts: [] }))
  const expected = { inserted: SAMPLES, repeated: 0, rejected: 0 }
  return { bodies: 1, records: SAMPLES, expected, read: async () => body }
}

/** As the job does every minute. */
async function refresh(db: Database): Promise<void> {
  while (await refreshRollups(db));
}

const openJobs = (url: string) =>
  openDatabase({ url, name: 'pulsebase benchmark', maxConnections: 1, statementTimeoutMs: 60_000, onError: () => {} })

function cost(uploads: Timed<unknown>[], refreshes: Timed<unknown>[]): Measure {
  const ms = ({ cpu }: Timed<unknown>) => ((cpu.server + cpu.database) / USERS) * 1000
  const refreshMs = refreshes.map(({ cpu }) => (cpu.database / USERS) * 1000)
  return {
    id: 'S3',
    what: `upload of ${SAMPLES} samples: CPU of service and database`,
    values: uploads.map(ms),
    unit: 'ms',
    target: { at: 'most', value: 20 },
    beside: [
      cpuText(
        uploads.map(({ cpu }) => ({ cpu, count: USERS })),
        'upload',
      ),
      `rollups of these samples: database ${figure(median(refreshMs))} ms of CPU an upload`,
    ],
  }
}
