// The past that Garmin sends once it was asked: what is asked, what becomes of it, and when that is told.
import t from 'tap'
import { createUser, oneEngine } from '../../support/sdk.ts'
import { runsOf, start, startBackfills, statesOf, statusOf } from './backfills.ts'

oneEngine(t, 'a person connects, and a month is there', async (t, engine) => {
  const all = await startBackfills(t, engine)
  const { app } = all
  const ana = await all.join('ana')
  t.match(await statusOf(all, ana), { overall_status: 'in_progress', windows: { 0: { sleeps: 'pending' } } })
  await all.ask()
  const asked = await all.asked()
  t.strictSame(
    asked.map(({ type }) => type).filter((_, at) => at < 3 || at > 13),
    ['sleeps', 'dailies', 'activities', 'epochs', 'activityDetails'],
    'light types first',
  )
  t.equal(asked.length, 16)
  t.ok(asked.every(({ status, from, to }) => status === 202 && to - from > 29.9 * 86_400 && to - from < 30 * 86_400))
  t.strictSame(new Set(Object.values(await statesOf(all))), new Set(['asked']))

  const again = await start(all, ana)
  const [run] = await runsOf(all, ana)
  t.match(again, { status: 200, body: { method: 'webhook_backfill', task_id: run?.run_key } }, 'it runs already')
  t.strictSame(Object.keys(again.body).sort(), ['message', 'method', 'provider', 'success', 'task_id', 'user_id'])

  await all.deliver()
  t.match(run, { source: 'backfill', scope: 'historical', status: 'in_progress' })
  t.match((await runsOf(all, ana))[0], { status: 'in_progress' }, 'more may come')
  const states = await statesOf(all)
  t.strictSame([states.sleeps, states.dailies, states.epochs], ['receiving', 'receiving', 'receiving'])
  await all.pass(200)
  await all.ask()
  t.match((await runsOf(all, ana))[0], { status: 'in_progress' }, 'before five quiet minutes')
  await all.pass(200)
  await all.ask()
  const [ended, ...others] = await runsOf(all, ana)
  t.match(ended, { run_key: run?.run_key, status: 'success' })
  t.strictSame(others, [], 'all of it is of that run')
  t.ok((ended?.items_inserted ?? 0) > 2_000, `${ended?.items_inserted}`)
  const done = await statusOf(all, ana)
  t.match(done, { overall_status: 'complete', in_progress: false, windows: { 0: { sleeps: 'done', dailies: 'done' } } })
  t.notOk(Object.values(done.windows[0]).some((one) => one === 'pending' || one === 'failed'))

  await t.test('with the nights of the month, told as of the past', async (t) => {
    const { nights } = await app.db.one<{ nights: number }>(
      'select count(*) as nights from sleep_part where not is_nap',
    )
    t.ok(nights >= 26 && nights <= 31, `${nights} nights`)
    const events = await app.db.query(
      `select distinct scope from event where type not like 'connection.%' and user_id = $1`,
      [ana],
    )
    t.strictSame(events, [{ scope: 'historical' }])
  })

  await t.test('what was asked for is not asked for again', async (t) => {
    t.match((await start(all, ana)).body, { task_id: run?.run_key })
    await all.ask()
    t.equal((await all.asked()).length, 16)
  })

  await t.test('nor for another user of the account, who is told so', async (t) => {
    const second = await all.join('ana', { user: await createUser(app) })
    await all.ask()
    t.strictSame(await runsOf(all, second), [], 'nothing by itself')
    const { status } = await start(all, second)
    t.equal(status, 200)
    const [refused] = await runsOf(all, second)
    t.match(refused, { status: 'failed', error: /has sent it to another user/ })
    t.equal((await all.asked()).length, 16)
  })

  await t.test('live data that comes afterwards is live', async (t) => {
    const [grant] = await app.db.query<{ account_id: string }>('select account_id from provider_grant')
    const at = { measurementTimeInSeconds: Math.floor(Date.now() / 1000), measurementTimeOffsetInSeconds: 0 }
    await all.tell({ bodyComps: [{ userId: grant?.account_id, summaryId: 'new', ...at, weightInGrams: 70_000 }] })
    const events = await app.db.query(`select distinct scope from event where user_id = $1 order by 1`, [ana])
    t.strictSame(events, [{ scope: 'historical' }, { scope: 'live' }])
    t.match((await runsOf(all, ana))[0], { scope: 'live', status: 'success' })
  })
})

oneEngine(t, 'pings are fetched for the run, for everybody who has the account, as of the past', async (t, engine) => {
  const all = await startBackfills(t, engine, { ping: true, topics: ['sleeps', 'hrv'] })
  const ana = await all.join('ana')
  const second = await all.join('ana')
  await all.ask()
  await all.deliver()
  const nights = await all.app.db.query<{ n: number }>(
    'select count(*) as n from sleep_part p join data_source d on d.id = p.source_id where not is_nap group by d.user_id',
  )
  t.ok(nights.length === 2 && nights.every(({ n }) => n > 25), JSON.stringify(nights))
  await all.pass(400)
  await all.ask()
  const runs = await Promise.all([ana, second].map((user) => runsOf(all, user)))
  t.strictSame(
    runs.map((own) => own.map(({ source, scope, status }) => [source, scope, status])),
    ['backfill', 'linked_account'].map((source) => [[source, 'historical', 'partial']]),
  )
  t.match(await statesOf(all), { sleeps: 'done', hrv: 'done' })
  const events = await all.app.db.query(`select distinct scope from event where type not like 'connection.%'`)
  t.strictSame(events, [{ scope: 'historical' }])
})

oneEngine(t, 'after the person has withdrawn access at the provider, all may be asked for again', async (t, engine) => {
  const all = await startBackfills(t, engine)
  const { app, simulator } = all
  const ana = await all.join('ana')
  await all.ask()
  // Before, it might be a repeat about an access that has ended.
  await app.db.query(`update provider_grant set granted_at = now() - interval '8 days'`)
  await simulator.control('POST', 'revoke', { provider: 'garmin', person: 'ana' })
  await all.deliver()
  const { status } = await app.db.one<{ status: string }>('select status from connection')
  t.equal(status, 'revoked')
  t.match((await runsOf(all, ana)).at(-1), { source: 'backfill', status: 'cancelled' })
  t.strictSame(await app.db.query('select from sync_task'), [])
  await simulator.control('DELETE', 'log')
  await all.join('ana', { user: ana })
  await all.ask()
  const asked = await all.asked()
  t.strictSame([asked.length, new Set(asked.map((one) => one.status))], [16, new Set([202])])
})
