// Everything that begins, ends and uses connections at the same moment, seeded, and what is left when it is over.
import type { Test } from 'tap'
import { AppError } from '../../../server/errors.ts'
import { openAccessTokens } from '../../../server/oauth/refresh.ts'
import type { TestApp } from '../../support/app.ts'
import { callBack } from '../../support/clouds.ts'
import { connectPerson, type Pulling, settled, startPulling, startSimulated } from '../../support/people.ts'
import { body, createUser, heartRate } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import type { Playing } from '../../support/simulator.ts'

const PROVIDERS = ['oura', 'whoop']
const PEOPLE = ['ana', 'bikash']
const USERS = 4
const WALKERS = 4
const DAYS = 6

/** How long each walker goes on: so many actions, or so many seconds. */
export interface Length {
  readonly seed: number
  readonly actions?: number
  readonly seconds?: number
}

/** Who does what to whom; `pick` chooses. */
interface World {
  readonly app: TestApp
  readonly simulator: Playing
  readonly pulling: Pulling
  readonly users: string[]
  readonly pick: <T>(from: readonly T[]) => T
}

/** What may happen, how often, and the statuses that it may be answered with. */
const ACTIONS: Record<string, { weight: number; statuses: number[]; act(world: World): Promise<number> }> = {
  connect: { weight: 6, statuses: [303, 400, 404, 503], act: consent },
  disconnect: {
    ...{ weight: 3, statuses: [204, 404, 503] },
    act: ({ app, users, pick }) => asked(app, 'DELETE', `/api/v1/users/${pick(users)}/connections/${pick(PROVIDERS)}`),
  },
  purge: {
    ...{ weight: 1, statuses: [204, 404, 503] },
    act: ({ app, users, pick }) =>
      asked(app, 'DELETE', `/api/v1/users/${pick(users)}/connections/${pick(PROVIDERS)}/data`),
  },
  'delete a user': { weight: 1, statuses: [200, 404, 503], act: replaceUser },
  sync: { weight: 3, statuses: [200, 401, 404, 503], act: (world) => started(world, 'sync') },
  'sync of the past': {
    weight: 2,
    statuses: [200, 401, 404, 503],
    act: (world) => started(world, `sync/historical?days=${DAYS}`),
  },
  upload: {
    ...{ weight: 2, statuses: [202, 404, 503] },
    act: ({ app, users, pick }) =>
      asked(app, 'POST', `/api/v1/sdk/users/${pick(users)}/sync`, body([heartRate(Date.UTC(2026, 1, 1), 60)])),
  },
  pull: { weight: 2, statuses: [0], act: ({ pulling }) => pulling.pullNow().then(() => 0) },
  refresh: { weight: 4, statuses: [0, 400, 401, 404, 500], act: refreshed },
  'refuse tokens': {
    ...{ weight: 1, statuses: [200] },
    act: async ({ simulator, pick }) =>
      (await simulator.control('POST', 'expire', { provider: pick(PROVIDERS), person: pick(PEOPLE) })).status,
  },
}

const asked = async (app: TestApp, method: string, path: string, content?: unknown): Promise<number> =>
  (await app.request(method, path, content === undefined ? { auth: authOf(path) } : { body: content })).status

/** Users are deleted by developers. */
const authOf = (path: string) => (/users\/[^/]+$/.test(path) ? 'developer' : 'key')

const started = ({ app, users, pick }: World, what: string): Promise<number> =>
  asked(app, 'POST', `/api/v1/providers/${pick(PROVIDERS)}/users/${pick(users)}/${what}`)

async function consent({ app, users, pick }: World): Promise<number> {
  const path = `/api/v1/oauth/${pick(PROVIDERS)}/authorize?user_id=${pick(users)}`
  const { status, body: answer } = await app.request('GET', path)
  if (status !== 200) return status
  const url = new URL(answer.authorization_url)
  url.searchParams.set('auto', pick(PEOPLE))
  const { headers } = await fetch(url, { redirect: 'manual' })
  const { pathname, search } = new URL(headers.get('location') ?? '')
  return (await callBack(app, pathname + search)).status
}

async function replaceUser({ app, users, pick }: World): Promise<number> {
  const user = pick(users)
  const status = await asked(app, 'DELETE', `/api/v1/users/${user}`)
  if (status === 200) users[users.indexOf(user)] = await createUser(app)
  return status
}

async function refreshed({ app, pick }: World): Promise<number> {
  const grants = await app.db.query<{ id: string }>('select id from provider_grant order by provider, account_id')
  if (grants.length === 0) return 0
  const { id } = pick(grants)
  await app.db.query(`update provider_grant set access_until = now() - interval '1 second' where id = $1`, [id])
  const failure = await openAccessTokens(app.deps.oauth)
    .access(id)
    .catch((error: unknown) => error)
  if (failure instanceof AppError) return failure.status
  if (failure instanceof Error) throw failure
  return 0
}

/** Numbers that look random, the same ones for a seed. */
function pickerOf(seed: number): World['pick'] {
  let state = seed
  return (from) => {
    state = (state * 48_271) % 2_147_483_647
    return from[state % from.length] as (typeof from)[number]
  }
}

/** Does what may happen in walkers side by side; then nothing is left over, and who is connected has everything. */
export async function weathers(t: Test, engine: Engine, { seed, actions, seconds = 600 }: Length): Promise<void> {
  const { app, simulator } = await startSimulated(t, engine, {
    ...{ world: { people: PEOPLE.length, days: DAYS }, syncTriggersPerHour: 100_000 },
  })
  const users = await Promise.all(Array.from({ length: USERS }, () => createUser(app)))
  const world: World = { app, simulator, pulling: await startPulling(t, app), users, pick: pickerOf(seed) }
  const often = Object.entries(ACTIONS).flatMap(([name, { weight }]) => Array<string>(weight).fill(name))
  const unexpected: string[] = []
  const ends = Date.now() + seconds * 1000
  const walk = async () => {
    for (let n = 0; n < (actions ?? Number.POSITIVE_INFINITY) && Date.now() < ends; n += 1) {
      const name = world.pick(often)
      const { statuses, act } = ACTIONS[name] as (typeof ACTIONS)[string]
      const status = await act(world).catch((error: unknown) => String(error))
      if (!statuses.includes(Number(status))) unexpected.push(`${name}: ${status}`)
    }
  }
  await Promise.all(Array.from({ length: WALKERS }, walk))
  t.strictSame(unexpected, [], `seed ${seed}`)
  await calm(app)
  t.strictSame(await leftOver(app), [], 'nothing is left over, and no consent was lost')
  await everythingIsThere(t, world)
}

/** Everything that waits until later is done now. */
async function calm(app: TestApp): Promise<void> {
  const hurry = setInterval(() => {
    const due = [
      'delete from rate_budget',
      'update sync_task set due_at = now() where due_at > now()',
      `update provider_grant set renewed_at = null, refresh_due_at = null, live_at = now(), history_at = now(), asked_at = now()
       where id in (select id from provider_grant where process_id is null order by id for update)
         and id in (select grant_id from sync_task)`,
      `select graphile_worker.reschedule_jobs(array_agg(id), now()) from graphile_worker.jobs
       where task_identifier = 'leave' and locked_at is null and run_at > now()`,
    ]
    for (const text of due) void app.db.query(text).catch(() => {})
  }, 500)
  try {
    await settled(app).catch(async (error: Error) => {
      const grants = await app.db.query(
        `select provider, state, process_id, leased_until - now() as leased, refresh_due_at, refresh_doubt, asked_at, live_at,
                history_at, (select count(*) from sync_task t where t.grant_id = g.id) as tasks
         from provider_grant g`,
      )
      throw new Error(`${error.message} ${JSON.stringify(grants)}`)
    })
  } finally {
    clearInterval(hurry)
  }
}

async function leftOver({ db }: TestApp): Promise<string[]> {
  const rules: Record<string, string> = {
    'an active connection without a grant': `connection where status = 'active' and grant_id is null and provider in ('oura', 'whoop')`,
    'a grant that nobody uses': `provider_grant g where not exists (select from connection c where c.grant_id = g.id)`,
    'a connection that was lost': `connection where status_reason = 'refresh_failed'`,
    'a grant in doubt': `provider_grant where refresh_doubt > 0 or refusals > 0`,
    'a failed upload': `upload where status = 'failed'`,
    'an upload that came after the end': `upload u join connection c on c.id = u.connection_id
       where c.status <> 'active' and u.received_at > c.revoked_at`,
    'a deadlock': 'pg_stat_database where datname = current_database() and deadlocks > 0',
  }
  const found = await Promise.all(
    Object.entries(rules).map(async ([name, from]) =>
      (await db.query(`select from ${from}`)).length > 0 ? [name] : [],
    ),
  )
  return found.flat()
}

/** Whoever is connected has, after a sync of the past, what somebody has who connects the same account now. */
async function everythingIsThere(t: Test, { app, pulling }: World): Promise<void> {
  const connected = await app.db.query<{ user_id: string; provider: string }>(
    `select user_id, provider from connection where status = 'active' and grant_id is not null order by 1, 2`,
  )
  const control: string[] = []
  for (const provider of PROVIDERS)
    for (const person of PEOPLE) {
      const user = await createUser(app)
      control.push(user)
      await connectPerson(app, { user, provider, person })
    }
  const failed: string[] = []
  for (const { user_id, provider } of connected) {
    const path = `/api/v1/providers/${provider}/users/${user_id}/sync/historical?days=${DAYS}`
    const status = await asked(app, 'POST', path)
    if (status !== 200) failed.push(`${provider}: ${status}`)
  }
  await pulling.pullNow()
  await calm(app)
  const lacking = await app.db.query(
    `select c.provider, w.external_id
     from connection c
     join connection other on other.grant_id = c.grant_id and other.user_id = any ($1)
     join workout w on w.user_id = other.user_id
     where c.status = 'active' and not c.user_id = any ($1)
       and not exists (select from workout x where x.user_id = c.user_id and x.external_id = w.external_id)`,
    [control],
  )
  t.strictSame([...failed, ...lacking], [], 'and everybody who is connected has everything')
  const { workouts } = await app.db.one<{ workouts: number }>('select count(*) as workouts from workout')
  t.ok(workouts > 0)
}
