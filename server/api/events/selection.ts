import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { parseDateInput } from '../../http/dates.ts'
import { DateInput, Provider, Uuid } from '../../http/schema.ts'
import { SOURCE_COLUMNS, type Source, type SourceRow, sourceOf } from '../../sources/source.ts'
import { isoInstant } from '../../time.ts'

/** The parameters that select events, on every list and total of events (contract 5.2). */
export const eventFilters = {
  start_date: DateInput('The event starts at or after this. ISO 8601, date (00:00 UTC) or Unix seconds.'),
  end_date: DateInput('The event starts before this; a date alone includes that day.'),
  provider: Type.Optional(Provider()),
  source: Type.Optional(Type.String({ description: 'Exact writer app' })),
  device_model: Type.Optional(Type.String({ description: 'Exact device model' })),
  data_source_id: Type.Optional(Uuid()),
}

/** The values of `eventFilters`. */
export interface EventFilters {
  start_date: string
  end_date: string
  provider?: string
  source?: string
  device_model?: string
  data_source_id?: string
}

/** The selected events: those of a user's sources that start within the window. */
export interface Selection {
  userId: string
  /** Revision of the user's data; later reads are at least as new. */
  revision: number
  /** Half-open, as contract 1.2. */
  start: string
  end: string
  /** By key, the best-ranked one first (contract 12.1). */
  sources: ReadonlyMap<number, Source>
}

const SOURCES_SQL = `
  select u.revision, ${SOURCE_COLUMNS}
  from app_user u
  left join data_source d
    on d.user_id = u.id
    and ($2::text is null or d.provider = $2)
    and ($3::text is null or d.source = $3)
    and ($4::text is null or d.device_model = $4)
    and ($5::uuid is null or d.uid = $5)
  where u.id = $1
  order by rank, d.device_model collate "C", d.source collate "C", d.id`

type UserSourceRow = { revision: number } & (SourceRow | { id: null })

/**
 * Resolves the filters, in one statement.
 * @throws AppError bad_datetime, not_found for an unknown user
 */
export async function selectEvents(db: Database, userId: string, filters: EventFilters): Promise<Selection> {
  const start = isoInstant(parseDateInput(filters.start_date))
  const end = isoInstant(parseDateInput(filters.end_date, 'whole day'))
  const rows = await db.query<UserSourceRow>(SOURCES_SQL, [
    userId,
    filters.provider ?? null,
    filters.source ?? null,
    filters.device_model ?? null,
    filters.data_source_id ?? null,
  ])
  const [first] = rows
  if (!first) throw errors.notFound('User', userId)
  const sources = new Map(rows.flatMap((row) => (row.id === null ? [] : [[row.id, sourceOf(row)]])))
  return { userId, revision: first.revision, start, end, sources }
}

/**
 * The selected events, as `e`, with its four parameters: the place of a source in $4 is its rank. Not "= any", for
 * which the planner would read all events of the sources in addition to those of the time.
 */
export const selected = (table: string): string => `
  from ${table} e
  where e.user_id = $1 and e.start_at >= $2 and e.start_at < $3 and array_position($4::int4[], e.source_id) > 0`

/** The parameters of `selected`. */
export const selectedParams = ({ userId, start, end, sources }: Selection) => [userId, start, end, [...sources.keys()]]
