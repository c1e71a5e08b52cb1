import type { Meal, Nutrient } from '../batch/columns.ts'
import { typeIdOf } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import type { EventCounts, EventTarget } from './event-items.ts'
import { type ChangedItem, countItems, lastOfEach } from './event-items.ts'
import { type Loose, looseSums, settleLoose } from './loose-nutrients.ts'
import { writeSamples } from './samples.ts'

type Owner = Pick<EventTarget, 'userId' | 'provider' | 'changes'>

/**
 * Writes meals and the nutrients that name them. A meal consists of all nutrients that name it, in any order and from any
 * number of uploads. An upload with a meal and its nutrients replaces those that last arrived together with the meal;
 * others, which the end of an upload cut off, stay (sdk-types 6). Returns the results, and the samples that represent
 * nutrients until their meal arrives.
 */
export async function writeMeals(
  tx: Transaction,
  target: EventTarget,
  meals: readonly Meal[],
  nutrients: readonly Nutrient[],
): Promise<{ counts: EventCounts | undefined; loose: Loose }> {
  if (meals.length + nutrients.length === 0) return { counts: undefined, loose: { samples: [], sourceIds: [] } }
  const owner = [target.userId, target.provider]
  const keptMeals = lastOfEach(meals, ({ externalId }) => externalId)
  const keptNutrients = lastOfEach(nutrients, (nutrient) => `${nutrient.meal}\0${itemOf(nutrient)}`)
  const mealIds = new Set(keptMeals.map(({ externalId }) => externalId))
  const touched = [...new Set([...mealIds, ...keptNutrients.map(({ meal }) => meal)])]
  const rows = keptNutrients.map((nutrient, position) => nutrientRow(target, nutrient, position, mealIds))

  const before = await looseSums(tx, target, { meals: touched, items: [], instants: rows })
  const changedMeals = await planned<ChangedItem>(tx, WRITE_MEALS_SQL, [
    ...owner,
    JSON.stringify(mealRows(target, keptMeals)),
  ])
  const written = await planned<WrittenNutrient>(tx, WRITE_NUTRIENTS_SQL, [
    ...owner,
    JSON.stringify(rows),
    [...mealIds],
    [...new Set(rows.filter((row) => row.with_meal).map(({ meal }) => meal))],
  ])
  const summed = await sumNutrients(tx, target, touched)
  const loose = await settleLoose(
    tx,
    target,
    before,
    written.filter((row) => row.loose).map(({ position }) => rows[position] as NutrientRow),
  )

  // A change of its nutrients is a change of the meal.
  const byPlace = new Map(changedMeals.map((one) => [one.position, one]))
  const changed = [
    ...keptMeals.flatMap(({ externalId }, position) =>
      byPlace.has(position) || summed.has(externalId) ? [byPlace.get(position) ?? { position, is_new: false }] : [],
    ),
    ...written
      .filter((row) => row.changed)
      .map(({ position, is_new }) => ({ position: keptMeals.length + position, is_new })),
  ]
  const kept = [...keptMeals, ...keptNutrients]
  return { counts: countItems('meal', meals.length + nutrients.length, kept, changed), loose }
}

/**
 * Removes the meals and the nutrients with one of these ids and returns the ids found. Nutrients are removed with their
 * meal; a meal stays without one of its nutrients.
 */
export async function deleteMeals(tx: Transaction, target: Owner, externalIds: readonly string[]): Promise<string[]> {
  const owner = [target.userId, target.provider]
  const before = await looseSums(tx, target, { meals: externalIds, items: externalIds, instants: [] })
  const gone = await planned<{ meal: string; item: string | null }>(tx, DELETE_SQL, [...owner, externalIds])
  await sumNutrients(tx, target, [...new Set(gone.map(({ meal }) => meal))])
  const loose = await settleLoose(tx, target, before, [])
  await writeSamples(tx, loose.samples, loose.sourceIds, target.changes)
  const names = new Set(gone.flatMap(({ meal, item }) => (item === null ? [meal] : [meal, item])))
  return externalIds.filter((id) => names.has(id))
}

/** Deletes a meal by the id of the API, with its nutrients; undefined when the user has no such meal. */
export async function deleteMeal(
  tx: Transaction,
  userId: string,
  id: string,
): Promise<{ provider: string; external_id: string } | undefined> {
  const [meal] = await tx.query<{ provider: string; external_id: string }>(
    'select provider, external_id from meal where id = $1 and user_id = $2',
    [id, userId],
  )
  if (!meal) return undefined
  await deleteMeals(tx, { userId, provider: meal.provider, changes: undefined }, [meal.external_id])
  return meal
}

/** Identifies a nutrient within its meal: its id, or its series if it has none. */
const itemOf = ({ externalId, seriesId }: Nutrient) => externalId ?? String(typeIdOf(seriesId))

/** A nutrient to be written; `ts_ms` in epoch milliseconds. */
interface NutrientRow {
  position: number
  meal: string
  item: string
  source_id: number
  series_id: number
  ts_ms: number
  value: number
  zone_offset_min: number | null
  with_meal: boolean
}

function nutrientRow(target: EventTarget, nutrient: Nutrient, position: number, meals: Set<string>): NutrientRow {
  return {
    position,
    meal: nutrient.meal,
    item: itemOf(nutrient),
    source_id: target.sourceIds[nutrient.source] as number,
    series_id: nutrient.seriesId,
    ts_ms: nutrient.startMs,
    value: nutrient.value,
    zone_offset_min: nutrient.zoneMin,
    with_meal: meals.has(nutrient.meal),
  }
}

function mealRows(target: EventTarget, meals: readonly Meal[]) {
  return meals.map(({ source, externalId, title, mealType, startMs, endMs, zoneMin }, position) => ({
    position,
    source_id: target.sourceIds[source],
    external_id: externalId,
    title,
    meal_type: mealType,
    start_ms: startMs,
    end_ms: endMs,
    zone_offset_min: zoneMin,
  }))
}

// Stored rows are looked up one by one (lateral, limit): the planner always expects few items, and a join for few would
// take minutes for many.
const WRITE_MEALS_SQL = `
  with input as (
    select i.*, to_timestamp(i.start_ms / 1000) as start_at, to_timestamp(i.end_ms / 1000) as end_at
    from jsonb_to_recordset($3) as i (position int4, source_id int4, external_id text, title text, meal_type text,
                                      start_ms float8, end_ms float8, zone_offset_min int2)
  ), changed as (
    select i.*, m.id is null as is_new, coalesce(m.id, gen_random_uuid()) as id
    from input i
    left join lateral (
      select m.*
      from meal m
      where m.user_id = $1 and m.provider = $2 and m.external_id = i.external_id
      limit 1
    ) m on true
    where m.id is null
       or (m.source_id, m.title, m.meal_type, m.start_at, m.end_at, m.zone_offset_min)
            is distinct from (i.source_id, i.title, i.meal_type, i.start_at, i.end_at, i.zone_offset_min)
  ), written as (
    insert into meal (id, user_id, provider, source_id, external_id, title, meal_type, start_at, end_at, zone_offset_min)
    select c.id, $1, $2, c.source_id, c.external_id, c.title, c.meal_type, c.start_at, c.end_at, c.zone_offset_min
    from changed c
    on conflict (user_id, provider, external_id) do update
    set source_id = excluded.source_id, title = excluded.title, meal_type = excluded.meal_type,
        start_at = excluded.start_at, end_at = excluded.end_at, zone_offset_min = excluded.zone_offset_min
  )
  select position, is_new, id from changed`

/** The result for a nutrient; `loose`: its meal is missing. */
interface WrittenNutrient extends ChangedItem {
  changed: boolean
  loose: boolean
}

const WRITE_NUTRIENTS_SQL = `
  with input as (
    select i.*, to_timestamp(i.ts_ms / 1000) as ts, m.id is null as loose
    from jsonb_to_recordset($3) as i (position int4, meal text, item text, source_id int4, series_id int2, ts_ms float8,
                                      value float8, zone_offset_min int2, with_meal boolean)
    left join lateral (
      select m.id
      from meal m
      where m.user_id = $1 and m.provider = $2 and m.external_id = i.meal
      limit 1
    ) m on true
  ), compared as (
    select i.*, n.item is null as is_new,
           (n.source_id, n.series_id, n.ts, n.value, n.zone_offset_min)
             is distinct from (i.source_id, i.series_id, i.ts, i.value, i.zone_offset_min) as changed,
           (n.with_meal, n.loose) is distinct from (i.with_meal, i.loose) as moved
    from input i
    left join lateral (
      select n.*
      from meal_nutrient n
      where n.user_id = $1 and n.provider = $2 and n.meal = i.meal and n.item = i.item
      limit 1
    ) n on true
  ), no_longer_reported as (
    delete from meal_nutrient n
    where n.user_id = $1 and n.provider = $2 and n.with_meal
      and n.meal = any ($5)
      and (n.meal, n.item) not in (select i.meal, i.item from input i)
  ), no_longer_loose as (
    update meal_nutrient n
    set loose = false
    where n.user_id = $1 and n.provider = $2 and n.loose and n.meal = any ($4)
      and (n.meal, n.item) not in (select i.meal, i.item from input i)
  ), written as (
    insert into meal_nutrient (
      user_id, provider, meal, item, source_id, series_id, ts, value, zone_offset_min, with_meal, loose)
    select $1, $2, c.meal, c.item, c.source_id, c.series_id, c.ts, c.value, c.zone_offset_min, c.with_meal, c.loose
    from compared c
    where c.changed or c.moved
    on conflict (user_id, provider, meal, item) do update
    set source_id = excluded.source_id, series_id = excluded.series_id, ts = excluded.ts, value = excluded.value,
        zone_offset_min = excluded.zone_offset_min, with_meal = excluded.with_meal, loose = excluded.loose
  )
  select position, is_new, changed, loose from compared`

/** Writes the amounts of meals as the sums of their nutrients, and returns the ids of the meals that this changed. */
async function sumNutrients(tx: Transaction, target: Owner, meals: readonly string[]): Promise<Set<string>> {
  if (meals.length === 0) return new Set()
  const rows = await planned<{ external_id: string }>(tx, SUM_SQL, [target.userId, target.provider, meals])
  return new Set(rows.map(({ external_id }) => external_id))
}

// As numeric: a sum of decimals is then the decimal it looks like, in any order.
const SUM_SQL = `
  with eaten as (
    select m.id, e.nutrients
    from unnest($3::text[]) as k (meal)
    cross join lateral (
      select m.id
      from meal m
      where m.user_id = $1 and m.provider = $2 and m.external_id = k.meal
      limit 1
    ) m
    cross join lateral (
      select coalesce(jsonb_object_agg(s.type, s.amount), '{}') as nutrients
      from (
        select t.type, sum(n.value::numeric) as amount
        from meal_nutrient n
        join series_type t on t.id = n.series_id
        where n.user_id = $1 and n.provider = $2 and n.meal = k.meal
        group by t.type
      ) s
    ) e
  )
  update meal m
  set nutrients = e.nutrients
  from eaten e
  where m.id = e.id and m.nutrients is distinct from e.nutrients
  returning m.external_id`

const DELETE_SQL = `
  with meals as (
    delete from meal m where m.user_id = $1 and m.provider = $2 and m.external_id = any ($3) returning m.external_id
  ), nutrients as (
    delete from meal_nutrient n
    where n.user_id = $1 and n.provider = $2 and (n.meal = any ($3) or n.item = any ($3))
    returning n.meal, n.item
  )
  select external_id as meal, null as item from meals
  union all
  select meal, item from nutrients`
