import t from 'tap'
import { openDatabase } from '../server/db/database.ts'
import { openLog } from '../server/log.ts'
import { createTestDatabase } from './support/app.ts'
import { oneEngine } from './support/sdk.ts'

oneEngine(t, 'an error of the database is logged without what was to be stored', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openDatabase({ url, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 10_000, onError() {} })
  const lines: string[] = []
  const log = openLog('error', { write: (line) => lines.push(line) })
  const statements = [
    'insert into sample (ts, value, source_id, series_id) values (now(), 61.5, 1, null)',
    `select * from jsonb_to_recordset('[{"value": 61.5, "title": "\\u0000"}]') as x (value float8, title text)`,
  ]
  for (const statement of statements) {
    const error = await t.rejects(db.query(statement))
    log.error({ err: error }, 'failed')
  }
  await db.end()
  t.equal(lines.length, 2)
  for (const line of lines) {
    t.match(JSON.parse(line), { msg: 'failed', err: { type: 'DatabaseError', code: /^2/ } })
    t.notMatch(line, '61.5')
  }
})
