// Stored events in the form in which tests compare them.
import type { Database } from '../../server/db/database.ts'
import type { StoredSample } from './sdk.ts'

/** A sample in one line: time of day UTC of 2026-02-24 or the whole instant, type, value, zone. */
export const sampleLine = ({ ts, type, value, zone }: StoredSample): string => `${ts} ${type} ${value} ${zone ?? '-'}`

/** A stored meal with its source's identity outside this database. */
export interface StoredMeal {
  external_id: string
  provider: string
  source: string
  title: string | null
  meal_type: string | null
  start_at: string
  end_at: string
  zone: number | null
  nutrients: Record<string, number>
}

/** The meals of a user by external id. */
export function storedMeals(db: Database, userId: string): Promise<StoredMeal[]> {
  return db.query<StoredMeal>(
    `select m.external_id, m.provider, d.source, m.title, m.meal_type, m.start_at, m.end_at, m.zone_offset_min as zone,
            m.nutrients
     from meal m
     join data_source d on d.id = m.source_id and d.user_id = m.user_id and d.provider = m.provider
     where m.user_id = $1
     order by m.external_id`,
    [userId],
  )
}

/** The cycles of a user by start, every column that is not an id of this database. */
export function storedCycles(db: Database, userId: string): Promise<Record<string, unknown>[]> {
  return db.query(
    `select to_jsonb(m) - array['id', 'user_id', 'source_id', 'start_at', 'end_at', 'last_updated_at']
              || jsonb_build_object('source', d.source) as cycle,
            m.start_at, m.end_at, m.last_updated_at
     from menstrual_cycle m
     join data_source d on d.id = m.source_id
     where m.user_id = $1
     order by m.start_at, m.external_id`,
    [userId],
  )
}

/** The sessions of a user that are neither workout nor sleep, by start. */
export function storedActivities(db: Database, userId: string): Promise<Record<string, unknown>[]> {
  return db.query(
    `select a.external_id, d.source, a.type, a.start_at, a.end_at, a.zone_offset_min as zone
     from activity a
     join data_source d on d.id = a.source_id
     where a.user_id = $1
     order by a.start_at, a.external_id`,
    [userId],
  )
}

/** Versions of a user's events: any write to one of them, even of the same values, changes this. */
export async function eventVersions(db: Database, userId: string): Promise<Record<string, unknown>> {
  const bySource = (table: string) => `select t.xmin::text, to_jsonb(t) as row from ${table} t
    where t.source_id in (select id from data_source where user_id = $1) order by 2`
  const tables = ['meal', 'meal_nutrient', 'cycle_observation', 'menstrual_cycle', 'activity']
  const rows = await Promise.all(tables.map((table) => db.query(bySource(table), [userId])))
  return Object.fromEntries(tables.map((table, index) => [table, rows[index]]))
}

const TABLES = [
  'sleep_stage',
  'sleep',
  'workout',
  'meal',
  'meal_nutrient',
  'cycle_observation',
  'menstrual_cycle',
  'activity',
  'health_score',
]

// Columns that differ between two databases, or two orders of arrival, with the same content.
const ARBITRARY = `array['id', 'user_id', 'source_id', 'sleep_id', 'created_at', 'changed_at', 'closed_at', 'with_meal']`

/** Every event of a user with all its values, by table, in an order that does not depend on keys. */
export async function storedEvents(db: Database, userId: string): Promise<Record<string, unknown[]>> {
  const rows = await Promise.all(
    TABLES.map((table) =>
      db.query<{ row: unknown }>(
        `select to_jsonb(t) - ${ARBITRARY}
                || jsonb_build_object('from', concat_ws(' / ', d.provider, d.device_model, d.source)) as row
         from ${table} t
         join data_source d on d.id = t.source_id
         where d.user_id = $1
         order by 1`,
        [userId],
      ),
    ),
  )
  return Object.fromEntries(TABLES.map((table, index) => [table, (rows[index] ?? []).map(({ row }) => row)]))
}
