// Records without a zone offset take that of the nearest record that has one, and answers show it as used.
import t from 'tap'
import type { TestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, oneEngine, sharedApp, steps } from '../support/sdk.ts'

const HOUR = 3_600_000
const DAY = Date.parse('2026-05-04T00:00:00Z')
const at = (hour: number) => DAY + hour * HOUR

const zones = async (app: TestApp, user: string, type = 80) =>
  (
    await app.db.rows<[number | null]>(
      `select s.zone_offset_min from sample s join data_source d on d.id = s.source_id
       where d.user_id = $1 and s.series_id = $2 order by s.ts`,
      [user, type],
    )
  ).map(([zone]) => zone)

oneEngine(t, 'zones', async (t, engine) => {
  const app = await sharedApp(engine)
  const send = (user: string, records: unknown[], fields = {}) => importBody(app, user, body(records, fields))
  const without = (hour: number, value = 5) => steps(at(hour), value, { zoneOffset: null })
  const beat = (hour: number, zoneOffset: string | null) => heartRate(at(hour), 60, { zoneOffset })

  await t.test('of the upload itself within a day', async (t) => {
    const user = await createUser(app)
    await send(user, [without(0), beat(4, '-05:00'), without(9), beat(15, '+01:00'), without(38)])
    t.strictSame(await zones(app, user), [-300, -300, 60])
    const page = await app.request(
      'GET',
      `/api/v1/users/${user}/timeseries?start_time=2026-05-04&end_time=2026-05-06&types=steps`,
    )
    t.strictSame(
      page.body.data.map(({ zone_offset }: { zone_offset: string }) => zone_offset),
      ['-05:00', '-05:00', '+01:00'],
    )
  })

  await t.test('of its own start, so that a walk after midnight belongs to that day', async (t) => {
    const user = await createUser(app)
    const walk = { ...without(0), startDate: '2026-05-04T00:30:00+02:00', endDate: '2026-05-04T00:40:00+02:00' }
    t.match(await send(user, [walk]), { inserted: 1 })
    t.strictSame(await zones(app, user), [120])
    const path = `/api/v1/users/${user}/summaries/activity?start_date=2026-05-01&end_date=2026-05-08`
    const { data } = (await app.request('GET', path)).body
    t.strictSame(
      data.map(({ date, steps }: { date: string; steps: number }) => [date, steps]),
      [['2026-05-04', 5]],
    )
  })

  await t.test('of stored records, from any provider, if the upload has none nearby', async (t) => {
    const user = await createUser(app)
    t.match(await send(user, [without(2)]), { inserted: 1 })
    t.strictSame(await zones(app, user), [null], 'nobody knows')
    await send(user, [beat(0, '-05:00')], { provider: 'apple' })
    await send(user, [beat(300, '+09:00')])
    t.match(await send(user, [without(2)]), { updated: 1 }, 'now another record has a zone')
    await send(user, [without(100), without(200), without(400)])
    t.strictSame(await zones(app, user), [-300, -300, 540, 540])
    // Records of the upload are nearer than stored ones, or further away.
    await send(user, [without(130), without(1000), beat(1100, '+02:00')])
    t.strictSame(await zones(app, user), [-300, -300, -300, 540, 540, 120])
  })

  await t.test('stays the same when the record arrives again', async (t) => {
    const user = await createUser(app)
    await send(user, [without(8), beat(9, '+01:00')])
    t.match(await send(user, [without(8), beat(12, '-05:00')]), { unchanged: 1, inserted: 1 })
    t.match(await send(user, [without(8, 6), beat(12, '-05:00')]), { updated: 1 }, 'another value, the same zone')
    t.strictSame(await zones(app, user), [60])
    t.match(
      await send(user, [steps(at(8), 6, { zoneOffset: '+02:00' })]),
      { updated: 1 },
      'until the record has its own',
    )
    t.strictSame(await zones(app, user), [120])
  })

  await t.test('decides the day of a daily total', async (t) => {
    const user = await createUser(app)
    const total = (hour: number, kcal: number, fields = {}) => ({
      ...steps(at(hour), kcal, { zoneOffset: null, ...fields }),
      ...{ type: 'BASAL_METABOLIC_RATE', unit: 'kcal/day' },
    })
    const totals = () =>
      app.db.rows<[ms: number, value: number, zone: number | null]>(
        `select date_part('epoch', s.ts) * 1000, s.value, s.zone_offset_min
         from sample s join data_source d on d.id = s.source_id
         where d.user_id = $1 and s.series_id = 10082 order by s.ts`,
        [user],
      )
    const android = { provider: 'health_connect' }
    // 23:00 UTC, and two hours later: both belong to May 5 in Tokyo.
    const two = [total(23, 1500, { id: 'A' }), total(25, 1600, { id: 'B' })]
    await send(user, two, android)
    t.strictSame(await totals(), [
      [at(0), 1500, null],
      [at(24), 1600, null],
    ])
    // Once a zone is known, the same records belong to other days.
    await send(user, [beat(100, '+09:00')])
    t.match(await send(user, two, android), { inserted: 0, updated: 1, duplicates: 1 })
    t.strictSame(await totals(), [[at(15), 1600, 540]])
    t.match(await send(user, two, android), { inserted: 0, updated: 0, unchanged: 1, duplicates: 1 })
    // A record nearby takes precedence.
    await send(user, [total(25, 1600, { id: 'B' }), { ...beat(25, '-05:00'), type: 'HEART_RATE' }], android)
    t.strictSame(await totals(), [[at(5), 1600, -300]])
    const other = await createUser(app)
    await send(other, [beat(100, '+09:00')])
    t.match(await send(other, two, android), { inserted: 1, duplicates: 1 })
    const stored = await app.db.rows<[number, number, number]>(
      `select date_part('epoch', s.ts) * 1000, s.value, s.zone_offset_min
       from sample s join data_source d on d.id = s.source_id where d.user_id = $1 and s.series_id = 10082`,
      [other],
    )
    t.strictSame(stored, [[at(15), 1600, 540]])
    const gone = { ...body([], android), data: { records: [], deleted: [{ id: 'B', type: 'BASAL_METABOLIC_RATE' }] } }
    t.match(await importBody(app, other, gone), { deleted: 1 })
    // Within a day of a record of the same upload.
    const third = await createUser(app)
    await send(third, [total(23, 1500), { ...beat(24, '+09:00'), type: 'HEART_RATE' }], android)
    const near = await app.db.rows<[number, number]>(
      `select date_part('epoch', s.ts) * 1000, s.zone_offset_min
       from sample s join data_source d on d.id = s.source_id where d.user_id = $1 and s.series_id = 10082`,
      [third],
    )
    t.strictSame(near, [[at(15), 540]])
  })

  await t.test('never of deleted data', async (t) => {
    const user = await createUser(app)
    const android = { provider: 'health_connect' }
    await send(user, [beat(100, '+09:00')])
    await send(user, [{ ...beat(0, '-05:00'), type: 'HEART_RATE' }], android)
    const path = `/api/v1/users/${user}/connections/apple/data`
    t.equal((await app.request('DELETE', path)).status, 204)
    await send(user, [{ ...without(100), type: 'STEP_COUNT' }], android)
    t.strictSame(await zones(app, user), [-300])
  })

  await t.test('of sleep and workouts, too', async (t) => {
    const user = await createUser(app)
    const stage = (fromHour: number, zoneOffset: string | null) => ({
      ...{ id: `s${fromHour}`, stage: 'light', zoneOffset, source: null, values: null },
      ...{ startDate: new Date(at(fromHour)).toISOString(), endDate: new Date(at(fromHour + 6)).toISOString() },
    })
    const night = (records: unknown[], zoneOffset: string | null) => ({
      ...body([]),
      data: { records, sleep: [stage(22, zoneOffset)] },
    })
    await importBody(app, user, night([without(30)], '+03:00'))
    t.strictSame(await zones(app, user), [180])
    const other = await createUser(app)
    await importBody(app, other, night([beat(30, '-03:00')], null))
    const slept = await app.db.rows<[number]>('select zone_offset_min from sleep where user_id = $1', [other])
    t.strictSame(slept, [[-180]])
  })
})
