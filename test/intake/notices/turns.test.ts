// People take turns when notices are opened: whoever has nothing waiting does not wait for what others have sent, and of one account
// everything is opened in the order of receipt.
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { laneOf, type OpenMeans, openDue } from '../../../server/intake/notices/open.ts'
import { startOpening } from '../../../server/intake/notices/opening.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, openAll, openMeans, startOpeningNotices } from '../../support/notices.ts'
import { oneEngine } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'

const KEY = 'unguessable'
const garmin = { clientId: 'consumer', clientSecret: 'hush', more: { WEBHOOK_PATH_SECRET: KEY } }

/** More than is opened together with what others send. */
const MANY = 150

async function started(t: Test, engine: Engine) {
  const app = await startTestApp(t, engine, { providers: { garmin } })
  const send = async (body: object) => {
    const { status } = await notify(app, 'garmin', JSON.stringify(body), {
      ...{ headers: { 'garmin-client-id': 'consumer' }, query: `?k=${KEY}` },
    })
    if (status !== 200) throw new Error(`answered ${status}`)
  }
  const push = (number: number, ...accounts: string[]) =>
    send({ bodyComps: accounts.map((userId) => ({ userId, summaryId: `${number}` })) })
  const pushMany = async (account: string, count = MANY) => {
    for (let number = 0; number < count; number += 1) await push(number, account)
  }
  return { app, send, push, pushMany }
}

/** Accounts of what waits, by account. */
async function waiting({ db }: TestApp): Promise<Record<string, number>> {
  const rows = await db.query<{ account: string; n: number }>(
    `select coalesce(encode(body, 'escape')::jsonb #>> '{bodyComps,0,userId}', 'nobody') as account, count(*) as n
     from notification where state = 'waiting' group by 1`,
  )
  return Object.fromEntries(rows.map(({ account, n }) => [account, n]))
}

/** As if another process opened what is in a lane, and did not come to an end. */
async function occupied({ db }: TestApp, lane = ''): Promise<() => Promise<void>> {
  const other = await db.pool.connect()
  await other.query(`begin; select pg_advisory_xact_lock(hashtextextended('notices:garmin${lane}', 0))`)
  return async () => {
    await other.query('rollback')
    other.release()
  }
}

oneEngine(t, 'somebody’s push is opened while many of another person’s wait', async (t, engine) => {
  const { app, push, pushMany } = await started(t, engine)
  await pushMany('anna')
  const free = await occupied(app)
  await startOpeningNotices(t, app)
  await push(1, 'bert')
  const isOpen = async () => (await waiting(app)).bert === undefined
  t.ok(await waitUntil(isOpen, 20_000, 20))
  t.strictSame(await waiting(app), { anna: MANY - 1 }, 'of the other one, only what came first')
  await push(1, 'anna', 'cora')
  await push(2, 'cora')
  await push(1, 'dora')
  t.ok(await waitUntil(async () => (await waiting(app)).dora === undefined, 20_000, 20))
  t.strictSame(await waiting(app), { anna: MANY, cora: 1 }, 'what is about both waits, and what is behind it')
  await free()
  t.ok(
    await waitUntil(async () => Object.keys(await waiting(app)).length === 0, 20_000, 20),
    'all of it is opened then',
  )
})

oneEngine(t, 'nothing overtakes what came first of the same person', async (t, engine) => {
  const { app, push, pushMany } = await started(t, engine)
  await pushMany('anna', 30)
  await pushMany('bert', 30)
  const free = await occupied(app, ' first')
  const means = openMeans(t, app)
  t.equal(await openDue(means, laneOf('garmin', 'rest')), 'none')
  t.strictSame(await waiting(app), { anna: 30, bert: 30 })
  await free()
  await push(1, 'bert', 'cora')
  await openAll(means, 'garmin')
  t.strictSame(await waiting(app), {})
})

oneEngine(t, 'nothing overtakes what is about somebody else, too, and waits for that', async (t, engine) => {
  const { app, push, pushMany } = await started(t, engine)
  const means = openMeans(t, app)
  await pushMany('anna', 3)
  await openAll(means, 'garmin')
  await push(3, 'anna')
  await push(1, 'bert')
  await push(4, 'anna', 'bert')
  await push(5, 'anna')
  const free = await occupied(app, ' first')
  await openDue(means, laneOf('garmin', 'rest'))
  t.strictSame(await waiting(app), { anna: 2, bert: 1 })
  await free()
  await openAll(means, 'garmin')
  t.strictSame(await waiting(app), {})
})

oneEngine(t, 'who has some waits for as many of somebody who has many', async (t, engine) => {
  const { app, pushMany } = await started(t, engine)
  await pushMany('anna')
  await pushMany('bert', 5)
  const means = openMeans(t, app)
  const few = { ...laneOf('garmin', 'rest'), bytes: 600 }
  for (let batch = 0; batch < 3; batch += 1) {
    await openDue(means, laneOf('garmin', 'first'))
    await openDue(means, { ...few })
  }
  const { anna = 0, bert = 0 } = await waiting(app)
  t.equal(bert, 0)
  t.ok(anna > MANY - 40, `${anna} of the other one wait`)
})

oneEngine(t, 'what is about nobody takes turns as one person does', async (t, engine) => {
  const { app, send, push } = await started(t, engine)
  for (let number = 0; number < MANY; number += 1) await send({ number })
  await push(1, 'bert')
  const free = await occupied(app)
  await openAll(openMeans(t, app), 'garmin')
  t.strictSame(await waiting(app), { nobody: MANY - 1 })
  await free()
})

oneEngine(t, 'a long one takes more turns', async (t, engine) => {
  const { app, send, push } = await started(t, engine)
  const long = { userId: 'anna', more: 'x'.repeat(300_000) }
  await send({ bodyComps: [long] })
  await send({ bodyComps: [long, { number: 2 }] })
  for (const number of [1, 2, 3, 4]) await push(number, 'bert')
  const turns = await app.db.query<{ turn: number }>('select turn from notification order by id')
  t.strictSame(
    turns.map(({ turn }) => turn),
    [0, 5, 0, 1, 2, 3],
  )
})

oneEngine(t, 'several processes open what is about one account in the order of receipt', async (t, engine) => {
  const { app, push } = await started(t, engine)
  /** Accounts and numbers of what was read. */
  const opened: string[] = []
  const logging = (means: OpenMeans): OpenMeans => ({
    ...means,
    async read(task) {
      await delay(Math.random() * 10)
      for (const { body } of task.bodies) opened.push(Buffer.from(body).toString())
      return means.read(task)
    },
  })
  const accounts = ['anna', 'bert', 'cora', 'dora', 'emil']
  const anyOf = () => accounts.filter(() => Math.random() < 0.25)
  for (let number = 0; number < 100; number += 1) await push(number, 'anna')
  for (let process = 0; process < 3; process += 1) {
    const stop = await startOpening(logging(openMeans(t, app)))
    t.teardown(stop)
  }
  for (let number = 100; number < 400; number += 10)
    for (let next = number; next < number + 10; next += 1) await push(next, ...(next % 3 === 0 ? anyOf() : ['anna']))
  t.ok(await waitUntil(async () => Object.keys(await waiting(app)).length === 0, 60_000, 20))
  t.ok(opened.length >= 300)
  for (const account of accounts) {
    const numbers = opened.flatMap((body) => {
      const items = (JSON.parse(body) as { bodyComps: { userId: string; summaryId: string }[] }).bodyComps
      return items.filter(({ userId }) => userId === account).map(({ summaryId }) => Number(summaryId))
    })
    t.strictSame(
      numbers,
      numbers.toSorted((a, b) => a - b),
      `of ${account}, ${numbers.length}`,
    )
  }
})
