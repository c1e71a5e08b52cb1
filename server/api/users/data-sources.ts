import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Nullable, UserPath, Uuid } from '../../http/schema.ts'
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
  },
  { title: 'DataSource' },
)

interface DataSourceRow {
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
    params: UserPath,
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
  async ({ params }, { db }) => {
    await requireUser(db, params.user_id)
    const rows = await db.query<DataSourceRow>(
      `select uid as id, user_id, provider, connection_id as user_connection_id,
              nullif(device_model, '') as device_model, software_version,
              nullif(source, '') as source, device_type, nullif(source, '') as original_source_name
       from data_source
       where user_id = $1
       order by provider, data_source.device_model, data_source.source`,
      [params.user_id],
    )
    return { items: rows.map((row) => ({ ...row, display_name: displayName(row) })), total: rows.length }
  },
)
