// How often a provider may be asked: never more than it takes, and not much less.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Database } from '../../../server/db/database.ts'
import { createTestDatabase } from '../../support/app.ts'
import { oneEngine } from '../../support/sdk.ts'
import { openTestDatabase } from '../../support/webhooks.ts'

/** Long windows, in which the time that a test takes is nothing. */
const SECONDS = 1_000_000

interface Budget {
  account: boolean
  seconds: number
  limit: number
  aligned: boolean
  per_account?: number
  heard?: { limit?: number; used?: number }
}

/** A provider's budgets, with a clock that a test moves: what was asked lies that much further back. */
function clocked(db: Database, budgets: Budget[]) {
  const provider = randomUUID()
  let passed = 0
  return {
    provider,
    get seconds() {
      return passed
    },
    /** Seconds until it may be tried again; null: a permit. */
    async take(share = 1, lane = 'asked', more: Partial<Budget> = {}, grant: string | null = null) {
      const asked = JSON.stringify(budgets.map((budget) => ({ ...budget, ...more })))
      const { waits } = await db.one<{ waits: number | null }>(
        `select date_part('epoch', take_budget($1, $2, $3, $4, $5) - now()) as waits`,
        [provider, grant, lane, share, asked],
      )
      return waits
    },
    close: (afterSeconds: number | null) =>
      db.one<{ waits: number }>(`select date_part('epoch', close_budget($1, null, $2, $3) - now()) as waits`, [
        ...[provider, JSON.stringify(budgets), afterSeconds],
      ]),
    async pass(seconds: number) {
      passed += seconds
      const back = (column: string) => `${column} = ${column} - make_interval(secs => $2)`
      await db.query(
        `update rate_budget
         set slot = slot - round($2 / (seconds / 10.0))::int8, ${['closed_until', 'live_until', 'history_until'].map(back)}
         where provider = $1`,
        [provider, seconds],
      )
    },
  }
}

oneEngine(t, 'budgets of providers', async (t, engine) => {
  const db = openTestDatabase(t, await createTestDatabase(t, engine))

  await t.test('a permit reads the budgets of its own account, however many there are', async (t) => {
    const per = { seconds: SECONDS, limit: 1_000, aligned: false }
    const { provider } = clocked(db, [])
    const grants = await db.query<{ id: string }>(
      `insert into provider_grant (id, provider) select gen_random_uuid(), $1 from generate_series(1, 2000) returning id`,
      [provider],
    )
    const pages = async () => {
      const asked = JSON.stringify([
        { ...per, account: false },
        { ...per, account: true },
      ])
      const [row] = await db.query<Record<string, [{ Plan: { [name: string]: number } }]>>(
        `explain (analyze, buffers, format json) select take_budget($1, $2, 'asked', 1, $3)`,
        [provider, grants[0]?.id ?? '', asked],
      )
      return Object.values(row ?? {})[0]?.[0].Plan['Shared Hit Blocks'] ?? Number.NaN
    }
    for (let times = 0; times < 6; times += 1) await pages()
    const few = await pages()
    await db.query(
      `insert into rate_budget (provider, grant_id, seconds) select $1, id, $2 from provider_grant where provider = $1 on conflict do nothing`,
      [provider, SECONDS],
    )
    await db.query('vacuum analyze rate_budget')
    for (let times = 0; times < 6; times += 1) await pages()
    const many = await pages()
    t.ok(many < 2 * few + 20, `${few} blocks with one account, ${many} with 2,000`)
  })

  await t.test('no span of the length of a window has more requests than its limit, and few have less', async (t) => {
    const limit = 20
    const clock = clocked(db, [{ account: false, seconds: SECONDS, limit, aligned: false }])
    const tenth = SECONDS / 10
    const permits: number[] = []
    const refusedTooLong: number[] = []
    // As a pseudo-random walk: bursts, pauses, and waits as long as it says.
    for (let turn = 0, state = 7; turn < 60; turn += 1) {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31
      for (let asked = state % 15; asked > 0; asked -= 1) {
        const waits = await clock.take()
        if (waits === null) permits.push(clock.seconds)
        else if (waits > SECONDS * 1.1 + 1 || waits <= 0) refusedTooLong.push(waits)
      }
      const waits = await clock.take()
      if (waits === null) permits.push(clock.seconds)
      await clock.pass(state % 3 === 0 && waits !== null ? Math.ceil(waits / tenth) * tenth : (state % 4) * tenth)
      if (state % 3 === 0 && waits !== null) {
        t.equal(await clock.take(), null, 'after the wait there is a permit')
        permits.push(clock.seconds)
      }
    }
    const most = Math.max(...permits.map((from) => permits.filter((at) => at >= from && at < from + SECONDS).length))
    t.ok(most <= limit, `${most} of ${limit}`)
    t.strictSame(refusedTooLong, [])
    const windows = clock.seconds / SECONDS
    t.ok(permits.length >= windows * limit * 0.6, `${permits.length} permits in ${windows.toFixed(1)} windows`)
  })

  await t.test('an aligned window opens where it ends', async (t) => {
    const clock = clocked(db, [{ account: false, seconds: SECONDS, limit: 2, aligned: true }])
    const taken = [await clock.take(), await clock.take()]
    const waits = (await clock.take()) ?? 0
    t.strictSame(taken, [null, null])
    const { left } = await db.one<{ left: number }>(
      `select ${SECONDS} - date_part('epoch', now())::numeric % ${SECONDS} as left`,
    )
    t.ok(Math.abs(waits - Number(left)) < 5, `${waits} of ${left}`)
  })

  await t.test('history and pulls leave something to those who wait', async (t) => {
    const clock = clocked(db, [{ account: false, seconds: SECONDS, limit: 10, aligned: false }])
    const takes = async (share: number, lane: string) => {
      let permits = 0
      while ((await clock.take(share, lane)) === null) permits += 1
      return permits
    }
    t.strictSame([await takes(0.6, 'history'), await takes(0.8, 'live'), await takes(0.97, 'asked')], [6, 2, 1])
    const [row] = await db.query(
      `select closed_until is null as open, live_until > now() as live, history_until > now() as history
       from rate_budget where provider = $1`,
      [clock.provider],
    )
    t.strictSame(row, { open: true, live: true, history: true }, 'nobody is served in vain')
  })

  await t.test('the provider counts, too', async (t) => {
    const clock = clocked(db, [{ account: false, seconds: SECONDS, limit: 10, aligned: false }])
    t.equal(await clock.take(1, 'asked', { heard: { used: 8 } }), null, 'others with our client id asked')
    t.equal(await clock.take(), null)
    t.not(await clock.take(), null)
    t.equal(await clock.take(1, 'asked', { heard: { limit: 12 } }), null, 'and it raised its limit')
  })

  await t.test(
    'a refused request closes the fullest window for as long as the provider says, else longer each time',
    async (t) => {
      const budgets: Budget[] = [
        { account: false, seconds: 60, limit: 100, aligned: false },
        { account: false, seconds: SECONDS, limit: 1_000, aligned: false },
      ]
      const clock = clocked(db, budgets)
      await clock.take()
      const about = async (afterSeconds: number | null) => Math.round((await clock.close(afterSeconds)).waits)
      t.equal(await about(17), 17)
      t.ok(((await clock.take()) ?? 0) > 16)
      await clock.pass(1_000)
      const waits: number[] = []
      for (let times = 0; times < 4; times += 1) {
        const waited = await about(null)
        waits.push(waited)
        await clock.pass(waited)
      }
      t.strictSame(waits, [15, 30, 60, 60], 'not longer than the window')
    },
  )

  await t.test('limits that grow with the accounts', async (t) => {
    const clock = clocked(db, [{ account: false, seconds: SECONDS, limit: 1, per_account: 2, aligned: false }])
    await db.query('insert into provider_grant (provider) values ($1)', [clock.provider])
    t.strictSame([await clock.take(), await clock.take(), await clock.take()], [null, null, null])
    t.not(await clock.take(), null)
  })

  await t.test('an account has budgets of its own, which end with it', async (t) => {
    const clock = clocked(db, [{ account: true, seconds: SECONDS, limit: 1, aligned: false }])
    const grants = await db.query<{ id: string }>(
      'insert into provider_grant (provider) select $1 from generate_series(1, 2) returning id',
      [clock.provider],
    )
    const [one, other] = grants.map(({ id }) => id) as [string, string]
    t.equal(await clock.take(1, 'live', {}, one), null)
    t.not(await clock.take(1, 'live', {}, one), null)
    t.equal(await clock.take(1, 'live', {}, other), null)
    await db.query('delete from provider_grant where provider = $1', [clock.provider])
    t.strictSame(await db.query('select from rate_budget where provider = $1', [clock.provider]), [])
  })
})
