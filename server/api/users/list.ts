import { type Static, Type } from 'typebox'
import { checkUuid } from '../../http/formats.ts'
import { route } from '../../http/route.ts'
import { Enum, Instant, List, Provider } from '../../http/schema.ts'
import { readRecentData } from './recent-data.ts'
import {
  connectionStatuses,
  connectionsExample,
  foldUsers,
  USER_COLUMNS,
  User,
  type UserConnectionRow,
  userExample,
  usersWithConnections,
} from './user.ts'

/** Sort orders; people without a value come last, except that those who never synced count as the most idle. */
const sorts = {
  created_at: { key: 'u.created_at', asc: 'asc', desc: 'desc' },
  email: { key: 'lower(u.email)', asc: 'asc nulls last', desc: 'desc nulls last' },
  first_name: { key: 'lower(u.first_name)', asc: 'asc nulls last', desc: 'desc nulls last' },
  last_name: { key: 'lower(u.last_name)', asc: 'asc nulls last', desc: 'desc nulls last' },
  name: {
    key: `nullif(trim(lower(concat_ws(' ', u.first_name, u.last_name))), '')`,
    asc: 'asc nulls last',
    desc: 'desc nulls last',
  },
  last_synced_at: {
    key: 's.last_synced_at',
    asc: 'asc nulls first',
    desc: 'desc nulls last',
  },
} as const

/** Every user's newest sync at once: a look-up per user took 2.5 times as long with 50,000 users. */
const NEWEST_SYNCS = `
         left join (
           select user_id, max(last_synced_at) as last_synced_at from connection group by user_id
         ) s on s.user_id = u.id`

const UserQuery = Type.Object({
  // The highest page keeps the offset within 64 bits.
  page: Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1 }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  sort_by: Enum(Object.keys(sorts) as (keyof typeof sorts)[], { default: 'created_at' }),
  sort_order: Enum(['asc', 'desc'], { default: 'desc' }),
  search: Type.Optional(Type.String({ description: 'Part of a name or email in any case, or a whole id' })),
  email: Type.Optional(Type.String({ format: 'email' })),
  external_user_id: Type.Optional(Type.String()),
  provider: Type.Optional(List(Provider(), { description: 'Has a connection to any of these' })),
  connection_status: Type.Optional(
    Enum(connectionStatuses, { title: 'ConnectionStatus', description: 'Status that connection must have' }),
  ),
  has_active_connection: Type.Optional(Type.Boolean()),
  last_synced_before: Type.Optional(Instant({ description: 'Newest sync is older than this, or there was none' })),
  include: Type.Optional(
    List(Enum(['connections', 'data']), { description: 'Fields that are null or absent otherwise' }),
  ),
})

const UserPage = Type.Object(
  {
    items: Type.Array(User),
    total: Type.Integer(),
    page: Type.Integer(),
    limit: Type.Integer(),
    pages: Type.Integer(),
    has_next: Type.Boolean(),
    has_prev: Type.Boolean(),
  },
  { title: 'UserPage' },
)

type Param = string | readonly string[]

/** The conditions of a query on `app_user u`, and their parameters. */
function conditions(query: Static<typeof UserQuery>): { where: string; params: Param[] } {
  const params: Param[] = []
  const param = (value: Param) => `$${params.push(value)}`
  const connection = (condition: string) => `exists (select from connection c where c.user_id = u.id and ${condition})`
  const clauses: string[] = []
  if (query.search) {
    const pattern = param(`%${query.search.replaceAll(/[\\%_]/g, '\\$&')}%`)
    const id = checkUuid(query.search, [], [])
    const matches = ['first_name', 'last_name', 'email'].map((column) => `u.${column} ilike ${pattern}`)
    clauses.push(`(${[...matches, ...(id ? [`u.id = ${param(id)}`] : [])].join(' or ')})`)
  }
  if (query.email !== undefined) clauses.push(`lower(u.email) = lower(${param(query.email)})`)
  if (query.external_user_id !== undefined) clauses.push(`u.external_user_id = ${param(query.external_user_id)}`)
  const wanted: string[] = []
  if (query.provider) wanted.push(`c.provider = any(${param(query.provider)})`)
  if (query.connection_status) wanted.push(`c.status = ${param(query.connection_status)}`)
  if (wanted.length > 0) clauses.push(connection(wanted.join(' and ')))
  if (query.has_active_connection !== undefined) {
    clauses.push(`${query.has_active_connection ? '' : 'not '}${connection(`c.status = 'active'`)}`)
  }
  if (query.last_synced_before) {
    clauses.push(`not ${connection(`c.last_synced_at >= ${param(query.last_synced_before)}`)}`)
  }
  return { where: clauses.length > 0 ? `where ${clauses.join(' and ')}` : '', params }
}

/** Lists users, filtered, sorted and paged by number (contract 3.2, 1.5), in one or two statements, and one for `include=data`. */
export const listUsers = route(
  {
    method: 'GET',
    path: '/api/v1/users',
    operationId: 'listUsers',
    summary: 'List users',
    tag: 'Users',
    guard: 'key',
    csv: { name: 'users', list: 'items' },
    shareOf: ({ include }) => (include?.includes('data') ? 'report' : 'read'),
    query: UserQuery,
    response: UserPage,
    example: {
      items: [
        {
          ...userExample,
          connections: connectionsExample,
          first_day: '2026-01-05',
          last_day: '2026-02-24',
          recent_days: [...new Array<number>(29).fill(0), 812],
        },
      ],
      total: 1,
      page: 1,
      limit: 20,
      pages: 1,
      has_next: false,
      has_prev: false,
    },
  },
  async ({ query }, { db }) => {
    const { page, limit, sort_order: order } = query
    const sort = sorts[query.sort_by]
    const { where, params } = conditions(query)
    const offset = (page - 1) * limit
    const rows = await db.query<UserConnectionRow>(
      `with page as (
         select ${USER_COLUMNS}, ${sort.key} as sort_key
         from app_user u ${query.sort_by === 'last_synced_at' ? NEWEST_SYNCS : ''}
         ${where}
         order by sort_key ${sort[order]}, u.id ${order}
         limit $${params.length + 1} offset $${params.length + 2}
       )
       ${usersWithConnections('page', `u.sort_key ${sort[order]}, u.id ${order}`)}`,
      [...params, limit, offset],
    )
    const users = foldUsers(rows, query.include?.includes('connections'))
    const ids = query.include?.includes('data') ? users.map(({ id }) => id) : []
    const data = await readRecentData(db, ids, Date.now())
    const items = users.map((user, at) => ({ ...user, ...data[at] }))
    // A page that is neither full nor past the end is the last one, so its place gives the total.
    const isLast = items.length < limit && (items.length > 0 || page === 1)
    const total = isLast
      ? offset + items.length
      : (await db.one<{ total: number }>(`select count(*) as total from app_user u ${where}`, params)).total
    const pages = Math.ceil(total / limit)
    return { items, total, page, limit, pages, has_next: page < pages, has_prev: page > 1 }
  },
)
