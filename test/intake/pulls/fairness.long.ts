// Providers that do not answer, or refuse, cost another nothing: Garmin, asked for everybody's past, and then two more.
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { loadConfig } from '../../../server/config.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { startTestApp } from '../../support/app.ts'
import { connectPerson, startPulling } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'
import { play } from '../../support/simulator.ts'
import { openTestDatabase } from '../../support/webhooks.ts'

const PEOPLE = 8
const MANY = 1_000_000
const MEASURED_MS = 6_000
/** Until whoever is slow has kept us waiting. */
const BEFORE_MS = 3_000
const ROUNDS = 3
/** Longer than a request may take. */
const PATIENCE_MS = 60_000
const OTHER = 'whoop'
const ONE = ['garmin']
const THREE = [...ONE, 'oura', 'suunto']
const FAULTS = [
  { kind: '429', seconds: 2 },
  { kind: 'slow', ms: 40_000 },
]

// What failed is tried again at once, instead of ever later.
const PRESS_SQL = `
  with due as (
    update sync_task t set due_at = now(), attempts = 0
    from provider_grant g
    where g.id = t.grant_id and g.provider = any ($1) and g.process_id is null
    returning t.grant_id, t.lane
  )
  update provider_grant g
  set live_at = case when d.lane = 'live' then now() else live_at end,
      history_at = case when d.lane = 'history' then now() else history_at end
  from due d
  where g.id = d.grant_id`

// More than can be asked meanwhile: days long ago, of which there is nothing to import.
const QUEUE_SQL = `
  select start_sync(
    c.grant_id, c.id, c.user_id, 'sync', 'live', timestamptz '2001-01-01' + n * interval '1 day', '{}',
    (select jsonb_agg(jsonb_build_object('stream', s, 'lo', timestamptz '2000-12-31' + n * interval '1 day'))
     from unnest('{sleep,recovery,workout,cycle}'::text[]) s)
  )
  from connection c, generate_series(1, 100) n
  where c.provider = $1`

oneEngine(t, 'some providers are slow, and refuse', async (t, engine) => {
  const simulator = await play(t, { now: Date.now, people: PEOPLE, days: 20 })
  for (const provider of [OTHER, ...THREE])
    await simulator.control('POST', 'settings', { provider, limits: provider === 'garmin' ? [MANY] : [MANY, MANY] })
  const { providers } = loadConfig(simulator.env)
  const app = await startTestApp(t, engine, {
    ...{ providers, historicalSyncOnConnect: false, syncTriggersPerHour: MANY },
  })
  const lift = `insert into rate_budget (provider, seconds, provider_limit) values ('whoop', 60, $1), ('whoop', 86400, $1)`
  await app.db.query(lift, [MANY])
  const users: string[] = []
  for (const { key: person } of (await simulator.control('GET', 'people')).body) {
    const user = await createUser(app)
    for (const provider of [OTHER, ...THREE]) await connectPerson(app, { user, provider, person })
    users.push(user)
  }
  const pulling = await startPulling(t, app)
  const db = openTestDatabase(t, app.databaseUrl)
  /** Grants of providers that are being asked. */
  const held = async (providers: readonly string[]) =>
    (await app.db.query('select from provider_grant where provider = any ($1) and process_id is not null', [providers]))
      .length

  /** Everything is to be asked of them that can be: days, and of Garmin the past. */
  async function queue(providers: readonly string[]): Promise<void> {
    await pulling.pullNow(providers)
    await app.db.query('delete from backfill_part')
    if (providers.includes('garmin'))
      for (const user of users) await app.request('POST', `/api/v1/providers/garmin/users/${user}/sync/historical`)
  }

  /** How many requests the provider that works is asked in a while, and how many accounts of the others at a time, at most. */
  async function measured(wrong: readonly string[]): Promise<{ requests: number; most: number }> {
    await queue(wrong)
    await db.query(QUEUE_SQL, [OTHER])
    await app.db.query(`update provider_grant set live_at = now() where provider = $1`, [OTHER])
    await app.db.query(PRESS_SQL, [wrong])
    await delay(BEFORE_MS)
    await simulator.control('DELETE', 'log')
    let most = 0
    for (const endsMs = Date.now() + MEASURED_MS; Date.now() < endsMs; await delay(500)) {
      await app.db.query(PRESS_SQL, [wrong])
      most = Math.max(most, await held(wrong))
    }
    const requests = (await simulator.control('GET', `log?provider=${OTHER}`)).body.length
    await forgotten([OTHER, ...wrong])
    return { requests, most }
  }

  /** Nothing is left to ask of them, nobody waits for an answer of theirs, and everything is imported. */
  async function forgotten(providers: readonly string[]): Promise<void> {
    await simulator.control('DELETE', 'faults')
    // Whoever changes the tasks of a grant holds it (server/store/lock.ts).
    await db.query(
      `with held as (select id from provider_grant where provider = any ($1) order by id for update)
       delete from sync_task where grant_id in (select id from held)`,
      [providers],
    )
    await app.db.query('delete from rate_budget where provider = any ($1)', [THREE])
    const queued = `select from upload where status = 'queued'`
    const over = async () => (await held(providers)) === 0 && (await app.db.query(queued)).length === 0
    if (!(await waitUntil(over, PATIENCE_MS, 100))) throw new Error('still asked')
  }

  await forgotten([OTHER, ...THREE])
  await measured([])
  const ratios = new Map<string, number[]>()
  let before = (await measured([])).requests
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = new Map<string, number>()
    for (const wrong of [ONE, THREE]) {
      for (const fault of FAULTS) {
        for (const provider of wrong) await simulator.control('POST', 'faults', { provider, ...fault })
        const { requests, most } = await measured(wrong)
        found.set(`${fault.kind} of ${wrong}`, requests)
        if (fault.kind === 'slow') t.ok(most > 2 * wrong.length, `${most} accounts of ${wrong} were being asked`)
      }
    }
    const after = (await measured([])).requests
    // The machine may have become slower or faster meanwhile.
    for (const [what, requests] of found)
      ratios.set(what, [...(ratios.get(what) ?? []), requests / ((before + after) / 2)])
    before = after
  }
  for (const [what, values] of ratios) {
    const shown = `${what}: ${values.map((value) => value.toFixed(2))} of the requests of another provider`
    const least = what.endsWith(`of ${ONE}`) ? 0.95 : 0.9
    t.ok((values.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0) >= least, shown)
  }
})
