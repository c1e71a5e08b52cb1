// Which sample a platform's record became, and its deletion: sdk-payload 4.7 and 8.
import fc from 'fast-check'
import t from 'tap'
import { MAX_SOURCES } from '../../server/batch/columns.ts'
import { decodeOrigins, encodeOrigins, type Origin, originHash } from '../../server/batch/origins.ts'
import { startTestApp } from '../support/app.ts'
import { modelUploads, RecordModel } from '../support/record-model.ts'
import {
  body,
  createUser,
  dirtyRanges,
  eachEngine,
  heartRate,
  importBody,
  MANY,
  onceIsEnough,
  rowVersions,
  type SdkRecord,
  startImports,
  steps,
  storedSamples,
  upload,
  waitForAll,
} from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const HEART_RATE = 'HKQuantityTypeIdentifierHeartRate'

const id = (number: number) => `6E1E6C61-1E2B-4FB4-AD10-${String(number).padStart(12, '0')}`
const deletions = (items: unknown[], name = 'deleted') => body([], { data: { records: [], [name]: items } })

t.test('a list of origins is read as it was written', async (t) => {
  const entry = fc.record({
    timeMs: fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2100, 0, 1) }),
    record: fc.integer({ min: 1, max: 2 ** 48 - 1 }),
    part: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 0xffff })),
  })
  const property = fc.property(fc.array(entry), (entries) => {
    const origins: Origin[] = entries.sort((a, b) => a.timeMs - b.timeMs)
    const read = decodeOrigins(Buffer.from(encodeOrigins(origins)), origins[0]?.timeMs ?? 0)
    return (
      JSON.stringify(read) === JSON.stringify(origins.map(({ timeMs, record, part }) => ({ timeMs, record, part })))
    )
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 4, numRuns: runs(100, 500) }))
})

t.test('ids are told apart, and parts belong to their record', async (t) => {
  const count = runs(20_000, 200_000)
  const hashes = new Set(Array.from({ length: count }, (_, number) => originHash(id(number), null).record))
  t.equal(hashes.size, count)
  const record = id(1)
  const part = originHash(`${record}-s3`, record)
  t.equal(part.record, originHash(record, null).record)
  t.equal(originHash(record, null).part, 0)
  t.not(part.part, 0)
  t.strictSame(originHash(`${record}-s3`, null), part, 'also when the parent is not named')
  t.not(originHash(`${record}-s4`, record).part, part.part)
  t.equal(originHash(id(2), record).part, 0, 'a parent of another name does not make it a part')
})

eachEngine(t, 'deleted records are gone', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const values = async (user: string) =>
    (await storedSamples(app.db, user)).map(({ type, value }) => `${type} ${value}`)
  const rates = (count: number, fields: (n: number) => SdkRecord) =>
    Array.from({ length: count }, (_, n) => heartRate(NOON + n * 60_000, 60 + n, fields(n)))

  await t.test('a sample, whatever its record is called, once', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([...rates(3, (n) => ({ id: id(n) })), steps(NOON, 10, { id: id(9) })]))
    const first = await importBody(app, user, deletions([{ id: id(1), type: HEART_RATE }, { id: id(9) }, { id: 'x' }]))
    t.match(first, { status: 'success', received: 3, deleted: 2, ignored_type: 1, inserted: 0 })
    t.strictSame(await values(user), ['heart_rate 60', 'heart_rate 62'])

    const before = await rowVersions(app.db, user)
    const again = await importBody(app, user, deletions([{ id: id(1) }, { id: id(1) }, { id: id(9) }], 'deletions'))
    t.match(again, { received: 3, deleted: 0, ignored_type: 2, duplicates: 1 })
    t.strictSame(await rowVersions(app.db, user), before, 'nothing is written for what is gone')

    const other = await createUser(app)
    await importBody(app, other, deletions([{ id: id(0), type: HEART_RATE }]))
    t.equal((await values(user)).length, 2, 'the ids of one user mean nothing to another')
    await importBody(app, user, deletions([{ id: id(0), type: 'HKQuantityTypeIdentifierStepCount' }]))
    t.equal((await values(user)).length, 2, 'the type has to fit')
  })

  await t.test('all parts of a record, or one', async (t) => {
    const user = await createUser(app)
    const part = (n: number) => ({ id: `${id(1)}-s${n}`, parentId: id(1) })
    await importBody(app, user, body([...rates(5, part), steps(NOON, 10, { id: id(2), parentId: null })]))
    t.match(await importBody(app, user, deletions([{ id: `${id(1)}-s3` }])), { deleted: 1 })
    t.strictSame(await values(user), ['heart_rate 60', 'steps 10', 'heart_rate 61', 'heart_rate 62', 'heart_rate 64'])
    t.match(await importBody(app, user, deletions([{ id: id(1) }])), { deleted: 1 })
    t.strictSame(await values(user), ['steps 10'])
  })

  await t.test('not what another record has taken the place of', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([heartRate(NOON, 60, { id: id(1) })]))
    await importBody(app, user, body([heartRate(NOON, 70, { id: id(2) })]))
    t.match(await importBody(app, user, deletions([{ id: id(1) }])), { deleted: 0, ignored_type: 1 })
    t.strictSame(await values(user), ['heart_rate 70'])
    t.match(await importBody(app, user, deletions([{ id: id(2) }])), { deleted: 1 })
    t.strictSame(await values(user), [])
  })

  await t.test('not what another record says as well', async (t) => {
    const user = await createUser(app)
    const same = (n: number) => heartRate(NOON, 60, { id: id(n) })
    await importBody(app, user, body([same(1)]))
    t.match(await importBody(app, user, body([same(2)])), { unchanged: 1 })
    t.match(await importBody(app, user, deletions([{ id: id(1) }])), { deleted: 1, ignored_type: 0 })
    t.strictSame(await values(user), ['heart_rate 60'])
    t.match(await importBody(app, user, deletions([{ id: id(1) }])), { deleted: 0, ignored_type: 1 }, 'once')
    const third = body([same(3)], { data: { records: [same(3)], deleted: [{ id: id(2) }] } })
    t.match(await importBody(app, user, third), { unchanged: 1, deleted: 1 }, 'also when both come in one upload')
    t.strictSame(await values(user), ['heart_rate 60'])
    t.match(await importBody(app, user, deletions([{ id: id(3) }])), { deleted: 1 })
    t.strictSame(await values(user), [])

    await importBody(app, user, body([same(4), same(5)]))
    t.match(await importBody(app, user, deletions([{ id: id(5) }])), { deleted: 1 })
    t.strictSame(await values(user), ['heart_rate 60'], 'nor what another record of the same upload says')
  })

  await t.test('not what a record without an id has changed', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([heartRate(NOON, 60, { id: id(1) })]))
    await importBody(app, user, body([heartRate(NOON, 70)]))
    t.match(await importBody(app, user, deletions([{ id: id(1) }])), { deleted: 0, ignored_type: 1 })
    t.strictSame(await values(user), ['heart_rate 70'])
  })

  await t.test('as a map of instants says, whatever was sent in whatever order', onceIsEnough(engine), async (t) => {
    const wrong: unknown[] = []
    const property = fc.asyncProperty(modelUploads, async (uploads) => {
      const user = await createUser(app)
      const model = new RecordModel()
      const known: number[] = []
      for (const { records, deleted } of uploads) {
        known.push(model.upload({ records, deleted }))
        const sent = records.map((one) =>
          heartRate(NOON + one.minute * 60_000, one.value, { id: one.id === null ? null : id(one.id) }),
        )
        const gone = deleted.map((one) => ({ id: id(one) }))
        const { status } = await upload(app, user, body(sent, { data: { records: sent, deleted: gone } }))
        if (status !== 202) throw new Error(`upload: ${status}`)
      }
      const batches = await waitForAll(app, user)
      const found = (await storedSamples(app.db, user)).map(
        ({ ts, value }) => `${(Date.parse(ts) - NOON) / 60_000} ${value}`,
      )
      const counted = batches.map((batch) => batch.deleted)
      if (`${found}` !== `${model.left()}` || `${counted}` !== `${known}`) {
        wrong.push({ uploads, found, expected: model.left(), counted, known })
        return false
      }
      return true
    })
    await fc.check(property, { seed: 20_261_122, numRuns: runs(6, 100) })
    t.strictSame(wrong.slice(-1), [])
  })

  await t.test('and the same records sent again leave no trace', async (t) => {
    const user = await createUser(app)
    const records = rates(300, (n) => ({ id: id(n) }))
    const lists = () =>
      app.db.query(
        `select o.xmin::text, o.seq from sample_origin o join data_source d on d.id = o.source_id
         where d.user_id = $1 order by o.seq`,
        [user],
      )
    await importBody(app, user, body(records))
    await importBody(app, user, body(records.map((one, n) => (n % 3 === 0 ? { ...one, id: id(n + 1000) } : one))))
    const before = [await rowVersions(app.db, user), await lists()]
    for (const again of [
      records.slice(100),
      records.toReversed(),
      rates(300, (n) => ({ id: id(n - (n % 3) + 1000) })),
    ]) {
      t.match(await importBody(app, user, body(again.filter((_, n) => n % 3 === 0))), { inserted: 0, updated: 0 })
    }
    t.strictSame([await rowVersions(app.db, user), await lists()], before)
  })

  await t.test('after what came in the same upload, and hourly reads follow', async (t) => {
    const user = await createUser(app)
    const records = rates(4, (n) => ({ id: id(n) }))
    await importBody(app, user, body(records, { data: { records, deleted: [{ id: id(0) }, { id: id(3) }] } }))
    t.strictSame(await values(user), ['heart_rate 61', 'heart_rate 62'])
    const path = `/api/v1/users/${user}/timeseries?start_time=${NOON / 1000}&end_time=${NOON / 1000 + 3600}&resolution=1hour`
    t.match((await app.request('GET', path)).body, { data: [{ value: 61.5 }], pagination: { total_count: 1 } })
  })

  await t.test('those of a series and day at once, which the rollups follow as one', async (t) => {
    const user = await createUser(app)
    const hourly = (of: typeof steps, from: number) =>
      Array.from({ length: 24 }, (_, n) => of(NOON + n * 3_600_000, 60, { id: id(from + n) }))
    await importBody(app, user, body([...hourly(heartRate, 0), ...hourly(steps, 100)]))
    const before = (await dirtyRanges(app.db, user)).length
    const gone = Array.from({ length: 24 }, (_, n) => [id(n), id(100 + n)]).flat()
    t.match(await importBody(app, user, deletions(gone.map((id) => ({ id })))), { deleted: 48 })
    t.strictSame(await values(user), [])
    t.strictSame(
      (await dirtyRanges(app.db, user))
        .slice(before)
        .map(({ type, lo, hi }) => `${type} ${lo} ${hi}`)
        .sort(),
      ['heart_rate', 'steps'].flatMap((type) => [
        `${type} 2026-02-24T12:00:00Z 2026-02-24T23:00:00Z`,
        `${type} 2026-02-25T00:00:00Z 2026-02-25T11:00:00Z`,
      ]),
    )
  })

  await t.test('as many as an upload holds, of as many sources as it may have', onceIsEnough(engine), async (t) => {
    const user = await createUser(app)
    const sources = Array.from({ length: MAX_SOURCES }, (_, n) =>
      heartRate(NOON + n, 60, { source: { name: `source ${n}` } }),
    )
    await importBody(app, user, body([...sources.slice(1), heartRate(NOON, 61, { id: id(7) })]))
    const many = Array.from({ length: MANY }, (_, n) => ({ id: id(n + 7) }))
    t.match(await importBody(app, user, deletions(many)), { status: 'success', deleted: 1, ignored_type: MANY - 1 })
  })

  await t.test('thousands of them, among very many samples', onceIsEnough(engine), async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body(rates(3, (n) => ({ id: id(n) }))))
    // As after hundreds of uploads of 2,000 samples: 22 seconds apart, with hashes of other ids.
    await app.db.query(
      `insert into sample_origin (source_id, series_id, lo, hi, ids)
       select d.id, 1, lo.at, lo.at + interval '12 hours', entries.ids
       from data_source d
       cross join generate_series(1, $2) n
       cross join lateral (select timestamptz '2020-01-01' + n * interval '12 hours') lo (at)
       cross join lateral (
         select string_agg('\\xe0d702'::bytea || substr(decode(md5(n || '-' || k), 'hex'), 1, 6), '') as ids
         from generate_series(1, 2000) k
       ) entries
       where d.user_id = $1`,
      [user, runs(50, 500)],
    )
    const count = runs(2_000, 10_000)
    const others = Array.from({ length: count }, (_, n) => ({ id: id(1000 + n), type: HEART_RATE }))
    const batch = await importBody(app, user, deletions([...others, { id: id(1), type: HEART_RATE }]))
    t.match(batch, { status: 'success', deleted: 1, ignored_type: count })
    t.strictSame(await values(user), ['heart_rate 60', 'heart_rate 62'])
  })

  await t.test('bad items cost nothing else', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body(rates(2, (n) => ({ id: id(n) }))))
    const batch = await importBody(app, user, deletions([null, 7, {}, { id: '' }, { id: 5 }, { id: id(0) }]))
    t.match(batch, { status: 'partial', received: 6, dropped_count: 5, deleted: 1 })
    t.strictSame(batch.dropped[3], {
      collection: 'deleted',
      index: 3,
      id: null,
      loc: ['data', 'deleted', 3, 'id'],
      type: 'missing',
      msg: 'Field required',
    })
    t.strictSame(await values(user), ['heart_rate 61'])
  })
})
