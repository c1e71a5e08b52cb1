// What is stored of Google Health when the same time is asked for again: otherwise, later, or by another granularity.
import t from 'tap'
import { objects } from '../../server/providers/google_health/streams.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type CloudUser, connectedUser, write } from '../support/given.ts'
import { batchOf, type TestPart } from '../support/parcels.ts'
import { eachEngine, storedSamples } from '../support/sdk.ts'
import { addSources, MINUTE_MS, summary, write as writeSamples } from '../support/summaries.ts'

const SEVEN = Date.UTC(2026, 2, 7, 7)
const HOUR_MS = 60 * MINUTE_MS
const STEPS = 80
const PHONE = { provider: 'health_connect', device: 'Pixel 9', source: 'Google Fit', type: 'phone' }

const text = (ms: number) => new Date(ms).toISOString()

/** The sum of an hour. */
const hour = (ms: number, count: number) => ({
  ...{ startTime: text(ms), endTime: text(ms + HOUR_MS) },
  steps: { countSum: String(count) },
})

const rolled = (...rollupDataPoints: object[]): TestPart => ({
  stream: 'steps',
  at: '2026-03-10T12:00:00Z',
  body: { rollupDataPoints },
})

/** Imports what Google answered. */
async function answered(app: TestApp, user: CloudUser, ...parts: TestPart[]): Promise<void> {
  await write(app, user, batchOf('google_health', parts))
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [user.userId])
}

/** Steps of a minute. */
const minute = (ms: number, count: number) => ({
  steps: {
    count: String(count),
    interval: { startTime: text(ms), endTime: text(ms + MINUTE_MS), startUtcOffset: '0s' },
  },
})

/** A page of points, the newest first. */
const page = (dataPoints: readonly object[], more: Partial<TestPart> & { nextPageToken?: string } = {}): TestPart => {
  const { nextPageToken, ...part } = more
  const body = { dataPoints: dataPoints.toReversed(), ...(nextPageToken && { nextPageToken }) }
  return { stream: 'steps', at: '2026-03-10T12:00:00Z', body, ...part }
}

const minutesOf = (fromMs: number, count: number, each = 10) =>
  Array.from({ length: count }, (_, place) => minute(fromMs + place * MINUTE_MS, each))

/** The total of 7 March. */
const total = (count: number) => {
  const dates = [7, 8].map((day) => ({ date: { year: 2026, month: 3, day } }))
  return rolled({ civilStartTime: dates[0], civilEndTime: dates[1], steps: { countSum: String(count) } })
}

/** What is stored: time and value, `day` of a total. */
async function stored(app: TestApp, { userId }: CloudUser): Promise<string[]> {
  const rows = await storedSamples(app.db, userId)
  return rows.map(({ ts, value, daily }) => [ts.slice(8, 16), value, ...(daily ? ['day'] : [])].join(' '))
}

/** Steps and minutes of the day, as readers see them. */
async function dayOf(app: TestApp, { userId }: CloudUser) {
  const { body } = await summary(app, userId, 'activity', { start_date: '2026-03-07', end_date: '2026-03-07' })
  const [{ steps, sedentary_minutes: sedentary } = { steps: null, sedentary_minutes: null }] = body.data
  return { steps, sedentary }
}

eachEngine(t, 'Google Health', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('the sum of an hour beside the minutes of a phone', async (t) => {
    const user = await connectedUser(app, 'google_health')
    const [phone] = await addSources(app.db, user.userId, [PHONE])
    const minutes = Array.from({ length: 120 }, (_, minute) => ({
      ...{ sourceId: phone as number, seriesId: STEPS, ms: SEVEN + minute * MINUTE_MS, value: 10, zone: null },
    }))
    await writeSamples(app.db, user.userId, minutes)
    t.strictSame(await dayOf(app, user), { steps: 1_200, sedentary: 120 })
    await answered(app, user, rolled(hour(SEVEN, 900)))
    t.strictSame(
      await dayOf(app, user),
      { steps: 1_500, sedentary: null },
      'it counts for that hour, and of the phone the next one',
    )
  })

  await t.test('hours take the place of minutes, and of the total of their date', async (t) => {
    const user = await connectedUser(app, 'google_health')
    await answered(app, user, page(minutesOf(SEVEN, 90)))
    await answered(app, user, rolled(hour(SEVEN, 600), hour(SEVEN + HOUR_MS, 300)))
    t.strictSame(await stored(app, user), ['07T07:00 600', '07T08:00 300'])
    await answered(app, user, total(400))
    t.strictSame((await dayOf(app, user)).steps, 400)
    const day = Array.from({ length: 26 }, (_, place) => hour(SEVEN + (place - 8) * HOUR_MS, 10))
    await answered(app, user, rolled(...day))
    t.strictSame((await dayOf(app, user)).steps, 240)
  })

  await t.test('minutes take the place of hours, and of a total that was not whole', async (t) => {
    const user = await connectedUser(app, 'google_health')
    await answered(app, user, rolled(hour(SEVEN, 600), hour(SEVEN + HOUR_MS, 300)))
    await answered(app, user, page([minute(SEVEN - 600_000, 5), ...minutesOf(SEVEN + 600_000, 60)]))
    t.strictSame((await dayOf(app, user)).steps, 605)
    await answered(app, user, total(400))
    const listed = [Date.UTC(2026, 2, 7), Date.UTC(2026, 2, 8)]
    const morning = page(minutesOf(SEVEN, 30))
    await answered(app, user, morning)
    t.strictSame((await dayOf(app, user)).steps, 400, 'of the rest of the day nothing is known')
    await answered(app, user, { ...morning, args: { listed } })
    t.strictSame((await dayOf(app, user)).steps, 300)
    await answered(app, user, total(400))
    await answered(app, user, { ...morning, args: { listed }, zone: '+02:00' })
    t.strictSame((await dayOf(app, user)).steps, 400, 'it is not the whole date where the person is')
    const yesterday = minute(Date.UTC(2026, 2, 6, 21), 10)
    const today = page([yesterday, ...minutesOf(SEVEN, 30)], { at: '2026-03-07T12:00:00Z', zone: '+02:00' })
    await answered(app, user, today)
    t.strictSame((await dayOf(app, user)).steps, 300, 'today is whole as far as it goes')
  })

  await t.test('minutes of a watch that synced late take the place of those of the phone', async (t) => {
    const user = await connectedUser(app, 'google_health')
    const watch = minutesOf(SEVEN - 600_000, 30)
    await answered(app, user, page([...watch.slice(0, 10), ...minutesOf(SEVEN + 20_000, 15, 6)]))
    await answered(app, user, page(watch))
    t.equal((await dayOf(app, user)).steps, 300)
  })

  await t.test(
    'what was deleted goes, on whichever page it was, and the sum of an hour without anything',
    async (t) => {
      const user = await connectedUser(app, 'google_health')
      await answered(app, user, page(minutesOf(SEVEN, 8)))
      const listed = [SEVEN, SEVEN + HOUR_MS]
      const first = page(minutesOf(SEVEN + 5 * MINUTE_MS, 1), {
        ...{ args: { listed, within: listed, deleted: true }, nextPageToken: 'x' },
      })
      await answered(app, user, first)
      t.strictSame(
        await stored(app, user),
        [0, 1, 2, 3, 4, 5].map((one) => `07T07:0${one} 10`),
      )
      const args = objects.steps!.next!(
        { status: 200, headers: {}, json: first.body },
        { path: '', args: first.args! },
      )!.args
      await answered(app, user, page(minutesOf(SEVEN + 2 * MINUTE_MS, 1), { args: args! }))
      t.strictSame(await stored(app, user), ['07T07:02 10', '07T07:05 10'])
      await answered(app, user, page([], { args: { listed, within: listed, deleted: true } }))
      t.strictSame(await stored(app, user), [])

      const three = [0, 1, 2].map((one) => hour(SEVEN + one * HOUR_MS, 100))
      await answered(app, user, rolled(...three))
      const { steps: _, ...without } = three[1] as (typeof three)[number]
      await answered(app, user, rolled(three[0]!, without, three[2]!))
      t.strictSame(await stored(app, user), ['07T07:00 100', '07T09:00 100'])
      const whole = { listed: [SEVEN, SEVEN + 3 * HOUR_MS], deleted: true }
      await answered(app, user, { ...rolled(three[0]!), args: whole })
      t.strictSame(await stored(app, user), ['07T07:00 100'])
      await answered(app, user, { ...rolled(), body: {}, args: whole })
      t.strictSame(await stored(app, user), [])

      await answered(app, user, total(400))
      const dates = { of: 'dates', listed: [Date.UTC(2026, 2, 6), Date.UTC(2026, 2, 9)], deleted: true }
      await answered(app, user, { ...rolled(), body: {}, args: dates })
      t.strictSame(await stored(app, user), [])
    },
  )

  await t.test('what was deleted goes where points are asked for by device, too', async (t) => {
    const user = await connectedUser(app, 'google_health')
    const of = (displayName: string, points: object[]) =>
      points.map((one) => ({ ...one, dataSource: { device: { displayName } } }))
    const watch = of('Pixel Watch', minutesOf(SEVEN, 3))
    const phone = of('Pixel 9', minutesOf(SEVEN + 20_000, 3, 5))
    const mixed = [0, 1, 2].flatMap((one) => [watch[one]!, phone[one]!])
    const listed = [SEVEN, SEVEN + HOUR_MS]
    const left = (points: object[]) => page(points, { args: { listed, within: listed, deleted: true } })
    const [all, some] = [page(mixed), left(mixed.toSpliced(2, 1))]
    const rest = ['07T07:00 10', '07T07:00 5', '07T07:01 5', '07T07:02 10', '07T07:02 5']
    for (const imports of [[[all], [some]], [[all, some]]]) {
      for (const parts of imports) await answered(app, user, ...parts)
      t.strictSame((await stored(app, user)).sort(), rest)
      await answered(app, user, left([]))
      t.strictSame(await stored(app, user), [])
    }
  })

  await t.test('of several types with one series, what none has any longer goes', async (t) => {
    const user = await connectedUser(app, 'google_health')
    const point = (field: string, value: string, ms: number) => ({
      [field]: { [value]: 40, sampleTime: { physicalTime: text(ms), utcOffset: '0s' } },
    })
    const day = (field: string) => ({ [field]: { vo2Max: 41, date: { year: 2026, month: 3, day: 7 } } })
    const run = point('runVo2Max', 'runVo2Max', SEVEN)
    const lab = point('vo2Max', 'vo2Max', SEVEN + HOUR_MS)
    const pages: Record<string, object[]> = {
      'run-vo2-max': [run],
      'vo2-max': [lab],
      'daily-vo2-max': [day('dailyVo2Max')],
    }
    for (const [stream, points] of Object.entries(pages)) await answered(app, user, page(points, { stream }))
    t.strictSame(await stored(app, user), ['07T00:00 41', '07T07:00 40', '07T08:00 40'])
    const deletion = async (name: string, left: Record<string, object[]>) => {
      const window = { fromMs: Date.UTC(2026, 2, 7), untilMs: Date.UTC(2026, 2, 8) }
      const state = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
      for (let asked = objects[name]!.request(window, state); asked; ) {
        const of = /dataTypes\/([\w-]+)/.exec(asked.path)?.[1] ?? ''
        const part = page(left[of] ?? [], { stream: name, args: asked.args! })
        await answered(app, user, part)
        asked = objects[name]!.next!({ status: 200, headers: {}, json: part.body }, asked)
      }
    }
    await deletion('run-vo2-max', { ...pages, 'run-vo2-max': [] })
    t.strictSame(await stored(app, user), ['07T00:00 41', '07T08:00 40'])
    await deletion('daily-vo2-max', { 'vo2-max': [lab] })
    t.strictSame(await stored(app, user), ['07T08:00 40'])
  })

  await t.test('a drink and a weighing that were moved are there once', async (t) => {
    const user = await connectedUser(app, 'google_health')
    const at = (ms: number) => ({ physicalTime: text(ms), utcOffset: '0s' })
    const moved = async (ms: number) => {
      const drink = { amountConsumed: { milliliters: 250 }, interval: { startTime: text(ms), endTime: text(ms) } }
      const weight = { weightGrams: 70_000, sampleTime: at(ms) }
      await answered(
        app,
        user,
        page([{ dataPointName: 'drink-1', hydrationLog: drink }], { stream: 'hydration-log' }),
        page([{ dataPointName: 'weight-1', weight }], { stream: 'weight' }),
        page([{ weight: { weightGrams: 71_000, sampleTime: at(SEVEN - HOUR_MS) } }], { stream: 'weight' }),
      )
    }
    await moved(SEVEN)
    await moved(SEVEN + HOUR_MS)
    t.strictSame((await stored(app, user)).sort(), ['07T06:00 71', '07T08:00 250', '07T08:00 70'])
  })
})
