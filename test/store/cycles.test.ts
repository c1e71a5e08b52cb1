// Menstrual cycles through uploads: sdk-types 3 and 9, sdk-payload 15.
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import { deleteCycleObservations } from '../../server/store/cycles.ts'
import { startTestApp } from '../support/app.ts'
import { eventVersions, sampleLine, storedCycles } from '../support/events.ts'
import {
  accounted,
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
import { runs } from '../support/thorough.ts'

const DAY_MS = 86_400_000
const APRIL = Date.UTC(2025, 3, 1, 10)

const flow = (day: number, fields: SdkRecord = {}) =>
  record('HKCategoryTypeIdentifierMenstrualFlow', APRIL + (day - 1) * DAY_MS, 3, { id: `flow ${day}`, ...fields })

const nothing = { inserted: 0, updated: 0, unchanged: 0, duplicates: 0, ignored_type: 0, dropped_count: 0 }

oneEngine(t, 'cycles follow from what the phone sends', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const content = JSON.parse(
    await readFile(new URL('../samples/menstrual-cycle-apple.json', import.meta.url), 'utf8'),
  ) as { data: { records: SdkRecord[] } }
  const user = await createUser(app)
  const womensHealth = async () => (await app.request('GET', `/api/v1/users/${user}`)).body.has_womens_health_data
  t.equal(await womensHealth(), false)
  const first = await importBody(app, user, content)
  t.match(first, { ...nothing, status: 'success', received: 12, inserted: 11, ignored_type: 1 })
  t.strictSame(first.saved, { menstrual_cycle: { inserted: 10, updated: 0, unchanged: 0 } })
  t.equal(await womensHealth(), true)
  const unknown = {
    ...{ current_phase: null, length_of_current_phase: null, days_until_next_phase: null, fertile_window_start: null },
    ...{ length_of_fertile_window: null, has_specified_cycle_length: null, has_specified_period_length: null },
    pregnancy_snapshot: null,
    given: false,
    answered_at: null,
  }
  const common = { ...unknown, provider: 'apple', source: 'Health', zone_offset_min: 120, cycle_length: 28 }
  t.strictSame(await storedCycles(app.db, user), [
    {
      cycle: {
        ...common,
        external_id: 'cycle-apple-2025-04-01',
        current_phase_type: 'ovulatory',
        day_in_cycle: 14,
        period_length: 5,
        predicted_cycle_length: null,
        is_predicted_cycle: false,
      },
      start_at: '2025-03-31T22:00:00Z',
      end_at: '2025-04-28T22:00:00Z',
      last_updated_at: '2025-04-14T08:00:00Z',
    },
    {
      cycle: {
        ...common,
        external_id: 'cycle-apple-2025-04-29',
        current_phase_type: 'menstrual',
        day_in_cycle: 2,
        period_length: 2,
        predicted_cycle_length: 28,
        is_predicted_cycle: true,
      },
      start_at: '2025-04-28T22:00:00Z',
      end_at: '2025-04-30T22:00:00Z',
      last_updated_at: '2025-04-30T10:00:00Z',
    },
  ])
  t.strictSame((await storedSamples(app.db, user)).map(sampleLine), ['2025-04-15T05:30:00Z body_temperature 36.62 120'])
  const everything = await app.db.query('select to_jsonb(o)::text as row from cycle_observation o')
  t.notMatch(JSON.stringify(everything), /2025-04-12/, 'sexual activity is not stored')

  const versions = [await eventVersions(app.db, user), await rowVersions(app.db, user)]
  t.match(await importBody(app, user, content), { ...nothing, unchanged: 11, ignored_type: 1 })
  t.strictSame([await eventVersions(app.db, user), await rowVersions(app.db, user)], versions, 'nothing is written')

  // The same in any order, one after the other.
  const expected = await storedCycles(app.db, user)
  const order = fc.shuffledSubarray(content.data.records, { minLength: content.data.records.length })
  const property = fc.asyncProperty(order, fc.nat(11), async (records, cut) => {
    const other = await createUser(app)
    for (const part of [records.slice(cut), records.slice(0, cut), records]) {
      const batch = await importBody(app, other, body(part))
      if (accounted(batch) !== part.length) throw new Error(JSON.stringify(batch))
    }
    t.strictSame(await storedCycles(app.db, other), expected)
  })
  await fc.assert(property, { seed: 5, numRuns: runs(2, 8) })
})

oneEngine(t, 'cycles of Android follow from flow, periods and tests', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const android = (records: SdkRecord[]) => body(records, { provider: 'health_connect' })
  const at = (day: number) => APRIL + (day - 1) * DAY_MS
  const batch = await importBody(
    app,
    user,
    android([
      record('MENSTRUATION_PERIOD', at(1), null, { id: 'p', endDate: iso(at(4)), zoneOffset: '-05:00' }),
      record('MENSTRUATION_FLOW', at(2), 7, { zoneOffset: '-05:00' }),
      record('MENSTRUATION_FLOW', at(28), 1, { source: PHONE }),
      record('OVULATION_TEST', at(40), 1),
      record('CERVICAL_MUCUS', at(41), 6),
      record('INTERMENSTRUAL_BLEEDING', at(42), 1),
      record('SEXUAL_ACTIVITY', at(42), 1),
      record('MENSTRUATION_PERIOD', at(70), 1, { endDate: iso(at(69)) }),
    ]),
  )
  t.match(batch, { ...nothing, inserted: 6, ignored_type: 1, dropped_count: 1 })
  t.match(await storedCycles(app.db, user), [
    {
      cycle: {
        external_id: 'cycle-health_connect-2025-04-01',
        period_length: 4,
        cycle_length: 27,
        source: 'Watch of Ada',
      },
      start_at: '2025-04-01T05:00:00Z',
      end_at: '2025-04-28T05:00:00Z',
    },
    {
      cycle: {
        external_id: 'cycle-health_connect-2025-04-28',
        source: 'Phone of Ada',
        period_length: 1,
        day_in_cycle: 15,
        current_phase_type: 'luteal',
        // The nearest zone that is known.
        zone_offset_min: -300,
      },
      start_at: '2025-04-28T05:00:00Z',
      end_at: '2025-04-29T05:00:00Z',
    },
  ])
  await importBody(app, user, body([flow(10)]))
  t.equal((await storedCycles(app.db, user)).length, 3, 'another provider has cycles of its own')
})

oneEngine(t, 'a cycle stays the same row while it grows, and goes with its days', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const rows = () =>
    app.db.query<{ id: string; external_id: string; period_length: number }>(
      'select id, external_id, period_length from menstrual_cycle where user_id = $1 order by start_at',
      [user],
    )
  const removeFrom = (provider: string, ids: string[]) =>
    app.db.transaction(async (tx) => (await deleteCycleObservations(tx, { userId: user, provider }, ids)).found)
  const remove = (...ids: string[]) => removeFrom('apple', ids)

  await importBody(app, user, body([flow(2), flow(3), flow(30)]))
  const [first, second] = await rows()
  t.match(await importBody(app, user, body([flow(1), flow(4)])), { inserted: 2 })
  t.strictSame(await rows(), [{ id: first?.id, external_id: 'cycle-apple-2025-04-01', period_length: 4 }, second])

  const moved = flow(4, { startDate: iso(APRIL + 4 * DAY_MS), endDate: iso(APRIL + 4 * DAY_MS) })
  t.match(await importBody(app, user, body([moved])), { inserted: 0, updated: 1 }, 'the same record on another day')
  t.match(await rows(), [{ id: first?.id, period_length: 5 }, {}])
  t.match(await importBody(app, user, body([{ ...moved, value: 5 }])), { updated: 1 }, 'not flow after all')
  t.match(await rows(), [{ id: first?.id, period_length: 3 }, {}])
  t.match(await importBody(app, user, body([flow(3, { id: 'again' }), flow(3)])), {
    duplicates: 1,
    updated: 0,
    unchanged: 1,
  })

  t.strictSame(await remove('unknown'), [])
  t.strictSame(await remove('flow 1', 'flow 30'), ['flow 1', 'flow 30'])
  t.strictSame(await rows(), [{ id: first?.id, external_id: 'cycle-apple-2025-04-02', period_length: 2 }])
  t.strictSame(await removeFrom('x', ['flow 2']), [])
  t.strictSame(await remove('flow 2', 'flow 3', 'flow 4'), ['flow 2', 'flow 3', 'flow 4'])
  t.match(await rows(), [{ id: first?.id, period_length: 1 }], 'the third day was sent under two ids')
  t.strictSame(await remove('again'), ['again'])
  t.strictSame(await rows(), [])
  t.equal((await app.request('GET', `/api/v1/users/${user}`)).body.has_womens_health_data, false)
})

oneEngine(t, 'many observations are read, again and again', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const many = Array.from({ length: MANY }, (_, n) => {
    const at = iso(APRIL - n * 6 * 3_600_000)
    return flow(n, { startDate: at, endDate: at, value: n % 100 < 20 ? 2 : 5 })
  })
  t.match(await importBody(app, user, body(many)), { ...nothing, inserted: MANY })
  t.match(await importBody(app, user, body(many)), { ...nothing, unchanged: MANY })
  const moved = many.map((item) => ({ ...item, startDate: item.endDate, source: PHONE }))
  t.match(await importBody(app, user, body(moved)), { ...nothing, updated: MANY })
  const cycles = await storedCycles(app.db, user)
  t.equal(cycles.length, MANY / 100)
  t.match(cycles.at(-2), { cycle: { cycle_length: 25, period_length: 6, source: 'Phone of Ada' } })
})
