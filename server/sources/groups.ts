import pg from 'pg'
import { counted } from '../counted.ts'
import { CONNECTION_OPTIONS, connectionTo } from '../db/database.ts'

/** A user whose sources are in several groups of hashes (sql/routines/samples/source_ids.sql). */
export interface Scattered {
  userId: string
  sources: number
  groups: number[]
}

const SCATTERED_SQL = `
  select d.user_id, count(*)::int4 as sources, array_agg(distinct source_group(d.id)) as groups
  from data_source d
  group by d.user_id
  having min(source_group(d.id)) <> max(source_group(d.id))`

const FIRST_SQL = `
  select user_id as "userId", sources, groups, count(*) over ()::int4 as found
  from (${SCATTERED_SQL}) s
  order by user_id
  limit $1`

/** Whether any source is as old as ids that were not drawn per group. */
const OLD_SQL = `
  select exists (
    select from data_source d
    where d.id < (select seqstart from pg_sequence where seqrelid = 'source_id_0'::regclass)
  ) as found`

/** How many users have sources in several groups, and the first `most` of them by id. */
export async function scatteredUsers(url: string, most: number): Promise<{ users: number; first: Scattered[] }> {
  return withClient(url, (client) => scattered(client, most))
}

/** Says in the log, once, how many users of an old database have sources in several groups, if any. */
export async function reportScattered(url: string, say: (message: string) => void): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ found: boolean }>(OLD_SQL)
    if (!rows[0]?.found) return
    const { users } = await scattered(client, 1)
    if (users === 0) return
    say(`${counted(users, 'user')} with sources in several groups of hashes: "npm run sources" lists them`)
  })
}

async function scattered(client: pg.Client, most: number): Promise<{ users: number; first: Scattered[] }> {
  const { rows } = await client.query<Scattered & { found: number }>(FIRST_SQL, [most])
  const first = rows.map(({ userId, sources, groups }) => ({ userId, sources, groups }))
  return { users: rows[0]?.found ?? 0, first }
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...connectionTo(url, CONNECTION_OPTIONS), application_name: 'pulsebase sources' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
