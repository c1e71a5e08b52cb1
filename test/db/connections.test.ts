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
  const onError = (error: Error) => t.fail(error.message)
  const db = openDatabase({ url, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 60_000, onError })
  t.teardown(() => db.end())
  t.strictSame(await db.query(SETTINGS), [{ jit: 'off', timezone: 'UTC' }], 'statements are not compiled')
})
