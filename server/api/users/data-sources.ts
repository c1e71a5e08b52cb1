import { Type } from 'typebox'
import { deviceName } from '../../catalogue/devices.ts'
import type { Database } from '../../db/database.ts'
import { route } from '../../http/route.ts'
import { Enum, Instant, List, Nullable, UserPath, Uuid } from '../../http/schema.ts'
import { type Stored, type UserView, userView } from '../../sources/user-view.ts'
import { optionalWindow } from '../summaries/window.ts'
import { requireUser } from './exists.ts'

const DataSource = Type.Object(
  {
    id: Uuid(),
    user_id: Uuid(),
    provider: Type.String(),
    user_connection_id: Nullable(Uuid()),
    device_model: Nullable(Type.String()),
    software_version: Nullable(Type.String()),
    source: Nullable(Type.String()),
    device_type: Nullable(Type.String()),
    original_source_name: Nullable(Type.String()),
    display_name: Type.String(),
    device_name: Type.Optional(
      Nullable(
        Type.String({ description: 'With include=data: what the device is called in shops, where that is known' }),
      ),
    ),
    first_at: Type.Optional(
      Nullable(
        Instant({
          description:
            'With include=data: when its first sample, session or record begins; of archived samples, their quarter hour',
        }),
      ),
    ),
    last_at: Type.Optional(Nullable(Instant({ description: 'With include=data: when the last one begins' }))),
    counts: Type.Optional(
      Type.Record(Type.String(), Type.Integer(), {
        description:
          'With include=data: plausible samples by series type, archived ones included, and the number of sleep, workout, meal, menstrual_cycle, activity and health_score',
      }),
    ),
  },
  { title: 'DataSource' },
)

/** The sources of a user; `id` is the one of the API. */
const SOURCES_SQL = `
  select d.uid as id, d.user_id, d.provider, d.connection_id as user_connection_id,
         nullif(d.device_model, '') as device_model, d.software_version,
         nullif(d.source, '') as source, d.device_type, nullif(d.source, '') as original_source_name
  from data_source d
  where d.user_id = $1
  order by d.provider, d.device_model, d.source`

/** By source: the number of samples of each series, with the first and last instant of each, and events in the same way. */
const DATA_SQL = `
  select k.place - 1, null, null, c.n, s.first_at, s.last_at
  from (
    select c.place, sum(c.total)::int8 as n
    from daily_counts($2, $3, to_timestamp($4), to_timestamp($5)) c
    group by 1
  ) c
  join unnest($2::int4[], $3::int2[]) with ordinality k (source_id, series_id, place) using (place)
  cross join lateral series_ends(k.source_id, k.series_id) s
  union all
  select null, d.uid, e.type, count(*), min(e.at), max(e.at)
  from (
    select source_id, start_at as at, 'sleep' as type from sleep where user_id = $1
    union all
    select source_id, start_at, 'workout' from workout where user_id = $1
    union all
    select source_id, start_at, 'meal' from meal where user_id = $1
    union all
    select source_id, start_at, 'menstrual_cycle' from menstrual_cycle where user_id = $1
    union all
    select source_id, start_at, 'activity' from activity where user_id = $1
    union all
    select source_id, recorded_at, 'health_score' from health_score where user_id = $1 and source_id is not null
  ) e
  join data_source d on d.id = e.source_id
  group by 2, 3`

interface DataSourceRow {
  id: string
  provider: string
  device_model: string | null
  source: string | null
}

/** `Apple - Watch7,2`, `Google health - My ring`, `Apple`, or `Unknown Source` (contract 3.10). */
function displayName({ provider, device_model, source }: DataSourceRow): string {
  const detail = device_model ?? source
  if (provider === 'unknown' && !detail) return 'Unknown Source'
  const name = (provider.slice(0, 1).toUpperCase() + provider.slice(1)).replaceAll('_', ' ')
  return detail ? `${name} - ${detail}` : name
}

/** The devices and apps a user's data came from (contract 3.10, D-47). */
export const listDataSources = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/data-sources',
    operationId: 'listDataSources',
    summary: 'List the data sources of a user',
    tag: 'Users',
    guard: 'key',
    shareOf: ({ include }) => (include ? 'report' : 'read'),
    params: UserPath,
    query: Type.Object({
      include: Type.Optional(List(Enum(['data']), { description: 'Fields that are left out otherwise' })),
    }),
    response: Type.Object({ items: Type.Array(DataSource), total: Type.Integer() }, { title: 'DataSourceList' }),
    example: {
      items: [
        {
          id: '6f1e4a0c-93f4-4d0a-8a35-7b1de4f7c2d9',
          user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11',
          provider: 'apple',
          user_connection_id: '91aa0d2e-6a1b-4f3c-8d7e-2b5c9e0f1a23',
          device_model: 'Watch7,2',
          software_version: '11.3',
          source: 'Apple Watch',
          device_type: 'watch',
          original_source_name: 'Apple Watch',
          display_name: 'Apple - Watch7,2',
        },
      ],
      total: 1,
    },
  },
  async ({ params, query }, { db }) => {
    const view = query.include ? await userView(db, params.user_id) : undefined
    if (!view) await requireUser(db, params.user_id)
    const rows = await db.query<DataSourceRow>(SOURCES_SQL, [params.user_id])
    const data = view && (await readData(db, view))
    const items = rows.map((row) => ({
      ...row,
      display_name: displayName(row),
      ...(data && {
        device_name: deviceName(row.device_model),
        ...(data.get(row.id) ?? { first_at: null, last_at: null, counts: {} }),
      }),
    }))
    return { items, total: rows.length }
  },
)

type DataRow = [place: number | null, uid: string, type: string, n: number, firstAt: string, lastAt: string]

interface Data {
  first_at: string
  last_at: string
  counts: Record<string, number>
}

/** What each source has, by its id. */
async function readData(db: Database, { userId, stored }: UserView): Promise<Map<string, Data>> {
  const { start, end } = optionalWindow({}, 'whole day')
  const rows = await db.rows<DataRow>(DATA_SQL, [
    userId,
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
    start,
    end,
  ])
  const data = new Map<string, Data>()
  for (const [place, uid, kind, n, firstAt, lastAt] of rows) {
    const series = place === null ? undefined : (stored[place] as Stored)
    const [id, type] = series ? [series.source.uid, series.series.type] : [uid, kind]
    const own = data.get(id) ?? { first_at: firstAt, last_at: lastAt, counts: {} }
    data.set(id, own)
    // A series, its daily totals and what was entered by hand are one type.
    own.counts[type] = (own.counts[type] ?? 0) + n
    if (firstAt < own.first_at) own.first_at = firstAt
    if (lastAt > own.last_at) own.last_at = lastAt
  }
  return data
}
