import { setTimeout as delay } from 'node:timers/promises'
import { counted } from '../counted.ts'
import type { Database, Queryable } from '../db/database.ts'
import { DAY_MS } from '../time.ts'
import { refreshRollups } from './refresh.ts'

/** What is kept for how long; null = forever. */
export interface ArchivalSettings {
  archive_after_days: number | null
  delete_after_days: number | null
}

/**
 * Archiving works in whole months of 30 days since 1970, which are the chunks of a hypertable: dropping chunks takes no
 * time, and both engines archive the same samples.
 */
const MONTH_MS = 30 * DAY_MS

/** A run leaves the rest to the next one after BUDGET_MS, and retries rows in use for PATIENCE_MS. */
const BUDGET_MS = 120_000
const PATIENCE_MS = 10_000
const WAIT_MS = 100

/**
 * Samples of a series removed at once, and series in one transaction: fewer compressed samples than a transaction may
 * open by default (100,000).
 */
const ROWS_AT_ONCE = 5_000
const SERIES_AT_ONCE = 10
/** Local days of a series whose minutes are stored in one statement. */
const DAYS_AT_ONCE = 30

const floorMs = (nowMs: number, days: number | null) =>
  days === null ? null : Math.floor((nowMs - days * DAY_MS) / MONTH_MS) * MONTH_MS

/** The instants before which samples and rollups are not kept, epoch ms; null = all are kept. */
export function floors({ archive_after_days, delete_after_days }: ArchivalSettings, nowMs: number) {
  const deleted = floorMs(nowMs, delete_after_days)
  const archived = floorMs(nowMs, archive_after_days)
  const raw = archived === null ? deleted : deleted === null ? archived : Math.max(archived, deleted)
  return { rawMs: raw, rollupMs: deleted }
}

/**
 * Applies the archival settings (contract 13). It completes rollups, then marks samples as archived, user by user, which
 * takes effect for reads at once, then removes them. Only an import of the same user waits for it, for milliseconds. Any
 * step may be repeated, so the next run continues a killed one. Returns whether work is left because time ran out; rows
 * that stay in use are left to the run of another day.
 */
export async function archive(
  db: Database,
  nowMs: number,
  log: (message: string) => void = () => {},
  budgetMs = BUDGET_MS,
): Promise<boolean> {
  const deadline = performance.now() + budgetMs
  const settings = await db.one<ArchivalSettings>('select archive_after_days, delete_after_days from archival')
  const { rawMs, rollupMs } = floors(settings, nowMs)
  let more = false
  if (rawMs !== null) {
    await raiseFloors(db, rawMs, rollupMs)
    const withRollups = rawMs !== rollupMs
    // If much data arrives late, some series is always outdated: the run skips it and archives all others.
    if (withRollups) more = !(await completeRollups(db, rawMs, performance.now() + budgetMs / 2))
    if (withRollups) await keepMinutes(db, rawMs, performance.now() + budgetMs / 4)
    more = (await archiveUsers(db, { untilMs: rawMs, withRollups, deadline, log })) || more
  }
  if ((await removeArchived(db, deadline, log)) || more) return true
  await lowerRollupFloor(db, rollupMs)
  return false
}

/**
 * Raises the floors: samples before the first may be archived, and nothing before the second is read from now on. Earlier
 * answers become invalid: every user's revision moves.
 */
async function raiseFloors(db: Database, rawMs: number, rollupMs: number | null): Promise<void> {
  await db.query(
    'update archival set raw_floor = to_timestamp($1) where raw_floor is null or raw_floor < to_timestamp($1)',
    [rawMs / 1000],
  )
  if (rollupMs === null) return
  await db.query(
    `with raised as (
       update archival set rollup_floor = to_timestamp($1)
       where rollup_floor is null or rollup_floor < to_timestamp($1)
       returning 1
     ), ${everybodyIf('raised')}
     update app_user u set revision = u.revision + 1 from everybody e where u.id = e.id`,
    [rollupMs / 1000],
  )
}

/** All users if a part of the statement changed a row; locked in the order of lock.ts. */
const everybodyIf = (part: string) => `everybody as materialized (
       select id from app_user where exists (select 1 from ${part}) order by id for no key update
     )`

const QUARTERS_SQL = `
  select t.source_id, t.series_id, keep_quarters(t.source_id, t.series_id, to_timestamp($1))
  from (
    select source_id, series_id from sparse_time
    where (source_id, series_id) > ($2, $3::int2) and months && tstzmultirange(tstzrange(null, to_timestamp($1)))
    order by source_id, series_id
    limit ${SERIES_AT_ONCE}
  ) t
  order by 1, 2`

/** Outdates quarter hours before `untilMs` that were not kept so far; those in use are left to another run. False if time ran out. */
async function completeQuarters(db: Database, untilMs: number, deadline: number): Promise<boolean> {
  let last = { source_id: 0, series_id: 0 }
  for (;;) {
    if (performance.now() > deadline) return false
    const rows = await db.query<typeof last>(QUARTERS_SQL, [untilMs / 1000, last.source_id, last.series_id])
    const end = rows.at(-1)
    if (!end) return true
    last = end
  }
}

/** Refreshes all outdated rollups before `untilMs`, and quarter hours that were not kept so far. False if time ran out. */
async function completeRollups(db: Database, untilMs: number, deadline: number): Promise<boolean> {
  if (!(await completeQuarters(db, untilMs, deadline))) return false
  while (await behind(db, untilMs)) {
    // Another process may be refreshing the rest.
    if (!(await refreshRollups(db, deadline - performance.now()))) await delay(WAIT_MS)
    if (performance.now() > deadline) return false
  }
  return true
}

const MINUTES_DUE_SQL = `
  select k.source_id, k.series_id
  from source_series k
  where has_minutes(k.series_id) and (k.archived_to is null or k.archived_to < to_timestamp($1))
  order by 1, 2`

/**
 * Stores the minutes of days that are about to be archived, in portions. The rest after the deadline is done while each
 * user's samples are archived, which makes that user's imports wait.
 */
async function keepMinutes(db: Database, untilMs: number, deadline: number): Promise<void> {
  for (const key of await db.rows<[source: number, series: number]>(MINUTES_DUE_SQL, [untilMs / 1000])) {
    let kept = true
    while (kept && performance.now() < deadline) {
      const values = [...key, untilMs / 1000, DAYS_AT_ONCE]
      kept = (await db.one<{ kept: boolean }>('select keep_minutes($1, $2, to_timestamp($3), $4) as kept', values)).kept
    }
  }
}

async function behind(db: Queryable, untilMs: number): Promise<boolean> {
  const rows = await db.query(
    `select 1 from rollup_dirty d where d.lo < to_timestamp($1)
     union all
     select 1 from rollup_local_day r where r.stale and day_starts(r.day) < to_timestamp($1)
     limit 1`,
    [untilMs / 1000],
  )
  return rows.length > 0
}

const USERS_SQL = `
  select distinct d.user_id
  from source_series k
  join data_source d on d.id = k.source_id
  where k.archived_to is null or k.archived_to < to_timestamp($1)`

/** Whose data from before `untilMs` is archived, until when on the monotonic clock, and who hears what is left. */
interface Users {
  untilMs: number
  withRollups: boolean
  deadline: number
  log: (message: string) => void
}

/**
 * Archives each user's data from before `untilMs`. True if the deadline passed before all users were tried; a user whose
 * imports never pause is left to another run.
 */
async function archiveUsers(db: Database, { untilMs, withRollups, deadline, log }: Users): Promise<boolean> {
  const patience = Math.min(deadline, performance.now() + PATIENCE_MS)
  let due = (await db.rows<[id: string]>(USERS_SQL, [untilMs / 1000])).map(([id]) => id)
  for (let isFirst = true; ; isFirst = false) {
    const left: string[] = []
    for (const [place, user] of due.entries()) {
      const { done } = await db.one<{ done: boolean }>('select archive_user($1, to_timestamp($2), $3) as done', [
        user,
        untilMs / 1000,
        withRollups,
      ])
      if (!done) left.push(user)
      if (performance.now() > deadline) return isFirst && place + 1 < due.length
    }
    due = left
    if (due.length > 0 && performance.now() > patience)
      log(`archival left data of ${counted(due.length, 'user')} to the next run: it was in use`)
    if (due.length === 0 || performance.now() > patience) return false
    // These users are importing, late data arrived since the rollups were completed, or another session was at their rollups.
    await delay(WAIT_MS)
    if (!withRollups) continue
    await completeQuarters(db, untilMs, patience)
    await refreshRollups(db, patience - performance.now())
  }
}

/** Removes archived data, and data older than anything kept. True if the deadline passed before the end. */
async function removeArchived(db: Database, deadline: number, log: (message: string) => void): Promise<boolean> {
  const chunks = await db.query<{ starts: string; ends: string }>('select starts, ends from archived_chunks()')
  const [marked] = await db.query(`select 1 from source_series where ${REMOVABLE} limit 1`)
  if (chunks.length === 0 && !marked) return false
  // A refresh of all users' rollups that does not know the new floor would treat removed data as deleted.
  const { free } = await db.one<{ free: boolean }>(
    `select pg_try_advisory_xact_lock_shared(hashtextextended('refresh all rollups', 0)) as free`,
  )
  if (!free) {
    await delay(WAIT_MS)
    return performance.now() > deadline || removeArchived(db, deadline, log)
  }
  let dropped = 0
  for (const { starts, ends } of chunks) {
    const { gone } = await db.one<{ gone: boolean }>('select drop_archived_chunk($1, $2) as gone', [starts, ends])
    if (gone) dropped += 1
  }
  const { rows, more } = await removeRows(db, deadline)
  if (dropped + rows > 0) log(`archival removed ${counted(dropped, 'chunk')} of samples and ${counted(rows, 'row')}`)
  return more
}

// A series that may still have stored samples that are archived, or data from before the floor of the rollups.
const REMOVABLE = `(to_remove or coalesce(expired_to, '-infinity') < (select rollup_floor from archival))`

const REMOVE_SQL = `
  select k.source_id, k.series_id, remove_archived(k.source_id, k.series_id, $1)
  from (
    select source_id, series_id from source_series
    where ${REMOVABLE} and (source_id, series_id) > ($2, $3)
    order by 1, 2
    limit ${SERIES_AT_ONCE}
  ) k`

/** Removes the removable rows of every series; those in use are left to another run. */
async function removeRows(db: Database, deadline: number): Promise<{ rows: number; more: boolean }> {
  let rows = 0
  let [source, series] = [-1, -1]
  for (;;) {
    const next = await db.rows<[source: number, series: number, removed: number | null]>(REMOVE_SQL, [
      ROWS_AT_ONCE,
      source,
      series,
    ])
    rows += next.reduce((sum, [, , removed]) => sum + (removed ?? 0), 0)
    const last = next.at(-1)
    if (!last) return { rows, more: false }
    // Series with removed rows are returned again.
    if (next.every(([, , removed]) => !removed)) [source, series] = last
    if (performance.now() > deadline) return { rows, more: true }
  }
}

/**
 * Lowers the floor if the settings delete less than before: older samples are accepted and read again, though removed
 * data does not come back. It waits until everything below the old floor has been removed.
 */
async function lowerRollupFloor(db: Database, rollupMs: number | null): Promise<void> {
  await db.query(
    `with lowered as (
       update archival set rollup_floor = to_timestamp($1)
       where rollup_floor > coalesce(to_timestamp($1), '-infinity')
         and not exists (select 1 from source_series where ${REMOVABLE})
         and not exists (select 1 from archived_chunks() c where c.ends <= rollup_floor)
       returning 1
     ), ${everybodyIf('lowered')}
     update app_user u set revision = u.revision + 1 from everybody e where u.id = e.id`,
    [rollupMs === null ? null : rollupMs / 1000],
  )
}
