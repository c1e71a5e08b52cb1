// Nights of real uploads: the resulting sessions, whatever the order and number of uploads.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { deleteSleep } from '../../../server/store/sleep/sleep.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import {
  createUser,
  importBody,
  MANY,
  oneEngine,
  PHONE,
  type SdkRecord,
  startImports,
  upload,
  waitForAll,
} from '../../support/sdk.ts'
import {
  type StoredSleep,
  sleepBody,
  sleepIds,
  sleepVersions,
  stage,
  storedSleep,
  storedStages,
} from '../../support/sleep.ts'
import { runs } from '../../support/thorough.ts'

const MIN = 60_000
/** Ten in the evening, UTC. */
const TEN = Date.UTC(2026, 1, 23, 22)
/** The number of uploads that a night is split into. */
const PARTS = runs(5, 10)

interface SampleBody extends Record<string, unknown> {
  provider: string
  data: { sleep: Record<string, unknown>[] } & Record<string, unknown>
}

/** A sample file with only its sleep. */
async function sampleNight(name: string): Promise<SampleBody> {
  const sample = JSON.parse(await readFile(new URL(`../../samples/${name}.json`, import.meta.url), 'utf8'))
  return { ...sample, data: { records: [], workouts: [], sleep: sample.data.sleep } }
}

const minutes = (seconds: number | null) => (seconds === null ? null : seconds / 60)

/** A session in minutes, as the table of sdk-types 7.5. */
const inMinutes = ({ start, end, awake, light, deep, rem, asleep, in_bed, efficiency, nap }: StoredSleep) => [
  `${start.slice(0, 16)} to ${end.slice(0, 16)}`,
  ...[awake, light, deep, rem, asleep, in_bed].map(minutes),
  efficiency,
  nap,
]

/** A stage in minutes after ten; its id is its position unless given. */
const at = (name: string, from: number, until: number, fields: SdkRecord = {}) =>
  stage(name, TEN + from * MIN, TEN + until * MIN, { id: `${name} ${from}`, ...fields })

/** A night of forty stages, with time in bed of the phone and a nap in the afternoon. */
const longNight = (day = 0, fields: SdkRecord = {}): SdkRecord[] => {
  const start = day * 1440
  const names = ['light', 'deep', 'light', 'rem', 'awake']
  return [
    ...Array.from({ length: 40 }, (_, n) => at(names[n % 5] as string, start + n * 12, start + n * 12 + 12, fields)),
    at('in_bed', start - 10, start + 500, { source: PHONE, ...fields }),
    at('light', start + 900, start + 940, fields),
  ]
}

/** Sessions as minutes after ten, with the time asleep and whether it is a nap. */
const told = (sessions: StoredSleep[]) =>
  sessions.map(({ start, end, asleep, in_bed, nap }) => [
    (Date.parse(start) - TEN) / MIN,
    (Date.parse(end) - TEN) / MIN,
    asleep / 60,
    in_bed / 60,
    nap,
  ])

const send = (app: TestApp, user: string, stages: unknown[], provider = 'apple') =>
  importBody(app, user, sleepBody(stages, { provider }))

/** As the import of a deletion does. */
const remove = (app: TestApp, userId: string, ids: string[], provider = 'apple') =>
  app.db.transaction(async (tx) => (await deleteSleep(tx, { userId, provider, scope: null, sourceIds: [] }, ids)).found)

/** The same items in a pseudo-random order, the same in every run. */
const shuffled = <Item>(items: readonly Item[], seed: number): Item[] =>
  items
    .map((item, place) => [Math.sin((place + 1) * 7919 + seed * 104_729), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item)

oneEngine(t, 'sleep', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  await t.test('of the samples becomes the sessions of the documentation', async (t) => {
    const apple = await createUser(app)
    t.match(await importBody(app, apple, await sampleNight('apple-sleep-night')), {
      received: 20,
      inserted: 18,
      duplicates: 1,
      ignored_type: 1,
      dropped_count: 0,
      saved: { sleep: { inserted: 18, updated: 0, unchanged: 0 } },
    })
    t.strictSame((await storedSleep(app.db, apple)).map(inMinutes), [
      ['2025-05-05T21:04 to 2025-05-06T04:44', 10, 283, 86, 81, 450, 472, 95.34, false],
      ['2025-05-06T12:20 to 2025-05-06T12:48', 0, 21, 7, 0, 28, 28, 100, true],
    ])

    const samsung = await createUser(app)
    await importBody(app, samsung, await sampleNight('samsung-mix'))
    const [night, ...others] = await storedSleep(app.db, samsung)
    t.strictSame(others, [])
    t.strictSame(night && inMinutes(night), [
      '2025-05-05T22:10 to 2025-05-06T04:30',
      5,
      250,
      68,
      57,
      375,
      380,
      98.68,
      false,
    ])
    t.match(night, { score: 78, scored_at: '2025-05-05T22:10:00Z', zone: 120 })

    const android = await createUser(app)
    await importBody(app, android, await sampleNight('health-connect-mix'))
    t.strictSame((await storedSleep(app.db, android)).map(inMinutes), [
      ['2025-05-04T21:00 to 2025-05-05T04:30', null, null, null, null, 450, 450, 100, false],
      ['2025-05-05T21:30 to 2025-05-06T03:19', 3, 214, 50, 71, 335, 347, 96.54, false],
    ])

    for (const [user, name] of [
      [apple, 'apple-sleep-night'],
      [samsung, 'samsung-mix'],
      [android, 'health-connect-mix'],
    ] as const) {
      const versions = await sleepVersions(app.db, user)
      const stages = (await storedStages(app.db, user)).length
      t.match(await importBody(app, user, await sampleNight(name)), { inserted: 0, updated: 0, unchanged: stages })
      t.strictSame(await sleepVersions(app.db, user), versions, 'and the same again writes nothing')
    }
  })

  await t.test('of the other samples is dropped and deleted as the documentation says', async (t) => {
    const user = await createUser(app)
    t.match(await importBody(app, user, await sampleNight('malformed-records')), {
      received: 3,
      inserted: 1,
      ignored_type: 1,
      dropped_count: 1,
      dropped: [{ collection: 'sleep', index: 1, loc: ['data', 'sleep', 1, 'stage'], type: 'missing' }],
    })
    const apple = await createUser(app)
    await importBody(app, apple, await sampleNight('apple-sleep-night'))
    const ids = await sleepIds(app.db, apple)
    // A stage of lying awake, from samples/deletions-extension.json.
    const awake = '86A6FB0E-607E-46D3-8BED-E67F6DB73A97'
    t.strictSame(await remove(app, apple, ['D3322970-F5E1-421E-A153-47F13BFEB989', awake]), [awake])
    const [night] = await storedSleep(app.db, apple)
    t.match(night, { awake: 240, asleep: 27_000, in_bed: 28_320, start: '2025-05-05T21:04:00Z' }, 'six minutes less')
    t.strictSame(await sleepIds(app.db, apple), ids)
  })

  await t.test('is the same however a night comes', async (t) => {
    const ways: [provider: string, items: SdkRecord[]][] = [
      ['apple', [...longNight(0), ...longNight(1)]],
      ['health_connect', [...longNight(0, { parentId: 'first' }), ...longNight(1, { parentId: 'second' })]],
    ]
    for (const [provider, items] of ways) {
      const once = await createUser(app)
      await send(app, once, items, provider)
      const [sessions, stages] = await Promise.all([storedSleep(app.db, once), storedStages(app.db, once)])

      const backwards = await createUser(app)
      for (const item of shuffled(items, 1).slice(0, 5)) await send(app, backwards, [item], provider)
      const rest = shuffled(items, 1).slice(5)
      for (let part = 0; part < PARTS; part += 1) {
        await send(app, backwards, rest.filter((_, place) => place % PARTS === part).reverse(), provider)
      }
      t.strictSame(await storedSleep(app.db, backwards), sessions, 'stage by stage')
      t.strictSame(await storedStages(app.db, backwards), stages)

      const twice = await createUser(app)
      const halves = [shuffled(items, 2), shuffled(items, 3)].flatMap((all) => [all.slice(0, 50), all.slice(40)])
      await Promise.all(halves.map((half) => upload(app, twice, sleepBody(half, { provider }))))
      const batches = await waitForAll(app, twice)
      t.equal(
        batches.reduce((sum, { inserted }) => sum + inserted, 0),
        items.length,
      )
      t.equal(
        batches.reduce((sum, { updated }) => sum + updated, 0),
        0,
      )
      t.strictSame(await storedSleep(app.db, twice), sessions, 'from two phones at once')
      t.strictSame(await storedStages(app.db, twice), stages)

      const versions = await sleepVersions(app.db, twice)
      t.match(await send(app, twice, shuffled(items, 4), provider), {
        unchanged: items.length,
        inserted: 0,
        updated: 0,
      })
      t.strictSame(await sleepVersions(app.db, twice), versions, 'again it writes nothing')
    }
  })

  await t.test('counts every stage once, and takes a bad one for what it is', async (t) => {
    const user = await createUser(app)
    const counts = await send(app, user, [
      at('light', 0, 60),
      at('light', 0, 60, { id: 'another' }),
      at('deep', 30, 90),
      at('rem', 80, 85),
      at('light', 100, 90),
      at('light', 0, 7 * 1440),
      at('unknown', 100, 110),
    ])
    t.match(counts, { received: 7, inserted: 3, duplicates: 1, dropped_count: 2, ignored_type: 1, status: 'partial' })
    t.match(counts.dropped, [{ type: 'end_before_start' }, { type: 'implausible_duration' }])
    const [session] = await storedSleep(app.db, user)
    t.match(session, { light: 3600, deep: 1800, rem: 0, asleep: 5400 }, 'what began first counts where stages overlap')
    t.match(await storedStages(app.db, user), [{ id: 'light 0', others: ['another'] }, { others: null }, {}])
    t.match(await send(app, user, [at('light', 0, 60, { zoneOffset: '+01:00' })]), { updated: 1, unchanged: 0 })
    t.match(await storedSleep(app.db, user), [{ zone: 60 }])
  })

  await t.test('without a gap for a week is one session', async (t) => {
    const user = await createUser(app)
    const week = Array.from({ length: 2016 }, (_, n) =>
      at(n % 2 ? 'deep' : 'light', n * 5 - 9 * 1440, n * 5 - 9 * 1440 + 5),
    )
    for (const part of [week.slice(1500), week.slice(0, 700), week.slice(700, 1400)]) await send(app, user, part)
    t.equal((await storedSleep(app.db, user)).length, 2)
    await send(app, user, week.slice(1400, 1500))
    t.strictSame(told(await storedSleep(app.db, user)), [[-9 * 1440, -2 * 1440, 7 * 1440, 7 * 1440, false]])
    t.equal(
      (
        await remove(
          app,
          user,
          week.slice(800, 830).map(({ id }) => id as string),
        )
      ).length,
      30,
    )
    t.strictSame(
      told(await storedSleep(app.db, user)),
      [
        [-9 * 1440, -9 * 1440 + 4000, 4000, 4000, false],
        [-9 * 1440 + 4150, -2 * 1440, 5930, 5930, false],
      ],
      'and two with one',
    )
  })

  await t.test('keeps its id while it grows, shrinks, is joined and divided', async (t) => {
    const user = await createUser(app)
    await send(app, user, [at('light', 300, 400)])
    const [first] = await sleepIds(app.db, user)
    await send(app, user, [at('light', 0, 100)])
    const [second] = await sleepIds(app.db, user)
    t.not(second, first)
    await send(app, user, [at('deep', 100, 300)])
    t.strictSame(await sleepIds(app.db, user), [first], 'the older row stays')
    await send(app, user, [at('deep', 400, 500)])
    t.strictSame(await sleepIds(app.db, user), [first])
    t.strictSame(await remove(app, user, ['deep 100', 'nothing']), ['deep 100'])
    const [left, right] = await sleepIds(app.db, user)
    t.equal(right, first, 'the larger part keeps it')
    t.notOk([first, second].includes(left ?? ''))
    t.strictSame(await remove(app, user, ['deep 400', 'light 0']), ['deep 400', 'light 0'])
    t.strictSame(await sleepIds(app.db, user), [first])
    t.strictSame(await remove(app, user, ['light 300']), ['light 300'])
    t.strictSame(await storedSleep(app.db, user), [])
  })

  await t.test('says of other sleep of a day whether it is a nap', async (t) => {
    const user = await createUser(app)
    await send(app, user, [at('light', 900, 940, { zoneOffset: '+01:00' })])
    t.match(await storedSleep(app.db, user), [{ nap: false }], 'all there is')
    const ids = await sleepIds(app.db, user)
    await send(app, user, [at('deep', 0, 400, { zoneOffset: '+01:00' })])
    t.match(await storedSleep(app.db, user), [{ nap: false }, { nap: true }])
    t.equal((await sleepIds(app.db, user))[1], ids[0])
    await send(app, user, [at('deep', 940, 1300, { zoneOffset: '+01:00' })])
    t.match(await storedSleep(app.db, user), [{ nap: false }, { nap: false, end: '2026-02-24T19:40:00Z' }])
    await remove(app, user, ['deep 940', 'deep 0'])
    t.match(await storedSleep(app.db, user), [{ nap: false }])
  })

  await t.test('in bed with the phone belongs to the night of the watch', async (t) => {
    const user = await createUser(app)
    await send(app, user, [at('in_bed', 0, 480, { source: PHONE })])
    t.strictSame(told(await storedSleep(app.db, user)), [[0, 480, 480, 480, false]], 'while there is no watch')
    await send(app, user, [at('light', 30, 200)])
    t.strictSame(told(await storedSleep(app.db, user)), [[30, 200, 170, 480, false]])
    await send(app, user, [at('light', 360, 450)])
    t.strictSame(told(await storedSleep(app.db, user)), [
      [30, 200, 170, 360, false],
      [360, 450, 90, 120, false],
    ])
    await remove(app, user, ['light 30', 'light 360'])
    t.strictSame(told(await storedSleep(app.db, user)), [[0, 480, 480, 480, false]])
    await send(app, user, [at('light', 30, 200, { parentId: 'given' })], 'health_connect')
    t.strictSame(told(await storedSleep(app.db, user)).length, 2, 'of another provider it is another night')
  })

  await t.test('as a platform gives it can be rewritten', async (t) => {
    const user = await createUser(app)
    const night = (id: string, name: string, from: number, until: number, fields = {}) =>
      at(name, from, until, { id: `n-${id}`, parentId: 'n', ...fields })
    const android = (...stages: SdkRecord[]) => send(app, user, stages, 'samsung')
    await android(night('s0', 'light', 0, 60), night('s1', 'deep', 60, 120), night('s2', 'rem', 120, 180))
    const [id] = await sleepIds(app.db, user)
    t.match(await android(night('s3', 'light', 600, 660)), { inserted: 1 })
    t.strictSame(told(await storedSleep(app.db, user)), [[0, 660, 240, 240, false]], 'another part of it')
    t.match(await android(night('s0', 'light', 0, 90), night('s1', 'deep', 90, 150), night('s3', 'light', 600, 660)), {
      updated: 2,
      unchanged: 1,
      inserted: 0,
    })
    t.strictSame(told(await storedSleep(app.db, user)), [[0, 660, 210, 210, false]], 'what is overlapped goes')
    t.match(await android(night('s0', 'awake', 0, 90), night('s0', 'rem', 0, 90)), { updated: 1, duplicates: 1 })
    t.match(await storedSleep(app.db, user), [{ rem: 5400, deep: 3600, light: 3600 }])
    t.match(await android(night('s0', 'light', 90, 150), night('s1', 'deep', 0, 90), night('s4', 'rem', 0, 90)), {
      updated: 2,
      unchanged: 1,
      inserted: 0,
    })
    t.match(await storedSleep(app.db, user), [{ light: 7200 }])
    const versions = await sleepVersions(app.db, user)
    t.match(await android(night('s0', 'light', 90, 150), night('s1', 'deep', 0, 90)), { unchanged: 2 })
    t.strictSame(await sleepVersions(app.db, user), versions)
    t.strictSame(await sleepIds(app.db, user), [id])
    t.strictSame(await remove(app, user, ['n'], 'apple'), [], 'another platform cannot delete it')
    t.strictSame(await remove(app, user, ['n-s3'], 'samsung'), ['n-s3'])
    t.match(await storedSleep(app.db, user), [{ end: '2026-02-24T00:30:00Z' }])
    t.strictSame(await remove(app, user, ['n', 'x', 'n'], 'samsung'), ['n'])
    t.strictSame(await storedStages(app.db, user), [])
    t.strictSame(await sleepIds(app.db, user), [])
  })

  await t.test('has the score of its last stage that has one', async (t) => {
    const user = await createUser(app)
    const scored = (from: number, until: number, score: number | null) =>
      at('light', from, until, {
        values: score === null ? null : [{ type: 'sleepScore', value: score, unit: 'score' }],
      })
    const scores = async () => (await storedSleep(app.db, user)).map(({ score, scored_at }) => [score, scored_at])
    await send(app, user, [scored(60, 120, 70)])
    t.strictSame(await scores(), [[70, '2026-02-23T23:00:00Z']])
    await send(app, user, [scored(120, 180, 80), scored(180, 240, null)])
    t.strictSame(await scores(), [[80, '2026-02-23T23:00:00Z']])
    await send(app, user, [scored(0, 60, 60)])
    t.strictSame(await scores(), [[80, '2026-02-23T22:00:00Z']], 'which moves with it')
    await send(app, user, [scored(120, 180, null)])
    t.strictSame(await scores(), [[70, '2026-02-23T22:00:00Z']])
    await remove(app, user, ['light 0', 'light 60'])
    t.strictSame(await scores(), [[null, null]], 'and goes with it')
    await send(
      app,
      user,
      [scored(0, 60, 60)].map((one) => ({ ...one, source: PHONE })),
    )
    await send(app, user, [scored(0, 60, 61)])
    t.strictSame(
      (await scores()).sort(),
      [
        [60, '2026-02-23T22:00:00Z'],
        [61, '2026-02-23T22:00:00Z'],
      ],
      'of each device',
    )
  })
})

oneEngine(t, 'many stages take as long as they are many, after few', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const id = (n: number) => `${n >> 5}-s${n & 31}`
  const start = (n: number) => TEN - (n >> 5) * 24 * 60 * MIN + (n & 31) * 10 * MIN
  const stages = (first: number, count: number, parent: boolean) =>
    Array.from({ length: count }, (_, at) => first + at).map((n) =>
      stage('light', start(n), start(n) + 10 * MIN, { id: id(n), parentId: parent ? String(n >> 5) : null }),
    )
  for (const provider of ['apple', 'samsung']) {
    const send = (data: object) => importBody(app, user, sleepBody([], { provider, data }))
    // The database keeps a plan from the sixth execution on, and statistics from when the tables were nearly empty.
    for (let n = 0; n < 7; n += 1) {
      await send({ sleep: stages(n, 1, provider === 'samsung') })
      await send({ deleted: [{ id: id(n) }] })
    }
    await send({ sleep: stages(0, 7, provider === 'samsung') })
    await app.db.query('alter table sleep_stage set (autovacuum_enabled = off)')
    await app.db.query('analyze sleep_stage, sleep')
    const many = stages(0, MANY, provider === 'samsung')
    t.match(await send({ sleep: many }), { inserted: MANY - 7, unchanged: 7 })
    t.match(await send({ sleep: many, laps: [] }), { unchanged: MANY })
    t.match(await send({ deleted: many.map((item) => ({ id: item.id })) }), { deleted: MANY })
    t.strictSame(await storedSleep(app.db, user), [])
  }
})
