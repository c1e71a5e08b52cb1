// Which grants a process gets, and that nobody else has them.
import t from 'tap'
import type { Database } from '../../../server/db/database.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../../support/app.ts'
import { oneEngine } from '../../support/sdk.ts'
import { openTestDatabase } from '../../support/webhooks.ts'

interface Claimed {
  grant_id: string
  provider: string
  lane: string
  fence: number
}

const claim = (db: Database, process: number, { oura = 6, whoop = 6, places = 16, history = 4 } = {}) =>
  db.query<Claimed>(`select * from claim_grants($1, '{oura,whoop}', '{t,t}', array[$2, $3]::int4[], $4, $5)`, [
    ...[process, oura, whoop, places, history],
  ])

async function grants(db: Database, provider: string, count: number, places: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `insert into provider_grant (provider, account_id, ${places.replaceAll(/ = [^,]+/g, '')})
     select $1, gen_random_uuid(), ${places.replaceAll(/\w+_at = /g, '')} from generate_series(1, $2) n
     returning id`,
    [provider, count],
  )
  return rows.map(({ id }) => id)
}

oneEngine(t, 'claims of grants', async (t, engine) => {
  const db = openTestDatabase(t, await createTestDatabase(t, engine))
  const [one = 0, other = 0] = (
    await db.query<{ id: number }>(`insert into process (host, pid) values ('a', 1), ('b', 2) returning id`)
  ).map(({ id }) => id)
  const lanes = (rows: Claimed[]) => rows.map(({ provider, lane }) => `${provider} ${lane}`).sort()
  const freed = () => db.query('update provider_grant set process_id = null')
  t.beforeEach(async () => {
    await db.query('delete from provider_grant')
    await db.query('delete from rate_budget')
  })

  await t.test('each is given to one process, until its lease or that process ends', async (t) => {
    const ids = await grants(db, 'oura', 3, `live_at = now() - n * interval '1 second'`)
    const first = await claim(db, one, { oura: 2 })
    t.strictSame(new Set(first.map(({ grant_id: id }) => id)), new Set(ids.slice(1)), 'those that waited longest')
    t.strictSame(
      (await claim(db, other)).map(({ grant_id: id }) => id),
      [ids[0]],
    )
    t.strictSame(await claim(db, other), [])
    await db.query('delete from process where id = $1', [other])
    const [again] = await claim(db, one)
    t.match(again, { grant_id: ids[0], fence: 2 }, 'with a new number, so that the former holder cannot store')
    await db.query(`update provider_grant set leased_until = now() - interval '1 ms' where id = $1`, [ids[1] ?? null])
    t.match(await claim(db, one), [{ grant_id: ids[1], fence: 2 }])
  })

  await t.test('people who wait come first, then pulls, then some history', async (t) => {
    await grants(db, 'oura', 3, `history_at = now() - interval '9 hours'`)
    await grants(db, 'oura', 3, `live_at = now() - interval '1 hour'`)
    await grants(db, 'whoop', 2, `asked_at = now()`)
    await grants(db, 'whoop', 9, `history_at = now() - interval '1 day'`)
    t.strictSame(lanes(await claim(db, one, { places: 5 })), [
      ...['oura live', 'oura live', 'oura live', 'whoop asked', 'whoop asked'],
    ])
    await freed()
    t.strictSame(lanes(await claim(db, one)), [
      ...['oura live', 'oura live', 'oura live', 'whoop asked', 'whoop asked'],
      ...['whoop history', 'whoop history', 'whoop history', 'whoop history'],
    ])
    await freed()
    t.equal((await claim(db, one, { history: 0 })).length, 5)
    await freed()
    t.strictSame(
      lanes(await claim(db, one, { whoop: 1, oura: 0 })),
      ['whoop asked'],
      'as many of each as there is room for',
    )
  })

  await t.test('nothing of a provider that is disabled, or a lane whose budget is used up', async (t) => {
    await grants(db, 'oura', 1, `asked_at = now()`)
    await grants(db, 'oura', 1, `live_at = now()`)
    await grants(db, 'oura', 1, `history_at = now()`)
    const closed = async (columns: string) => {
      await freed()
      await db.query('delete from rate_budget')
      await db.query(
        `insert into rate_budget (provider, seconds, ${columns})
         values ('oura', 60, ${columns.split(', ').map(() => `now() + interval '1 minute'`)})`,
      )
      return lanes(await claim(db, one))
    }
    t.strictSame(await closed('history_until'), ['oura asked', 'oura live'])
    t.strictSame(await closed('history_until, live_until'), ['oura asked'])
    t.strictSame(await closed('closed_until'), [])
    await freed()
    await db.query('delete from rate_budget')
    await db.query(`insert into provider_setting (provider, is_enabled) values ('oura', false)`)
    t.strictSame(await claim(db, one), [])
    await db.query('delete from provider_setting')
    await db.query(`update provider_grant set state = 'ended'`)
    t.strictSame(await claim(db, one), [])
  })

  await t.test('what is queued while a grant is given back is asked for', async (t) => {
    const [id = ''] = await grants(db, 'oura', 1, 'live_at = now()')
    const [lease] = await claim(db, one)
    let released: Promise<unknown> | undefined
    await db.transaction(async (tx) => {
      await tx.query('select from provider_grant where id = $1 for update', [id])
      released = db.query('select release_grant($1, $2, $3, null, null, null)', [id, one, lease?.fence ?? 0])
      const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'select release_grant%'`
      t.ok(await waitUntil(async () => (await db.query(waits)).length > 0, 10_000, 5))
      const wish = { kind: 'notice', key: 'sleep', stream: 'sleep', lo: '2026-01-01', hi: '2026-01-02' }
      await tx.query(`select queue_wishes($1, null, 'a run', 'live', $2)`, [id, JSON.stringify([wish])])
    })
    await released
    t.match(await claim(db, one), [{ grant_id: id, lane: 'live' }])
  })

  await t.test('processes that claim at the same time share what there is', async (t) => {
    await grants(db, 'oura', 40, `live_at = now()`)
    const claimed = (await Promise.all(Array.from({ length: 8 }, () => claim(db, one)))).flat()
    const ids = claimed.map(({ grant_id: id }) => id)
    t.equal(new Set(ids).size, ids.length)
    t.ok(ids.length >= 6)
  })

  await t.test('with 100,000 grants that have nothing to do it takes no longer', async (t) => {
    await grants(db, 'oura', 20_000, `live_at = null`)
    await grants(db, 'oura', 5, `live_at = now()`)
    await db.query('analyze provider_grant')
    const plan = await db.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers, format text) select * from claim_grants($1, '{oura}', '{t}', '{6}', 16, 4)`,
      [one],
    )
    const text = plan.map((line) => line['QUERY PLAN']).join('\n')
    const pages = Number(/shared hit=(\d+)/.exec(text)?.[1])
    t.ok(pages > 0 && pages < 500, `${pages} pages are looked at`)
  })
})
