// Meals and their nutrients, in any order and number of uploads: sdk-types 5 and 6, sdk-payload 15.
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import { appleRecords } from '../../server/providers/apple/records.ts'
import { androidRecords } from '../../server/providers/health_connect/records.ts'
import { isNutrient, type RecordKind } from '../../server/providers/sdk.ts'
import { deleteMeals } from '../../server/store/meals.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { eventVersions, type StoredMeal, sampleLine, storedMeals } from '../support/events.ts'
import { connectedUser, write } from '../support/given.ts'
import { batchOf } from '../support/parcels.ts'
import {
  accounted,
  body,
  createUser,
  dirtyRanges,
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
  WATCH,
} from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const HOUR_MS = 3_600_000

const sampleBody = async (name: string) =>
  JSON.parse(await readFile(new URL(`../samples/${name}.json`, import.meta.url), 'utf8'))

const meal = (id: string | null, fields: SdkRecord = {}) =>
  record('HKCorrelationTypeIdentifierFood', NOON, 1, { id, ...fields })

const child = (parentId: string | null, id: string | null, tail: string, value: number, fields: SdkRecord = {}) =>
  record(`HKQuantityTypeIdentifierDietary${tail}`, NOON, value, { id, parentId, ...fields })

const nothing = { inserted: 0, updated: 0, unchanged: 0, duplicates: 0, ignored_type: 0, dropped_count: 0 }

/** Amounts of every meal by its id. */
const amounts = (meals: readonly StoredMeal[]) =>
  Object.fromEntries(meals.map(({ external_id, nutrients }) => [external_id, nutrients]))

const eaten = async (app: TestApp, user: string) => ({
  meals: amounts(await storedMeals(app.db, user)),
  samples: (await storedSamples(app.db, user)).map(sampleLine).sort(),
})

oneEngine(t, 'meals of both platforms are stored with what was eaten', async (t, engine) => {
  const app = await sharedApp(engine)
  const apple = { provider: 'apple', source: 'MyFitnessPal', meal_type: 'breakfast', zone: null }
  const noon = { start_at: '2025-05-06T10:30:00Z', end_at: '2025-05-06T10:30:00Z' }
  const cases: { name: string; meals: StoredMeal[]; samples: string[]; items: number; saved: number }[] = [
    {
      name: 'nutrition-apple',
      items: 18,
      // Two meals, their twelve nutrients, and one whose meal is missing.
      saved: 15,
      meals: [
        {
          ...{ ...apple, ...noon, external_id: '18E3F8FB-CFC1-4483-8D4B-AA3C248BA95A', title: 'Greek yogurt, 170 g' },
          nutrients: {
            dietary_energy_consumed: 146,
            dietary_protein: 17.3,
            dietary_carbohydrates: 7.9,
            dietary_fat_total: 4.2,
            dietary_fiber: 0,
            dietary_sugar: 6.1,
            dietary_sodium: 61,
            dietary_calcium: 187,
            dietary_vitamin_b12: 1.28,
          },
        },
        {
          ...{ ...apple, ...noon, external_id: 'E7D326BC-29DF-485B-A4D5-D99AC5D41E0E', title: 'Banana' },
          nutrients: { dietary_energy_consumed: 105, dietary_carbohydrates: 27, dietary_potassium: 422 },
        },
      ],
      samples: [
        '2025-05-06T07:15:00Z dietary_caffeine 95 -',
        '2025-05-06T07:20:00Z hydration 350 -',
        '2025-05-06T10:30:00Z heart_rate 71 -',
        '2025-05-06T13:00:00Z dietary_protein 9 -',
      ],
    },
    {
      name: 'nutrition-health-connect',
      items: 15,
      saved: 13,
      meals: [
        {
          external_id: '92bf064e-3f81-4004-bbac-7343001159e3',
          provider: 'health_connect',
          source: 'com.cronometer.android.gold',
          title: 'Chicken salad',
          meal_type: 'lunch',
          start_at: '2025-05-06T11:00:00Z',
          end_at: '2025-05-06T11:20:00Z',
          zone: 120,
          nutrients: {
            dietary_energy_consumed: 412,
            dietary_energy_from_fat: 171,
            dietary_protein: 38,
            dietary_carbohydrates: 21,
            dietary_fiber: 6.2,
            dietary_sugar: 5,
            dietary_fat_total: 19,
            dietary_fat_saturated: 3.4,
            dietary_fat_trans: 0.1,
            dietary_sodium: 640,
            dietary_vitamin_a: 310,
            dietary_folic_acid: 12,
          },
        },
      ],
      samples: ['2025-05-06T12:00:00Z dietary_caffeine 80 120', '2025-05-06T12:05:00Z hydration 500 120'],
    },
  ]
  for (const { name, meals, samples, items, saved } of cases) {
    const content = await sampleBody(name)
    const user = await createUser(app)
    const first = await importBody(app, user, content)
    t.match(first, { ...nothing, status: 'success', received: items, inserted: items }, name)
    t.strictSame(first.saved, { meal: { inserted: saved, updated: 0, unchanged: 0 } })
    t.strictSame(await storedMeals(app.db, user), meals)
    t.strictSame((await storedSamples(app.db, user)).map(sampleLine), samples)

    const versions = [await eventVersions(app.db, user), await rowVersions(app.db, user)]
    t.match(await importBody(app, user, content), { ...nothing, unchanged: items })
    t.strictSame([await eventVersions(app.db, user), await rowVersions(app.db, user)], versions, 'nothing is written')
  }
})

oneEngine(t, 'every nutrient belongs to its meal, and is a sample without one', async (t, engine) => {
  const app = await sharedApp(engine)
  const wireTypes = (table: ReadonlyMap<string, RecordKind>) =>
    [...table].flatMap(([type, kind]) =>
      typeof kind === 'object' && 'series' in kind && isNutrient(kind.series) ? [{ type, kind }] : [],
    )
  for (const { provider, food, types, count } of [
    { provider: 'apple', food: 'HKCorrelationTypeIdentifierFood', types: wireTypes(appleRecords), count: 39 },
    // 43 series, and the aliases of 38.
    { provider: 'samsung', food: 'FOOD', types: wireTypes(androidRecords), count: 43 + 38 },
  ]) {
    t.equal(types.length, count)
    // An alias is a second item of its series.
    const totals = new Map<string, number>()
    for (const { kind } of types)
      totals.set(kind.series.type, (totals.get(kind.series.type) ?? 0) + (kind.convert(2, null) as number))
    const children = types.map(({ type }) => record(type, NOON, 2, { id: `m-${type}`, parentId: 'm' }))
    const user = await createUser(app)
    t.match(await importBody(app, user, body(children, { provider })), { ...nothing, inserted: count })
    const lines = [...totals].map(([type, value]) => `2026-02-24T12:00:00Z ${type} ${value} -`)
    t.strictSame((await storedSamples(app.db, user)).map(sampleLine).sort(), lines.sort(), `${provider}: loose`)
    t.strictSame(await storedMeals(app.db, user), [])
    t.match(await importBody(app, user, body([record(food, NOON, 1, { id: 'm' })], { provider })), { inserted: 1 })
    t.strictSame(
      await eaten(app, user),
      { meals: { m: Object.fromEntries(totals) }, samples: [] },
      `${provider}: eaten`,
    )
  }
})

/** A nutrient of the generated uploads. */
interface Eaten {
  meal: string
  id: string | null
  tail: 'Protein' | 'EnergyConsumed' | 'Water'
  hour: number
  value: number
  phone: boolean
}

const series = { Protein: 'dietary_protein', EnergyConsumed: 'dietary_energy_consumed', Water: 'hydration' }
const amount = ({ tail, value }: Eaten) => (tail === 'Water' ? value * 1000 : value)

/** The expected rows, from the rules alone: they depend on what was sent, not on the order. */
function expected(meals: readonly string[], nutrients: readonly Eaten[]) {
  const sums: Record<string, Record<string, number>> = Object.fromEntries(meals.map((id) => [id, {}]))
  const samples = new Map<string, number>()
  for (const one of nutrients) {
    const into = sums[one.meal]
    if (into) into[series[one.tail]] = (into[series[one.tail]] ?? 0) + amount(one)
    else {
      const place = `${iso(NOON + one.hour * HOUR_MS)} ${series[one.tail]} ${one.phone ? PHONE.name : WATCH.name}`
      samples.set(place, (samples.get(place) ?? 0) + amount(one))
    }
  }
  return { meals: sums, samples: [...samples].map(([place, value]) => `${place} ${value}`).sort() }
}

const asRecord = ({ meal: parent, id, tail, hour, value, phone }: Eaten) =>
  child(parent, id, tail, value, {
    startDate: iso(NOON + hour * HOUR_MS),
    endDate: iso(NOON + hour * HOUR_MS),
    ...(phone ? { source: PHONE } : {}),
  })

oneEngine(t, 'meals are the same however their records are cut into uploads, and in any order', async (t, engine) => {
  const app = await sharedApp(engine)
  const nutrient = fc.record({
    meal: fc.constantFrom('a', 'b', 'c', 'd'),
    id: fc.option(fc.constantFrom('1', '2', '3', '4', '5'), { freq: 4 }),
    tail: fc.constantFrom('Protein', 'EnergyConsumed', 'Water'),
    hour: fc.nat(1),
    value: fc.integer({ min: 1, max: 9 }),
    phone: fc.boolean(),
  })
  const key = ({ meal, id, tail }: Eaten) => `${meal} ${id ?? tail}`
  const nutrients = fc.uniqueArray(nutrient as fc.Arbitrary<Eaten>, { maxLength: 14, selector: key })
  const cut = fc.record({ order: fc.infiniteStream(fc.nat(1_000_000)), cuts: fc.array(fc.nat(20), { maxLength: 4 }) })
  const property = fc.asyncProperty(
    nutrients,
    fc.subarray(['a', 'b', 'c', 'd']),
    fc.array(cut, { minLength: 2, maxLength: 2 }),
    async (eatenItems, meals, passes) => {
      const user = await createUser(app)
      const whole = [...meals.map((id) => meal(id)), ...eatenItems.map(asRecord)]
      const check = async (what: string) => {
        const stored = await storedSamples(app.db, user)
        const found = {
          meals: amounts(await storedMeals(app.db, user)),
          samples: stored.map(({ ts, type, source, value }) => `${ts} ${type} ${source} ${value}`).sort(),
        }
        t.strictSame(found, expected(meals, eatenItems), what)
      }
      for (const { order, cuts } of passes) {
        const shuffled = whole
          .map((item) => ({ item, place: order.next().value as number }))
          .sort((x, y) => x.place - y.place)
          .map(({ item }) => item)
        const ends = [...cuts.filter((end) => end < shuffled.length).sort((x, y) => x - y), shuffled.length]
        for (const [index, end] of ends.entries()) {
          const part = shuffled.slice(ends[index - 1] ?? 0, end)
          const batch = await importBody(app, user, body(part))
          if (accounted(batch) !== part.length || batch.dropped_count > 0) throw new Error(JSON.stringify(batch))
        }
        await check('cut and shuffled')
      }
      await importBody(app, user, body(whole))
      await check('whole')
      const versions = [await eventVersions(app.db, user), await rowVersions(app.db, user)]
      await importBody(app, user, body(whole))
      t.strictSame([await eventVersions(app.db, user), await rowVersions(app.db, user)], versions, 'nothing is written')
      return true
    },
  )
  await fc.assert(property, { seed: 7, numRuns: runs(2, 25) })
})

oneEngine(t, 'a meal that was edited is what it was edited to', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const titled = (title: string, fields: SdkRecord = {}) =>
    meal('m', { metadata: { title, mealType: 'Lunch' }, ...fields })
  const rice = child('m', 'rice', 'Carbohydrates', 45)
  const chicken = child('m', 'chicken', 'Protein', 31)
  await importBody(app, user, body([titled('Rice and chicken'), rice, chicken]))
  const [before] = await app.db.query<{ id: string }>('select id from meal where user_id = $1', [user])

  const edited = [titled('Rice and tofu', { endDate: iso(NOON + HOUR_MS) }), rice, child('m', 'tofu', 'Protein', 12.5)]
  t.match(await importBody(app, user, body(edited)), { inserted: 1, updated: 1, unchanged: 1 })
  t.match(await storedMeals(app.db, user), [
    {
      title: 'Rice and tofu',
      end_at: '2026-02-24T13:00:00Z',
      nutrients: { dietary_carbohydrates: 45, dietary_protein: 12.5 },
    },
  ])
  t.strictSame(await app.db.query('select id from meal where user_id = $1', [user]), [before], 'it is the same meal')

  t.match(await importBody(app, user, body([edited[0], rice])), { inserted: 0, updated: 1, unchanged: 1 })
  t.strictSame(amounts(await storedMeals(app.db, user)), { m: { dietary_carbohydrates: 45 } }, 'the tofu is gone')
  t.match(await importBody(app, user, body([titled('Only rice')])), { updated: 1 })
  t.strictSame(amounts(await storedMeals(app.db, user)), { m: { dietary_carbohydrates: 45 } }, 'the rice stays')
  t.match(await importBody(app, user, body([child('m', 'more', 'Carbohydrates', 0.1)])), { inserted: 1 })
  t.match(await importBody(app, user, body([titled('Only rice'), rice])), { updated: 0, unchanged: 2 })
  t.strictSame(
    amounts(await storedMeals(app.db, user)),
    { m: { dietary_carbohydrates: 45.1 } },
    'what was cut off stays',
  )

  const twice = [titled('First'), titled('Last'), child('m', 'rice', 'Carbohydrates', 1), rice]
  t.match(await importBody(app, user, body(twice)), { duplicates: 2, updated: 1, unchanged: 1 })
  t.match(await storedMeals(app.db, user), [{ title: 'Last', nutrients: { dietary_carbohydrates: 45.1 } }])
})

oneEngine(t, 'meals of one instant stay apart, and what names none of them keeps its sample', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const own = child(null, 'own', 'Protein', 5)
  const a = child('a', 'pa', 'Protein', 7)
  const b = child('b', 'pb', 'Protein', 9)
  const sample = (value: number) => [`2026-02-24T12:00:00Z dietary_protein ${value} -`]

  await importBody(app, user, body([a]))
  t.strictSame(await eaten(app, user), { meals: {}, samples: sample(7) })
  t.match(await importBody(app, user, body([a])), { ...nothing, unchanged: 1 })
  await importBody(app, user, body([b]))
  t.strictSame(await eaten(app, user), { meals: {}, samples: sample(16) })
  await importBody(app, user, body([meal('b')]))
  t.strictSame(await eaten(app, user), { meals: { b: { dietary_protein: 9 } }, samples: sample(7) })
  await importBody(app, user, body([own]))
  t.strictSame((await eaten(app, user)).samples, sample(5), 'a sample of its own has the instant to itself')
  await importBody(app, user, body([a]))
  t.strictSame((await eaten(app, user)).samples, sample(5))
  await importBody(app, user, body([meal('a')]))
  const end = { meals: { a: { dietary_protein: 7 }, b: { dietary_protein: 9 } }, samples: sample(5) }
  t.strictSame(await eaten(app, user), end)

  const other = await createUser(app)
  await importBody(app, other, body([own, a]))
  t.strictSame(await eaten(app, other), { meals: {}, samples: sample(5) })
  await importBody(app, other, body([b, meal('a'), meal('b')]))
  t.strictSame(await eaten(app, other), end, 'in another order, too')

  const page = await app.request(
    'GET',
    `/api/v1/users/${user}/timeseries?start_time=2026-02-24&end_time=2026-02-25&types=dietary_protein&resolution=1hour`,
  )
  t.match(page.body.data, [{ value: 5 }], 'what aggregates say follows')
  t.equal(page.body.data.length, 1)
})

oneEngine(t, 'what the platform deletes goes', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const target = { userId: user, provider: 'apple' }
  const remove = (...ids: string[]) => app.db.transaction((tx) => deleteMeals(tx, target, ids))
  await importBody(
    app,
    user,
    body([
      ...[
        meal('a'),
        child('a', 'a1', 'Protein', 1),
        child('a', 'a2', 'Protein', 2),
        meal('b'),
        child('b', 'b1', 'Sugar', 3),
      ],
      ...[child('x', 'x1', 'Protein', 4), child('y', 'y1', 'Protein', 8), child('y', 'y2', 'Sugar', 16)],
    ]),
  )
  const sample = (type: string, value: number) => `2026-02-24T12:00:00Z ${type} ${value} -`
  t.strictSame(await eaten(app, user), {
    meals: { a: { dietary_protein: 3 }, b: { dietary_sugar: 3 } },
    samples: [sample('dietary_protein', 12), sample('dietary_sugar', 16)],
  })
  t.strictSame(await remove('unknown'), [])
  t.strictSame(await remove('a2', 'b', 'y1'), ['a2', 'b', 'y1'])
  t.strictSame(await eaten(app, user), {
    meals: { a: { dietary_protein: 1 } },
    samples: [sample('dietary_protein', 4), sample('dietary_sugar', 16)],
  })
  t.strictSame(await remove('y', 'x1', 'a1'), ['y', 'x1', 'a1'], 'a meal that never came takes its nutrients along')
  t.strictSame(await eaten(app, user), { meals: { a: {} }, samples: [] })
  t.strictSame(await app.db.query('select item from meal_nutrient where user_id = $1', [user]), [])
  t.strictSame(await app.db.transaction((tx) => deleteMeals(tx, { ...target, provider: 'samsung' }, ['a'])), [])
})

oneEngine(t, 'a nutrient older than what is kept is no sample, and still of its meal', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  await app.db.query(`update archival set raw_floor = '2026-02-25', rollup_floor = '2026-02-25'`)
  t.match(await importBody(app, user, body([child('m', 'c', 'Protein', 7)])), { status: 'success', inserted: 1 })
  t.strictSame(await eaten(app, user), { meals: {}, samples: [] })
  await importBody(app, user, body([meal('m')]))
  t.strictSame(await eaten(app, user), { meals: { m: { dietary_protein: 7 } }, samples: [] })
})

oneEngine(t, 'many meals take as long as they are many, after few', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  // The database keeps a plan from the sixth execution on.
  for (let n = 0; n < 7; n += 1)
    await importBody(app, user, body([meal(`w${n}`), child(`w${n}`, `wc${n}`, 'Protein', 1)]))
  const at = (n: number) => ({ startDate: iso(NOON - n * 60_000), endDate: iso(NOON - n * 60_000) })
  // A meal and a nutrient are two records.
  const half = MANY / 2
  const meals = (name: string) => Array.from({ length: half }, (_, n) => meal(`${name}${n}`, at(n)))
  const children = (name: string) =>
    Array.from({ length: half }, (_, n) => child(`${name}${n}`, `${name}c${n}`, 'Protein', 1, at(n)))
  t.match(await importBody(app, user, body([...meals('m'), ...children('m')])), { inserted: MANY })
  t.match(await importBody(app, user, body([...meals('m'), ...children('m')])), { unchanged: MANY })
  t.match(await importBody(app, user, body(children('o'))), { inserted: half })
  t.equal((await storedSamples(app.db, user)).length, half)
  const behind = (await dirtyRanges(app.db, user)).length
  t.match(await importBody(app, user, body(meals('o'))), { inserted: half })
  t.equal((await storedSamples(app.db, user)).length, 0)
  const days = new Set(children('o').map(({ startDate }) => String(startDate).slice(0, 10)))
  t.equal((await dirtyRanges(app.db, user)).length - behind, days.size, 'samples of a day are taken back at once')
  const stored = await storedMeals(app.db, user)
  t.equal(stored.filter(({ nutrients }) => nutrients.dietary_protein === 1).length, MANY + 7)
})

oneEngine(t, 'a meal of any number of nutrients is a meal', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const many = Array.from({ length: MANY }, (_, n) =>
    record('HKQuantityTypeIdentifierDietaryProtein', NOON + (n % 500) * 1000, 0.1, { id: `n${n}`, parentId: 'm' }),
  )
  t.match(await importBody(app, user, body(many)), { ...nothing, inserted: MANY })
  t.match(
    (await storedSamples(app.db, user)).map(({ value }) => value),
    Array.from({ length: 500 }, () => MANY / 5000),
  )
  t.match(await importBody(app, user, body([meal('m'), ...many])), { inserted: 1, unchanged: MANY })
  t.strictSame(await eaten(app, user), { meals: { m: { dietary_protein: MANY / 10 } }, samples: [] })
})

/** A log of Google Health, an hour after noon for each `hours`. */
const logged = (name: 'hydrationLog' | 'nutritionLog', hours: number, fields: object) => {
  const at = new Date(NOON + hours * HOUR_MS).toISOString()
  const interval = { startTime: at, endTime: at, startUtcOffset: '3600s', endUtcOffset: '3600s' }
  return { name: `users/me/dataPoints/${name}-${hours}`, [name]: { interval, ...fields } }
}

oneEngine(t, 'what a cloud lists as eaten and drunk is stored once, however often it is listed', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const to = await connectedUser(app, 'google_health')
  const listed = (stream: string, ...dataPoints: object[]) =>
    batchOf('google_health', [{ stream, at: '2026-02-25T12:00:00Z', body: { dataPoints } }])
  const water = (millilitres: number) => logged('hydrationLog', 1, { amountConsumed: { milliliters: millilitres } })
  const soup = (kcal: number) => logged('nutritionLog', 2, { foodDisplayName: 'Soup', energy: { kcal } })
  const id = (name: string) => `users/me/dataPoints/${name}`
  const stored = (millilitres: number, kcal: number) => ({
    meals: {
      [id('hydrationLog-1')]: { hydration: millilitres },
      [id('nutritionLog-2')]: { dietary_energy_consumed: kcal },
    },
    samples: [`2026-02-24T13:00:00Z hydration ${millilitres} 60`],
  })
  await write(app, to, listed('hydration-log', water(250)))
  await write(app, to, listed('nutrition-log', soup(310)))
  t.strictSame(await eaten(app, to.userId), stored(250, 310))
  t.match(await storedMeals(app.db, to.userId), [
    { provider: 'google_health', source: 'Google Health', zone: 60 },
    { title: 'Soup', start_at: '2026-02-24T14:00:00Z' },
  ])
  const versions = [await eventVersions(app.db, to.userId), await rowVersions(app.db, to.userId)]
  await write(app, to, listed('nutrition-log', soup(310)))
  await write(app, to, listed('hydration-log', water(250)))
  t.strictSame([await eventVersions(app.db, to.userId), await rowVersions(app.db, to.userId)], versions)
  await write(app, to, listed('hydration-log', water(300)))
  await write(app, to, listed('nutrition-log', soup(295)))
  t.strictSame(await eaten(app, to.userId), stored(300, 295), 'and goes with what is corrected')
})
