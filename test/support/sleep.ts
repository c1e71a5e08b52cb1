// Nights as phones send them, and their stored form.
import type { Database } from '../../server/db/database.ts'
import { body, iso, type SdkRecord, WATCH } from './sdk.ts'

/** An item of `data.sleep` between two instants (epoch ms); `fields` replace or add. */
export const stage = (name: unknown, startMs: number, endMs: number, fields: SdkRecord = {}): SdkRecord => ({
  id: null,
  parentId: null,
  stage: name,
  startDate: iso(startMs),
  endDate: iso(endMs),
  zoneOffset: null,
  source: WATCH,
  values: null,
  metadata: null,
  ...fields,
})

/** An upload's body around stages. */
export const sleepBody = (sleep: unknown, envelope: Record<string, unknown> = {}): Record<string, unknown> =>
  body([], { data: { records: [], sleep, workouts: [] }, ...envelope })

/** A stored session, with its source's identity outside this database. */
export interface StoredSleep {
  provider: string
  device: string
  session: string
  start: string
  end: string
  zone: number | null
  asleep: number
  in_bed: number
  awake: number | null
  light: number | null
  deep: number | null
  rem: number | null
  efficiency: number
  nap: boolean
  stages: [stage: string, startS: number, endS: number][]
  score: number | null
  scored_at: string | null
}

/** Every session of a user without row keys, by start. */
export function storedSleep(db: Database, userId: string): Promise<StoredSleep[]> {
  return db.query(
    `select d.provider, d.device_model as device, s.session, s.start_at as start, s.end_at as end,
            s.zone_offset_min as zone, s.asleep_s as asleep, s.in_bed_s as in_bed, s.awake_s as awake,
            s.light_s as light, s.deep_s as deep, s.rem_s as rem, s.efficiency_percent as efficiency, s.is_nap as nap,
            s.stages, h.value as score, h.recorded_at as scored_at
     from sleep s
     join data_source d on d.id = s.source_id
     left join health_score h on h.sleep_id = s.id
     where s.user_id = $1
     order by s.start_at, d.provider, d.device_model, s.session`,
    [userId],
  )
}

/** Every stored stage of a user without row keys. */
export function storedStages(db: Database, userId: string): Promise<Record<string, unknown>[]> {
  return db.query(
    `select d.provider, d.device_model as device, s.session, s.stage, s.start_at as start, s.end_at as end,
            s.zone_offset_min as zone, s.external_id as id, s.other_ids as others, s.score
     from sleep_stage s
     join data_source d on d.id = s.source_id
     where d.user_id = $1
     order by s.start_at, s.end_at, s.stage, d.provider, d.device_model, s.session`,
    [userId],
  )
}

/** The versions of all rows of sleep: any write to a row, even of the same values, changes this. */
export async function sleepVersions(db: Database, userId: string): Promise<unknown> {
  const versions = await Promise.all(
    [
      `select s.*, s.xmin::text as version from sleep_stage s join data_source d on d.id = s.source_id where d.user_id = $1
       order by s.source_id, s.session, s.start_at, s.end_at, s.stage`,
      'select id, changed_at, closed_at, xmin::text from sleep where user_id = $1 order by id',
      'select id, xmin::text from health_score where user_id = $1 order by id',
      'select revision, xmin::text from app_user where id = $1',
    ].map((sql) => db.query(sql, [userId])),
  )
  return versions
}

/** The keys of a user's sessions by start. */
export async function sleepIds(db: Database, userId: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>('select id from sleep where user_id = $1 order by start_at', [userId])
  return rows.map(({ id }) => id)
}
