// Meals and menstrual cycles in the API: contract 5.5, 5.6.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { seriesByName } from '../../server/catalogue/series.ts'
import { allEvents } from '../support/event-lists.ts'
import { storedMeals } from '../support/events.ts'
import { body, createUser, heartRate, importBody, oneEngine, PHONE, sharedApp } from '../support/sdk.ts'

/** Amounts by type, in order of the types. */
const sorted = (amounts: Record<string, number>) => Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1))
const values = (nutrients: Record<string, { value: number }>) =>
  sorted(Object.fromEntries(Object.entries(nutrients).map(([type, { value }]) => [type, value])))

const NOON = Date.UTC(2026, 1, 24, 12)

const phone = {
  provider: 'apple',
  source: 'Phone of Ada',
  device: 'iPhone17,1',
  device_type: 'phone',
  device_name: 'iPhone 16 Pro',
}

oneEngine(t, 'meals and cycles', async (t, engine) => {
  const app = await sharedApp(engine)
  const userOfPhone = async () => {
    const user = await createUser(app)
    await importBody(app, user, body([heartRate(NOON, 60, { source: PHONE })]))
    return user
  }

  await t.test('are what phones sent', async (t) => {
    const user = await createUser(app)
    for (const name of ['nutrition-apple', 'nutrition-health-connect', 'menstrual-cycle-apple'])
      await importBody(app, user, await readFile(new URL(`../samples/${name}.json`, import.meta.url)))
    const stored = await storedMeals(app.db, user)
    t.ok(stored.length > 1)
    const shown = await allEvents(app, user, 'meals')
    const brief = (meal: unknown[]) => JSON.stringify(meal)
    t.strictSame(
      shown
        .map(({ name, meal_type, timestamp, source, nutrients }) =>
          brief([name, meal_type, timestamp, source.provider, source.source, values(nutrients)]),
        )
        .sort(),
      stored
        .map(({ title, meal_type, start_at, provider, source, nutrients }) =>
          brief([title, meal_type, start_at, provider, source, sorted(nutrients)]),
        )
        .sort(),
    )
    for (const { nutrients, calories_kcal, macros } of shown) {
      t.equal(calories_kcal, nutrients.dietary_energy_consumed?.value ?? null)
      t.equal(macros?.protein_g ?? null, nutrients.dietary_protein?.value ?? null)
      for (const [type, { unit }] of Object.entries<{ unit: string }>(nutrients))
        t.equal(unit, seriesByName.get(type)?.unit)
    }
    t.match(await allEvents(app, user, 'menstrual-cycles'), [
      { start_time: '2025-04-28T22:00:00Z', current_phase_type: 'menstrual', day_in_cycle: 2, zone_offset: '+02:00' },
      { start_time: '2025-03-31T22:00:00Z', cycle_length: 28, period_length: 5, source: { source: 'Health' } },
    ])
  })

  await t.test('a meal has its energy, macronutrients and water, and every nutrient with its unit', async (t) => {
    const user = await userOfPhone()
    const meals: [name: string | null, type: string | null, hours: number, zone: number | null, nutrients: object][] = [
      [
        'Chicken and rice',
        'lunch',
        12,
        60,
        { dietary_protein: 38.2, hydration: 250, dietary_energy_consumed: 550, dietary_sodium: 300 },
      ],
      ['Water', null, 15, null, { hydration: 0 }],
      [null, 'snack', 16, -180, {}],
      [
        'Celery',
        'snack',
        17,
        330,
        { dietary_energy_consumed: 0, dietary_fat_total: 0, dietary_fiber: 1.6, dietary_carbohydrates: 2 },
      ],
    ]
    for (const [index, [title, type, hours, zone, nutrients]] of meals.entries()) {
      await app.db.query(
        `insert into meal (user_id, source_id, provider, external_id, title, meal_type, start_at, end_at, zone_offset_min, nutrients)
         select $1, id, 'apple', $2, $3, $4, $5, $5, $6, $7 from data_source where user_id = $1`,
        [user, String(index), title, type, new Date(Date.UTC(2026, 1, 24, hours)).toISOString(), zone, nutrients],
      )
    }
    const shown = await allEvents(app, user, 'meals')
    t.strictSame(
      shown.map(({ id, ...meal }) => {
        t.match(id, /^[0-9a-f-]{36}$/)
        return meal
      }),
      [
        {
          timestamp: '2026-02-24T17:00:00Z',
          zone_offset: '+05:30',
          meal_type: 'snack',
          name: 'Celery',
          source: phone,
          calories_kcal: 0,
          macros: { protein_g: null, carbohydrates_g: 2, fat_g: 0, fiber_g: 1.6 },
          water_ml: null,
          nutrients: {
            dietary_energy_consumed: { value: 0, unit: 'kcal' },
            dietary_carbohydrates: { value: 2, unit: 'g' },
            dietary_fiber: { value: 1.6, unit: 'g' },
            dietary_fat_total: { value: 0, unit: 'g' },
          },
        },
        {
          timestamp: '2026-02-24T16:00:00Z',
          zone_offset: '-03:00',
          meal_type: 'snack',
          name: null,
          source: phone,
          calories_kcal: null,
          macros: null,
          water_ml: null,
          nutrients: {},
        },
        {
          timestamp: '2026-02-24T15:00:00Z',
          zone_offset: null,
          meal_type: null,
          name: 'Water',
          source: phone,
          calories_kcal: null,
          macros: null,
          water_ml: 0,
          nutrients: { hydration: { value: 0, unit: 'mL' } },
        },
        {
          timestamp: '2026-02-24T12:00:00Z',
          zone_offset: '+01:00',
          meal_type: 'lunch',
          name: 'Chicken and rice',
          source: phone,
          calories_kcal: 550,
          macros: { protein_g: 38.2, carbohydrates_g: null, fat_g: null, fiber_g: null },
          water_ml: 250,
          nutrients: {
            dietary_energy_consumed: { value: 550, unit: 'kcal' },
            dietary_protein: { value: 38.2, unit: 'g' },
            dietary_sodium: { value: 300, unit: 'mg' },
            hydration: { value: 250, unit: 'mL' },
          },
        },
      ],
    )
    t.strictSame(Object.keys(shown[3].nutrients)[0], 'dietary_energy_consumed', 'in the order of the types')
    t.equal((await allEvents(app, user, 'meals', { source: 'Phone of Ada' })).length, 4)
    t.strictSame(await allEvents(app, user, 'meals', { provider: 'samsung' }), [])
  })

  await t.test('a cycle has everything that is known of it', async (t) => {
    const user = await userOfPhone()
    await app.db.query(
      `insert into menstrual_cycle (
         user_id, source_id, provider, external_id, start_at, end_at, zone_offset_min, current_phase, current_phase_type,
         day_in_cycle, cycle_length, predicted_cycle_length, period_length, length_of_current_phase,
         days_until_next_phase, fertile_window_start, length_of_fertile_window, is_predicted_cycle,
         has_specified_cycle_length, has_specified_period_length, last_updated_at, pregnancy_snapshot)
       select $1, id, 'apple', '1', timestamptz '2026-02-09 23:00Z', timestamptz '2026-03-09 23:00Z', 60, 2, 'follicular', 9, 28, 27, 5, 8, 4, 11, 6, false,
              true, false, timestamptz '2026-02-18 07:00:00.25Z', $2::jsonb
       from data_source where user_id = $1
       union all
       select $1, id, 'apple', '2', '2026-01-13 00:00Z', '2026-02-09 23:00Z', null, null, null, null, null, null, null, null, null,
              null, null, null, null, null, null, null
       from data_source where user_id = $1`,
      [user, JSON.stringify([{ due_date: '2026-11-17' }])],
    )
    const [{ id, ...cycle }, before] = await allEvents(app, user, 'menstrual-cycles')
    t.match(id, /^[0-9a-f-]{36}$/)
    t.strictSame(cycle, {
      start_time: '2026-02-09T23:00:00Z',
      end_time: '2026-03-09T23:00:00Z',
      zone_offset: '+01:00',
      source: phone,
      current_phase: 2,
      current_phase_type: 'follicular',
      day_in_cycle: 9,
      cycle_length: 28,
      predicted_cycle_length: 27,
      is_predicted_cycle: false,
      period_length: 5,
      length_of_current_phase: 8,
      days_until_next_phase: 4,
      fertile_window_start: 11,
      length_of_fertile_window: 6,
      last_updated_at: '2026-02-18T07:00:00.250000Z',
      has_specified_cycle_length: true,
      has_specified_period_length: false,
      pregnancy_snapshot: [{ due_date: '2026-11-17' }],
    })
    const { id: _, start_time, end_time, source, ...unknown } = before
    t.strictSame([start_time, end_time, source], ['2026-01-13T00:00:00Z', '2026-02-09T23:00:00Z', phone])
    t.ok(
      Object.values(unknown).every((value) => value === null),
      'what is not known is null',
    )
    t.equal(Object.keys(unknown).length, Object.keys(cycle).length - 3)
    t.equal(
      (await allEvents(app, user, 'menstrual-cycles', { start_date: '2026-02-01', end_date: '2026-02-28' })).length,
      1,
      'a cycle belongs to the range it starts in',
    )
  })
})
