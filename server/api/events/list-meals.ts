import { Type } from 'typebox'
import { type SeriesType, seriesByName } from '../../catalogue/series.ts'
import { route } from '../../http/route.ts'
import { CursorPage, Instant, Nullable, SourceMetadata, UserPath, Uuid } from '../../http/schema.ts'
import { type EventRow, listEvents, listParameters } from './page.ts'

const Amount = Nullable(Type.Number())

const Meal = Type.Object({
  id: Uuid(),
  timestamp: Instant(),
  meal_type: Nullable(Type.String()),
  name: Nullable(Type.String()),
  source: SourceMetadata,
  calories_kcal: Amount,
  macros: Nullable(Type.Object({ protein_g: Amount, carbohydrates_g: Amount, fat_g: Amount, fiber_g: Amount })),
  water_ml: Amount,
  nutrients: Type.Record(Type.String(), Type.Object({ value: Type.Number(), unit: Type.String() }), {
    description: 'Everything that is known of the meal, by series type',
  }),
})

const example = {
  data: [
    {
      id: 'c0ffee11-2b0c-4e02-9c7e-1f6a8e55d001',
      timestamp: '2026-09-18T12:00:00Z',
      meal_type: 'lunch',
      name: 'Chicken and rice',
      source: {
        provider: 'apple',
        source: 'com.myfitnesspal.mfp',
        device: null,
        device_type: 'unknown',
        device_name: null,
      },
      calories_kcal: 550,
      macros: { protein_g: 38.2, carbohydrates_g: null, fat_g: null, fiber_g: null },
      water_ml: null,
      nutrients: {
        dietary_energy_consumed: { value: 550, unit: 'kcal' },
        dietary_protein: { value: 38.2, unit: 'g' },
      },
    },
  ],
  pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: 1 },
  metadata: { resolution: null, sample_count: 1, start_time: '2026-09-18T00:00:00Z', end_time: '2026-09-19T00:00:00Z' },
}

/** What of the table `meal`, as `e`, makes a meal. */
export const MEAL_COLUMNS = 'e.title, e.meal_type, e.nutrients'

/** A row of MEAL_COLUMNS. */
export interface MealRow extends EventRow {
  title: string | null
  meal_type: string | null
  /** In the unit of each series. */
  nutrients: Partial<Record<string, number>>
}

const listing = { name: 'meals', table: 'meal', columns: MEAL_COLUMNS }

/** Meals of a user, the latest first (contract 5.6). */
export const listMeals = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/meals',
    operationId: 'listMeals',
    summary: 'Meals of a user',
    description: "Those that start within the range, the latest first. The ETag changes when the user's data does.",
    tag: 'Events',
    guard: 'key',
    params: UserPath,
    query: Type.Object(listParameters),
    response: CursorPage(Meal),
    example,
    errors: { 400: 'Bad date or cursor' },
  },
  async (input, deps) =>
    listEvents<MealRow>(listing, input, deps, (rows, sourceOf) => rows.map((row) => mealItem(row, sourceOf(row)))),
)

/** A meal as reads show it (contract 5.6). */
export function mealItem({ id, start_at, meal_type, title, nutrients }: MealRow, source: object) {
  const macros = {
    protein_g: nutrients.dietary_protein ?? null,
    carbohydrates_g: nutrients.dietary_carbohydrates ?? null,
    fat_g: nutrients.dietary_fat_total ?? null,
    fiber_g: nutrients.dietary_fiber ?? null,
  }
  return {
    id,
    timestamp: start_at,
    meal_type,
    name: title,
    source,
    calories_kcal: nutrients.dietary_energy_consumed ?? null,
    macros: Object.values(macros).some((amount) => amount !== null) ? macros : null,
    water_ml: nutrients.hydration ?? null,
    nutrients: withUnits(nutrients),
  }
}

/** In the order of the catalogue. */
function withUnits(nutrients: MealRow['nutrients']) {
  const known = Object.entries(nutrients).map(([type, value]) => ({
    series: seriesByName.get(type) as SeriesType,
    value,
  }))
  known.sort((a, b) => a.series.id - b.series.id)
  return Object.fromEntries(known.map(({ series, value }) => [series.type, { value, unit: series.unit }]))
}
