// Everything that can go wrong while a provider is asked for the past.
import t from 'tap'
import { oneEngine } from '../../support/sdk.ts'
import { neverOverlaps } from './backfill-schedules.ts'
import { runsOf, start, startBackfills, statesOf, statusOf } from './backfills.ts'

/** What the provider answers of a type, how often; what becomes of it, and how often it was asked. */
const ANSWERS: [type: string, kind: string, times: number, state: string, asked: number][] = [
  ['dailies', '503', 3, 'done', 4],
  ['sleeps', '500', 4, 'failed', 4],
  ['hrv', '429', 3, 'done', 4],
  ['userMetrics', '429', 4, 'failed', 4],
  ['bodyComps', '409', 1, 'duplicate', 1],
  ['bloodPressures', '404', 1, 'failed', 1],
  ['activities', 'reset', 1, 'done', 2],
  ['stressDetails', 'silent', 1_000, 'no_data', 1],
  ['epochs', 'disabled', 0, 'disabled', 1],
]

oneEngine(t, 'each type fails by itself', async (t, engine) => {
  const topics = [...['dailies', 'sleeps', 'hrv', 'userMetrics', 'bodyComps', 'bloodPressures', 'activities', 'mct']]
  topics.push(...['stressDetails', 'skinTemp', 'healthSnapshot', 'pulseox', 'allDayRespiration', 'moveIQActivities'])
  const all = await startBackfills(t, engine, { topics: [...topics, 'activityDetails', 'deregistrations'] })
  const { app, simulator } = all
  for (const [type, kind, times] of ANSWERS) {
    const path = kind === 'silent' ? `/notices/${type}` : `backfill/${type}`
    if (kind !== 'disabled') await simulator.control('POST', 'faults', { kind, provider: 'garmin', path, times })
  }
  const ana = await all.join('ana')
  const failures: number[] = []
  for (let round = 0; round < 6; round += 1) {
    await all.ask()
    failures.push((await statusOf(all, ana)).attempt_count)
    await all.pass(round < 5 ? 65 : 0)
  }
  t.strictSame(failures.slice(0, 3), [1, 2, 3], 'its status counts the failures of a request')
  await all.deliver()
  const { cause } = await app.db.one<{ cause: string }>(
    `select error as cause from backfill_part where stream = 'epochs'`,
  )
  const doubts = await app.db.query(`select stream from backfill_part where attempted and asked_at is null`)
  t.strictSame(doubts, [{ stream: 'sleeps' }], 'of 500 nobody knows; all others were answered, or not sent')
  t.match(cause, /^Not enabled at the provider. HTTP 400: .*CONNECT_EPOCH/)
  await all.pass(400)
  await all.ask()
  const states = await statesOf(all)
  const asked = await all.asked()
  t.strictSame(
    ANSWERS.map(([type, kind]) => [type, kind, states[type], asked.filter((one) => one.type === type).length]),
    ANSWERS.map(([type, kind, , state, times]) => [type, kind, state, times]),
  )
  const ofPast = async () => (await runsOf(all, ana)).filter(({ source }) => source === 'backfill')
  t.match(await ofPast(), [{ status: 'partial' }])
  const { windows } = await statusOf(all, ana)
  t.match(windows[0], { sleeps: 'failed', epochs: 'failed', bodyComps: 'done', stressDetails: 'timed_out' })

  await t.test('what comes late is taken, and told to the run, which stays ended', async (t) => {
    await simulator.control('DELETE', 'faults')
    const [{ lo } = { lo: 0 }] = await app.db.query<{ lo: number }>(
      `select ceil(date_part('epoch', lo))::float8 as lo from backfill_part where stream = 'stressDetails'`,
    )
    const [grant] = await app.db.query<{ account_id: string }>('select account_id from provider_grant')
    const late = {
      ...{ userId: grant?.account_id, summaryId: 'late', startTimeInSeconds: lo + 86_400, durationInSeconds: 86_400 },
      ...{ startTimeOffsetInSeconds: 0, timeOffsetStressLevelValues: { 0: 20 } },
    }
    await all.tell({ stressDetails: [late] })
    t.equal((await statesOf(all)).stressDetails, 'done')
    t.match(
      (await runsOf(all, ana)).find(({ source }) => source === 'backfill'),
      { status: 'partial' },
    )
    const said = await app.db.query(`select status, message from sync_event where message like 'Came late%'`)
    t.strictSame(said, [{ status: 'partial', message: 'Came late: stressDetails' }])
  })

  await t.test('what was not taken is asked for again at a developer’s word', async (t) => {
    await simulator.control('DELETE', 'log')
    const before = await runsOf(all, ana)
    t.notOk(before.some(({ run_key }) => run_key === undefined))
    const { body } = await start(all, ana)
    t.notOk(
      before.some(({ run_key }) => run_key === body.task_id),
      'another run',
    )
    await all.ask()
    t.strictSame((await all.asked()).map(({ type, status }) => `${type} ${status}`).sort(), [
      'bloodPressures 202',
      'epochs 400',
      'sleeps 202',
      'userMetrics 202',
    ])
  })
})

/** What makes all of it useless: what the person may have unticked, what the provider answers; how often it is asked. */
const REFUSALS: { name: string; without?: string; own?: object; fault?: object; states: string[]; asked: number }[] = [
  { name: 'the past is not permitted', without: 'HISTORICAL_DATA_EXPORT', states: ['forbidden'], asked: 0 },
  { name: 'a type is not permitted', without: 'MCT_EXPORT', states: ['asked', 'forbidden'], asked: 15 },
  { name: '403', fault: { kind: '403', times: 1 }, states: ['refused'], asked: 1 },
  { name: '412 of a later one', fault: { kind: '412', skip: 2, times: 1 }, states: ['asked', 'refused'], asked: 3 },
  { name: '401, also with a new token', fault: { kind: '401', times: 2 }, states: ['refused'], asked: 2 },
]

oneEngine(t, 'a refusal ends the run, not the connection', async (t, engine) => {
  const all = await startBackfills(t, engine, { world: { people: REFUSALS.length } })
  const { app, simulator } = all
  const people: { key: string }[] = (await simulator.control('GET', 'people')).body
  const found: unknown[] = []
  for (const [place, { name, without, fault }] of REFUSALS.entries()) {
    await simulator.control('DELETE', 'log')
    const person = people[place]?.key ?? ''
    if (fault) await simulator.control('POST', 'faults', { provider: 'garmin', path: 'backfill', person, ...fault })
    const user = await all.join(person, without ? { more: { without } } : {})
    await all.ask()
    const parts = await app.db.query<{ state: string }>(
      `select distinct p.state from backfill_part p join connection c on c.grant_id = p.grant_id
       where c.user_id = $1 order by 1`,
      [user],
    )
    const { status } = await app.db.one<{ status: string }>('select status from connection where user_id = $1', [user])
    if (status !== 'active') found.push(`${name}: ${status}`)
    const [run] = await runsOf(all, user)
    const isOpen = parts.some(({ state }) => state === 'asked')
    if (run?.status !== (isOpen ? 'in_progress' : 'failed')) found.push(`${name}: ${run?.status} ${run?.error}`)
    found.push([name, parts.map(({ state }) => state), (await all.asked()).length])
  }
  t.strictSame(
    found,
    REFUSALS.map(({ name, states, asked }) => [name, states, asked]),
  )
})

oneEngine(t, 'the provider moves the start of what it gives', async (t, engine) => {
  const all = await startBackfills(t, engine, { topics: ['sleeps'], world: { people: 2, days: 90 } })
  const { app, simulator } = all
  await simulator.control('POST', 'clock', { advance_seconds: 7_200 })
  await all.join('ana')
  await all.ask()
  await all.pass(5)
  await all.ask()
  const asked = (await all.asked()).filter(({ type }) => type === 'sleeps')
  t.strictSame(
    asked.map(({ status }) => status),
    [400, 202],
  )
  const [first, second] = asked
  t.ok(
    second && first && second.to === first.to && second.from > first.from + 6_000 && second.from < first.from + 8_000,
  )
  const { lo } = await app.db.one<{ lo: number }>(
    `select date_part('epoch', lo) as lo from backfill_part where stream = 'sleeps'`,
  )
  t.equal(Math.ceil(lo), second?.from)

  await simulator.control('POST', 'clock', { advance_days: 40 })
  const bikash = await all.join('bikash')
  await all.ask()
  const states = await app.db.query(
    `select p.state, p.asked_at is null as free
     from backfill_part p join connection c on c.grant_id = p.grant_id
     where c.user_id = $1 and p.stream = 'sleeps'`,
    [bikash],
  )
  t.strictSame(states, [{ state: 'no_data', free: true }], 'nothing is left of it')
})

oneEngine(t, 'a process that dies before it notes what it asked for', async (t, engine) => {
  const all = await startBackfills(t, engine, { topics: ['sleeps', 'bodyComps'] })
  const ana = await all.join('ana')
  await all.turn(true)
  t.strictSame(new Set(Object.values(await statesOf(all))), new Set(['planned']))
  await all.deliver()
  t.ok((await all.app.db.one<{ n: number }>('select count(*) as n from sleep_part')).n > 25, 'it comes all the same')
  await all.ask()
  t.strictSame(
    (await all.asked()).filter(({ type }) => type === 'sleeps').map(({ status }) => status),
    [202, 409],
  )
  await all.deliver()
  await all.pass(400)
  await all.ask()
  t.match(await statesOf(all), { sleeps: 'done', bodyComps: 'done' })
  t.match(await runsOf(all, ana), [{ source: 'backfill', status: 'partial' }])
})

// Many more in backfill.long.ts.
oneEngine(t, 'no range is asked for twice, whatever dies and fails, and none is left out', (t, engine) =>
  neverOverlaps(t, engine, { seed: 17, count: 8 }),
)
