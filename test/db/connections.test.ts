// What holds on each connection of the service, whatever the server's own settings are.
import pg from 'pg'
import t from 'tap'
import { openDatabase } from '../../server/db/database.ts'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'

oneEngine(t, 'connections', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const SETTINGS = `select current_setting('jit') as jit, current_setting('timezone') as timezone`
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  t.teardown(() => other.end())
  t.equal((await other.query(SETTINGS)).rows[0].jit, 'on', 'as a server has it unless it says otherwise')
  let ended = false
  // A connection that is closing may still hear that its database is dropped.
  const onError = (error: Error) => void (ended || t.fail(error.message))
  const db = openDatabase({ url, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 60_000, onError })
  t.teardown(() => {
    ended = true
    return db.end()
  })
  t.strictSame(await db.query(SETTINGS), [{ jit: 'off', timezone: 'UTC' }], 'statements are not compiled')

  await t.test('and whatever the address says', async (t) => {
    const ALL = `select current_setting('jit') as jit, current_setting('timezone') as timezone,
      current_setting('statement_timeout') as statement_timeout, current_setting('work_mem') as work_mem,
      current_setting('application_name') as name`
    const given = '-c work_mem=5MB -c timezone=Europe/Vienna -c jit=on -c extra_float_digits=-6'
    const found: unknown[] = []
    for (const query of [`options=${encodeURIComponent(given)}`, `keepalives=1&options=${given}`, 'keepalives=1']) {
      const address = `${url}${url.includes('?') ? '&' : '?'}${query}`
      const one = openDatabase({ url: address, name: 'a & b', maxConnections: 1, statementTimeoutMs: 60_000, onError })
      found.push(...(await one.query(ALL)))
      await one.end()
    }
    const ours = { jit: 'off', timezone: 'UTC', statement_timeout: '1min', name: 'a & b' }
    t.strictSame(found, [
      { ...ours, work_mem: '5MB' },
      { ...ours, work_mem: '5MB' },
      { ...ours, work_mem: '4MB' },
    ])
  })

  await t.test('and whatever the database says', async (t) => {
    const database = new URL(url).pathname.slice(1)
    for (const setting of [
      `default_transaction_isolation = 'serializable'`,
      `extra_float_digits = -6`,
      `bytea_output = 'escape'`,
      `datestyle = 'SQL, DMY'`,
      `intervalstyle = 'iso_8601'`,
    ])
      await other.query(`alter database "${database}" set ${setting}`)
    const one = openDatabase({ url, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 60_000, onError })
    const found = await one.query(
      `select current_setting('transaction_isolation') as isolation, (1::float8 / 3)::text as third, '\\x01'::bytea::text as bytes,
              '2026-11-28'::date::text as day, interval '1 day'::text as interval`,
    )
    await one.end()
    const expected = { isolation: 'read committed', third: '0.3333333333333333', bytes: '\\x01' }
    t.strictSame(found, [{ ...expected, day: '2026-11-28', interval: '1 day' }])
  })
})
