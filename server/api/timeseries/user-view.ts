import { deviceName } from '../../catalogue/devices.ts'
import { DAILY_TOTAL_OFFSET, type SeriesType, seriesById } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { errors } from '../../errors.ts'

/** A data source as reads need it; `json` is its SourceMetadata in ASCII, ready to be pasted into a row. */
export interface Source {
  id: number
  uid: string
  provider: string
  deviceModel: string
  source: string
  deviceType: string
  /** Lower is better; see `sql/routines/source_rank.sql`. */
  rank: number
  metadata: SourceMetadata
  json: string
}

/** SourceMetadata of the specification. */
export interface SourceMetadata {
  provider: string
  source: string | null
  device: string | null
  device_type: string
  device_name: string | null
}

/** One series of one source: what the samples' primary key starts with. */
export interface Stored {
  source: Source
  series: SeriesType
  /** Key in the table: the series id, or its daily-total twin. */
  seriesId: number
  isDailyTotal: boolean
}

/**
 * What a user has, as of a revision, which counts changes of the user's data and of the priorities of sources; kept in
 * memory until it moves.
 */
export interface UserView {
  userId: string
  revision: number
  stored: Stored[]
  /** Answers that hold as long as the revision does: totals and priority ranges, by question. */
  answers: Map<string, unknown>
}

const VIEWS_KEPT = 5_000
const ANSWERS_KEPT = 20
const views = new WeakMap<Database, Map<string, UserView>>()

/**
 * Returns what a user has stored. One statement, and one primary-key probe when nothing changed since the last read.
 * @throws AppError not_found for an unknown user
 */
export async function userView(db: Database, userId: string): Promise<UserView> {
  const known = views.get(db) ?? new Map<string, UserView>()
  views.set(db, known)
  let view = known.get(userId)
  const [user] = await db.rows<[revision: number, series: SeriesOfSource[] | null]>(VIEW_SQL, [
    userId,
    view?.revision ?? null,
  ])
  // Behind all others: the first in the map is the one not asked for longest.
  known.delete(userId)
  if (!user) throw errors.notFound('User', userId)
  const [revision, series] = user
  if (view?.revision !== revision) view = { userId, revision, stored: storedOf(series ?? []), answers: new Map() }
  if (known.size >= VIEWS_KEPT) known.delete(known.keys().next().value as string)
  known.set(userId, view)
  return view
}

/** What was stored at the last look, perhaps no longer so; undefined when there was none. Asks the database nothing. */
export function rememberedView(db: Database, userId: string): UserView | undefined {
  return views.get(db)?.get(userId)
}

/** Asks once per revision: returns the kept answer to `question`, or computes and keeps it. */
export async function oncePerRevision<T>(view: UserView, question: string, compute: () => Promise<T>): Promise<T> {
  const kept = view.answers.get(question)
  if (kept !== undefined) return kept as T
  const answer = await compute()
  if (view.answers.size >= ANSWERS_KEPT) view.answers.clear()
  view.answers.set(question, answer)
  return answer
}

/** JSON with every character outside ASCII as an escape. */
const asciiJson = (value: unknown) =>
  JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** What of the table `data_source`, as `d`, makes a `Source`. */
export const SOURCE_COLUMNS = `d.id, d.uid, d.provider, d.device_model, d.source, d.device_type,
  source_rank(d.provider, case when d.device_model <> '' then d.device_type end) as rank`

/** A row of SOURCE_COLUMNS. */
export interface SourceRow {
  id: number
  uid: string
  provider: string
  device_model: string
  source: string
  device_type: string
  rank: number
}

/** A data source with what reads tell of it. */
export function sourceOf(row: SourceRow): Source {
  const metadata: SourceMetadata = {
    provider: row.provider,
    source: row.source || null,
    device: row.device_model || null,
    device_type: row.device_type,
    device_name: deviceName(row.device_model),
  }
  return {
    id: row.id,
    uid: row.uid,
    provider: row.provider,
    deviceModel: row.device_model,
    source: row.source,
    deviceType: row.device_type,
    rank: row.rank,
    metadata,
    json: asciiJson(metadata),
  }
}

interface SeriesOfSource extends SourceRow {
  series: number[]
}

/** The revision; and what is stored, unless that is the revision $2. */
const VIEW_SQL = `
  select v.revision,
         case when v.revision is distinct from $2::int8 then (
           select json_agg(o)
           from (
             select ${SOURCE_COLUMNS}, array_agg(s.series_id order by s.series_id) as series
             from data_source d
             join source_series s on s.source_id = d.id
             where d.user_id = $1
             group by d.id
           ) o
         ) end
  from (select u.revision + r.revision as revision from app_user u, ranking r where u.id = $1) v`

const storedOf = (rows: readonly SeriesOfSource[]): Stored[] =>
  rows.flatMap((row) => {
    const source = sourceOf(row)
    return row.series.flatMap((seriesId) => {
      const series = seriesById.get(seriesId % DAILY_TOTAL_OFFSET)
      return series ? [{ source, series, seriesId, isDailyTotal: seriesId >= DAILY_TOTAL_OFFSET }] : []
    })
  })

/** Orders sources from best to worst (contract 12.1): rank, device model, source, id. */
export function bySourceRank(a: Source, b: Source): number {
  return a.rank - b.rank || compareText(a.deviceModel, b.deviceModel) || compareText(a.source, b.source) || a.id - b.id
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
