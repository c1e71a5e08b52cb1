import { Type } from 'typebox'
import { Macros, MEAL_COLUMNS, type MealRow, mealItem, Nutrients } from '../../events/meal.ts'
import { route } from '../../http/route.ts'
import { CursorPage, Instant, Nullable, SourceMetadata, UserPath, Uuid } from '../../http/schema.ts'
import { listEvents, listParameters } from './page.ts'

const Amount = Nullable(Type.Number())

const Meal = Type.Object(
  {
    id: Uuid(),
    timestamp: Instant(),
    zone_offset: Nullable(Type.String()),
    meal_type: Nullable(Type.String()),
    name: Nullable(Type.String()),
    source: SourceMetadata,
    calories_kcal: Amount,
    macros: Nullable(Macros),
    water_ml: Amount,
    nutrients: Nutrients,
  },
  { title: 'Meal' },
)

const example = {
  data: [
    {
      id: 'c0ffee11-2b0c-4e02-9c7e-1f6a8e55d001',
      timestamp: '2026-09-18T12:00:00Z',
      zone_offset: '+02:00',
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
    csv: { name: 'meals', list: 'data' },
    fromReplicas: true,
    params: UserPath,
    query: Type.Object(listParameters),
    revalidated: true,
    response: CursorPage(Meal),
    example,
    errors: { 400: 'Bad date or cursor' },
  },
  async (input, deps) =>
    listEvents<MealRow>(listing, input, deps, (rows, sourceOf) => rows.map((row) => mealItem(row, sourceOf(row)))),
)
