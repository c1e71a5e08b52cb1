// Deleting events, and what phones then send again: contract 5.7.
import t from 'tap'
import { startTestApp, type TestApp } from '../support/app.ts'
import { allEvents, type EventList, statistic, workout, workoutBody } from '../support/event-lists.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  record,
  type SdkRecord,
  startImports,
  storedSamples,
  timeseries,
  WATCH,
} from '../support/sdk.ts'
import { sleepBody, stage, storedSleep, storedStages } from '../support/sleep.ts'

const MIN = 60_000
const HOUR = 60 * MIN
const DAY = Date.UTC(2026, 1, 24)
/** Ten in the evening, UTC. */
const TEN = Date.UTC(2026, 1, 23, 22)
const NOBODY = '00000000-0000-4000-8000-000000000000'

/** A stage between two times, in minutes after ten. */
const at = (name: string, from: number, until: number, fields: SdkRecord = {}) =>
  stage(name, TEN + from * MIN, TEN + until * MIN, fields)

const missing = {
  workouts: 'Workout not found',
  sleep: 'Sleep session not found',
  'menstrual-cycles': 'Menstrual cycle record not found',
  meals: 'Meal not found',
} as const
const deletable = Object.keys(missing) as (keyof typeof missing)[]

oneEngine(t, 'deleting', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const remove = (user: string, list: EventList, id: string, options = {}) =>
    app.request('DELETE', `/api/v1/users/${user}/events/${list}/${id}`, options)
  const removed = async (user: string, list: EventList, id: string) => {
    const { status, body } = await remove(user, list, id)
    if (status !== 204 || body !== '') throw new Error(`${status} ${JSON.stringify(body)}`)
  }
  /** Sessions as `device from until in bed nap`, in minutes after ten. */
  const nights = async (user: string) =>
    (await storedSleep(app.db, user)).map(({ device, start, end, in_bed, nap }) =>
      [device, (Date.parse(start) - TEN) / MIN, (Date.parse(end) - TEN) / MIN, in_bed / 60, nap ? 'nap' : 'night'].join(
        ' ',
      ),
    )
  const send = (user: string, stages: unknown[], provider = 'apple') =>
    importBody(app, user, sleepBody(stages, { provider }))

  await t.test('finds nothing that is not there, of another user, or something else', async (t) => {
    const [mine, theirs] = [await withOneOfEach(app), await withOneOfEach(app)]
    const ids = async (user: string) =>
      Promise.all(deletable.map(async (list) => (await allEvents(app, user, list))[0].id as string))
    const [own, others] = [await ids(mine), await ids(theirs)]
    for (const [index, list] of deletable.entries()) {
      for (const id of [NOBODY, others[index] as string, own[(index + 1) % deletable.length] as string]) {
        const { status, body } = await remove(mine, list, id)
        t.strictSame([status, body], [404, { detail: missing[list] }], list)
      }
      const nobody = await remove(NOBODY, list, own[index] as string)
      t.strictSame([nobody.status, nobody.body], [404, { detail: `User with ID: ${NOBODY} not found.` }])
      const [issue] = (await remove(mine, list, 'types')).body.detail
      t.match(issue, { type: 'uuid_parsing', loc: ['path', /_id$/] })
      t.equal((await remove(mine, list, own[index] as string, { auth: 'none' })).status, 401)
      t.equal((await remove(mine, list, `{${String(own[index]).toUpperCase()}}`)).status, 204)
      t.strictSame(await allEvents(app, mine, list), [])
      t.match(await remove(mine, list, own[index] as string), { status: 404, body: { detail: missing[list] } })
    }
    t.strictSame(await ids(theirs), others)
  })

  await t.test('moves what readers hold', async (t) => {
    const user = await withOneOfEach(app)
    for (const list of deletable) {
      const day = { start_time: '2026-02-24', end_time: '2026-02-24' }
      const etag = (await timeseries(app, user, day)).headers.get('etag') ?? ''
      const held = () => timeseries(app, user, day, { headers: { 'If-None-Match': etag } })
      t.equal((await held()).status, 304)
      t.equal((await remove(user, list, NOBODY)).status, 404)
      t.equal((await held()).status, 304, 'nothing was done')
      await removed(user, list, (await allEvents(app, user, list))[0].id)
      t.equal((await held()).status, 200)
    }
  })

  await t.test('a meal takes along its nutrients, and stays deleted', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([...lunch(), ...lunch('dinner')]))
    const meals = async () => (await allEvents(app, user, 'meals')).map(({ calories_kcal }) => calories_kcal)
    const nutrients = () =>
      app.db.query('select meal from meal_nutrient where user_id = $1 group by 1 order by 1', [user])
    t.strictSame(await meals(), [500, 500])
    const { id } = await app.db.one<{ id: string }>(
      `select id from meal where user_id = $1 and external_id = 'lunch'`,
      [user],
    )
    await removed(user, 'meals', id)
    t.strictSame([await meals(), await nutrients()], [[500], [{ meal: 'dinner' }]])
    // Again, with its meal and without it.
    for (const content of [lunch(), lunch().slice(1)]) {
      const batch = await importBody(app, user, body(content))
      t.match(batch, { status: 'skipped', inserted: 0, ignored_type: content.length })
      t.strictSame([await meals(), await nutrients()], [[500], [{ meal: 'dinner' }]])
      t.strictSame(await storedSamples(app.db, user), [], 'nor does a nutrient become a sample')
    }
    await importBody(app, user, body(lunch('supper')))
    t.strictSame(await meals(), [500, 500], 'another meal is stored')
    await app.request('DELETE', `/api/v1/users/${user}/connections/apple/data`)
    await importBody(app, user, body(lunch()))
    t.strictSame(await meals(), [500], 'deleting everything forgets what was deleted before')
  })

  await t.test('a workout takes along the samples that came with it, and no others', async (t) => {
    const user = await createUser(app)
    const values = [statistic('vo2Max', 44.5, 'mL/kg/min'), statistic('averageRunningStrideLength', 1.1, 'm')]
    const samples = [{ timestamp: new Date(DAY + 5 * MIN).toISOString(), type: 'heartRate', value: 140, unit: 'bpm' }]
    const items = [
      workout('running', DAY, 30, { id: 'one', values, samples }),
      workout('running', DAY + HOUR, 30, { id: 'two', values }),
      workout('running', DAY + 2 * HOUR, 30, { values }),
    ]
    const content = workoutBody(items, [heartRate(DAY + 6 * MIN, 141, { id: 'beat' })])
    await importBody(app, user, content)
    const brief = async () =>
      (await storedSamples(app.db, user)).map(({ ts, type, value }) => `${ts.slice(11, 16)} ${type} ${value}`)
    const others = [
      '00:06 heart_rate 141',
      '01:30 vo2_max 44.5',
      '01:30 running_stride_length 110',
      '02:30 vo2_max 44.5',
      '02:30 running_stride_length 110',
    ]
    const before = await brief()
    t.equal(before.length, others.length + 3)

    const [unnamed, , first] = await allEvents(app, user, 'workouts')
    await removed(user, 'workouts', first.id)
    t.strictSame(await brief(), others)
    await removed(user, 'workouts', unnamed.id)
    t.strictSame(await brief(), others, 'without an id nothing tells them from others')
    t.equal((await allEvents(app, user, 'workouts')).length, 1)
    const points = await timeseries(app, user, {
      start_time: '2026-02-24',
      end_time: '2026-02-24',
      types: 'heart_rate',
      resolution: '1hour',
    })
    t.match(points.body.data, [{ value: 141 }], 'nor do rollups hold them')

    await importBody(app, user, workoutBody([], [heartRate(DAY + 7 * MIN, 142)]))
    t.equal((await allEvents(app, user, 'workouts')).length, 1, 'another upload brings nothing back')
    const again = await importBody(app, user, content)
    t.strictSame(
      await brief(),
      [others[0], '00:07 heart_rate 142', ...others.slice(1)],
      'nor does the same one, nor its samples',
    )
    t.equal((await allEvents(app, user, 'workouts')).length, 2, 'what has no id cannot be told from a new one')
    t.match(again, { ignored_type: 1, inserted: 1, unchanged: 2 })
  })

  await t.test('a workout of a record that became several leaves the others', async (t) => {
    const user = await createUser(app)
    const ride = '3c3662bc-b661-46de-a79c-636744c66b62'
    const values = [statistic('vo2Max', 44.5, 'mL/kg/min')]
    const parts = [0, 1].map((part) => workout('CYCLING', DAY + part * HOUR, 30, { id: `${ride}-s${part}`, values }))
    await importBody(app, user, workoutBody(parts, [], { provider: 'samsung' }))
    const [second] = await allEvents(app, user, 'workouts')
    await removed(user, 'workouts', second.id)
    t.match(await allEvents(app, user, 'workouts'), [{ start_time: '2026-02-24T00:00:00Z' }])
    t.strictSame(
      (await storedSamples(app.db, user)).map(({ ts }) => ts),
      ['2026-02-24T00:30:00Z'],
    )
  })

  await t.test('a night takes along its stages, so that no upload builds it again without them', async (t) => {
    const user = await createUser(app)
    const night = [
      at('awake', -20, 0),
      at('light', 0, 200),
      at('awake', 200, 210),
      at('rem', 210, 580),
      at('awake', 580, 590),
    ]
    const nap = at('light', 700, 760)
    const later = at('light', 1440, 1900)
    await send(user, [...night, nap, later])
    t.strictSame(await nights(user), [
      'Watch7,5 0 590 590 night',
      'Watch7,5 700 760 60 nap',
      'Watch7,5 1440 1900 460 night',
    ])
    const [, ...kept] = (await allEvents(app, user, 'sleep')).reverse()
    const [, , gone] = await allEvents(app, user, 'sleep')
    await removed(user, 'sleep', gone.id)
    t.strictSame(
      (await storedStages(app.db, user)).map(({ start }) => start),
      [nap, later].map(({ startDate }) => startDate),
      'not even the lying awake before it is left',
    )
    t.strictSame(
      (await allEvents(app, user, 'sleep')).reverse(),
      kept.map((one) => ({ ...one, is_nap: false })),
      'others keep their ids; without the night the nap is what was slept that day',
    )
    await send(user, [at('light', 760, 770)])
    t.strictSame(await nights(user), ['Watch7,5 700 770 70 night', 'Watch7,5 1440 1900 460 night'])

    await send(user, night)
    t.strictSame(
      await nights(user),
      ['Watch7,5 0 590 590 night', 'Watch7,5 700 770 70 nap', 'Watch7,5 1440 1900 460 night'],
      'it comes back with its own upload',
    )
    t.not((await allEvents(app, user, 'sleep', { end_date: '2026-02-23' }))[0].id, gone.id, 'under a new id')
  })

  await t.test('a nap of a chain leaves what is around it', async (t) => {
    const user = await createUser(app)
    await send(user, [at('light', 0, 600), at('light', 700, 760), at('light', 850, 900), at('awake', 900, 905)])
    const before = await allEvents(app, user, 'sleep')
    t.equal(before.length, 3)
    await removed(user, 'sleep', before[1].id)
    t.strictSame(await allEvents(app, user, 'sleep'), [before[0], before[2]])
    await removed(user, 'sleep', before[0].id)
    t.strictSame(await allEvents(app, user, 'sleep'), [before[2]])
    await removed(user, 'sleep', before[2].id)
    t.strictSame(await storedStages(app.db, user), [])
  })

  await t.test('time in bed that another source told of goes with the only session it belongs to', async (t) => {
    const user = await createUser(app)
    const bed = (from: number, until: number) => at('in_bed', from, until, { source: PHONE })
    const ring = { name: 'Ring', deviceModel: 'Ring', deviceType: 'ring' }
    await send(user, [at('light', 0, 400), bed(-20, 420)])
    t.strictSame(await nights(user), ['Watch7,5 0 400 440 night'])
    await removed(user, 'sleep', (await allEvents(app, user, 'sleep'))[0].id)
    t.strictSame([await nights(user), await storedStages(app.db, user)], [[], []], 'no session of the phone appears')

    await send(user, [at('light', 0, 400), bed(-20, 420), at('light', 10, 390, { source: ring })])
    t.strictSame((await nights(user)).sort(), ['Ring 10 390 440 night', 'Watch7,5 0 400 440 night'])
    const watch = (await allEvents(app, user, 'sleep', { device_model: 'Watch7,5' }))[0].id
    await removed(user, 'sleep', watch)
    t.strictSame(await nights(user), ['Ring 10 390 440 night'], 'the ring keeps it')
    await removed(user, 'sleep', (await allEvents(app, user, 'sleep'))[0].id)

    await send(user, [bed(-20, 420)])
    t.strictSame(await nights(user), ['iPhone17,1 -20 420 440 night'])
    await removed(user, 'sleep', (await allEvents(app, user, 'sleep'))[0].id)
    t.strictSame(await storedStages(app.db, user), [])
  })

  await t.test('a session of the platform goes with its stages and its score', async (t) => {
    const user = await createUser(app)
    const scored = [{ type: 'sleepScore', value: 81 }]
    const items = ['first', 'second'].map((parentId, day) =>
      at('light', day * 1440, day * 1440 + 400, { parentId, id: parentId, values: scored }),
    )
    await send(user, items, 'samsung')
    const scores = () => app.db.query('select value from health_score where user_id = $1', [user])
    t.equal((await scores()).length, 2)
    await removed(user, 'sleep', (await allEvents(app, user, 'sleep'))[1].id)
    t.match(await storedStages(app.db, user), [{ session: 'second' }])
    t.match(await allEvents(app, user, 'sleep'), [{ start_time: '2026-02-24T22:00:00Z' }])
    t.equal((await scores()).length, 1)
    t.match(await send(user, items, 'samsung'), { ignored_type: 1, unchanged: 1 })
    t.equal((await allEvents(app, user, 'sleep')).length, 1, 'and stays away when it is sent again')
    const stage = at('deep', 400, 450, { parentId: 'first', id: 'first-s9' })
    t.match(await send(user, [stage], 'samsung'), { ignored_type: 1 }, 'as does what is added to it')
  })

  await t.test('stages with ids stay away when they are sent again', async (t) => {
    const user = await createUser(app)
    const night = [at('light', 0, 200, { id: 'a' }), at('deep', 200, 300, { id: 'b' })]
    await send(user, night)
    await removed(user, 'sleep', (await allEvents(app, user, 'sleep'))[0].id)
    t.match(await send(user, night), { ignored_type: 2, inserted: 0 })
    t.match(await send(user, [...night, at('rem', 300, 400, { id: 'c' })]), { ignored_type: 2, inserted: 1 })
    t.strictSame(await nights(user), ['Watch7,5 300 400 100 night'], 'what is new is not what was deleted')
    const other = await createUser(app)
    t.match(await send(other, night), { inserted: 2 }, 'for this person alone')
  })

  await t.test('deleting all data of a provider forgets what was deleted before', async (t) => {
    const user = await createUser(app)
    const content = workoutBody([workout('running', DAY, 30, { id: 'one' })])
    await importBody(app, user, content)
    await removed(user, 'workouts', (await allEvents(app, user, 'workouts'))[0].id)
    t.match(await importBody(app, user, content), { ignored_type: 1 })
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/connections/apple/data`)).status, 204)
    t.match(await importBody(app, user, content), { inserted: 1 })
  })

  await t.test('a session that has no stages goes as well', async (t) => {
    const user = await createUser(app)
    await send(user, [at('light', 0, 400)])
    await app.db.query('delete from sleep_stage')
    await removed(user, 'sleep', (await allEvents(app, user, 'sleep'))[0].id)
    t.strictSame(await allEvents(app, user, 'sleep'), [])
  })

  await t.test('a cycle takes along what was observed in it, and the others follow from what is left', async (t) => {
    const user = await createUser(app)
    const days = [1, 2, 3, 29, 30, 31, 57, 58]
    const test = record('HKCategoryTypeIdentifierOvulationTestResult', DAY + 42 * 24 * HOUR, 2, { id: 'test' })
    await importBody(app, user, body([...days.map(flow), test]))
    const cycles = async () =>
      (await allEvents(app, user, 'menstrual-cycles')).map(({ id, start_time, cycle_length, period_length }) => [
        id,
        Math.round((Date.parse(start_time) - DAY) / HOUR / 24) + 1,
        cycle_length,
        period_length,
      ])
    const observed = async () =>
      (
        await app.db.query<{ external_id: string }>(
          'select external_id from cycle_observation where user_id = $1 order by start_at',
          [user],
        )
      ).map(({ external_id }) => external_id)
    const [third, second, first] = (await cycles()).map(([id]) => id as string)
    t.strictSame(await cycles(), [
      [third, 57, 28, 2],
      [second, 29, 28, 3],
      [first, 1, 28, 3],
    ])
    await removed(user, 'menstrual-cycles', second as string)
    t.strictSame(
      await cycles(),
      [
        [third, 57, 56, 2],
        [first, 1, 56, 3],
      ],
      'as if that period had never been logged',
    )
    t.strictSame(await observed(), ['flow 1', 'flow 2', 'flow 3', 'flow 57', 'flow 58'])
    await importBody(app, user, body([flow(59)]))
    t.strictSame(
      (await cycles()).map(([id]) => id),
      [third, first],
      'an upload of others does not bring it back',
    )
    await importBody(app, user, body([29, 30, 31].map(flow)))
    t.strictSame(
      (await cycles()).map(([, day]) => day),
      [57, 29, 1],
      'its own does',
    )
    await removed(user, 'menstrual-cycles', third as string)
    t.strictSame(
      await observed(),
      [1, 2, 3, 29, 30, 31].map((day) => `flow ${day}`),
      'the last one reaches until now',
    )
  })

  await t.test('waits for an import of the user', async (t) => {
    const user = await withOneOfEach(app)
    const [{ id }] = await allEvents(app, user, 'workouts')
    const lock = `select pg_advisory_xact_lock(hashtextextended('ingest:' || $1, 0))`
    let answer: Promise<{ status: number }> | undefined
    await app.db.transaction(async (tx) => {
      await tx.query(lock, [user])
      answer = remove(user, 'workouts', id)
      const waiting = `select 1 from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`
      while ((await app.db.query(waiting)).length === 0);
      t.equal((await allEvents(app, user, 'workouts')).length, 1)
    })
    t.equal((await answer)?.status, 204)
    t.strictSame(await allEvents(app, user, 'workouts'), [])
  })
})

/** Flow on a day, counted from 1. */
const flow = (day: number) =>
  record('HKCategoryTypeIdentifierMenstrualFlow', DAY + (day - 1) * 24 * HOUR + 8 * HOUR, 3, { id: `flow ${day}` })

/** A meal of two nutrients, under ids of the platform. */
const lunch = (id = 'lunch') => [
  record('HKCorrelationTypeIdentifierFood', DAY, 1, { id }),
  record('HKQuantityTypeIdentifierDietaryEnergyConsumed', DAY, 500, { id: `${id} energy`, parentId: id, unit: 'kcal' }),
  record('HKQuantityTypeIdentifierDietaryProtein', DAY, 20, { parentId: id, unit: 'g' }),
]

async function withOneOfEach(app: TestApp): Promise<string> {
  const user = await createUser(app)
  await importBody(app, user, workoutBody([workout('running', DAY, 30, { id: 'run', source: WATCH })]))
  await importBody(app, user, sleepBody([at('light', 0, 400)]))
  await importBody(app, user, body([flow(1), flow(2)]))
  await importBody(app, user, body(lunch()))
  return user
}
