import { Type } from 'typebox'
import { violatedConstraint } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { Enum, Instant, List, Nullable, Uuid } from '../../http/schema.ts'

/** ConnectionStatus of contract 2.2. */
export const connectionStatuses = ['active', 'revoked', 'expired'] as const

const ConnectionSummary = Type.Object(
  {
    provider: Type.String(),
    status: Enum(connectionStatuses, { title: 'ConnectionStatus' }),
    last_synced_at: Nullable(Instant()),
  },
  { title: 'ConnectionSummary' },
)

const userFields = {
  id: Uuid(),
  created_at: Instant(),
  first_name: Nullable(Type.String()),
  last_name: Nullable(Type.String()),
  email: Nullable(Type.String({ format: 'email' })),
  external_user_id: Nullable(Type.String({ description: 'Deprecated: only the user list fills it' })),
  last_synced_at: Nullable(Instant({ description: 'Newest sync of any connection, whatever its status' })),
  last_synced_provider: Nullable(Type.String()),
  has_active_connection: Type.Boolean(),
  connections: Nullable(
    Type.Array(ConnectionSummary, { description: 'Null unless asked for with include=connections' }),
  ),
}

/** User of contract 3.1, as lists, create, update and delete return it. */
export const User = Type.Object(
  {
    ...userFields,
    first_day: Type.Optional(
      Nullable(
        Type.String({
          format: 'date',
          description: 'Of lists with include=data: first UTC day of any sample or event',
        }),
      ),
    ),
    last_day: Type.Optional(
      Nullable(Type.String({ format: 'date', description: 'Of lists with include=data: the last one' })),
    ),
    recent_days: Type.Optional(
      Type.Array(Type.Integer(), {
        description:
          'Of lists with include=data: number of samples, sessions and records of each of the last 30 UTC days, the oldest first',
      }),
    ),
  },
  { title: 'User' },
)

/** User detail of contract 3.1. */
export const UserDetail = Type.Object(
  { ...userFields, has_womens_health_data: Type.Boolean() },
  { title: 'UserDetail' },
)

/** A `User` for the API description. */
export const userExample = {
  id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11',
  created_at: '2026-01-05T09:12:44.120000Z',
  first_name: 'Ada',
  last_name: null,
  email: 'ada@example.org',
  external_user_id: null,
  last_synced_at: '2026-02-24T10:00:13Z',
  last_synced_provider: 'oura',
  has_active_connection: true,
  connections: null,
}

/** A `ConnectionSummary` list for the API description. */
export const connectionsExample = [{ provider: 'oura', status: 'active', last_synced_at: '2026-02-24T10:00:13Z' }]

/** Query parameter that embeds the connections. */
export const UserInclude = () => Type.Optional(List(Enum(['connections'])))

const Name = () => Type.Optional(Nullable(Type.String({ maxLength: 100 })))

/** The fields of a user that a client may write: absent fields stay, null clears. */
export const UserFields = Type.Object(
  {
    first_name: Name(),
    last_name: Name(),
    email: Type.Optional(Nullable(Type.String({ format: 'email' }))),
    external_user_id: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
  },
  { title: 'UserFields' },
)

/** The fields of `UserFields`, which are columns of `app_user`. */
export const USER_FIELDS = ['first_name', 'last_name', 'email', 'external_user_id'] as const

/** The columns of `app_user` in answers. */
export const USER_COLUMNS = 'id, created_at, first_name, last_name, email, external_user_id'

/** A row of `usersWithConnections`. */
export interface UserConnectionRow {
  id: string
  created_at: string
  first_name: string | null
  last_name: string | null
  email: string | null
  external_user_id: string | null
  provider: string | null
  status: (typeof connectionStatuses)[number] | null
  last_synced_at: string | null
}

/**
 * Selects the users of `source` (a table expression with `USER_COLUMNS`) with a row per connection, the newest sync
 * first; `order` sorts the users. `foldUsers` makes users of the rows.
 */
export const usersWithConnections = (source: string, order = 'u.id') => `
  select u.id, u.created_at, u.first_name, u.last_name, u.email, u.external_user_id,
         c.provider, c.status, c.last_synced_at
  from ${source} u
  left join connection c on c.user_id = u.id
  order by ${order}, c.last_synced_at desc nulls last, c.provider`

/** Folds the rows of `usersWithConnections` into users, in their order. */
export function foldUsers(rows: readonly UserConnectionRow[], includeConnections = false) {
  const byUser = new Map<string, UserConnectionRow[]>()
  for (const row of rows) {
    const own = byUser.get(row.id)
    if (own) own.push(row)
    else byUser.set(row.id, [row])
  }
  return [...byUser.values()].map((own) => {
    // A user without connections has one row, whose connection is null.
    const newest = own[0] as UserConnectionRow
    const { provider: _, status: __, ...user } = newest
    const connections = own.flatMap(({ provider, status, last_synced_at }) =>
      provider === null ? [] : [{ provider, status, last_synced_at }],
    )
    connections.sort((a, b) => (a.provider < b.provider ? -1 : 1))
    return {
      ...user,
      last_synced_provider: newest.last_synced_at === null ? null : newest.provider,
      has_active_connection: own.some((row) => row.status === 'active'),
      connections: includeConnections ? connections : null,
    }
  })
}

/** Turns a violated uniqueness into its 409 of contract 3.3; any other error stays unchanged. */
export function duplicateUser(error: unknown): unknown {
  switch (violatedConstraint(error)) {
    case 'app_user_email_key':
      return errors.conflict('User with this email already exists.')
    case 'app_user_external_user_id_key':
      return errors.conflict('User with this external_user_id already exists.')
    default:
      return error
  }
}
