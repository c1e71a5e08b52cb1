// Receivers that misbehave in every way we could think of. Each gets one attempt, recorded with its reason and retried.
import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/app.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../support/certificate.ts'
import { engines } from '../support/servers.ts'
import {
  attemptsOf,
  createEndpoint,
  deliveriesOf,
  eventually,
  openTestDatabase,
  recordEvents,
  type StoredAttempt,
  startDelivering,
  startReceiver,
  type TestEndpoint,
} from '../support/webhooks.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const databaseUrl = await createTestDatabase(t, engine)
const db = openTestDatabase(t, databaseUrl)

/** A server below HTTP: `serve` is called once the request has arrived. */
async function rawServer(t: Test, serve: (socket: Socket) => void): Promise<{ origin: string; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => serve(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** Delivers one event there, waits for `ended` and returns the record of the first attempt. */
async function firstAttempt(
  t: Test,
  url: string,
  ended?: Promise<unknown>,
): Promise<StoredAttempt & { endpoint: TestEndpoint }> {
  const endpoint = await createEndpoint(db, url, { filterTypes: [`test.${url}`] })
  await recordEvents(db, [{ type: `test.${url}` }])
  await ended
  const [attempt] = await eventually(
    () => attemptsOf(db, endpoint),
    ({ length }) => length > 0,
  )
  const [delivery] = await deliveriesOf(db, endpoint)
  t.equal(delivery?.state, attempt?.succeeded ? 'delivered' : 'waiting')
  t.equal(delivery?.attempts, 1)
  await db.query('update endpoint set disabled_at = now() where id = $1', [endpoint.id])
  return { ...(attempt as StoredAttempt), endpoint }
}

t.test('with one process that delivers', async (t) => {
  await startDelivering(t, databaseUrl)
  // They take 15 seconds, in which all the others are delivered.
  const given = new EventEmitter()
  const hanging = await startReceiver(t, (_, response) => response.on('close', () => given.emit('up on the first')))
  const dripping = await startReceiver(t, (_, response) => {
    const drip = setInterval(() => response.write('.'), 200)
    response
      .on('error', () => {})
      .on('close', () => {
        clearInterval(drip)
        given.emit('up on the second')
      })
  })
  const slow = Promise.all([
    firstAttempt(t, hanging.origin, once(given, 'up on the first')),
    firstAttempt(t, dripping.origin, once(given, 'up on the second')),
  ])

  t.test('statuses: 2xx are successes, all others are not', async (t) => {
    const receiver = await startReceiver(t, ({ path }, response) => {
      response.writeHead(Number(path.slice(1)), { location: 'http://169.254.169.254/latest/meta-data' }).end('body')
    })
    for (const status of [200, 202, 204, 299, 301, 302, 307, 400, 404, 429, 500]) {
      const attempt = await firstAttempt(t, `${receiver.origin}/${status}`)
      t.equal(attempt.response_status, status)
      t.equal(attempt.succeeded, status < 300, `${status}`)
    }
    t.equal(receiver.calls.length, 11, 'no redirect was followed')
  })

  t.test('410 disables the endpoint', async (t) => {
    const receiver = await startReceiver(t, (_, response) => response.writeHead(410).end())
    const endpoint = await createEndpoint(db, receiver.origin, { filterTypes: ['test.gone'] })
    await recordEvents(db, [{ type: 'test.gone' }])
    const read = () =>
      db.one<{ disabled_reason: string; disabled: boolean }>(
        'select disabled_reason, disabled_at is not null as disabled from endpoint where id = $1',
        [endpoint.id],
      )
    const { disabled_reason } = await eventually(read, ({ disabled }) => disabled)
    t.equal(disabled_reason, 'gone')
    await recordEvents(db, [{ type: 'test.gone' }])
    await eventually(
      () => db.query('select from event where pending'),
      ({ length }) => length === 0,
    )
    t.equal((await deliveriesOf(db, endpoint)).length, 1, 'and it gets nothing more')
  })

  t.test('one that fails for five days is disabled, one that succeeded meanwhile is not', async (t) => {
    const receiver = await startReceiver(t, (_, response) => response.writeHead(500).end())
    const failing = async (since: string) => {
      const endpoint = await createEndpoint(db, receiver.origin, { filterTypes: [`test.${since}`] })
      await db.query('update endpoint set failing_since = now() - $2::interval where id = $1', [endpoint.id, since])
      await recordEvents(db, [{ type: `test.${since}` }])
      await eventually(
        () => attemptsOf(db, endpoint),
        ({ length }) => length > 0,
      )
      return db.one<{ disabled_reason: string | null }>('select disabled_reason from endpoint where id = $1', [
        endpoint.id,
      ])
    }
    t.strictSame(await failing('4 days 23 hours'), { disabled_reason: null })
    t.strictSame(await failing('5 days 1 hour'), { disabled_reason: 'failing' })
  })

  t.test('an answer of gigabytes is read to 20 kB', async (t) => {
    let sent = 0
    const receiver = await startReceiver(t, (_, response) => {
      response.writeHead(200, { 'content-length': 2 * 2 ** 30 })
      const chunk = Buffer.alloc(65_536, 'x')
      const more = () => {
        while (!response.destroyed && sent < 2 * 2 ** 30) {
          sent += chunk.length
          if (!response.write(chunk)) return
        }
      }
      response.on('drain', more).on('error', () => {})
      more()
    })
    const attempt = await firstAttempt(t, receiver.origin)
    t.ok(attempt.succeeded)
    t.equal(attempt.response.length, 20_000)
    t.ok(sent < 20 * 2 ** 20, `${sent} bytes were sent, which is what sockets hold`)
  })

  t.test('a compressed answer is not decoded', async (t) => {
    const bomb = gzipSync(Buffer.alloc(10 * 2 ** 20))
    const receiver = await startReceiver(t, ({ headers }, response) => {
      t.equal(headers['accept-encoding'], 'identity')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    })
    const attempt = await firstAttempt(t, receiver.origin)
    t.match(attempt, { succeeded: true, response: 'The answer was compressed.' })
  })

  t.test('bytes that are no text are stored as far as they are', async (t) => {
    const receiver = await startReceiver(t, (_, response) =>
      response.end(Buffer.from([0x61, 0, 0xff, 0xc3, 0x28, 0x62])),
    )
    t.equal((await firstAttempt(t, receiver.origin)).response, 'a\ufffd\ufffd(b')
  })

  t.test('one that resets, closes, talks nonsense or is not there', async (t) => {
    const reset = await rawServer(t, (socket) => socket.resetAndDestroy())
    const closed = await rawServer(t, (socket) => socket.end())
    const nonsense = await rawServer(t, (socket) => socket.end('220 smtp.example.org ESMTP\r\n'))
    const huge = await rawServer(t, (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`))
    const gone = await rawServer(t, () => {})
    await new Promise((resolve) => gone.server.close(resolve))
    const expected: [string, string][] = [
      [reset.origin, 'The connection ended before the answer.'],
      [closed.origin, 'The connection ended before the answer.'],
      [nonsense.origin, 'The answer was not HTTP.'],
      [huge.origin, 'The headers of the answer were too large.'],
      [gone.origin, 'The connection was refused.'],
      ['http://nowhere.invalid/', 'The name of the endpoint could not be resolved.'],
    ]
    for (const [url, response] of expected)
      t.match(await firstAttempt(t, url), { succeeded: false, response_status: 0, response }, response)
  })

  t.test('one that says 200 and dies before its answer is complete has not answered', async (t) => {
    const dying = await rawServer(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', () => socket.destroy())
    })
    t.match(await firstAttempt(t, dying.origin), {
      succeeded: false,
      response_status: 0,
      response: 'The connection ended in the middle of the answer.',
    })
    const complete = await rawServer(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok', () => socket.destroy())
    })
    t.match(await firstAttempt(t, complete.origin), { succeeded: true, response: 'ok' }, 'one that dies after it has')
  })

  t.test('a certificate that is not valid', async (t) => {
    const server = createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (socket) => socket.end())
    server.on('tlsClientError', () => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => new Promise((resolve) => server.close(resolve)))
    const { port } = server.address() as AddressInfo
    t.match(await firstAttempt(t, `https://127.0.0.1:${port}/`), {
      succeeded: false,
      response_status: 0,
      response: /^The TLS connection failed \([A-Z_]+\)\.$/,
    })
    const plain = await rawServer(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    t.match(await firstAttempt(t, plain.origin.replace('http:', 'https:')), {
      succeeded: false,
      response_status: 0,
      response: /^The TLS connection failed|^The connection ended before/,
    })
  })

  t.test('addresses that are refused: nothing is connected to, and nothing of our network is told', async (t) => {
    for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/latest/meta-data', 'http://[::1]/', 'http://0/']) {
      const attempt = await firstAttempt(t, url)
      t.match(attempt, {
        succeeded: false,
        response_status: 0,
        response: 'The URL of the endpoint must not point to an address that is private or reserved.',
      })
    }
  })

  t.test('one that hangs, and one that drips, are given 15 seconds, and what they ask for is heard', async (t) => {
    const busy = await startReceiver(t, (_, response) => response.writeHead(429, { 'retry-after': '3600' }).end())
    const asked = await firstAttempt(t, busy.origin)
    for (const attempt of await slow) {
      t.match(attempt, {
        succeeded: false,
        response_status: 0,
        response: 'There was no complete answer within 15 seconds.',
      })
      t.ok(attempt.duration_ms >= 14_900, `${attempt.duration_ms} ms`)
    }
    const { seconds } = await db.one<{ seconds: number }>(
      `select date_part('epoch', due_at - attempted_at) as seconds
       from delivery join attempt using (endpoint_id) where endpoint_id = $1`,
      [asked.endpoint.id],
    )
    t.ok(seconds > 7.9 && seconds < 1_800, `twice the delay, not the hour it asks for: ${seconds} s`)
  })
})
