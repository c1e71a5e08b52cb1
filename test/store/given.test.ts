// What cloud providers give as a whole: however it was divided among parcels, ordered and repeated, the same rows.
import fc from 'fast-check'
import t from 'tap'
import type { Batch, BatchEvents } from '../../server/batch/columns.ts'
import { nightSessions } from '../../server/store/sleep/night-rules.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  ASKED,
  batchOf,
  connectedUser,
  cycle,
  givenRows,
  givenVersions,
  HOUR,
  MIN,
  night,
  run,
  samples,
  score,
  TEN,
  write,
} from '../support/given.ts'
import { oneEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

/** Something that a provider says, of one kind. */
type Said = Partial<BatchEvents>

/** A change of a thing, of which the provider says when: the later the version, the later the answer. */
interface Change {
  kind: 'night' | 'workout' | 'partial' | 'score' | 'cycle'
  thing: number
  version: number
  from: number
  length: number
  value: number
}

const anyChange: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom<Change['kind']>('night', 'night', 'night', 'workout', 'partial', 'score', 'cycle'),
  thing: fc.nat(4),
  version: fc.integer({ min: 1, max: 4 }),
  from: fc.nat(40),
  length: fc.integer({ min: 1, max: 16 }),
  value: fc.integer({ min: 1, max: 3 }),
})

const anyChanges = fc.uniqueArray(anyChange, {
  selector: ({ kind, thing, version }) => `${kind === 'partial' ? 'workout' : kind} ${thing} ${version}`,
  minLength: 1,
  maxLength: 24,
})

function saidOf({ kind, thing, version, from, length, value }: Change): Said[] {
  const at = { version: ASKED + version, atMs: ASKED + version * MIN, source: value === 3 ? 1 : 0 }
  const [start, end] = [from * 30, (from + length) * 30]
  if (kind === 'night') {
    const staged = value > 1 && [['light', TEN + start * MIN, TEN + end * MIN - HOUR / 2]]
    const stages = (staged || null) as BatchEvents['nights'][number]['stages']
    const isNap = [null, false, true][(thing + value) % 3] as boolean | null
    return [{ nights: [night(`night ${thing}`, start, end, { ...at, asleepS: value * 600, isNap, stages })] }]
  }
  if (kind === 'score') {
    const belongs = { night: `night ${thing}`, category: (['sleep', 'strain'] as const)[value % 2]! }
    return [{ scores: [score(`score ${thing}`, thing * 60, value, { ...at, ...belongs })] }]
  }
  if (kind === 'cycle')
    return [
      { wholeCycles: [cycle(`cycle ${thing}`, thing * 30, { ...at, lastUpdatedMs: at.version, dayInCycle: value })] },
    ]
  const whole = run(`run ${thing}`, thing * 200, thing * 200 + length, {
    ...{ ...at, title: `run ${value}`, caloriesKcal: value * 100, heartRateAvg: 120 + value, distanceMeters: null },
  })
  if (kind === 'workout') return [{ workouts: [whole] }]
  const { caloriesKcal: _, heartRateAvg: __, ...listed } = whole
  const partial = { ...listed, source: 0, caloriesKcal: null, heartRateAvg: null, partial: true as const }
  return [{ workouts: [partial] }, { workouts: [whole] }]
}

const joined = (all: readonly Said[]): Batch => {
  const sum: Partial<Record<keyof BatchEvents, unknown[]>> = {}
  for (const said of all)
    for (const [kind, list] of Object.entries(said))
      sum[kind as keyof BatchEvents] = [...(sum[kind as keyof BatchEvents] ?? []), ...list]
  return batchOf(sum as Said)
}

/** The sessions that the latest of each night make up. */
function expectedSleep(all: readonly Said[]): string[] {
  const latest = new Map<string, BatchEvents['nights'][number]>()
  for (const one of all.flatMap(({ nights = [] }) => nights)) {
    const known = latest.get(one.externalId)
    if (!known || (one.version as number) > (known.version as number)) latest.set(one.externalId, one)
  }
  const parts = [...latest.values()].map(({ source, ...one }) => ({ ...one, sourceId: source }))
  const iso = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z')
  return nightSessions(parts)
    .map(({ sourceId, startMs, endMs, asleepS, saidNap }) =>
      [sourceId ? 'Strap' : '', iso(startMs), iso(endMs), asleepS, saidNap].join(' '),
    )
    .sort()
}

const storedSleep = async (app: TestApp, userId: string) =>
  (
    await app.db.query<Record<string, unknown>>(
      `select d.device_model as device, s.start_at, s.end_at, s.asleep_s, s.said_nap
       from sleep s join data_source d on d.id = s.source_id where s.user_id = $1`,
      [userId],
    )
  )
    .map((row) => Object.values(row).join(' '))
    .sort()

oneEngine(t, 'what providers give', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('ends in the same rows, and again in none', async (t) => {
    const failures: unknown[] = []
    const property = fc.asyncProperty(
      anyChanges,
      fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
      async (changes, random) => {
        const said = changes.flatMap(saidOf)
        const [one, many] = [await connectedUser(app), await connectedUser(app)]
        const inOrder = changes.toSorted((a, b) => a.version - b.version).flatMap(saidOf)
        await write(app, one, joined(inOrder))
        const shuffled = [...said, ...said.slice(0, (random[0] as number) % (said.length + 1))]
          .map((item, place) => [random[place % 60] as number, item] as const)
          .sort(([a], [b]) => a - b)
          .map(([, item]) => item)
        for (let from = 0, turn = 1; from < shuffled.length; turn += 1) {
          const size = 1 + ((random[turn % 60] as number) % 7)
          const receivedAt = (random[turn % 60] as number) % 3 === 0 ? null : undefined
          await write(app, many, joined(shuffled.slice(from, from + size)), receivedAt === null ? { receivedAt } : {})
          from += size
        }
        const [rows, others] = [await givenRows(app.db, one.userId), await givenRows(app.db, many.userId)]
        const sleep = [await storedSleep(app, many.userId), expectedSleep(said)]
        const versions = await givenVersions(app.db, many.userId)
        const again = await write(app, many, joined(inOrder), { receivedAt: null })
        const differs =
          JSON.stringify(rows) !== JSON.stringify(others) ||
          JSON.stringify(sleep[0]) !== JSON.stringify(sleep[1]) ||
          JSON.stringify(versions) !== JSON.stringify(await givenVersions(app.db, many.userId)) ||
          again.changed
        if (differs) failures.push({ rows, others, sleep, again })
        return !differs
      },
    )
    const result = await fc.check(property, { seed: 41, numRuns: runs(8, 300) })
    t.strictSame([result.counterexample, failures.at(-1)], [null, undefined])
  })

  await t.test('is counted, shown where it belongs, and goes with its user', async (t) => {
    const user = await connectedUser(app)
    const outcome = await write(app, user, everything(), { feed: true })
    const counts = { inserted: 10, updated: 0, unchanged: 0, duplicates: 0, ignored: 0, deleted: 0, status: 'success' }
    t.match(outcome, { ...counts, changed: true })
    t.strictSame(
      outcome.events.map(({ type, inserted }) => [type, inserted]),
      [
        ['sleep', 2],
        ['workout', 1],
        ['menstrual_cycle', 1],
        ['health_score', 3],
      ],
    )
    const path = `/api/v1/users/${user.userId}`
    const events = await app.db.query<{ type: string }>('select type from event where user_id = $1 order by id', [
      user.userId,
    ])
    t.strictSame(
      events.map(({ type }) => type),
      ['sleep.created', 'sleep.created', 'workout.created', 'menstrual_cycle.created', 'respiratory_rate.created'],
    )
    const scores = (await app.request('GET', `${path}/health-scores`)).body.data
    const [sleep, workouts] = await Promise.all(
      ['sleep', 'workouts'].map(
        async (list) =>
          (await app.request('GET', `${path}/events/${list}?start_date=2026-02-01&end_date=2026-03-01`)).body.data,
      ),
    )
    t.match(sleep, [
      {
        is_nap: true,
        sleep_duration_seconds: null,
        time_in_bed_seconds: 3_600,
        stages: null,
        efficiency_percent: null,
      },
      { is_nap: false, sleep_duration_seconds: 21_600, sleep_stage_intervals: null, efficiency_percent: 90 },
    ])
    t.strictSame(
      scores.map(({ category, event_record_id }: Record<string, string>) => [category, event_record_id]),
      [
        ['strain', workouts[0].id],
        ['recovery', sleep[1].id],
        ['sleep', sleep[1].id],
      ],
    )
    const coverage = await app.request('GET', `${path}/coverage?start_date=2026-02-23&end_date=2026-02-24`)
    await t.test('coverage', async (t) => {
      const days = coverage.body.days as Record<string, unknown>[]
      t.match(
        days.filter(({ type }) => type === 'health_score' || type === 'sleep'),
        [
          { day: '2026-02-23', type: 'health_score', stored: 1 },
          { day: '2026-02-23', type: 'sleep', stored: 1 },
          { day: '2026-02-24', type: 'health_score', stored: 2 },
          { day: '2026-02-24', type: 'sleep', stored: 1 },
        ],
      )
    })
    const summary = (await app.request('GET', `${path}/summaries/sleep?start_date=2026-02-24&end_date=2026-02-25`)).body
    t.match(summary.data, [{ date: '2026-02-24', duration_minutes: 360, nap_count: 1 }])
    const recovery = await app.request('GET', `${path}/summaries/recovery?start_date=2026-02-24&end_date=2026-02-25`)
    t.match(recovery.body.data, [{ date: '2026-02-24', recovery_score: 60, sleep_duration_seconds: 21_600 }])
    t.equal((await app.request('DELETE', `${path}/connections/whoop/data`)).status, 204)
    t.strictSame(Object.values(await givenRows(app.db, user.userId)).flat(), [])
  })

  await t.test('is not stored when its connection ended before it came, and opens none', async (t) => {
    const user = await connectedUser(app)
    const path = `/api/v1/users/${user.userId}/connections/whoop`
    t.equal((await app.request('DELETE', path)).status, 204)
    const late = await write(app, user, everything(), { receivedAt: new Date(Date.now() + HOUR).toISOString() })
    t.match(late, {
      status: 'skipped',
      inserted: 0,
      ignored: 10,
      changed: false,
      batch: { unstored: [{ reason: 'connection_ended' }] },
    })
    const before = await write(app, user, everything(), { receivedAt: new Date(Date.now() - HOUR).toISOString() })
    t.match(before, { inserted: 10 }, 'what came before is')
    const rows = await app.db.query('select status, last_synced_at from connection where user_id = $1', [user.userId])
    t.match(rows, [{ status: 'revoked', last_synced_at: null }])
  })
})

/** A night with two scores, a nap, a workout with its strain, a cycle, and three samples. */
function everything(): Batch {
  return batchOf({
    nights: [
      night('night', 0, 420, { asleepS: 21_600, lightS: 21_600, efficiencyPercent: 90, isNap: false }),
      night('nap', 900, 960, { isNap: true }),
    ],
    scores: [
      score('night', 0, 83, { night: 'night' }),
      score('recovery', 420, 60, { category: 'recovery', night: 'night' }),
      score('run', 600, 12.5, { category: 'strain', workout: 'run' }),
    ],
    workouts: [run('run', 600, 640)],
    wholeCycles: [cycle('cycle', -10)],
    samples: [
      samples(
        'respiratory_rate',
        [
          [0, 14],
          [60, 15],
          [120, 14.5],
        ],
        'night',
      ),
    ],
  })
}
