import { Type } from 'typebox'
import { type SeriesType, seriesByName } from '../catalogue/series.ts'
import { Nullable } from '../http/schema.ts'
import { type EventRow, zoneOf } from './row.ts'

/** The columns of `meal`, as `e`, that a meal is made from. */
export const MEAL_COLUMNS = 'e.title, e.meal_type, e.nutrients'

/** A row of MEAL_COLUMNS. */
export interface MealRow extends EventRow {
  title: string | null
  meal_type: string | null
  /** In the unit of each series. */
  nutrients: Partial<Record<string, number>>
}

const Amount = Nullable(Type.Number())

/** `macros` of a meal. */
export const Macros = Type.Object(
  { protein_g: Amount, carbohydrates_g: Amount, fat_g: Amount, fiber_g: Amount },
  { title: 'Macros' },
)

/** `nutrients` of a meal. */
export const Nutrients = Type.Record(
  Type.String(),
  Type.Object({ value: Type.Number(), unit: Type.String() }, { title: 'Nutrient' }),
  { description: 'Everything that is known of the meal, by series type' },
)

/** A meal in its API form (contract 5.6). */
export function mealItem(row: MealRow, source: object) {
  const { id, start_at, meal_type, title, nutrients } = row
  const macros = {
    protein_g: nutrients.dietary_protein ?? null,
    carbohydrates_g: nutrients.dietary_carbohydrates ?? null,
    fat_g: nutrients.dietary_fat_total ?? null,
    fiber_g: nutrients.dietary_fiber ?? null,
  }
  return {
    id,
    timestamp: start_at,
    zone_offset: zoneOf(row),
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
