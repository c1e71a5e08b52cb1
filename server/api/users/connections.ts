import { Type } from 'typebox'
import { type LiveSyncMode, liveSyncModes, type ProviderName, providerByName } from '../../catalogue/providers.ts'
import { route } from '../../http/route.ts'
import { Enum, Instant, Nullable, UserPath, Uuid } from '../../http/schema.ts'
import { FAILING_DAYS } from '../../intake/pulls/observe.ts'
import { requireUser } from './exists.ts'
import { connectionStatuses } from './user.ts'

const Connection = Type.Object(
  {
    id: Uuid(),
    user_id: Uuid(),
    provider: Type.String(),
    provider_user_id: Nullable(Type.String()),
    provider_username: Nullable(Type.String()),
    scope: Nullable(Type.String()),
    status: Enum(connectionStatuses, { title: 'ConnectionStatus' }),
    last_synced_at: Nullable(Instant()),
    created_at: Instant(),
    updated_at: Instant(),
    icon_url: Nullable(Type.String()),
    max_historical_days: Nullable(Type.Integer()),
    rest_pull: Type.Boolean(),
    webhook_stream: Type.Boolean(),
    webhook_ping: Type.Boolean(),
    webhook_callback: Type.Boolean(),
    live_sync_mode: Nullable(Enum(liveSyncModes, { title: 'LiveSyncMode' })),
    linked_user_ids: Type.Array(Uuid(), { description: 'Other users with an active connection to the same account' }),
    failing_streams: Type.Array(Type.String(), {
      description: `What does not come, such as sleep: its scope was not granted, or the provider is asked for it in vain for ${FAILING_DAYS} days, and again with every pull`,
    }),
  },
  { title: 'Connection' },
)

/** What the catalogue knows about a connection's provider. */
function capabilities(name: ProviderName) {
  const provider = providerByName.get(name)
  return {
    icon_url: provider ? `/static/provider-icons/${name}.svg` : null,
    max_historical_days: provider?.maxHistoricalDays ?? null,
    rest_pull: provider?.restPull ?? false,
    webhook_stream: provider?.webhookStream ?? false,
    webhook_ping: provider?.webhookPing ?? false,
    webhook_callback: provider?.webhookCallback ?? false,
    live_sync_mode: provider?.defaultLiveSyncMode ?? null,
  }
}

/** The provider connections of a user, newest first (contract 3.1, 3.7). */
export const listConnections = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/connections',
    operationId: 'listConnections',
    summary: 'List the provider connections of a user',
    tag: 'Users',
    guard: 'key',
    params: UserPath,
    response: Type.Array(Connection),
    example: [
      {
        id: '91aa0d2e-6a1b-4f3c-8d7e-2b5c9e0f1a23',
        user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11',
        provider: 'garmin',
        provider_user_id: 'f3a9c1',
        provider_username: null,
        scope: null,
        status: 'active',
        last_synced_at: '2026-02-24T09:58:00Z',
        created_at: '2026-01-05T09:15:00Z',
        updated_at: '2026-02-24T09:58:00Z',
        ...capabilities('garmin'),
        linked_user_ids: [],
        failing_streams: [],
      },
    ],
  },
  async ({ params }, { db }) => {
    await requireUser(db, params.user_id)
    const rows = await db.query<{ provider: ProviderName; mode: LiveSyncMode | null; linked_user_ids: string[] }>(
      `select c.id, c.user_id, c.provider, c.provider_user_id, c.provider_username, c.scope, c.status,
              c.last_synced_at, c.created_at, c.updated_at,
              case when a.error is null then s.live_sync_mode else 'pull' end as mode,
              array(
                select o.user_id
                from connection o
                where o.provider = c.provider
                  and o.provider_user_id = c.provider_user_id
                  and o.user_id <> c.user_id
                  and o.status = 'active'
                order by o.user_id
              ) as linked_user_ids,
              array(
                select s.stream
                from stream_cursor s
                where s.grant_id = c.grant_id and c.status = 'active'
                  and (s.failing_since <= now() - interval '${FAILING_DAYS} days' or s.closed_why = 'not_granted')
                order by s.stream
              ) as failing_streams
       from connection c
       left join provider_setting s on s.provider = c.provider
       left join account_subscription a on a.grant_id = c.grant_id
       where c.user_id = $1
       order by c.created_at desc, c.id`,
      [params.user_id],
    )
    return rows.map(({ mode, linked_user_ids, ...row }) => {
      const known = capabilities(row.provider)
      return { ...row, ...known, live_sync_mode: mode ?? known.live_sync_mode, linked_user_ids }
    })
  },
)
