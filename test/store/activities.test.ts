// Sessions that are neither workout nor sleep, through uploads: sdk-types 3.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { deleteActivities } from '../../server/store/activities.ts'
import { startTestApp } from '../support/app.ts'
import { eventVersions, storedActivities } from '../support/events.ts'
import {
  body,
  createUser,
  importBody,
  iso,
  MANY,
  oneEngine,
  PHONE,
  record,
  rowVersions,
  type SdkRecord,
  sharedApp,
  startImports,
  storedSamples,
} from '../support/sdk.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const MINUTE_MS = 60_000

/** A mindful session from one minute after noon to another. */
const mindful = (id: string | null, from: number, to: number, fields: SdkRecord = {}) =>
  record('HKCategoryTypeIdentifierMindfulSession', NOON, 0, {
    id,
    startDate: iso(NOON + from * MINUTE_MS),
    endDate: iso(NOON + to * MINUTE_MS),
    ...fields,
  })

const nothing = { inserted: 0, updated: 0, unchanged: 0, duplicates: 0, ignored_type: 0, dropped_count: 0 }

oneEngine(t, 'a mindful session is stored beside the samples of its upload', async (t, engine) => {
  const app = await sharedApp(engine)
  const content = await readFile(new URL('../samples/apple-heart-rate-batch.json', import.meta.url), 'utf8')
  const user = await createUser(app)
  const first = await importBody(app, user, content)
  t.match(first, { ...nothing, status: 'success', received: 23, inserted: 23 })
  t.strictSame(first.saved, { activity: { inserted: 1, updated: 0, unchanged: 0 } })
  t.equal((await storedSamples(app.db, user)).length, 22)
  t.strictSame(await storedActivities(app.db, user), [
    {
      external_id: 'CA4152FE-6CDD-46B7-BBE8-FDE30204524D',
      source: 'Ana’s Apple Watch',
      type: 'meditation',
      start_at: '2025-05-06T05:40:00Z',
      end_at: '2025-05-06T05:45:00Z',
      zone: 120,
    },
  ])
  const versions = [await eventVersions(app.db, user), await rowVersions(app.db, user)]
  t.match(await importBody(app, user, content), { ...nothing, unchanged: 23 })
  t.strictSame([await eventVersions(app.db, user), await rowVersions(app.db, user)], versions, 'nothing is written')
})

oneEngine(t, 'a session that comes again with other times is the same one', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const rows = () =>
    app.db.query<{ id: string; external_id: string | null; start: number; end: number }>(
      `select id, external_id, (date_part('epoch', start_at) / 60 - $2)::int4 as start,
              (date_part('epoch', end_at) / 60 - $2)::int4 as end
       from activity where user_id = $1 order by start_at, end_at`,
      [user, NOON / MINUTE_MS],
    )
  await importBody(app, user, body([mindful('a', 0, 5), mindful('b', 10, 15), mindful(null, 20, 25)]))
  const [a, b, c] = await rows()
  t.match([a, b, c], [{ external_id: 'a' }, { external_id: 'b' }, { external_id: null }])

  t.match(await importBody(app, user, body([mindful('a', 0, 7)])), { ...nothing, updated: 1 })
  t.strictSame(await rows(), [{ ...a, end: 7 }, b, c])
  // Each moves to the time of the other.
  t.match(await importBody(app, user, body([mindful('a', 10, 15), mindful('b', 0, 7)])), { ...nothing, updated: 2 })
  t.strictSame(await rows(), [{ ...b, start: 0, end: 7 }, { ...a, start: 10, end: 15 }, c])
  t.match(await importBody(app, user, body([mindful('c', 20, 25)])), { ...nothing, unchanged: 1 }, 'it has an id now')
  t.match(await importBody(app, user, body([mindful(null, 20, 25)])), { ...nothing, unchanged: 1 }, 'and keeps it')
  t.match(await importBody(app, user, body([mindful('c', 20, 25, { zoneOffset: '+02:00' })])), {
    ...nothing,
    updated: 1,
  })
  t.strictSame((await rows()).at(-1), { ...c, external_id: 'c' })
  t.match(await importBody(app, user, body([mindful('b', 20, 25)])), { ...nothing, updated: 1 }, 'two become one')
  t.equal((await rows()).length, 2)
  const phone = body([mindful('b', 20, 25, { source: PHONE })])
  t.match(await importBody(app, user, phone), { ...nothing, inserted: 1 }, 'and two again: the other id stayed')
  t.match(await rows(), [{ external_id: 'a' }, {}, {}])
  t.match(await importBody(app, user, body([], { data: { deleted: [{ id: 'c' }] } })), { deleted: 1 })
  t.match(await storedActivities(app.db, user), [{ external_id: 'a' }, { external_id: 'b', source: 'Phone of Ada' }])

  const same = [mindful('d', 30, 31), mindful('d', 30, 32), mindful('e', 30, 32)]
  t.match(await importBody(app, user, body(same)), { ...nothing, inserted: 1, duplicates: 2 })
  const bad = [mindful('f', 5, 4), mindful('g', -1441, 0)]
  t.match(await importBody(app, user, body(bad)), { ...nothing, status: 'failed', dropped_count: 2 })

  const target = { userId: user, provider: 'apple' }
  const remove = (provider: string, ...ids: string[]) =>
    app.db.transaction((tx) => deleteActivities(tx, { ...target, provider }, ids))
  t.strictSame(await remove('samsung', 'a'), [])
  t.strictSame(await remove('apple', 'a', 'e', 'unknown'), ['a', 'e'])
  t.match(await rows(), [{ external_id: 'b' }, { external_id: 'd' }], 'what has another id stays')
  t.strictSame(await remove('apple', 'd'), ['d'])
  t.match(await rows(), [{ external_id: 'b' }])
})

oneEngine(t, 'many sessions are read, again and again', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const many = Array.from({ length: MANY }, (_, n) => mindful(`s${n}`, -10 * n, 5 - 10 * n))
  t.match(await importBody(app, user, body(many)), { ...nothing, inserted: MANY })
  t.match(await importBody(app, user, body(many)), { ...nothing, unchanged: MANY })
  const moved = many.map((item) => ({ ...item, source: PHONE }))
  t.match(await importBody(app, user, body(moved)), { ...nothing, updated: MANY })
  t.equal((await storedActivities(app.db, user)).length, MANY)
})
