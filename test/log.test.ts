import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { openDatabase } from '../server/db/database.ts'
import { signalProcess, waitUntil } from '../server/db/embedded/processes.ts'
import { openLog } from '../server/log.ts'
import { createTestDatabase } from './support/app.ts'
import { oneEngine } from './support/sdk.ts'
import { engines } from './support/servers.ts'
import { API_KEY, onDatabase, startService } from './support/service.ts'

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

oneEngine(
  t,
  'a lost connection is logged without the driver: its settings, and its queries with their values',
  async (t, engine) => {
    const url = await createTestDatabase(t, engine)
    const lines = new EventEmitter()
    const log = openLog('warn', { write: (line) => lines.emit('line', line) })
    const options = { url, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 10_000 }
    const db = openDatabase({ ...options, onError: (err) => log.warn({ err }, 'a database connection was lost') })
    const other = openDatabase({ ...options, onError() {} })
    const { pid } = await db.one<{ pid: number }>('select pg_backend_pid() as pid')
    const [[line]] = await Promise.all([once(lines, 'line'), other.query('select pg_terminate_backend($1)', [pid])])
    await Promise.all([db.end(), other.end()])
    t.match(JSON.parse(line), { msg: 'a database connection was lost', err: { code: '57P01', client: '[cut]' } })
  },
)

t.test('credentials are cut wherever they stand', async (t) => {
  const lines: string[] = []
  const log = openLog('info', { write: (line) => lines.push(line) })
  const tokens = {
    access_token: 'hush',
    refresh_token: 'hush',
    client_secret: 'hush',
    clientSecret: 'hush',
  }
  log.info({ answer: tokens, authorization: 'hush', request: { authorization: 'hush', token: 'hush' } }, 'said')
  t.match(lines[0], '[cut]')
  t.notMatch(lines[0], 'hush')
})

t.test('every line of the log is JSON, and what clients break is not logged as an error of ours', async (t) => {
  const [engine] = engines()
  if (!engine) throw new Error('no engine')
  const odd = `process.on('SIGUSR2', () => {
      process.emitWarning('something odd', 'OddWarning')
      console.trace(new Error('a library gives up, odd'))
      console.error('%s is odd', 'something printed')
    })
    process.on('SIGWINCH', () => { setImmediate(() => { throw new Error('thrown by nobody knows whom') }) })`
  const service = await startService(t, {
    ...onDatabase(await createTestDatabase(t, engine)),
    LOG_LEVEL: 'info',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(odd)}`,
  })
  const user = (await service.request('POST', '/api/v1/users', { body: {} })).body.id
  const printed = service.output().length
  const logged = () => service.output().slice(printed).split('\n').filter(Boolean)

  const post = (path: string, headers: string, body = '') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Service-API-Key: ${API_KEY}\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`
  const paths = ['/api/v1/users', `/api/v1/sdk/users/${user}/sync`, '/api/v1/auth/login', '/api/v1/nowhere']
  const broken = [
    'no HTTP at all\r\n\r\n',
    '\u0016\u0003\u0001\u0002',
    'GET / HTTP/9.9\r\n\r\n',
    'GET / HTTP/1.1\r\nbad header\r\n\r\n',
    `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    ...paths.flatMap((path) => [
      post(path, 'Transfer-Encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\n'),
      post(path, 'Transfer-Encoding: chunked', '5\r\n{"a":'),
      post(path, 'Transfer-Encoding: chunked', '2\r\n{}nonsense'),
      post(path, 'Content-Length: 10\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
      post(path, 'Content-Length: -1', '{}'),
      post(path, 'Content-Length: 1000', '{"a":'),
      post(path, 'Content-Length: 2\r\nContent-Encoding: gzip', '{}'),
      post(path, 'Content-Length: 2', '{}GARBAGE AFTER IT\r\n\r\n'),
    ]),
  ]
  for (const bytes of broken) await sendRaw(service.url, bytes)
  t.equal((await service.request('GET', '/healthz')).status, 200, 'it lives on')

  signalProcess(service.pid, 'SIGUSR2')
  const has = (text: string) => waitUntil(async () => service.output().includes(text), 60_000, 5)
  t.ok(await has('something odd'))
  const notOurs = logged().filter((line) => !/"level":(30|40)\b/.test(line))
  t.strictSame(notOurs, [])
  signalProcess(service.pid, 'SIGWINCH')
  t.ok(await has('thrown by nobody knows whom'))
  t.ok(
    await waitUntil(async () => !service.alive(), 60_000, 20),
    'what was thrown outside of everything ends the process',
  )
  const lines = logged()
  t.notMatch(lines.join(), /rawPacket|X-Service/)
  t.strictSame(
    lines.filter((line) => !isJson(line)),
    [],
  )
  t.match(
    lines.filter((line) => /odd|nobody knows/.test(line)).map((line) => JSON.parse(line)),
    [
      { level: 40, err: { message: 'a library gives up, odd' } },
      { level: 40, msg: 'something printed is odd' },
      { level: 40, err: { name: 'OddWarning', message: 'something odd' } },
      { level: 60, err: { message: 'thrown by nobody knows whom' } },
    ],
  )
})

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

/** Sends bytes, ends the sending half and waits until the connection is closed. */
function sendRaw(url: string, bytes: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.end(bytes))
    socket.on('error', () => {}).on('close', () => resolve())
    socket.resume()
  })
}
