// Imports in the order of arrival, whatever runs at the same time: the last write wins, every sample is one row.
import fc from 'fast-check'
import t from 'tap'
import { errors } from '../../../server/errors.ts'
import { createHandover } from '../../../server/intake/uploads/handover.ts'
import { startTestApp } from '../../support/app.ts'
import {
  accounted,
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  importerOf,
  onceIsEnough,
  PHONE,
  record,
  type SdkRecord,
  startImports,
  steps,
  storedSamples,
  upload,
  waitForAll,
  waitForBatch,
} from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const DAY_MS = 86_400_000
/** More than one job imports. */
const MANY_UPLOADS = runs(30, 60)

eachEngine(t, 'imports', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const values = async (user: string) => (await storedSamples(app.db, user)).map(({ value }) => value)
  const queue = async (user: string, ...uploads: SdkRecord[][]) => {
    for (const records of uploads) {
      const { status } = await upload(app, user, body(records))
      if (status !== 202) throw new Error(`upload: ${status}`)
    }
  }

  /** As in a process that did not accept the uploads. */
  const nothing = createHandover(0)

  const batchNow = async (user: string, batch: string) =>
    (await app.request('GET', `/api/v1/sdk/users/${user}/sync/batches/${batch}`)).body

  // Queued before anything is imported.
  const four = await createUser(app)
  await queue(four, [heartRate(NOON, 60)], [heartRate(NOON, 61)], [heartRate(NOON, 62)], [heartRate(NOON, 60)])
  const many = await createUser(app)
  await queue(
    many,
    ...Array.from({ length: MANY_UPLOADS }, (_, n) => [heartRate(NOON, n), heartRate(NOON + n * 1000, n)]),
  )
  const deleted = await createUser(app)
  await queue(deleted, [heartRate(NOON, 1)], [heartRate(NOON, 2)])
  await app.request('DELETE', `/api/v1/users/${deleted}`, { auth: 'developer' })
  const few = await createUser(app)
  await queue(few, [heartRate(NOON, 77)])

  await t.test('set an upload aside that fails for a reason of its own, and go on', onceIsEnough(engine), async (t) => {
    const user = await createUser(app)
    await queue(user, [heartRate(NOON, 60)], [heartRate(NOON, 61)])
    const [bad, good] = (await app.request('GET', `/api/v1/sdk/users/${user}/sync/batches`)).body.reverse()
    const spoil = `update upload_body b set body = set_byte(b.body, 3, 255 - get_byte(b.body, 3)) from upload u
                   where u.id = $1 and b.user_id = u.user_id and b.sha256 = u.sha256`
    await app.db.query(spoil, [bad.batch_id])
    const error = t.capture(app.deps.log, 'error')
    const importer = importerOf(app, { handover: nothing })
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      t.match(await batchNow(user, bad.batch_id), { status: 'queued' }, `attempt ${attempt}`)
      await t.rejects(importer.importUploads(user))
    }
    t.equal(await importer.importUploads(user), false)
    const batch = await waitForBatch(app, user, bad.batch_id)
    t.match(batch, { status: 'failed', received: 1, inserted: 0, error: /could not be imported.*kept/ })
    t.match(await waitForBatch(app, user, good.batch_id), { status: 'success', inserted: 1 })
    t.strictSame(await values(user), [61])
    t.equal(error().length, 5, 'the operator is told')
    t.match((await app.request('GET', `/api/v1/sync/history/${bad.run_id}`)).body, { status: 'failed', error: /kept/ })

    await app.db.query(spoil, [bad.batch_id])
    const again = `/api/v1/sdk/users/${user}/sync/batches/${bad.batch_id}/import`
    const { batch_id: retried } = (await app.request('POST', again)).body
    t.equal(await importer.importUploads(user), false)
    t.match(await waitForBatch(app, user, retried), { status: 'success', updated: 1 }, 'from the stored body')
    t.strictSame(await values(user), [60])
  })

  await t.test('do not blame an upload for what is not its fault', onceIsEnough(engine), async (t) => {
    const user = await createUser(app)
    await queue(user, [heartRate(NOON, 60)])
    // A stored body has to be read again while all threads are busy.
    const threads = { ...app.threads(), readUpload: () => Promise.reject(errors.overloaded('Too many uploads.', 5)) }
    const busy = importerOf(app, { threads, handover: nothing })
    for (let attempt = 1; attempt <= 7; attempt += 1) await t.rejects(busy.importUploads(user))
    const importer = importerOf(app, { handover: nothing })
    t.equal(await importer.importUploads(user), false)
    t.strictSame(await values(user), [60])
  })

  await startImports(t, app)

  await t.test('keep the order of arrival, however many wait', onceIsEnough(engine), async (t) => {
    const batches = await waitForAll(app, four)
    t.match(batches, [{ inserted: 1 }, { updated: 1 }, { updated: 1 }, { updated: 1 }])
    t.strictSame(await values(four), [60])
    t.equal((await waitForAll(app, many)).length, MANY_UPLOADS)
    t.strictSame(await values(many), [MANY_UPLOADS - 1, ...Array.from({ length: MANY_UPLOADS - 1 }, (_, n) => n + 1)])
  })

  await t.test('give every user a turn', onceIsEnough(engine), async (t) => {
    const finished = await app.db.query<{ user_id: string }>(
      `select user_id from upload where user_id = any ($1) order by finished_at desc limit 1`,
      [[many, few]],
    )
    t.equal(finished[0]?.user_id, many, 'one upload did not wait for all those of somebody else')
    t.strictSame(await values(few), [77])
    t.strictSame(await values(deleted), [])
  })

  await t.test('let the last upload win, also when its bytes came before', async (t) => {
    const user = await createUser(app)
    for (const [value, counts] of [
      [60, { inserted: 1 }],
      [61, { updated: 1 }],
      [60, { updated: 1 }],
      [60, { unchanged: 1 }],
      [61, { updated: 1 }],
    ] as const) {
      t.match(await importBody(app, user, body([heartRate(NOON, value)])), counts)
      t.strictSame(await values(user), [value])
    }
    t.match(await importBody(app, user, body([heartRate(NOON, 61, { zoneOffset: '+01:00' })])), { updated: 1 })
    t.match(await importBody(app, user, body([heartRate(NOON, 61)])), { unchanged: 1 }, 'its zone is known by now')
    const twice = body([heartRate(NOON, 5), heartRate(NOON, 6), heartRate(NOON - 1000, 1), heartRate(NOON, 7)])
    t.match(await importBody(app, user, twice), { inserted: 1, updated: 1, duplicates: 2 })
    t.strictSame(await values(user), [1, 7], 'and the last record within an upload')
  })

  await t.test('keep better facts about a source', onceIsEnough(engine), async (t) => {
    const user = await createUser(app)
    const from = (source: object) => heartRate(NOON, 60, { source: { name: 'Strap', ...source } })
    const sources = async () =>
      (await app.request('GET', `/api/v1/users/${user}/data-sources`)).body.items.map(
        ({ device_type, software_version }: Record<string, string>) => [device_type, software_version],
      )
    await importBody(app, user, body([from({})]))
    t.strictSame(await sources(), [['unknown', null]])
    await importBody(app, user, body([from({ deviceType: 'chest_strap', deviceSoftwareVersion: '1.0' })]))
    t.strictSame(await sources(), [['chest_strap', '1.0']])
    await importBody(app, user, body([from({ deviceType: 'unknown' })]))
    t.strictSame(await sources(), [['chest_strap', '1.0']], 'nothing is forgotten')
    await importBody(
      app,
      user,
      body([from({ operatingSystemVersion: { majorVersion: 2, minorVersion: 1, patchVersion: 0 } })]),
    )
    t.strictSame(await sources(), [['chest_strap', '2.1.0']])

    const other = await createUser(app)
    await importBody(app, other, body([from({ deviceType: 'chest_strap' }), from({}), from({ deviceType: 'unknown' })]))
    const { items } = (await app.request('GET', `/api/v1/users/${other}/data-sources`)).body
    t.match(items, [{ device_type: 'chest_strap' }], 'within one upload, too')
  })

  await t.test('merge any mixture of new, changed and known samples', async (t) => {
    // Compared with a map: dense and sparse overlaps, several series and sources, in and out of order.
    const item = fc.noBias(
      fc.record({
        minute: fc.oneof(fc.nat(40), fc.nat(1_000_000)),
        value: fc.nat(3),
        type: fc.constantFrom('HeartRate', 'StepCount'),
        phone: fc.boolean(),
        // What comes without one takes the only one there is, once it is known.
        zone: fc.constantFrom(null, '+02:00'),
      }),
    )
    const uploads = fc.array(fc.array(item, { maxLength: 120, size: 'max' }), { minLength: 2, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(uploads, async (uploads) => {
        const user = await createUser(app)
        const rows = new Map<string, [value: number, zone: number | null]>()
        let isKnown = false
        const counts = { inserted: 0, updated: 0, unchanged: 0 }
        for (const records of uploads) {
          const before = new Map(rows)
          isKnown ||= records.some(({ zone }) => zone !== null)
          for (const { minute, value, type, phone } of records) {
            rows.set(`${minute} ${type} ${phone}`, [value, isKnown ? 120 : null])
          }
          for (const key of new Set(records.map(({ minute, type, phone }) => `${minute} ${type} ${phone}`))) {
            const known = before.get(key)
            if (!known) counts.inserted += 1
            else if (String(known) === String(rows.get(key))) counts.unchanged += 1
            else counts.updated += 1
          }
          const content = records.map(({ minute, value, type, phone, zone }) =>
            record(`HKQuantityTypeIdentifier${type}`, NOON - minute * 60_000, value, {
              zoneOffset: zone,
              ...(phone && { source: PHONE }),
            }),
          )
          await upload(app, user, body(content))
        }
        const batches = await waitForAll(app, user)
        const found = (await storedSamples(app.db, user)).map(
          ({ ts, type, device, value, zone }) =>
            `${(NOON - Date.parse(ts)) / 60_000} ${type} ${device.startsWith('iPhone')} ${value} ${zone}`,
        )
        const names: Record<string, string> = { HeartRate: 'heart_rate', StepCount: 'steps' }
        const expected = [...rows].map(([key, [value, zone]]) => {
          const [minute, type = '', phone] = key.split(' ')
          return `${minute} ${names[type]} ${phone} ${value} ${zone}`
        })
        t.strictSame(found.sort(), expected.sort())
        for (const name of ['inserted', 'updated', 'unchanged'] as const) {
          t.equal(
            batches.reduce((sum, batch) => sum + batch[name], 0),
            counts[name],
            name,
          )
        }
      }),
      { numRuns: runs(2, 8), seed: 20_260_224 },
    )
  })

  await t.test('at the same time end in one row each', async (t) => {
    // A second service on the same database, with its own jobs.
    const another = await app.another()
    await startImports(t, another)
    const users = await Promise.all(Array.from({ length: runs(2, 4) }, () => createUser(app)))
    const records = (n: number) => [
      ...Array.from({ length: 100 }, (_, k) => heartRate(NOON + k * 1000, n)),
      ...Array.from({ length: 100 }, (_, k) => steps(NOON + ((k * 37) % 100) * 1000, n, { source: PHONE })),
      heartRate(NOON - n * DAY_MS, n),
    ]
    await Promise.all(
      users.flatMap((user) =>
        Array.from({ length: 10 }, async (_, n) => {
          const { status } = await upload(n % 2 ? app : another, user, body(records(n)))
          t.equal(status, 202)
        }),
      ),
    )
    for (const user of users) {
      const batches = await waitForAll(app, user)
      t.equal(batches.length, 10)
      for (const batch of batches) {
        t.match(batch, { status: 'success', received: 201 })
        t.equal(accounted(batch), 201)
      }
      const samples = await storedSamples(app.db, user)
      t.equal(samples.length, 209)
      t.equal(
        batches.reduce((sum, { inserted }) => sum + inserted, 0),
        209,
      )
      const last = new Set(samples.filter(({ ts }) => Date.parse(ts) > NOON).map(({ value }) => value))
      t.equal(last.size, 1, 'all of the upload that came last')
      const [failures] = await app.db.query<{ attempts: number }>(
        'select max(attempts) as attempts from upload where user_id = $1',
        [user],
      )
      t.equal(failures?.attempts, 0)
    }
    const failed = await app.db.query('select last_error from graphile_worker.jobs where last_error is not null')
    t.strictSame(failed, [], 'no job had to be repeated')
  })
})
