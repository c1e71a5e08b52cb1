import { setTimeout as delay } from 'node:timers/promises'
import { counted } from '../../counted.ts'
import { openLog } from '../../log.ts'
import { createMetrics } from '../../metrics.ts'
import { type Outcome, rehearseBatches } from '../../store/commit.ts'
import type { EventCounts } from '../../store/event-items.ts'
import type { EventSettings } from '../../webhooks/record.ts'
import { createHandover } from './handover.ts'
import { createImporter, type ImportMeans } from './import.ts'
import { cameBy, readStored, type StoredUpload } from './stored.ts'

const BUSY_MS = 250

type Say = (line: string) => void

/** The selected uploads: one by its id, or those of a user that arrived between two UTC days, both included. */
export interface Selection {
  batch: string | null
  user: string | null
  from: string | null
  to: string | null
}

/** Everything that replaying needs. */
export type ReplayMeans = Pick<ImportMeans, 'db' | 'threads' | 'settings'>

interface SelectedUpload extends StoredUpload {
  user_id: string
}

const UPLOADS_SQL = `
  select id, user_id, provider, sha256, received_at, channel, connection_id, sync_type
  from upload
  where status <> 'queued' and replay_of is null
    and case when $1::uuid is not null then id = $1 else user_id = $2 end
    and received_at >= coalesce($3::date, '-infinity') and received_at < coalesce($4::date + 1, 'infinity')
  order by seq`

/** What a replay would change in a type. */
interface Change {
  inserted: number
  updated: number
  /** First and last UTC days of the changes. */
  days: string[]
}

interface Report {
  unchanged: number
  deleted: number
  rejected: number
  changes: Map<string, Change>
}

/** Uncommitted changes have no events. */
const SILENT: EventSettings = { outgoingWebhooksEnabled: false, eventFeedEnabled: false }

/** Imports uploads in a transaction that is not committed, and reports the changes. */
async function rehearse({ db, threads }: ReplayMeans, uploads: readonly SelectedUpload[]): Promise<Report> {
  const report: Report = { unchanged: 0, deleted: 0, rejected: 0, changes: new Map() }
  async function* batches() {
    for (const upload of uploads) {
      const { user_id: userId, provider } = upload
      const batch = await readStored(db, threads, userId, upload)
      const target = { userId, provider, receivedAt: null, settings: SILENT, threads, ...cameBy(upload) }
      if (batch) yield [target, batch] as const
    }
  }
  for (const outcome of await rehearseBatches(db, uploads[0]?.user_id ?? '', batches())) add(report, outcome)
  return report
}

/** Rows derived from events, which the report lists separately. */
const DERIVED: Partial<Record<EventCounts['type'], string>> = {
  sleep: 'sleep sessions',
  menstrual_cycle: 'menstrual cycles',
}

const dayOf = (ms: number | null) => new Date(ms ?? 0).toISOString().slice(0, 10)

function add(report: Report, outcome: Outcome): void {
  report.unchanged += outcome.unchanged
  report.deleted += outcome.deleted
  report.rejected += outcome.batch.rejected
  const events = outcome.events.map(({ type, inserted, updated, firstMs, lastMs }) => {
    return { type, inserted, updated, days: [dayOf(firstMs), dayOf(lastMs)] }
  })
  const derived = outcome.events.map(({ type, derived = [] }) => {
    const inserted = derived.filter(({ isNew }) => isNew).length
    const days = derived.flatMap(({ startMs, endMs }) => [dayOf(startMs), dayOf(endMs)])
    return { type: DERIVED[type] ?? type, inserted, updated: derived.length - inserted, days }
  })
  const series = outcome.series.map(({ type, inserted, updated, firstTs, lastTs }) => {
    return { type, inserted, updated, days: [firstTs.slice(0, 10), lastTs.slice(0, 10)] }
  })
  for (const { type, inserted, updated, days } of [...series, ...events, ...derived]) {
    if (inserted + updated === 0) continue
    const before = report.changes.get(type) ?? { inserted: 0, updated: 0, days: [] }
    report.changes.set(type, {
      inserted: before.inserted + inserted,
      updated: before.updated + updated,
      days: [...before.days, ...days].sort(),
    })
  }
}

function print(report: Report, say: Say): void {
  const lines = [...report.changes].sort(([a], [b]) => (a < b ? -1 : 1))
  if (lines.length > 0) say(row('', ['new', 'changed', 'from', 'to']))
  for (const [type, { inserted, updated, days }] of lines)
    say(row(type, [inserted, updated, days[0] ?? '', days.at(-1) ?? '']))
  say(`unchanged ${report.unchanged}, deleted ${report.deleted}, rejected ${report.rejected}`)
}

type Cells = [inserted: unknown, updated: unknown, first: string, last: string]
const row = (type: string, [inserted, updated, first, last]: Cells) =>
  `${type.padEnd(36)}${String(inserted).padStart(9)}${String(updated).padStart(9)}  ${first.padEnd(10)}  ${last}`

/** Queues the uploads again and imports them, unless a running service is faster. */
async function write(means: ReplayMeans, uploads: readonly SelectedUpload[], say: Say): Promise<void> {
  const { db } = means
  const rest = { handover: createHandover(0), metrics: createMetrics(), log: openLog('warn') }
  const importer = createImporter({ ...means, ...rest })
  const userId = uploads[0]?.user_id ?? ''
  const queued: string[] = []
  for (const { id } of uploads) {
    const [again] = await db.query<{ batch_id: string }>('select batch_id from replay_upload($1)', [id])
    if (again) queued.push(again.batch_id)
  }
  const waiting = `select 1 from upload where id = any ($1) and status = 'queued' limit 1`
  while ((await db.query(waiting, [queued])).length > 0) {
    if ((await importer.importUploads(userId)) === 'busy') await delay(BUSY_MS)
  }
  const failed = await db.query<{ id: string }>(`select id from upload where id = any ($1) and status = 'failed'`, [
    queued,
  ])
  say(`Imported ${counted(queued.length - failed.length, 'upload')} again.`)
  for (const { id } of failed) say(`Failed: batch ${id}; its status says why.`)
}

/**
 * Imports stored uploads again by the current rules. First reports, line by line, what that changes; without `write` it
 * changes nothing.
 */
export async function replay(
  means: ReplayMeans,
  { batch, user, from, to }: Selection,
  toWrite: boolean,
  say: Say,
): Promise<void> {
  const all = await means.db.query<SelectedUpload & { sha256: Buffer | null }>(UPLOADS_SQL, [batch, user, from, to])
  const kept = all.filter(({ sha256 }) => sha256 !== null)
  say(`${counted(kept.length, 'upload')}. No longer kept: ${counted(all.length - kept.length, 'body', 'bodies')}.`)
  if (all.length === 0) say('No such upload: check the id and the days.')
  if (kept.length === 0) return
  print(await rehearse(means, kept), say)
  if (toWrite) await write(means, kept, say)
  else say('Nothing was written. To write, add --write.')
}
