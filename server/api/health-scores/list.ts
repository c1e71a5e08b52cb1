import { Type } from 'typebox'
import { type ScoreCategory, scoreCategories } from '../../catalogue/score-categories.ts'
import { errors } from '../../errors.ts'
import { zoneOf } from '../../events/row.ts'
import { parseDateInput } from '../../http/dates.ts'
import { etagOf, heldTags } from '../../http/etag.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { CursorPage, DateInput, Enum, Instant, Limit, Nullable, Provider, UserPath, Uuid } from '../../http/schema.ts'
import { isoInstant } from '../../time.ts'

const HealthScore = Type.Object(
  {
    id: Uuid(),
    category: Enum(scoreCategories, { title: 'HealthScoreCategory' }),
    value: Nullable(
      Type.Number({
        description: 'On the scale of its provider; for resilience the coefficient of variation, a fraction',
      }),
    ),
    qualifier: Nullable(Type.String({ description: "The provider's word for it" })),
    recorded_at: Instant(),
    zone_offset: Nullable(Type.String()),
    components: Nullable(
      Type.Record(
        Type.String(),
        Type.Object(
          { value: Nullable(Type.Number()), qualifier: Nullable(Type.String()) },
          { title: 'HealthScoreComponent' },
        ),
        {
          description: 'Its parts',
        },
      ),
    ),
    data_source_id: Nullable(Uuid()),
    provider: Provider(),
    event_record_id: Nullable(Uuid({ description: 'The sleep session or workout it belongs to' })),
  },
  { title: 'HealthScore' },
)

const points = (value: number) => ({ value, qualifier: null })

const example = {
  data: [
    {
      id: '5d0c1c7e-7a35-4b0e-9e56-0f4c8a1d2b37',
      category: 'sleep' as const,
      value: 83,
      qualifier: null,
      recorded_at: '2026-02-24T06:05:00Z',
      zone_offset: '+01:00',
      components: { duration: points(92), stages: points(77), consistency: points(80), interruptions: points(78) },
      data_source_id: null,
      provider: 'internal' as const,
      event_record_id: 'b2c3f1a4-58c6-4d0e-8c1a-70d9f2b6e415',
    },
  ],
  pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: 1 },
  metadata: { resolution: null, sample_count: 1, start_time: '2026-02-24T00:00:00Z', end_time: null },
}

const CHOSEN = `
  from health_score h
  where h.user_id = $1
    and ($2::timestamptz is null or h.recorded_at >= $2) and ($3::timestamptz is null or h.recorded_at < $3)
    and ($4::text is null or h.category = $4) and ($5::text is null or h.provider = $5)`

/** An empty page has one row without a score, for the total. */
const PAGE_SQL = `
  select t.total, p.*
  from (select count(*) as total ${CHOSEN}) t
  left join lateral (
    select h.id, h.category, h.value, h.qualifier, h.recorded_at, h.zone_offset_min, h.components, d.uid as data_source_id,
           h.provider, coalesce(h.sleep_id, n.id, w.id) as event_record_id
    from (select h.* ${CHOSEN} order by h.recorded_at desc, h.id desc limit $6 offset $7) h
    left join data_source d on d.id = h.source_id
    left join lateral (
      select s.sleep_id as id
      from data_source o
      join sleep_part s on s.source_id = o.id and s.external_id = h.night
      where o.user_id = h.user_id and o.provider = h.provider
      limit 1
    ) n on true
    left join lateral (
      select e.id
      from data_source o
      join workout e on e.source_id = o.id and e.user_id = h.user_id and e.external_id = h.workout
      where o.user_id = h.user_id and o.provider = h.provider
      limit 1
    ) w on true
  ) p on true
  order by p.recorded_at desc, p.id desc`

interface ScoreRow {
  id: string
  category: ScoreCategory
  value: number | null
  qualifier: string | null
  recorded_at: string
  zone_offset_min: number | null
  components: Record<string, { value?: number | null; qualifier?: string | null }> | null
  data_source_id: string | null
  provider: string
  event_record_id: string | null
}

/** Scores of a user, the latest first (contract 5.8); pages by offset (decision D-48). */
export const listHealthScores = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/health-scores',
    operationId: 'listHealthScores',
    summary: 'Health scores of a user',
    description:
      "Scores from providers, and with provider `internal` those that Pulsebase computes, the latest first. The ETag changes when the user's data does.",
    tag: 'Health scores',
    guard: 'key',
    fromReplicas: true,
    params: UserPath,
    query: Type.Object({
      start_date: Type.Optional(DateInput('Recorded at or after this. ISO 8601, date (00:00 UTC) or Unix seconds.')),
      end_date: Type.Optional(DateInput('Recorded before this; a date alone includes that day.')),
      category: Type.Optional(Enum(scoreCategories, { title: 'HealthScoreCategory' })),
      provider: Type.Optional(Provider()),
      limit: Limit(),
      offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
    }),
    revalidated: true,
    response: CursorPage(HealthScore),
    example,
    errors: { 400: 'Bad date' },
  },
  async ({ params, query, ctx }, { db }) => {
    const instant = (text: string | undefined, dateOnly?: 'whole day') =>
      text === undefined ? null : isoInstant(parseDateInput(text, dateOnly))
    const start = instant(query.start_date)
    const end = instant(query.end_date, 'whole day')
    const { category = null, provider = null, limit, offset } = query
    const [user] = await db.query<{ revision: number }>('select revision from app_user where id = $1', [params.user_id])
    if (!user) throw errors.notFound('User', params.user_id)
    const asked = [params.user_id, start, end, category, provider, limit, offset] as const
    const headers = {
      ETag: etagOf(user.revision, JSON.stringify(['health-scores', ...asked])),
      'Cache-Control': 'private, no-cache',
    }
    if (heldTags(ctx).includes(headers.ETag)) return new Reply(304, 'application/json', null, headers)

    const rows = await db.query<{ total: number } & (ScoreRow | { id: null })>(PAGE_SQL, asked)
    const total = rows[0]?.total ?? 0
    const data = rows.flatMap((row) => (row.id === null ? [] : [itemOf(row)]))
    const envelope = {
      data,
      pagination: {
        next_cursor: null,
        previous_cursor: null,
        has_more: offset + data.length < total,
        total_count: total,
      },
      metadata: { resolution: null, sample_count: data.length, start_time: start, end_time: end },
    }
    return new Reply(200, 'application/json', JSON.stringify(envelope), headers)
  },
)

const itemOf = (row: ScoreRow) => ({
  id: row.id,
  category: row.category,
  value: row.value,
  qualifier: row.qualifier,
  recorded_at: row.recorded_at,
  zone_offset: zoneOf(row),
  components:
    row.components &&
    Object.fromEntries(
      Object.entries(row.components).map(([name, { value = null, qualifier = null }]) => [name, { value, qualifier }]),
    ),
  data_source_id: row.data_source_id,
  provider: row.provider,
  event_record_id: row.event_record_id,
})
