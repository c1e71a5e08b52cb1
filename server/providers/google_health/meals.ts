import { createHash } from 'node:crypto'
import { convertUnit } from '../../batch/units.ts'
import { type SeriesName, seriesByName } from '../../catalogue/series.ts'
import type { At, Item, Out } from '../part.ts'

/** Google's nutrients that are written otherwise than our series; `dietary_` and the name in lower case are the others. */
const named: readonly (readonly [nutrient: string, series: SeriesName])[] = [
  ['CARBOHYDRATES', 'dietary_carbohydrates'],
  ['TOTAL_FAT', 'dietary_fat_total'],
  ['SATURATED_FAT', 'dietary_fat_saturated'],
  ['MONOUNSATURATED_FAT', 'dietary_fat_monounsaturated'],
  ['POLYUNSATURATED_FAT', 'dietary_fat_polyunsaturated'],
  ['UNSATURATED_FAT', 'dietary_fat_unsaturated'],
  ['TRANS_FAT', 'dietary_fat_trans'],
  ['DIETARY_FIBER', 'dietary_fiber'],
]
const others = new Map(named)

/** Series of weights that meals consist of. */
const weights: readonly SeriesName[] = [...seriesByName.values()]
  .filter(({ type, unit }) => type.startsWith('dietary_') && unit !== 'kcal')
  .map(({ type }) => type as SeriesName)

/** All that a meal or a drink of Google Health may consist of. */
export const nutrients: readonly SeriesName[] = ['hydration', 'dietary_energy_consumed', ...weights]

const known: ReadonlySet<string> = new Set(weights)

function seriesOf(nutrient: string): SeriesName | undefined {
  const name = others.get(nutrient) ?? `dietary_${nutrient.toLowerCase()}`
  return known.has(name) ? (name as SeriesName) : undefined
}

interface Known {
  readonly start: At
  readonly id: string | undefined
}

const endOf = (value: Item, { ms }: At) => Math.max(ms, value.instant('interval', 'endTime')?.ms ?? ms)

/** Adds what somebody drank: a sample, and a meal of water. */
export function hydration(out: Out, value: Item, { start, id }: Known): void {
  const millilitres = value.numeric('amountConsumed', 'milliliters')
  if (millilitres === undefined) {
    value.reject('missing', 'amountConsumed', 'milliliters')
    return
  }
  const externalId = id ?? `hydration-log:${start.ms}:${millilitres}`
  if (id === undefined) out.sample('hydration', start, millilitres, externalId)
  else out.once('hydration', start, millilitres, id)
  out.meal({ externalId, start, endMs: endOf(value, start), nutrients: [['hydration', millilitres]] })
}

/** What Google writes when it does not say which meal it was. */
const anyMeal: ReadonlySet<string> = new Set(['anytime', 'meal_type_unspecified'])

/** Adds what somebody ate. */
export function meal(out: Out, value: Item, { start, id }: Known): void {
  const kilocalories = value.numeric('energy', 'kcal')
  const [title, type] = [value.text('foodDisplayName'), value.text('mealType')?.toLowerCase()]
  const amounts = new Map<SeriesName, number | undefined>([
    ['dietary_energy_consumed', kilocalories],
    ['dietary_carbohydrates', value.numeric('totalCarbohydrate', 'grams')],
    ['dietary_fat_total', value.numeric('totalFat', 'grams')],
  ])
  for (const one of value.objects('nutrients')) {
    const series = seriesOf(one.text('nutrient') ?? '')
    if (series !== undefined && amounts.get(series) === undefined) amounts.set(series, one.numeric('quantity', 'grams'))
  }
  out.meal({
    externalId: id ?? `nutrition-log:${start.ms}:${digest(`${title ?? ''}:${kilocalories ?? ''}`)}`,
    ...{ start, endMs: endOf(value, start), title },
    mealType: type === undefined || anyMeal.has(type) ? undefined : type,
    nutrients: [...amounts].map(([series, grams]) => [series, inUnitOf(series, grams)]),
  })
}

/** Of what may hold anything. */
const digest = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 22)

function inUnitOf(series: SeriesName, amount: number | undefined): number | undefined {
  const unit = seriesByName.get(series)?.unit ?? 'g'
  return amount === undefined || unit === 'kcal' ? amount : convertUnit(amount, 'g', unit)
}
