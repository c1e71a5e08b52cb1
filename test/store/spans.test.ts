// Pages that list everything of a span: what is stored there and not on them goes, with what came with it, and nothing else.
import t from 'tap'
import { DAILY_TOTAL_OFFSET, IMPLAUSIBLE_OFFSET } from '../../server/catalogue/series.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  ASKED,
  batchOf,
  type CloudUser,
  connectedUser,
  DAY,
  givenRows,
  givenVersions,
  MIN,
  night,
  run,
  samples,
  score,
  seriesId,
  span,
  TEN,
  write,
} from '../support/given.ts'
import { batchOf as parcelOf } from '../support/parcels.ts'
import { eachEngine, storedSamples, timeseries } from '../support/sdk.ts'

const HRV = 'heart_rate_variability_rmssd'

eachEngine(t, 'spans', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('samples that are not listed go, in their span and of their source alone', async (t) => {
    const user = await connectedUser(app)
    const strap = { ...samples(HRV, [[30, 99]]), source: 1 }
    const points = [
      [0, 40],
      [30, 41],
      [60, 42],
      [90, 43],
      [120, 44],
    ] as const
    await write(
      app,
      user,
      batchOf({
        samples: [
          samples(HRV, points, 'n'),
          samples('steps', [[30, 7]]),
          strap,
          samples(HRV, [[45, 900]], 'n', IMPLAUSIBLE_OFFSET),
        ],
      }),
    )
    const listed = batchOf({
      samples: [
        samples(
          HRV,
          [
            [0, 40],
            [90, 50],
          ],
          'n',
        ),
      ],
      spans: [span(seriesId(HRV), 0, 60), span(seriesId(HRV), 60, 120)],
    })
    t.match(await write(app, user, listed, { feed: true }), {
      inserted: 0,
      updated: 1,
      unchanged: 1,
      deleted: 3,
      changed: true,
    })
    t.strictSame(await lines(app, user), ['0 rmssd 40', '30 rmssd 99', '30 steps 7', '90 rmssd 50', '120 rmssd 44'])
    const hours = await timeseries(app, user.userId, {
      start_time: '2026-02-23',
      end_time: '2026-02-25',
      types: HRV,
      resolution: '1hour',
    })
    t.strictSame(
      hours.body.data.map(({ value }: { value: number }) => value).filter((value: number) => value !== 99),
      [40, 50, 44],
      'aggregates follow',
    )
    const before = await givenVersions(app.db, user.userId)
    t.match(await write(app, user, listed), { deleted: 0, unchanged: 2, changed: false })
    t.strictSame(await givenVersions(app.db, user.userId), before, 'the same page again writes nothing')
    const named = { externalId: 'n', seriesId: null }
    t.match(await write(app, user, batchOf({ deletions: [named] })), { deleted: 1 })
    t.strictSame(await lines(app, user), ['30 rmssd 99', '30 steps 7'], 'what is left is known by its record')
  })

  await t.test('totals of days go by themselves', async (t) => {
    const user = await connectedUser(app)
    const total = (points: readonly (readonly [number, number])[]) =>
      samples('steps', points, undefined, DAILY_TOTAL_OFFSET)
    await write(
      app,
      user,
      batchOf({
        samples: [
          total([
            [60, 5_000],
            [1_500, 6_000],
          ]),
          samples('steps', [[60, 7]]),
        ],
      }),
    )
    const moved = batchOf({
      samples: [total([[120, 5_000]])],
      spans: [span(seriesId('steps') + DAILY_TOTAL_OFFSET, 0, 1_440)],
    })
    t.match(await write(app, user, moved), { inserted: 1, deleted: 1 })
    t.strictSame(await lines(app, user), ['60 steps 7', '120 steps 5000', '1500 steps 6000'])
  })

  await t.test(
    'nights and workouts go with their samples and scores, unless they were stored from a later answer',
    async (t) => {
      const user = await connectedUser(app)
      const at = { atMs: ASKED }
      const later = { atMs: ASKED + DAY }
      await write(
        app,
        user,
        batchOf({
          nights: [
            night('gone', 0, 100, at),
            night('kept', 300, 400, at),
            night('later', 600, 700, later),
            night('outside', 1_440, 1_500, at),
            night('strap', 0, 100, { ...at, source: 1 }),
          ],
          workouts: [
            run('walk', 800, 830, at),
            run('ride', 900, 930, at),
            { ...run('', 1_000, 1_010, at), externalId: null },
          ],
          scores: [
            score('gone', 0, 80, { night: 'gone' }),
            score('recovery', 100, 50, { category: 'recovery', night: 'gone' }),
            score('kept', 300, 70, { night: 'kept' }),
            score('walk', 800, 5, { category: 'strain', workout: 'walk' }),
          ],
          samples: [
            samples(
              'respiratory_rate',
              [
                [100, 14],
                [110, 15],
              ],
              'gone',
            ),
            samples(HRV, [[100, 44]], 'recovery'),
            samples('resting_heart_rate', [[400, 50]], 'kept'),
          ],
        }),
      )
      const page = batchOf({
        nights: [night('kept', 300, 400, at)],
        workouts: [run('ride', 900, 930, at)],
        spans: [span('nights', 0, 1_000), span('workouts', 700, 1_440)],
      })
      t.match(await write(app, user, page, { receivedAt: null }), { deleted: 3, unchanged: 2 }, 'of any device')
      const rows = await givenRows(app.db, user.userId)
      const ids = (list: string[]) => list.map((row) => JSON.parse(row).external_id).sort()
      t.strictSame([rows.sleep_part, rows.workout, rows.health_score].map(ids), [
        ['kept', 'later', 'outside'],
        [null, 'ride'],
        ['kept'],
      ])
      t.strictSame(await lines(app, user), ['400 resting_heart_rate 50'])
      t.equal(rows.sleep.length, 3)
      const versions = await givenVersions(app.db, user.userId)
      t.match(await write(app, user, page), { deleted: 0, unchanged: 2, changed: false })
      t.strictSame(await givenVersions(app.db, user.userId), versions)
      const told = batchOf({
        deletions: [
          { externalId: 'later', seriesId: null, atMs: ASKED },
          { externalId: 'kept', seriesId: null, atMs: ASKED },
        ],
      })
      t.match(
        await write(app, user, told),
        { deleted: 1, ignored: 1 },
        'an old word of a deletion does not count, either',
      )
    },
  )

  await t.test('scores go by their category, unless they were stored from a later answer', async (t) => {
    const user = await connectedUser(app)
    const strap = { source: 1 }
    await write(
      app,
      user,
      batchOf({
        scores: [
          score('kept', 0, 80),
          score('gone', 60, 81),
          score('strap', 70, 82, strap),
          score('later', 80, 83, { atMs: ASKED + DAY }),
          score('changed', 90, 84, { version: ASKED + 1 }),
          score('outside', 1_440, 85),
          score('gone', 60, 50, { category: 'readiness' }),
        ],
        workouts: [run('gone', 60, 90)],
        samples: [samples(HRV, [[60, 44]], 'gone')],
      }),
    )
    const page = batchOf({ scores: [score('kept', 0, 80)], spans: [span({ score: 'sleep' }, 0, 1_440)] })
    t.match(await write(app, user, page), { deleted: 2, unchanged: 1, changed: true })
    const { health_score, workout } = await givenRows(app.db, user.userId)
    const left = health_score.map((row) => JSON.parse(row)).map((row) => `${row.category} ${row.external_id}`)
    t.strictSame(left.sort(), ['readiness gone', 'sleep changed', 'sleep kept', 'sleep later', 'sleep outside'])
    t.equal(workout.length, 1, 'another thing may have the same id')
    t.strictSame(await lines(app, user), ['60 rmssd 44'])
    const versions = await givenVersions(app.db, user.userId)
    t.match(await write(app, user, page), { deleted: 0, unchanged: 1, changed: false })
    t.strictSame(await givenVersions(app.db, user.userId), versions, 'the same page again writes nothing')
  })

  await t.test('what is listed of all devices goes whichever it is from', async (t) => {
    const user = await connectedUser(app)
    const other = await connectedUser(app)
    const weights = [samples('weight', [[30, 80]], 'm'), { ...samples('weight', [[31, 81]], 'n'), source: 1 }]
    for (const one of [user, other]) await write(app, one, batchOf({ samples: [...weights, samples(HRV, [[30, 41]])] }))
    const none = batchOf({ spans: [{ ...span(seriesId('weight'), 0, 60), devices: 'all' }] })
    t.match(await write(app, user, none), { deleted: 2, changed: true })
    t.strictSame(await lines(app, user), ['30 rmssd 41'])
    t.equal((await lines(app, other)).length, 3, 'of nobody else')
    const one = batchOf({
      samples: [{ ...samples('weight', [[31, 81]], 'n'), source: 1 }],
      spans: [{ ...span(seriesId('weight'), 0, 60), devices: 'all' }],
    })
    await write(app, user, batchOf({ samples: weights }))
    t.match(await write(app, user, one), { deleted: 1 })
    t.strictSame(await lines(app, user), ['30 rmssd 41', '31 weight 81'])
    const ofType = (devices: 'band' | 'scale') => batchOf({ spans: [{ ...span(seriesId('weight'), 0, 60), devices }] })
    t.match(await write(app, user, ofType('scale')), { deleted: 0 })
    t.match(await write(app, user, ofType('band')), { deleted: 1 }, 'of a type of devices')
  })

  await t.test('a record that has one value of a series takes back what it stated at another time', async (t) => {
    const user = await connectedUser(app)
    const once = (at: number, value: number, record: string) => ({
      ...samples('resting_heart_rate', [[at, value]], record),
      once: true as const,
    })
    await write(app, user, batchOf({ samples: [once(30, 50, 'a')] }))
    await write(app, user, batchOf({ samples: [once(500, 52, 'b')] }))
    t.match(await write(app, user, batchOf({ samples: [once(60, 51, 'a')] })), { inserted: 0, updated: 1 })
    const rows = ['60 resting_heart_rate 51', '500 resting_heart_rate 52']
    t.strictSame(await lines(app, user), rows)
    await write(app, user, batchOf({ samples: [once(60, 51, 'a')] }))
    t.strictSame(await lines(app, user), rows, 'repeated, nothing changes')
    await write(app, user, batchOf({ samples: [samples('resting_heart_rate', [[90, 53]], 'a')] }))
    t.equal((await lines(app, user)).length, 3, 'others may have several')
  })

  await t.test('what was placed by another zone goes, but for samples of records and of other days', async (t) => {
    const user = await connectedUser(app, 'polar')
    const dates = ['2026-02-21', '2026-02-22', '2026-02-23', '2026-02-24']
    const times = ['00:10:00', '08:00:00', '23:50:00']
    const beats = times.map((time, place) => ({ sample_time: time, heart_rate: 60 + place }))
    const days = (nights: Record<string, number>, of = dates, samples: object[] = beats) => ({
      stream: 'continuous_heart_rate',
      at: '2026-02-25T12:00:00Z',
      args: {
        of: 'data',
        nights: Object.fromEntries(Object.entries(nights).map(([date, zone]) => [date, [0, 1, zone] as const])),
      },
      body: { heart_rates: of.map((date) => ({ date, heart_rate_samples: samples })) },
    })
    const placed = (zones: Record<string, number>) =>
      Object.entries(zones).flatMap(([date, zone]) =>
        times.map(
          (time, place) => `${new Date(Date.parse(`${date}T${time}Z`) - zone * MIN).toISOString()} ${60 + place}`,
        ),
      )
    const stored = async () =>
      (await storedSamples(app.db, user.userId)).map(({ ts, value }) => `${new Date(ts).toISOString()} ${value}`)
    const exercise = {
      ...{ stream: 'exercises', at: '2026-02-25T12:00:00Z' },
      body: [
        {
          ...{ id: 'run', start_time: '2026-02-23T12:00:30', start_time_utc_offset: 120, duration: 'PT1M' },
          samples: [{ recording_rate: 1, sample_type: '0', data: '140,141' }],
        },
      ],
    }
    const ran = ['2026-02-23T10:00:30.000Z 140', '2026-02-23T10:00:31.000Z 141']
    const before = { '2026-02-21': 120, '2026-02-22': 120, '2026-02-23': 120, '2026-02-24': 120 }
    const west = { ...before, '2026-02-23': -360, '2026-02-24': -360 }
    const east = { ...before, '2026-02-23': 540, '2026-02-24': 540 }
    await write(app, user, parcelOf('polar', [exercise, days({ '2026-02-22': 120 })]))
    t.strictSame(await stored(), [...placed(before), ...ran].sort())
    await write(app, user, parcelOf('polar', [days({ '2026-02-22': 120, '2026-02-23': -360 }, ['2026-02-23'])]))
    t.strictSame(await stored(), [...placed({ ...west, '2026-02-24': 120 }), ...ran].sort(), 'one day, and no other')
    const flown = parcelOf('polar', [days({ '2026-02-22': 120, '2026-02-23': -360 })])
    t.match(await write(app, user, flown, { feed: true }), { inserted: 3, deleted: 3 })
    t.strictSame(await stored(), [...placed(west), ...ran].sort())
    const hours = await timeseries(app, user.userId, {
      ...{ start_time: '2026-02-20', end_time: '2026-02-27', types: 'heart_rate', resolution: '1hour' },
    })
    t.equal(hours.body.data.length, times.length * dates.length + 1, 'aggregates follow')
    const versions = await givenVersions(app.db, user.userId)
    t.match(await write(app, user, flown), { deleted: 0, unchanged: 12, changed: false })
    t.strictSame(await givenVersions(app.db, user.userId), versions, 'the same page again writes nothing')
    const both = [days({ '2026-02-22': 120, '2026-02-23': 0 }), days({ '2026-02-22': 120, '2026-02-23': 540 })]
    await write(app, user, parcelOf('polar', both))
    t.strictSame(await stored(), [...placed(east), ...ran].sort(), 'of two pages in a parcel the later one counts')
    const broken = days({ '2026-02-22': 120, '2026-02-23': 0 }, ['2026-02-23'], [{ sample_time: 'x', heart_rate: 60 }])
    t.match(await write(app, user, parcelOf('polar', [broken])), { deleted: 0 }, 'what was rejected may be of that day')
  })

  await t.test('what was placed without any zone goes, too', async (t) => {
    const user = await connectedUser(app, 'polar')
    const ran = { id: 'run', start_time: '2026-02-23T12:30:00', start_time_utc_offset: 345, duration: 'PT1M' }
    const day = (nights: Record<string, readonly [number, number, number]>) =>
      parcelOf('polar', [
        { stream: 'exercises', at: '2026-02-25T12:00:00Z', body: [ran] },
        {
          ...{ stream: 'continuous_heart_rate', at: '2026-02-25T12:00:00Z', args: { of: 'data', nights } },
          body: [{ date: '2026-02-23', heart_rate_samples: [{ sample_time: '12:00:00', heart_rate: 61 }] }],
        },
      ])
    await write(app, user, day({}))
    t.match(await storedSamples(app.db, user.userId), [{ ts: '2026-02-23T12:00:00', zone: null }])
    t.match(await write(app, user, day({})), { unchanged: 2, changed: false })
    await write(app, user, day({ '2026-02-24': [0, 1, 345] }))
    const stored = await storedSamples(app.db, user.userId)
    t.match(stored, [{ value: 61, zone: 345 }])
    t.equal(stored.length, 1)
    t.equal(new Date(stored[0]?.ts ?? 0).toISOString(), '2026-02-23T06:15:00.000Z')
  })

  await t.test('what moved is not gone', async (t) => {
    const user = await connectedUser(app)
    await write(app, user, batchOf({ nights: [night('a', 0, 100), night('b', 300, 400)] }))
    const [{ id }] = (await app.db.query('select id from sleep where user_id = $1 order by start_at', [
      user.userId,
    ])) as [{ id: string }]
    const moved = batchOf({
      nights: [night('a', 50, 160, { version: 2 }), night('b', 300, 400)],
      spans: [span('nights', 0, 400)],
    })
    t.match(await write(app, user, moved), { deleted: 0, updated: 1 })
    const after = await app.db.query('select id from sleep where user_id = $1 order by start_at', [user.userId])
    t.match(after, [{ id }, {}])
  })
})

/** Samples as `minute series value`. */
const lines = async (app: TestApp, { userId }: CloudUser) =>
  (await storedSamples(app.db, userId)).map(({ ts, type, value }) =>
    [(Date.parse(ts) - TEN) / MIN, type === HRV ? 'rmssd' : type, value].join(' '),
  )
