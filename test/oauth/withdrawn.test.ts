// What becomes of data when a person withdraws access at the provider.
import t from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { endGrant } from '../../server/oauth/disconnect.ts'
import type { TestApp } from '../support/app.ts'
import { connectPerson, settled, startPulling, startSimulated } from '../support/people.ts'
import { createUser, oneEngine } from '../support/sdk.ts'

oneEngine(t, 'data is deleted where the operator wants that, and comes back with a new consent', async (t, engine) => {
  const { app } = await startSimulated(t, engine, {
    ...{ world: { people: 1, days: 20 }, deleteDataOnDeauthorisation: ['whoop'] },
  })
  await startPulling(t, app)
  const users = [await createUser(app), await createUser(app)]
  for (const user of users)
    for (const provider of ['whoop', 'strava']) await connectPerson(app, { user, provider, person: 'ana' })
  await settled(app)
  const before = await storedOf(app)
  t.ok(before.length === 4 && before.every(({ workouts }) => workouts > 0), JSON.stringify(before))
  const strava = before.filter(({ provider }) => provider === 'strava')

  await withdraw(app)
  t.ok(await waitUntil(async () => (await storedOf(app)).length === 2, 20_000, 20))
  t.strictSame(await storedOf(app), strava, 'of the other provider all is there')
  const kept = await app.db.query(
    `select (select count(*) from upload where provider = 'whoop') + (select count(*) from sync_run where provider = 'whoop')
            + (select count(*) from provider_grant where provider = 'whoop') as n,
            status, status_reason
     from connection
     where provider = 'whoop'`,
  )
  const ended = { n: 0, status: 'revoked', status_reason: 'deregistration' }
  t.strictSame(kept, [ended, ended])

  for (const user of users) await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  await settled(app)
  t.strictSame(await storedOf(app), before)
  await app.db.query(
    `select graphile_worker.add_job('delete_withdrawn', payload => json_build_object('user_id', $1::text, 'provider', 'whoop'))`,
    [users[0] ?? ''],
  )
  const waiting = `select from graphile_worker.jobs where task_identifier = 'delete_withdrawn'`
  t.ok(await waitUntil(async () => (await app.db.query(waiting)).length === 0, 20_000, 20))
  t.strictSame(await storedOf(app), before, 'a job from before the consent deletes nothing')
})

/** As if a signed notice had said so of everybody. */
async function withdraw({ db, deps }: TestApp): Promise<void> {
  await db.transaction(async (tx) => {
    for (const { id } of await tx.query<{ id: string }>('select id from provider_grant order by id for update'))
      await endGrant(tx, deps.oauth.settings, id, { status: 'revoked', reason: 'deregistration' })
  })
}

/** How many workouts there are of each user and provider that have any device. */
const storedOf = (app: TestApp) =>
  app.db.query<{ provider: string; workouts: number }>(
    `select d.user_id, d.provider, count(w.id) as workouts
     from data_source d
     left join workout w on w.source_id = d.id
     group by 1, 2
     order by 1, 2`,
  )
