import { groupBy } from '../../batch/group-by.ts'
import type { Transaction } from '../../db/database.ts'
import { planned } from '../../db/planned.ts'
import type { EventTarget } from '../event-items.ts'
import { napsOf, type Session, sessionKey, sleepDay } from './sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

// The stored sessions: read around the changes, and written where they differ.

/** A stored session, with what rebuilding has to know of it; `createdS` in epoch seconds. */
export interface StoredSession {
  id: string
  sourceId: number
  session: string
  startMs: number
  endMs: number
  zoneMin: number | null
  asleepS: number
  createdS: number
}

/** A session with the key of its row. */
type SavedSession = Session & { id: string }

/**
 * Two sessions of one sleep day end less than 24 h apart on the wall clock, whose zones differ by 36 h at most (both
 * have 18 h at most).
 */
const SAME_DAY_MS = (24 + 36) * 3_600_000

/** Reads the sessions of a user and provider that end within `ranges`, or may share a sleep day with one that does. */
export async function readSessions(
  tx: Transaction,
  { userId, provider }: EventTarget,
  ranges: readonly Range[],
): Promise<StoredSession[]> {
  const around = union(ranges.map(([startMs, endMs]) => [startMs - SAME_DAY_MS, endMs + SAME_DAY_MS]))
  return planned<StoredSession>(
    tx,
    `select s.id, s.source_id as "sourceId", s.session, round(date_part('epoch', s.start_at) * 1000) as "startMs",
            round(date_part('epoch', s.end_at) * 1000) as "endMs", s.zone_offset_min as "zoneMin",
            coalesce(s.asleep_s, 0) as "asleepS", date_part('epoch', s.created_at) as "createdS"
     from data_source d
     cross join unnest($3::float8[], $4::float8[]) around (lo, hi)
     cross join lateral (
       select * from sleep
       where source_id = d.id and end_at >= to_timestamp(around.lo) and end_at <= to_timestamp(around.hi)
       offset 0
     ) s
     where d.user_id = $1 and d.provider = $2`,
    [userId, provider, around.map(([startMs]) => startMs / 1000), around.map(([, endMs]) => endMs / 1000)],
  )
}

/**
 * The keys that rebuilt sessions keep: a given one its own; others that of the oldest row they overlap (contract D-30).
 * The row of a divided session goes to the part it overlaps most.
 */
export function idsFor(sessions: readonly Session[], old: readonly StoredSession[]): Map<Session, string> {
  const ids = new Map<Session, string>()
  const rebuilt = groupBy(sessions, sessionKey)
  for (const list of rebuilt.values()) list.sort((a, b) => a.startMs - b.startMs)
  const windows = new Map(
    [...rebuilt].map(([key, list]) => [key, list.map(({ startMs, endMs }): Range => [startMs, endMs])]),
  )
  for (const row of [...old].sort((a, b) => a.createdS - b.createdS || a.startMs - b.startMs)) {
    const list = rebuilt.get(sessionKey(row)) ?? []
    const isOwn = row.session !== ''
    let best: Session | undefined
    let mostMs = 0
    for (let place = isOwn ? 0 : firstEndingAfter(windows.get(sessionKey(row)) ?? [], row.startMs); ; place += 1) {
      const session = list[place]
      if (!session || (!isOwn && session.startMs >= row.endMs)) break
      const sharedMs = Math.min(session.endMs, row.endMs) - Math.max(session.startMs, row.startMs)
      if (ids.has(session) || (best && sharedMs <= mostMs)) continue
      best = session
      mostMs = sharedMs
    }
    if (best) ids.set(best, row.id)
  }
  return ids
}

/** Removes sessions, with their scores. */
export async function deleteSessions(tx: Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await planned(tx, 'delete from sleep where id = any ($1)', [ids])
}

/**
 * Inserts the sessions whose row is new and updates those that changed, which opens them again; sessions given by a
 * platform are closed from the start. Returns the ids of these rows.
 */
export async function saveSessions(
  tx: Transaction,
  { userId }: EventTarget,
  sessions: readonly SavedSession[],
): Promise<string[]> {
  if (sessions.length === 0) return []
  const saved = await planned<{ id: string }>(tx, SAVE_SESSIONS_SQL, [
    userId,
    JSON.stringify(
      sessions.map(({ startMs, endMs, stages, ...session }) => ({
        ...session,
        startS: startMs / 1000,
        endS: endMs / 1000,
        stages: stages.map(([stage, fromMs, untilMs]) => [stage, fromMs / 1000, untilMs / 1000]),
      })),
    ),
  ])
  return saved.map(({ id }) => id)
}

const SAVE_SESSIONS_SQL = `
  insert into sleep as s (id, user_id, source_id, session, start_at, end_at, zone_offset_min, asleep_s, in_bed_s,
                          awake_s, light_s, deep_s, rem_s, efficiency_percent, is_nap, stages, closed_at)
  select n.id, $1, n."sourceId", n.session, to_timestamp(n."startS"), to_timestamp(n."endS"), n."zoneMin", n."asleepS",
         n."inBedS", n."awakeS", n."lightS", n."deepS", n."remS", n."efficiencyPercent", false, n.stages,
         case when n.session <> '' then clock_timestamp() end
  from jsonb_to_recordset($2) as n (
    id uuid, "sourceId" int4, session text, "startS" float8, "endS" float8, "zoneMin" int2, "asleepS" int4,
    "inBedS" int4, "awakeS" int4, "lightS" int4, "deepS" int4, "remS" int4, "efficiencyPercent" float8, stages jsonb
  )
  on conflict (id) do update
  set start_at = excluded.start_at, end_at = excluded.end_at, zone_offset_min = excluded.zone_offset_min,
      asleep_s = excluded.asleep_s, in_bed_s = excluded.in_bed_s, awake_s = excluded.awake_s,
      light_s = excluded.light_s, deep_s = excluded.deep_s, rem_s = excluded.rem_s,
      efficiency_percent = excluded.efficiency_percent, stages = excluded.stages,
      changed_at = clock_timestamp(), closed_at = case when s.session <> '' then s.closed_at end
  where (s.start_at, s.end_at, s.zone_offset_min, s.asleep_s, s.in_bed_s, s.awake_s, s.light_s, s.deep_s, s.rem_s,
         s.efficiency_percent, s.stages)
        is distinct from
        (excluded.start_at, excluded.end_at, excluded.zone_offset_min, excluded.asleep_s, excluded.in_bed_s,
         excluded.awake_s, excluded.light_s, excluded.deep_s, excluded.rem_s, excluded.efficiency_percent,
         excluded.stages)
  returning s.id`

/**
 * Decides for every session that shares its sleep day with one of `changed` whether it is a nap, which depends on the
 * others of the day and source. `sessions` hold all of these days. Returns the ids of those whose answer changed.
 */
export async function saveNaps(
  tx: Transaction,
  sessions: readonly (StoredSession | SavedSession)[],
  changed: readonly (StoredSession | SavedSession)[],
): Promise<string[]> {
  const dayOf = (session: StoredSession | SavedSession) => `${session.sourceId} ${sleepDay(session)}`
  const days = groupBy(sessions, dayOf)
  const ids: string[] = []
  const naps: boolean[] = []
  for (const day of new Set(changed.map(dayOf))) {
    const ofDay = days.get(day) ?? []
    const napsOfDay = napsOf(ofDay)
    for (const session of ofDay) {
      ids.push(session.id)
      naps.push(napsOfDay.has(session))
    }
  }
  if (ids.length === 0) return []
  const written = await planned<{ id: string }>(
    tx,
    `update sleep s set is_nap = n.is_nap, changed_at = clock_timestamp()
     from unnest($1::uuid[], $2::bool[]) n (id, is_nap)
     where s.id = n.id and s.is_nap is distinct from n.is_nap
     returning s.id`,
    [ids, naps],
  )
  return written.map(({ id }) => id)
}

/**
 * Stores the platform's score of each session beside it, and removes scores that are no longer sent (contract 14.1).
 * Returns the ids of the sessions whose score changed.
 */
export async function saveScores(
  tx: Transaction,
  { userId, provider }: EventTarget,
  sessions: readonly SavedSession[],
): Promise<string[]> {
  if (sessions.length === 0) return []
  const written = await planned<{ id: string }>(
    tx,
    `with scored as (
       select n.id, n.score from unnest($3::uuid[], $4::float8[]) n (id, score)
     ), gone as (
       delete from health_score h using scored n
       where h.sleep_id = n.id and n.score is null and h.provider = $2
       returning h.sleep_id
     ), saved as (
       insert into health_score as h (user_id, source_id, provider, category, value, recorded_at, zone_offset_min, sleep_id)
       select $1, s.source_id, $2, 'sleep', n.score, s.start_at, s.zone_offset_min, s.id
       from scored n
       join sleep s on s.id = n.id
       where n.score is not null
       on conflict on constraint health_score_sleep_key do update
       set provider = excluded.provider, value = excluded.value, recorded_at = excluded.recorded_at,
           zone_offset_min = excluded.zone_offset_min, qualifier = null, components = null
       where (h.provider, h.value, h.recorded_at, h.zone_offset_min)
             is distinct from (excluded.provider, excluded.value, excluded.recorded_at, excluded.zone_offset_min)
       returning h.sleep_id
     )
     select sleep_id as id from gone union all select sleep_id from saved`,
    [userId, provider, sessions.map(({ id }) => id), sessions.map(({ score }) => score)],
  )
  return written.map(({ id }) => id)
}
