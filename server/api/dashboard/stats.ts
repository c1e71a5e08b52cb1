import { Type } from 'typebox'
import { route } from '../../http/route.ts'

const Count = Type.Object({ count: Type.Integer() }, { title: 'Count' })

const SystemInfo = Type.Object(
  {
    total_users: Count,
    active_conn: Count,
    data_points: Type.Object({
      count: Type.Integer({ description: 'Samples that can be read' }),
      archived: Type.Integer({ description: 'Samples of which only the rollups are left' }),
    }),
    event_records: Type.Object({
      count: Type.Integer(),
      workouts: Type.Integer(),
      sleep: Type.Integer(),
      menstrual_cycles: Type.Integer(),
      meals: Type.Integer(),
    }),
    connections_coverage: Type.Object({
      users_with_active: Type.Integer(),
      users_with_multi_active: Type.Integer(),
      top_providers: Type.Array(Type.Object({ provider: Type.String(), count: Type.Integer() })),
    }),
  },
  { title: 'SystemInfo' },
)

const COUNTS_SQL = `
  select (select count(*) from app_user) as users,
         (select count(*) from workout) as workouts,
         (select count(*) from sleep) as sleep,
         (select count(*) from menstrual_cycle) as menstrual_cycles,
         (select count(*) from meal) as meals,
         p.live, p.archived
  from stored_samples() p`

const CONNECTIONS_SQL = `
  with active as (
    select user_id, provider from connection where status = 'active'
  ), users as (
    select count(*) as providers from active group by user_id
  )
  select (select count(*) from active) as active,
         (select count(*) from users) as users,
         (select count(*) from users where providers > 1) as multi,
         (select coalesce(json_agg(t), '[]')
          from (select provider, count(*) from active group by provider order by count(*) desc, provider limit 3) t
         ) as top`

interface Counts {
  users: number
  workouts: number
  sleep: number
  menstrual_cycles: number
  meals: number
  live: number
  archived: number
}

interface Connections {
  active: number
  users: number
  multi: number
  top: { provider: string; count: number }[]
}

/** What is stored, for all users together, counted exactly (contract 11). */
export const getStats = route(
  {
    method: 'GET',
    path: '/api/v1/dashboard/stats',
    operationId: 'getStats',
    summary: 'How much is stored, for whom, and from where',
    tag: 'Dashboard',
    guard: 'developer',
    share: 'report',
    response: SystemInfo,
    example: {
      total_users: { count: 12 },
      active_conn: { count: 17 },
      data_points: { count: 1_204_331, archived: 80_210 },
      event_records: { count: 930, workouts: 410, sleep: 480, menstrual_cycles: 10, meals: 30 },
      connections_coverage: {
        users_with_active: 11,
        users_with_multi_active: 4,
        top_providers: [{ provider: 'garmin', count: 6 }],
      },
    },
  },
  async (_, { db }) => {
    const { users, live, archived, ...events } = await db.one<Counts>(COUNTS_SQL)
    const connections = await db.one<Connections>(CONNECTIONS_SQL)
    return {
      total_users: { count: users },
      active_conn: { count: connections.active },
      data_points: { count: live, archived },
      event_records: { count: events.workouts + events.sleep + events.menstrual_cycles + events.meals, ...events },
      connections_coverage: {
        users_with_active: connections.users,
        users_with_multi_active: connections.multi,
        top_providers: connections.top,
      },
    }
  },
)
