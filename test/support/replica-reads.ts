// Reads that replicas may answer, and writes that are read at once.
import type { Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import type { TestApp } from './app.ts'
import { body, createUser, heartRate, importBody } from './sdk.ts'
import type { Replicated } from './standby.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const DAYS = 'start_date=2026-02-27&end_date=2026-03-10'
const TIMES = 'start_time=2026-02-27&end_time=2026-03-10'

/** Requests of every route that replicas may answer, below a user. */
export async function readsOf(app: TestApp, user: string): Promise<Record<string, string[]>> {
  const first = async (list: string) =>
    (await app.request('GET', `/api/v1/users/${user}/events/${list}?${DAYS}`)).body.data[0].id as string
  const [workout, sleep] = [await first('workouts'), await first('sleep')]
  return {
    timeseries: [
      `?${TIMES}`,
      `?${TIMES}&types=heart_rate,steps&limit=3`,
      ...['1min', '5min', '15min', '1hour'].map((resolution) => `?${TIMES}&resolution=${resolution}`),
      `?${TIMES}&resolution=1hour&include=extremes`,
      `?${TIMES}&filter_by_priority=true`,
    ],
    'health-scores': [`?${DAYS}`],
    'events/workouts': [`?${DAYS}`],
    'events/workouts/totals': [`?${DAYS}`],
    'events/workouts/types': [''],
    'events/workouts/{workout_id}': [workout],
    'events/sleep': [`?${DAYS}`, `?${DAYS}&filter_by_priority=true`],
    'events/sleep/totals': [`?${DAYS}`],
    'events/sleep/{sleep_id}': [sleep],
    'events/meals': [`?${DAYS}`],
    'events/menstrual-cycles': [`?${DAYS}`],
    'summaries/data': [`?${DAYS}`],
    'summaries/data/timeline': [`?${DAYS}`],
    'summaries/activity': [`?${DAYS}`, `?${DAYS}&merge=none`],
    'summaries/sleep': [`?${DAYS}`],
    'summaries/recovery': [`?${DAYS}`],
    'summaries/body': [''],
  }
}

/** How often a counter of the service has counted, by the value of its label. */
export async function counts(app: TestApp, name: string): Promise<Record<string, number>> {
  const metric = await app.deps.metrics.registry.getSingleMetric(name)?.get()
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [Object.values(labels)[0], value]))
}

/** Waits until the first replica is used. */
export async function replicaUsed(app: TestApp): Promise<void> {
  const isUsed = async () => app.deps.replicas?.states()[0]?.unavailable === null
  if (!(await waitUntil(isUsed, 60_000, 10))) throw new Error('the replica is not used')
}

/**
 * Writes so often, each time reading at once what was written, in three ways; in the second third of them the standby is
 * not there. No answer may be older than what was written, and none an error.
 */
export async function writeAndRead(t: Test, app: TestApp, servers: Replicated, writes: number): Promise<void> {
  const [user, still] = [await createUser(app), await createUser(app)]
  await importBody(app, still, body([heartRate(NOON, 50)]))
  const wrong: unknown[] = []
  for (let n = 0; n < writes; n += 1) {
    if (n === Math.floor(writes / 3)) await servers.stopStandby()
    if (n === Math.floor((2 * writes) / 3)) {
      await servers.startStandby()
      await replicaUsed(app)
    }
    // Where nothing is written, the replica is soon up to date.
    if (n % 10 === 9 && (n < writes / 3 || n > (2 * writes) / 3)) await servers.caughtUp()
    const value = 40 + (n % 100)
    await importBody(app, user, body([heartRate(NOON + n * 1_000, value)]))
    const read = (path: string, owner = user) => app.request('GET', `/api/v1/users/${owner}/${path}`)
    const window = 'start_time=2026-02-24&end_time=2026-02-24'
    const [raw, hours, timeline, other] = await Promise.all([
      read(`timeseries?${window}&types=heart_rate&limit=1`),
      read(`timeseries?${window}&types=heart_rate&resolution=1hour&include=extremes`),
      read('summaries/data/timeline?start_date=2026-02-24&end_date=2026-02-24'),
      read(`timeseries?${window}&types=heart_rate`, still),
    ])
    const seen = [
      raw.body.pagination?.total_count,
      hours.body.data?.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
      timeline.status,
      other.body.data?.[0]?.value,
    ]
    const wanted = [n + 1, n + 1, 200, 50]
    if (seen.some((one, place) => one !== wanted[place])) wrong.push({ n, seen, wanted })
  }
  t.strictSame(wrong, [])
}
