import { type StoredSeries, storedSeries } from '../catalogue/series.ts'
import type { Database } from '../db/database.ts'
import { errors } from '../errors.ts'
import { SOURCE_COLUMNS, type Source, type SourceRow, sourceOf } from './source.ts'

/** One series of one source: the first columns of the samples' primary key. */
export interface Stored extends StoredSeries {
  source: Source
  /** Key in the table: the series id, or that of one of its twins. */
  seriesId: number
}

/**
 * The series and sources of a user, as of a revision, which counts changes of the user's data and of the priorities of
 * sources; cached until the revision changes.
 */
export interface UserView {
  userId: string
  revision: number
  /** All sources by id, those without a series too: one may have sent nothing but nights. */
  sources: Map<number, Source>
  /** Series of plausible values: the input of summaries. */
  stored: Stored[]
  /** Series of implausible values: only raw pages and counts of stored samples show them. */
  implausible: Stored[]
  /** Answers that are valid until the revision changes: totals and priority ranges, by question. */
  answers: Map<string, unknown>
}

const VIEWS_KEPT = 5_000
const ANSWERS_KEPT = 20
// By pool: a request may have its own view of the database.
const views = new WeakMap<Database['pool'], Map<string, UserView>>()

/**
 * Returns the series and sources of a user. One statement, and one primary-key probe if nothing changed since the last
 * read.
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
  // Behind all others: the first in the map is the least recently used.
  known.delete(userId)
  if (!user) throw errors.notFound('User', userId)
  const [revision, series] = user
  if (view?.revision !== revision) view = { userId, revision, ...storedOf(series ?? []), answers: new Map() }
  if (known.size >= VIEWS_KEPT) known.delete(known.keys().next().value as string)
  known.set(userId, view)
  return view
}

/** The cached view, which may be outdated; undefined if there is none. Does not query the database. */
export function rememberedView(db: Database, userId: string): UserView | undefined {
  return views.get(db.pool)?.get(userId)
}

/** Asks once per revision: returns the cached answer to `question`, or computes and caches it. */
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

/** The revision; and the series and sources, unless that is the revision $2. */
const VIEW_SQL = `
  select v.revision,
         case when v.revision is distinct from $2::int8 then (
           select json_agg(o)
           from (
             select ${SOURCE_COLUMNS}, array(
               select s.series_id from source_series s where s.source_id = d.id order by s.series_id
             ) as series
             from data_source d
             where d.user_id = $1
             order by d.id
           ) o
         ) end
  from (select u.revision + r.revision as revision from app_user u, ranking r where u.id = $1) v`

function storedOf(rows: readonly SeriesOfSource[]): Pick<UserView, 'sources' | 'stored' | 'implausible'> {
  const sources = new Map(rows.map((row) => [row.id, sourceOf(row)]))
  const all = rows.flatMap((row): Stored[] => {
    const source = sources.get(row.id) as Source
    return row.series.flatMap((seriesId) => {
      const known = storedSeries(seriesId)
      return known ? [{ source, seriesId, ...known }] : []
    })
  })
  return {
    sources,
    stored: all.filter(({ isImplausible }) => !isImplausible),
    implausible: all.filter(({ isImplausible }) => isImplausible),
  }
}
