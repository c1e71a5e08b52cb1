import { groupBy } from '../../batch/group-by.ts'
import type { Scope } from '../../catalogue/scopes.ts'
import type { Transaction } from '../../db/database.ts'
import { planned } from '../../db/planned.ts'
import { derivedChanges, type EventTarget, type Rebuilt } from '../event-items.ts'
import { coveredOf, type Judged, napsOf, SAME_SLEEP_MS, sleepDay } from './day.ts'
import { scopesOf } from './scopes.ts'
import { type Session, sessionKey } from './sessions.ts'
import { type CleanStage, firstEndingAfter, type Range, type Totals, union } from './totals.ts'

// The stored sessions: read around the changes, and written where they differ.

/** A stored session, with the facts that rebuilding needs; `createdS` in epoch seconds. */
export interface StoredSession extends Judged, Judgement {
  id: string
  createdS: number
  /** Whether it belongs to the provider whose stages change. */
  own: boolean
  /** Whether what happens in the ranges may decide whether it is covered. */
  near: boolean
  /** Whether one upload brought everything stored of it, and contained the whole session. */
  whole: boolean
  /** Whether its events are live or of the past; null = not known. */
  scope: Scope | null
}

/** The facts of a session that depend on the sessions around it. */
interface Judgement {
  nap: boolean
  covered: boolean
}

/** A session with the key of its row; what is null is not known. */
export interface SavedSession
  extends Omit<Session, keyof Totals | 'stages'>,
    Record<keyof Totals, number | null>,
    Pick<StoredSession, 'id' | 'whole'> {
  stages: readonly CleanStage[] | null
  saidNap?: boolean | null
}

/**
 * How far apart two sessions of one sleep day end at most: less than 24 h on the wall clock, whose zones differ by at most
 * 36 h (each is at most 18 h).
 */
const SAME_DAY_MS = (24 + 36) * 3_600_000

/**
 * Reads the sessions of a user, of all providers, that end within `ranges` or are judged together with one that does.
 * Sessions that a change covers or uncovers end less than a day away, unless sessions overlap in a chain, in which every
 * second one may count: then it is read from end to end, twice as far each time.
 */
export async function readSessions(
  tx: Transaction,
  { userId, provider }: Pick<EventTarget, 'userId' | 'provider'>,
  ranges: readonly Range[],
): Promise<StoredSession[]> {
  const around = (ms: number) => union(ranges.map(([startMs, endMs]) => [startMs - ms, endMs + ms]))
  const within = (list: readonly Range[], ms: number) =>
    (list[firstEndingAfter(list, ms - 1)]?.[0] ?? Number.POSITIVE_INFINITY) <= ms
  for (let reachMs = 2 * SAME_SLEEP_MS; ; reachMs *= 2) {
    const read = around(reachMs + SAME_DAY_MS)
    const rows = await planned<Omit<StoredSession, 'near'>>(tx, SESSIONS_SQL, [
      userId,
      provider,
      read.map(([startMs]) => startMs / 1000),
      read.map(([, endMs]) => endMs / 1000),
    ])
    const [close, reached] = [around(SAME_SLEEP_MS), around(reachMs)]
    const near = chainsOf(rows, ({ endMs }) => within(close, endMs))
    if ([...near].every(({ endMs }) => within(reached, endMs)))
      return rows.map((one) => ({ ...one, near: near.has(one) }))
  }
}

const SESSIONS_SQL = `
  select s.id, s.source_id as "sourceId", s.session, round(date_part('epoch', s.start_at) * 1000) as "startMs",
         round(date_part('epoch', s.end_at) * 1000) as "endMs", s.zone_offset_min as "zoneMin",
         coalesce(s.asleep_s, date_part('epoch', s.end_at - s.start_at)) as "asleepS", s.awake_s as "awakeS",
         s.light_s as "lightS", s.said_nap as "saidNap", s.is_nap is true as nap, s.covered, s.whole, s.scope, date_part('epoch', s.created_at) as "createdS",
         d.provider = $2 as own
  from data_source d
  cross join unnest($3::float8[], $4::float8[]) around (lo, hi)
  cross join lateral (
    select * from sleep
    where source_id = d.id and end_at >= to_timestamp(around.lo) and end_at <= to_timestamp(around.hi)
    offset 0
  ) s
  where d.user_id = $1`

/** The sessions for which `test` holds, and those of their sources that overlap them, or one that does, and so on. */
function chainsOf<One extends Judged>(sessions: readonly One[], test: (one: One) => boolean): Set<One> {
  const found = [...groupBy(sessions, ({ sourceId }) => sourceId).values()].flatMap((own) => {
    const chains = union(own.map(({ startMs, endMs }): Range => [startMs, endMs]))
    const chainOf = ({ startMs }: One) => firstEndingAfter(chains, startMs)
    const asked = new Set(own.filter(test).map(chainOf))
    return own.filter((one) => asked.has(chainOf(one)))
  })
  return new Set(found)
}

type Place = Pick<Session, 'sourceId' | 'session' | 'startMs' | 'endMs'>

/**
 * The keys that rebuilt sessions keep: a platform's session its own, others that of the oldest row they overlap (contract
 * D-30). The row of a divided session goes to the part that it overlaps most.
 */
export function idsFor<One extends Place>(
  sessions: readonly One[],
  old: readonly (Place & Pick<StoredSession, 'id' | 'createdS'>)[],
): Map<One, string> {
  const ids = new Map<One, string>()
  const rebuilt = groupBy(sessions, sessionKey)
  for (const list of rebuilt.values()) list.sort((a, b) => a.startMs - b.startMs)
  const windows = new Map(
    [...rebuilt].map(([key, list]) => [key, list.map(({ startMs, endMs }): Range => [startMs, endMs])]),
  )
  for (const row of [...old].sort((a, b) => a.createdS - b.createdS || a.startMs - b.startMs)) {
    const list = rebuilt.get(sessionKey(row)) ?? []
    const isOwn = row.session !== ''
    let best: One | undefined
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

/** The sessions of a user around a change: what is stored, and what becomes of those that are rebuilt. */
export interface Replacement {
  rebuilt: readonly SavedSession[]
  /** The rows that the rebuilt sessions replace or continue. */
  old: readonly StoredSession[]
  /** All rows, of all providers, that are judged together with them. */
  stored: readonly StoredSession[]
}

/**
 * Writes rebuilt sessions, removes the rows that none of them continues, and judges those around them again. Returns the
 * sessions that are different now, and the ids of those whose events have changed.
 */
export async function replaceSessions(
  tx: Transaction,
  target: EventTarget,
  { rebuilt, old, stored }: Replacement,
): Promise<Rebuilt> {
  const replaced = new Set(old)
  const others = stored.filter((one) => !replaced.has(one))
  const kept = new Set(rebuilt.map(({ id }) => id))
  const gone = old.filter(({ id }) => !kept.has(id))
  await deleteSessions(
    tx,
    gone.map(({ id }) => id),
  )
  const scopes = scopesOf(rebuilt, old, target.scope)
  const saved = await saveSessions(
    tx,
    target,
    rebuilt.map((one, place) => ({ ...one, scope: scopes[place] ?? null })),
  )
  const now = rebuilt.map((one) => ({ ...one, asleepS: one.asleepS ?? (one.endMs - one.startMs) / 1000 }))
  const judged = await judgeSessions(
    tx,
    { sessions: [...now, ...others], changed: [...now, ...old], before: stored },
    target.scope,
  )
  const announced = new Set([...saved, ...judged.announced])
  const written = new Set([...announced, ...judged.changed, ...(await saveScores(tx, target, rebuilt))])
  return {
    derived: derivedChanges(stored, [...gone, ...[...rebuilt, ...others].filter(({ id }) => written.has(id))]),
    announced: [...announced],
  }
}

/** Removes sessions, with their scores. */
export async function deleteSessions(tx: Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await planned(tx, 'delete from sleep where id = any ($1)', [ids])
}

/**
 * Inserts the sessions whose row is new and updates those that changed, which opens them again; a platform's sessions are
 * closed from the start. Returns the ids of these rows.
 */
export async function saveSessions(
  tx: Transaction,
  { userId }: EventTarget,
  sessions: readonly (SavedSession & Pick<StoredSession, 'scope'>)[],
): Promise<string[]> {
  if (sessions.length === 0) return []
  const saved = await planned<{ id: string }>(tx, SAVE_SESSIONS_SQL, [
    userId,
    JSON.stringify(
      sessions.map(({ startMs, endMs, stages, ...session }) => ({
        ...session,
        startS: startMs / 1000,
        endS: endMs / 1000,
        stages: stages?.map(([stage, fromMs, untilMs]) => [stage, fromMs / 1000, untilMs / 1000]) ?? null,
      })),
    ),
  ])
  return saved.map(({ id }) => id)
}

const SAVE_SESSIONS_SQL = `
  insert into sleep as s (id, user_id, source_id, session, start_at, end_at, zone_offset_min, asleep_s, in_bed_s,
                          awake_s, light_s, deep_s, rem_s, efficiency_percent, is_nap, said_nap, stages, whole, scope,
                          closed_at)
  select n.id, $1, n."sourceId", n.session, to_timestamp(n."startS"), to_timestamp(n."endS"), n."zoneMin", n."asleepS",
         n."inBedS", n."awakeS", n."lightS", n."deepS", n."remS", n."efficiencyPercent", false, n."saidNap",
         n.stages, n.whole, n.scope,
         case when n.session <> '' then clock_timestamp() end
  from jsonb_to_recordset($2) as n (
    id uuid, "sourceId" int4, session text, "startS" float8, "endS" float8, "zoneMin" int2, "asleepS" int4,
    "inBedS" int4, "awakeS" int4, "lightS" int4, "deepS" int4, "remS" int4, "efficiencyPercent" float8, "saidNap" bool, stages jsonb,
    whole bool, scope text
  )
  on conflict (id) do update
  set start_at = excluded.start_at, end_at = excluded.end_at, zone_offset_min = excluded.zone_offset_min,
      asleep_s = excluded.asleep_s, in_bed_s = excluded.in_bed_s, awake_s = excluded.awake_s,
      light_s = excluded.light_s, deep_s = excluded.deep_s, rem_s = excluded.rem_s,
      efficiency_percent = excluded.efficiency_percent, said_nap = excluded.said_nap, stages = excluded.stages,
      scope = case when 'live' in (s.scope, excluded.scope) then 'live' when s.scope is not null then excluded.scope end,
      changed_at = clock_timestamp(), closed_at = case when s.session <> '' then s.closed_at end
  where (s.start_at, s.end_at, s.zone_offset_min, s.asleep_s, s.in_bed_s, s.awake_s, s.light_s, s.deep_s, s.rem_s,
         s.efficiency_percent, s.said_nap, s.stages)
        is distinct from
        (excluded.start_at, excluded.end_at, excluded.zone_offset_min, excluded.asleep_s, excluded.in_bed_s,
         excluded.awake_s, excluded.light_s, excluded.deep_s, excluded.rem_s, excluded.efficiency_percent,
         excluded.said_nap, excluded.stages)
  returning s.id`

/** Sessions of a person after a change. */
interface AfterChange {
  /** The stored ones now. */
  sessions: readonly (Judged & Pick<StoredSession, 'id' | 'whole'>)[]
  /** Those that came, changed or went. */
  changed: readonly Judged[]
  /** The stored ones before, as `readSessions` read them. */
  before: readonly StoredSession[]
}

/**
 * Judges the sessions around a change again: which of them a better one of their source covers, and which of their sleep
 * days are naps, which depends on all sources of the person. `scope` is that of the change. Returns the ids of those that
 * changed, and of those among them that events report.
 */
export async function judgeSessions(
  tx: Transaction,
  { sessions, changed, before }: AfterChange,
  scope: Scope | null,
): Promise<{ changed: string[]; announced: string[] }> {
  const stored = new Map(before.map((session) => [session.id, session]))
  const was = ({ id }: { id: string }) => stored.get(id) ?? { nap: false, covered: false, whole: null, near: true }
  const near = sessions.filter((one) => was(one).near)
  const covered = coveredOf(near)
  for (const one of sessions) if (!was(one).near && was(one).covered) covered.add(one)
  const naps = new Set(sessions.filter((one) => was(one).nap))
  const days = groupBy(sessions, sleepDay)
  const flipped = near.filter((one) => covered.has(one) !== was(one).covered)
  for (const day of new Set([...changed, ...flipped].map(sleepDay))) {
    const ofDay = days.get(day) ?? []
    const found = napsOf(ofDay, covered)
    for (const one of ofDay)
      if (found.has(one)) naps.add(one)
      else naps.delete(one)
  }
  const otherNaps = sessions.filter((one) => naps.has(one) !== was(one).nap)
  const others = [...otherNaps, ...flipped]
  // A new row already has its `whole`.
  const rows = [...new Set([...others, ...sessions.filter((one) => one.whole !== (was(one).whole ?? one.whole))])]
  if (rows.length > 0) {
    await planned(tx, JUDGE_SQL, [
      rows.map(({ id }) => id),
      rows.map((one) => naps.has(one)),
      rows.map((one) => covered.has(one)),
      rows.map(({ whole }) => whole),
      scope,
    ])
  }
  const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id)
  return { changed: idsOf(others), announced: idsOf(otherNaps) }
}

// Events contain is_nap, but not the others.
const JUDGE_SQL = `
  update sleep s
  set is_nap = n.nap, covered = n.covered, whole = n.whole,
      changed_at = case when s.is_nap is distinct from n.nap then clock_timestamp() else s.changed_at end,
      scope = case when s.is_nap is distinct from n.nap and $5::text = 'live' then 'live' else s.scope end
  from unnest($1::uuid[], $2::bool[], $3::bool[], $4::bool[]) n (id, nap, covered, whole)
  where s.id = n.id`

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
