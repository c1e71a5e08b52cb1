import { type StoredSeries, storedSeries } from '../catalogue/series.ts'
import type { Database } from '../db/database.ts'
import { errors } from '../errors.ts'
import { SOURCE_COLUMNS, type Source, type SourceRow, sourceOf } from './source.ts'

/** One series of one source: what the samples' primary key starts with. */
export interface Stored extends StoredSeries {
  source: Source
  /** Key in the table: the series id, or that of one of its twins. */
  seriesId: number
}

/**
 * What a user has, as of a revision, which counts changes of the user's data and of the priorities of sources; kept in
 * memory until it moves.
 */
export interface UserView {
  userId: string
  revision: number
  /** Of plausible values: what summaries are made of. */
  stored: Stored[]
  /** Of implausible values: what only raw pages and counts of what is stored show. */
  implausible: Stored[]
  /** Answers that hold as long as the revision does: totals and priority ranges, by question. */
  answers: Map<string, unknown>
}

const VIEWS_KEPT = 5_000
const ANSWERS_KEPT = 20
// By pool: a request may have a view of the database of its own.
const views = new WeakMap<Database['pool'], Map<string, UserView>>()

/**
 * Returns what a user has stored. One statement, and one primary-key probe when nothing changed since the last read.
 * @throws AppError not_found for an unknown user
 */
export async function userView(db: Database, userId: string): Promise<UserView> {
  const known = views.get(db.pool) ?? new Map<string, UserView>()
  views.set(db.pool, known)
  let view = known.get(userId)
  const [user] = await db.rows<[revision: number, series: SeriesOfSource[] | null]>(VIEW_SQL, [
    userId,
    view?.revision ?? null,
  ])
  // Behind all others: the first in the map is the one not asked for longest.
  known.delete(userId)
  if (!user) throw errors.notFound('User', userId)
  const [revision, series] = user
  if (view?.revision !== revision) view = { userId, revision, ...storedOf(series ?? []), answers: new Map() }
  if (known.size >= VIEWS_KEPT) known.delete(known.keys().next().value as string)
  known.set(userId, view)
  return view
}

/** What was stored at the last look, perhaps no longer so; undefined when there was none. Asks the database nothing. */
export function rememberedView(db: Database, userId: string): UserView | undefined {
  return views.get(db.pool)?.get(userId)
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

function storedOf(rows: readonly SeriesOfSource[]): Pick<UserView, 'stored' | 'implausible'> {
  const all = rows.flatMap((row): Stored[] => {
    const source = sourceOf(row)
    return row.series.flatMap((seriesId) => {
      const known = storedSeries(seriesId)
      return known ? [{ source, seriesId, ...known }] : []
    })
  })
  return {
    stored: all.filter(({ isImplausible }) => !isImplausible),
    implausible: all.filter(({ isImplausible }) => isImplausible),
  }
}
