// Nights of real uploads: which sessions they become, whatever way they come.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { createUser, eachEngine, importBody, startImports } from '../support/sdk.ts'
import { type StoredSleep, sleepVersions, storedSleep, storedStages } from '../support/sleep.ts'

interface SampleBody extends Record<string, unknown> {
  provider: string
  data: { sleep: Record<string, unknown>[] } & Record<string, unknown>
}

/** Of a sample only its sleep. */
async function sampleNight(name: string): Promise<SampleBody> {
  const sample = JSON.parse(await readFile(new URL(`../samples/${name}.json`, import.meta.url), 'utf8'))
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

eachEngine(t, 'sleep', async (t, engine) => {
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
})
