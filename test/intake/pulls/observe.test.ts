// What operators and developers see of pulls: what waits, how old the newest data is, what is used up, what keeps failing.
import { Registry } from 'prom-client'
import t from 'tap'
import { takePermit } from '../../../server/intake/pulls/budget.ts'
import { observePulls } from '../../../server/intake/pulls/observe.ts'
import { connectPerson, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

const PERMITS = 50

oneEngine(t, 'pulls in metrics, and streams that fail for a week in the list of connections', async (t, engine) => {
  const { app } = await startSimulated(t, engine, { world: { people: 1, days: 1 } })
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'oura', person: 'ana' })
  const client = app.deps.oauth.clients.get('oura')!
  const { id } = await app.db.one<{ id: string }>('select id from provider_grant')
  await app.db.query(
    `insert into stream_cursor (grant_id, stream, covered_until, closed_until, failing_since)
     select $1, stream, now() - covered::interval, now() + closed::interval, now() - failing::interval
     from (values ('heartrate', '2 hours', null, null), ('daily_stress', '9 days', '1 hour', '9 days'),
                  ('sleep', '8 days', null, '8 days'), ('workout', '3 hours', null, '6 days')) s (stream, covered, closed, failing)`,
    [id],
  )
  await app.db.query(`update sync_task set due_at = now() + interval '1 hour' where stream = 'heartrate'`)
  for (let permit = 0; permit < PERMITS; permit += 1)
    await takePermit(app.db, { client, grantId: id, lane: 'live' }, [])
  await app.db.query(
    `insert into backfill_part (grant_id, stream, lo, hi, run_key, state)
     select $1, state, now() - interval '1 day', now(), 'run', state from unnest($2::text[]) state`,
    [id, ['planned', 'asked', 'receiving', 'done']],
  )
  const registry = new Registry()
  observePulls(registry, app.db, app.deps.oauth.clients)
  const lines = (await registry.metrics()).split('\n').filter((line) => /^pulsebase_\w+\{/.test(line))
  const values = new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), Number(line.split(' ')[1])]))
  const value = (name: string) => values.get(`pulsebase_${name}`)
  const hours = (name: string) =>
    Math.round((value(`pull_lag_seconds{provider="oura",stream="${name}"}`) ?? Number.NaN) / 3600)
  const { streams = [], api } = client.provider
  const past = streams.filter(({ historyDays }) => historyDays !== 0).length
  t.strictSame(
    {
      asked: value('pull_tasks_waiting{provider="oura",lane="asked"}'),
      history: value('pull_tasks_waiting{provider="oura",lane="history"}'),
      lags: [hours('heartrate'), hours('sleep'), hours('daily_stress')],
      used: api.budgets.map(({ seconds }) =>
        value(`provider_budget_used_ratio{provider="oura",window_seconds="${seconds}"}`),
      ),
      failing: lines.filter((line) => line.includes('streams_failing')),
      past: lines.filter((line) => line.includes('backfill')).toSorted(),
    },
    {
      asked: streams.length - 1,
      history: past - 1,
      lags: [2, 192, Number.NaN],
      used: api.budgets.map(({ limit }) => PERMITS / limit),
      failing: [
        'pulsebase_pull_streams_failing{provider="oura",stream="daily_stress"} 1',
        'pulsebase_pull_streams_failing{provider="oura",stream="sleep"} 1',
      ],
      past: ['asked', 'planned', 'receiving'].map(
        (state) => `pulsebase_backfill_types{provider="oura",state="${state}"} 1`,
      ),
    },
  )
  const [connection] = (await app.request('GET', `/api/v1/users/${user}/connections`)).body
  t.strictSame(connection.failing_streams, ['daily_stress', 'sleep'])
})
