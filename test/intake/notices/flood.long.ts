// The past of many people comes as pushes while the service is killed again and again: what was answered 200 is there, once,
// as if nobody had been killed. Run with: npm run test:long
import pg from 'pg'
import t, { type Test } from 'tap'
import {
  connectAccount,
  GARMIN_SETTINGS,
  monthOf,
  ofTwins,
  personOf,
  pushRequest,
  readable,
  twinOf,
} from '../../../benchmarks/garmin.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { userIdOf } from '../../../simulator/garmin/items.ts'
import { random, whole } from '../../../simulator/random.ts'
import { createTestDatabase } from '../../support/app.ts'
import { createUser, eachEngine } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { onDatabase, type Service, startService } from '../../support/service.ts'

const PEOPLE = 5
const TWINS = 3
const DAYS = 5
const CLIENTS = 32
const KILLS = 6
const PATIENCE_MS = 300_000

/**
 * Everything that is stored of each account, but for when it was. The mean heart rate of a quarter of an hour and the one at
 * its beginning are of the same instant: whichever came last is stored, so these count without their values.
 */
const ROWS_SQL = `
  with account as (
    select d.id as source_id, d.user_id, c.provider_user_id as account
    from data_source d join connection c on c.user_id = d.user_id
  )
  select account, 'sample ' || t.type || ' ' || s.series_id as what, count(*) as rows,
         round(sum(s.value) filter (where t.type <> 'heart_rate' or date_part('epoch', s.ts)::int8 % 900 <> 0)::numeric, 3)::text as value,
         sum(date_part('epoch', s.ts))::text as times
  from sample s join account using (source_id) join series_type t on t.id = s.series_id % 10000
  group by 1, 2
  union all
  select account, 'workout ' || w.type, count(*), round(sum(w.calories_kcal)::numeric, 3)::text, sum(date_part('epoch', w.start_at))::text
  from workout w join account using (source_id)
  group by 1, 2
  union all
  select account, 'night', count(*), sum(n.asleep_s)::text, sum(date_part('epoch', n.start_at))::text
  from sleep n join account using (source_id)
  group by 1
  union all
  select account, 'activity ' || a.type, count(*), null, sum(date_part('epoch', a.start_at))::text
  from activity a join account using (source_id)
  group by 1, 2
  union all
  select c.provider_user_id, 'score ' || p.category, count(*), round(sum(p.value)::numeric, 3)::text, sum(date_part('epoch', p.recorded_at))::text
  from health_score p join connection c on c.user_id = p.user_id
  where p.provider <> 'internal'
  group by 1, 2
  order by 1, 2`

/** What was told more than once; and how often the rest was told. */
const TOLD_SQL = `
  select c.provider_user_id as account, e.type, count(*) as told, count(distinct e.key) as things
  from event e join connection c on c.user_id = e.user_id
  where e.type in ('workout.created', 'sleep.created')
  group by 1, 2
  order by 1, 2`

/** What went wrong, and what is left. */
const ACCOUNT_SQL = `
  select (select count(*) from upload where status in ('queued', 'failed') or rejected > 0)::int4 as wrong,
         (select count(*) from notification)::int4 as notices,
         (select count(*) from sync_run where status = 'in_progress')::int4 as open`

interface Flood {
  readonly t: Test
  readonly engine: Engine
  readonly requests: readonly ReturnType<typeof pushRequest>[]
  readonly accounts: readonly string[]
  /** Killed when so many pushes were answered. */
  readonly killAfter: readonly number[]
}

/** Sends everything to a service on a database of its own; returns what is stored then. */
async function flooded({ t, engine, requests, accounts, killAfter }: Flood) {
  const url = await createTestDatabase(t, engine)
  const settings = { ...onDatabase(url), ...GARMIN_SETTINGS, EVENT_FEED_ENABLED: 'true' }
  let service = await startService(t, settings)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  try {
    const users: string[] = []
    for (const account of accounts)
      users.push((await connectAccount({ createUser: () => createUser(service) }, db, account)).user)
    let [next, answered, again, kills] = [0, 0, 0, 0]
    let restarted: Promise<void> | undefined
    const restart = async () => {
      await service.kill()
      service = await startService(t, settings)
      restarted = undefined
    }
    const client = async () => {
      for (let place = next++; place < requests.length; place = next++) {
        const request = requests[place] as Flood['requests'][number]
        while (!(await isTaken(service, request))) {
          again += 1
          // As the provider does, which comes back when we do.
          await restarted
        }
        answered += 1
        if (answered === killAfter[kills]) {
          kills += 1
          restarted = restart()
        }
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    await restarted
    await readable(db, users)
    const isSettled = async () => (await db.query(ACCOUNT_SQL)).rows[0]?.open === 0
    t.ok(await waitUntil(isSettled, PATIENCE_MS, 100), 'every run has ended')
    await service.stop()
    t.equal(kills, killAfter.length, `${kills} kills, ${again} pushes sent again`)
    t.strictSame(
      (await db.query(ACCOUNT_SQL)).rows,
      [{ wrong: 0, notices: 0, open: 0 }],
      'nothing failed, nothing is left',
    )
    const told = (await db.query(TOLD_SQL)).rows
    t.strictSame(
      told.filter((one) => one.told !== one.things),
      [],
      'nothing was told twice',
    )
    return { rows: (await db.query(ROWS_SQL)).rows, told }
  } finally {
    await db.end()
  }
}

/** Whether a push was answered 200; a service that was killed answers nothing. */
async function isTaken({ url }: Service, { path, headers, body }: ReturnType<typeof pushRequest>): Promise<boolean> {
  try {
    const answer = await fetch(url + path, { method: 'POST', headers, body: body ?? '' })
    await answer.arrayBuffer()
    return answer.status === 200
  } catch {
    return false
  }
}

eachEngine(t, 'pushes of many people, and a process that is killed in the middle', async (t, engine) => {
  const people = Array.from({ length: PEOPLE }, (_, number) => personOf(number, DAYS))
  const bodies = monthOf(people, DAYS)
  const twins = Array.from({ length: TWINS }, (_, twin) => twin)
  const requests = bodies.flatMap((body) => twins.map((twin) => pushRequest(ofTwins(body, twin))))
  const accounts = people.flatMap((person) => twins.map((twin) => twinOf(userIdOf(person), twin)))
  const next = random(`flood/${engine.name}`)
  const killAfter = Array.from({ length: KILLS }, () => whole(next, 1, requests.length - CLIENTS)).sort((a, b) => a - b)
  const undisturbed = await flooded({ t, engine, requests, accounts, killAfter: [] })
  t.ok(undisturbed.rows.length > 15 * accounts.length, `${undisturbed.rows.length} kinds of rows`)
  t.ok(undisturbed.told.length > accounts.length, 'workouts and nights were told of')
  const broken = await flooded({ t, engine, requests, accounts, killAfter: [...new Set(killAfter)] })
  t.strictSame(broken.rows, undisturbed.rows, 'the same is there')
  t.strictSame(broken.told, undisturbed.told, 'and the same was told')
})
