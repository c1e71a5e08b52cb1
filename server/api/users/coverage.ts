import { Type } from 'typebox'
import { dayText } from '../../batch/day-counts.ts'
import { IMPLAUSIBLE_OFFSET } from '../../catalogue/series.ts'
import { errors } from '../../errors.ts'
import { parseDateInput } from '../../http/dates.ts'
import { route } from '../../http/route.ts'
import { DateInput, Instant, Nullable, UserPath } from '../../http/schema.ts'
import { type Stored, userView } from '../../sources/user-view.ts'
import { DAY_MS } from '../../time.ts'

/** Longest range of one answer. */
const MAX_DAYS = 366

/** Types of a day and provider that are listed apart: a phone decides what they are called, and how many there are. */
const TYPES_LISTED = 20

const Coverage = Type.Object(
  {
    days: Type.Array(
      Type.Object(
        {
          day: Type.String({ format: 'date', description: 'UTC day of the data' }),
          provider: Type.String(),
          type: Type.String({
            description: 'Series type; or sleep, workout, meal, meal_nutrient, menstrual_cycle, activity, health_score',
          }),
          received: Type.Integer({
            description: 'In all uploads, including samples of workouts and rejected items; repeated items count again',
          }),
          stored: Type.Integer({ description: 'Samples, sessions or records there are now, archived ones included' }),
          implausible: Type.Integer({
            description: 'Of those stored, implausible values, which are excluded from everything computed',
          }),
          rejected: Type.Integer({
            description: 'Of those received; items without a time or a type are only in `arrivals`',
          }),
          reasons: Type.Array(
            Type.Object({ reason: Type.String(), items: Type.Integer() }, { title: 'CoverageReason' }),
            {
              description: 'Rejected items by reason, the most frequent first',
            },
          ),
          last_upload_at: Nullable(Instant({ description: 'When the last upload with any of it arrived' })),
        },
        { title: 'CoverageDay' },
      ),
    ),
    arrivals: Type.Array(
      Type.Object(
        {
          day: Type.String({ format: 'date', description: 'UTC day on which the uploads arrived' }),
          provider: Type.String(),
          uploads: Type.Integer(),
          queued: Type.Integer({ description: 'Uploads that are not imported yet' }),
          failed: Type.Integer({ description: 'Uploads of which nothing could be stored' }),
          received: Type.Integer(),
          ignored: Type.Integer(),
          rejected: Type.Integer(),
          deleted: Type.Integer({ description: 'Records that the platform deleted' }),
          last_upload_at: Instant(),
          unstored: Type.Array(
            Type.Object(
              {
                collection: Type.String(),
                type: Nullable(
                  Type.String({
                    description: `The platform's name; null for items without one, and all but the ${TYPES_LISTED} most frequent of the day`,
                  }),
                ),
                reason: Type.String({
                  description:
                    'ignored_type; deleted: through the API before; connection_ended; or why the items were rejected',
                }),
                items: Type.Integer(),
              },
              { title: 'CoverageUnstored' },
            ),
          ),
        },
        { title: 'CoverageArrival' },
      ),
    ),
  },
  { title: 'UserCoverage' },
)

/** The source of a count of `days` or `rejected_days`: of an upload that was imported again, the last import. */
const COUNTED = `u.user_id = $1 and u.days is not null and u.last_day >= $2 and u.first_day <= $3
    and d.day >= $2::text and d.day <= $3::text
    and not exists (
      select from upload r
      where r.replay_of = coalesce(u.replay_of, u.id) and r.seq > u.seq and r.days is not null
    )`

/**
 * Four kinds of rows: items received, items rejected, stored sessions and records, stored samples (see daily_counts).
 */
const DAYS_SQL = `
  -- An upload that was imported again counts for the day it first arrived.
  select 'received' as kind, d.day, u.provider, t.type, null as reason, sum(d.items::int8)::int8 as n,
         max(coalesce(o.received_at, u.received_at)) as last_upload_at, null::bytea as pairs
  from upload u
  left join upload o on o.id = u.replay_of
  cross join lateral jsonb_each(u.days) t (type, days)
  cross join lateral jsonb_each_text(t.days) d (day, items)
  where ${COUNTED}
  group by 2, 3, 4
  union all
  select 'rejected', d.day, u.provider, t.type, r.reason, sum(r.items::int8)::int8, null, null
  from upload u
  cross join lateral jsonb_each(u.rejected_days) t (type, days)
  cross join lateral jsonb_each(t.days) d (day, reasons)
  cross join lateral jsonb_each_text(d.reasons) r (reason, items)
  where u.rejected_days is not null and ${COUNTED}
  group by 2, 3, 4, 5
  union all
  select 'stored', to_char(e.at, 'YYYY-MM-DD'), d.provider, e.type, null, count(*), null, null
  from (
    select source_id, start_at as at, 'sleep' as type from sleep where user_id = $1
    union all
    select source_id, start_at, 'workout' from workout where user_id = $1
    union all
    select source_id, start_at, 'meal' from meal where user_id = $1
    union all
    select source_id, ts, 'meal_nutrient' from meal_nutrient where user_id = $1
    union all
    select source_id, start_at, 'menstrual_cycle' from menstrual_cycle where user_id = $1
    union all
    select source_id, start_at, 'activity' from activity where user_id = $1
    union all
    select source_id, recorded_at, 'health_score' from health_score where user_id = $1 and external_id is not null
  ) e
  join data_source d on d.id = e.source_id
  where e.at >= to_timestamp($6) and e.at < to_timestamp($7)
  group by 2, 3, 4
  union all
  select 'implausible', to_char(n.ts, 'YYYY-MM-DD'), n.provider, 'meal_nutrient', null, count(*), null, null
  from meal_nutrient n
  where n.user_id = $1 and n.series_id >= ${IMPLAUSIBLE_OFFSET} and n.ts >= to_timestamp($6) and n.ts < to_timestamp($7)
  group by 2, 3
  union all
  select 'samples', null, null, null, null, c.place, null, c.pairs
  from daily_counts($4, $5, to_timestamp($6), to_timestamp($7)) c`

const ARRIVALS_SQL = `
  with arrived as (
    select u.provider, u.received_at, to_char(u.received_at, 'YYYY-MM-DD') as day,
           l.status, l.received, l.ignored, l.rejected, l.deleted, l.unstored
    from upload u
    cross join lateral (
      select e.*
      from upload e
      where e.id = u.id or e.replay_of = u.id
      order by e.status = 'queued', e.seq desc
      limit 1
    ) l
    where u.user_id = $1 and u.replay_of is null
      and u.received_at >= to_timestamp($2) and u.received_at < to_timestamp($3)
  ), named as (
    select a.day, a.provider, k.collection, k.type, k.reason, sum(k.items)::int8 as items,
           row_number() over (
             partition by a.day, a.provider, k.type is null
             order by sum(k.items) desc, k.collection, k.type, k.reason
           ) as place
    from arrived a
    cross join lateral jsonb_to_recordset(a.unstored) k (collection text, type text, reason text, items int8)
    group by 1, 2, 3, 4, 5
  ), kinds as (
    select n.day, n.provider, n.collection, n.reason, sum(n.items)::int8 as items,
           case when n.place <= ${TYPES_LISTED} then n.type end as type
    from named n
    group by 1, 2, 3, 4, 6
  )
  select c.*, coalesce(u.unstored, '[]') as unstored
  from (
    select a.day, a.provider, count(*) as uploads,
           count(*) filter (where a.status = 'queued') as queued,
           count(*) filter (where a.status = 'failed') as failed,
           sum(a.received)::int8 as received, sum(a.ignored)::int8 as ignored, sum(a.rejected)::int8 as rejected,
           sum(a.deleted)::int8 as deleted, max(a.received_at) as last_upload_at
    from arrived a
    group by 1, 2
  ) c
  left join (
    select k.day, k.provider,
           json_agg(json_build_object('collection', k.collection, 'type', k.type, 'reason', k.reason, 'items', k.items)
                    order by k.items desc, k.collection, k.type, k.reason) as unstored
    from kinds k
    group by 1, 2
  ) u using (day, provider)
  order by 1, 2`

/** What happened to the data of each day: why one has data, and another has none. */
export const getUserCoverage = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/coverage',
    operationId: 'getUserCoverage',
    summary: 'What was received and what is stored, by day',
    description: `\`days\` go by the time of measurement, \`arrivals\` by the time of upload: rejected items may have no usable time. At most ${MAX_DAYS} days.`,
    tag: 'Users',
    guard: 'key',
    share: 'report',
    params: UserPath,
    query: Type.Object({
      start_date: DateInput('First UTC day.'),
      end_date: DateInput('Last UTC day, included; of an instant, its day, unless that has just begun.'),
    }),
    response: Coverage,
    example: {
      days: [
        {
          day: '2026-02-24',
          provider: 'apple',
          type: 'heart_rate',
          received: 812,
          stored: 790,
          implausible: 2,
          rejected: 1,
          reasons: [{ reason: 'missing', items: 1 }],
          last_upload_at: '2026-02-24T22:10:00.120000Z',
        },
      ],
      arrivals: [
        {
          day: '2026-02-24',
          provider: 'apple',
          uploads: 4,
          queued: 0,
          failed: 0,
          received: 815,
          ignored: 2,
          rejected: 1,
          deleted: 0,
          last_upload_at: '2026-02-24T22:10:00.120000Z',
          unstored: [
            { collection: 'records', type: 'HKQuantityTypeIdentifierX', reason: 'ignored_type', items: 2 },
            { collection: 'records', type: 'HKQuantityTypeIdentifierHeartRate', reason: 'missing', items: 1 },
          ],
        },
      ],
    },
    errors: { 400: 'Bad date, or too many days' },
  },
  async ({ params, query }, { db }) => {
    const startMs = Math.floor(parseDateInput(query.start_date) / DAY_MS) * DAY_MS
    const endMs = Math.ceil(parseDateInput(query.end_date, 'whole day') / DAY_MS) * DAY_MS
    if (endMs - startMs > MAX_DAYS * DAY_MS) throw errors.badRequest(`The range may have at most ${MAX_DAYS} days.`)
    const view = await userView(db, params.user_id)
    const stored = [...view.stored, ...view.implausible]
    if (endMs <= startMs) return { days: [], arrivals: [] }
    const [start, end] = [startMs / 1000, endMs / 1000]
    const rows = await db.query<DaysRow>(DAYS_SQL, [
      params.user_id,
      dayText(startMs),
      dayText(endMs - DAY_MS),
      stored.map(({ source }) => source.id),
      stored.map(({ seriesId }) => seriesId),
      start,
      end,
    ])
    const arrivals = await db.query(ARRIVALS_SQL, [params.user_id, start, end])
    return { days: joined(rows, stored), arrivals }
  },
)

interface Key {
  day: string
  provider: string
  type: string
}

type DaysRow =
  | (Key & { kind: 'received'; n: number; last_upload_at: string })
  | (Key & { kind: 'stored'; n: number })
  | (Key & { kind: 'implausible'; n: number })
  | (Key & { kind: 'rejected'; reason: string; n: number })
  | { kind: 'samples'; n: number; pairs: Buffer }

interface Day extends Key {
  received: number
  stored: number
  implausible: number
  rejected: number
  reasons: { reason: string; items: number }[]
  last_upload_at: string | null
}

/** All sides by day, provider and type; several devices and daily totals are one. */
function joined(counts: readonly DaysRow[], series: readonly Stored[]): Day[] {
  const rows = new Map<string, Day>()
  const rowOf = ({ day, provider, type }: Key) => {
    const key = `${day} ${provider} ${type}`
    const none = { received: 0, stored: 0, implausible: 0, rejected: 0, reasons: [], last_upload_at: null }
    const row = rows.get(key) ?? { day, provider, type, ...none }
    rows.set(key, row)
    return row
  }
  for (const one of counts) {
    if (one.kind === 'received') Object.assign(rowOf(one), { received: one.n, last_upload_at: one.last_upload_at })
    else if (one.kind === 'stored' || one.kind === 'implausible') rowOf(one)[one.kind] += one.n
    else if (one.kind === 'rejected') {
      const row = rowOf(one)
      row.rejected += one.n
      row.reasons.push({ reason: one.reason, items: one.n })
    } else {
      const { source, series: type, isImplausible } = series[one.n - 1] as Stored
      for (let at = 0; at < one.pairs.length; at += 8) {
        const day = dayText(one.pairs.readInt32BE(at) * DAY_MS)
        const row = rowOf({ day, provider: source.provider, type: type.type })
        const samples = one.pairs.readInt32BE(at + 4)
        row.stored += samples
        if (isImplausible) row.implausible += samples
      }
    }
  }
  for (const { reasons } of rows.values()) reasons.sort((a, b) => b.items - a.items || (a.reason < b.reason ? -1 : 1))
  return [...rows.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
