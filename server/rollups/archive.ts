import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Queryable } from '../db/database.ts'
import { DAY_MS } from '../time.ts'
import { refreshRollups } from './refresh.ts'

/** What is kept for how long; null = for ever. */
export interface ArchivalSettings {
  archive_after_days: number | null
  delete_after_days: number | null
}

/**
 * Archived is by whole months of 30 days since 1970, which are the chunks of a hypertable: they are dropped in no time,
 * and both engines archive the same samples.
 */
const MONTH_MS = 30 * DAY_MS

/** Rows that one statement deletes, and time after which a run leaves the rest to the next one. */
const ROWS_AT_ONCE = 5_000
const BUDGET_MS = 120_000
const WAIT_MS = 100

/** Taken shared by every import, and alone for the moment in which a new floor is set. */
export const ARCHIVAL_LOCK_SQL = `hashtextextended('archival', 0)`

const floorMs = (nowMs: number, days: number | null) =>
  days === null ? null : Math.floor((nowMs - days * DAY_MS) / MONTH_MS) * MONTH_MS

/** The instants before which samples, and before which rollups are not kept, epoch ms; null = all are. */
export function floors({ archive_after_days, delete_after_days }: ArchivalSettings, nowMs: number) {
  const deleted = floorMs(nowMs, delete_after_days)
  const archived = floorMs(nowMs, archive_after_days)
  const raw = archived === null ? deleted : deleted === null ? archived : Math.max(archived, deleted)
  return { rawMs: raw, rollupMs: deleted }
}

/**
 * Carries out what is to be kept for how long (contract 13): imports refuse what is older first, then its rollups are
 * completed, then reads stop seeing its samples, then these are removed. Any step may be repeated, so a run that was
 * killed is taken up by the next one. Returns whether there is more to do.
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
  if (rawMs !== null) await raiseWriteFloor(db, rawMs)
  while (await dirtyBelowFloor(db)) {
    if (performance.now() > deadline) return true
    // Another process may be at the rest of it.
    if (!(await refreshRollups(db, deadline - performance.now()))) await delay(WAIT_MS)
  }
  if (!(await raiseReadFloors(db, rollupMs))) return true
  return removeArchived(db, deadline, log)
}

/** Imports under way are waited for; the next ones see the new floor. A floor is never lowered: its data is gone. */
async function raiseWriteFloor(db: Database, rawMs: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(${ARCHIVAL_LOCK_SQL})`)
    await tx.query('update archival set write_floor = greatest(write_floor, to_timestamp($1))', [rawMs / 1000])
  })
}

async function dirtyBelowFloor(db: Queryable): Promise<boolean> {
  const rows = await db.query(
    `select 1 from rollup_dirty d, archival a where d.lo < a.write_floor
     union all
     select 1 from rollup_local_day r, archival a where r.stale and day_starts(r.day) < a.write_floor
     limit 1`,
  )
  return rows.length > 0
}

/**
 * False when there is something dirty below the floor after all: another run raised it, or rollups were converted. What
 * has been answered before is not any more: every user's revision moves.
 */
async function raiseReadFloors(db: Database, rollupMs: number | null): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(${ARCHIVAL_LOCK_SQL})`)
    if (await dirtyBelowFloor(tx)) return false
    await tx.query(
      `with raised as (
         update archival
         set raw_floor = write_floor, rollup_floor = greatest(rollup_floor, to_timestamp($1))
         where raw_floor is distinct from write_floor
            or rollup_floor is distinct from greatest(rollup_floor, to_timestamp($1))
         returning 1
       )
       update app_user set revision = revision + 1 where exists (select 1 from raised)`,
      [rollupMs === null ? null : rollupMs / 1000],
    )
    return true
  })
}

/** Functions that remove so many rows at once, until none is left. Events and scores are none of them (contract 13). */
const REMOVALS = ['delete_archived_samples', 'delete_archived_origins', 'delete_expired_rollups']

async function removeArchived(db: Database, deadline: number, log: (message: string) => void): Promise<boolean> {
  const { chunks } = await db.one<{ chunks: number }>('select drop_archived_chunks() as chunks')
  let rows = 0
  let more = false
  for (const remove of REMOVALS) {
    for (;;) {
      const { removed } = await db.one<{ removed: number }>(`select ${remove}($1) as removed`, [ROWS_AT_ONCE])
      rows += removed
      if (removed === 0) break
      more = performance.now() > deadline
      if (more) break
    }
    if (more) break
  }
  if (chunks + rows > 0) log(`archival removed ${chunks} chunks of samples and ${rows} rows`)
  return more
}
