// A call connects to the checked address, under the intended name.
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { createGuard, type GuardSettings } from '../../server/webhooks/address-guard.ts'
import { connectionsTo, post } from '../../server/webhooks/post.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../support/certificate.ts'
import { LOCAL, startReceiver } from '../support/webhooks.ts'

const PUBLIC: GuardSettings = { allowHttp: true, allowNetworks: [] }
const BODY = Buffer.from('{}')

/** Connections that resolve names by `addressesOf`; they end with the test. */
function connections(t: Test, url: string, settings: GuardSettings, addressesOf: (name: string) => string[]) {
  const resolve = (name: string, _: unknown, done: (error: null, addresses: LookupAddress[]) => void) => {
    setImmediate(() =>
      done(
        null,
        addressesOf(name).map((address) => ({ address, family: 4 })),
      ),
    )
  }
  const pool = connectionsTo(new URL(url), createGuard(settings, resolve as never))
  t.teardown(() => pool.destroy())
  return pool
}

t.test('a name that leads to an address of ours is not connected to', async (t) => {
  const receiver = await startReceiver(t)
  const url = receiver.origin.replace('127.0.0.1', 'evil.example')
  const pool = connections(t, url, PUBLIC, () => ['127.0.0.1'])
  t.match(await post(pool, { path: '/', headers: {}, body: BODY }), {
    outcome: 'forbidden_address',
    status: 0,
    text: 'The address of the endpoint is not allowed.',
  })
  t.equal(receiver.calls.length, 0)
})

t.test('a name is resolved once for a connection, which is kept; a new one is checked again', async (t) => {
  const receiver = await startReceiver(t, ({ path }, response) => {
    if (path === '/last') response.setHeader('connection', 'close')
    response.end('ok')
  })
  const url = receiver.origin.replace('127.0.0.1', 'hook.example')
  const asked: string[] = []
  const pool = connections(t, url, LOCAL, (name) => {
    asked.push(name)
    return asked.length === 1 ? ['127.0.0.1'] : ['169.254.169.254']
  })
  t.equal((await post(pool, { path: '/first', headers: {}, body: BODY })).outcome, 'delivered')
  // The connection is free a moment after its answer has arrived.
  await nextTurn()
  t.equal((await post(pool, { path: '/last', headers: {}, body: BODY })).outcome, 'delivered', 'on the same connection')
  t.strictSame(asked, ['hook.example'])
  t.equal(
    (await post(pool, { path: '/again', headers: {}, body: BODY })).outcome,
    'forbidden_address',
    'the name leads elsewhere by now',
  )
  t.equal(asked.length, 2)
  t.strictSame(
    receiver.calls.map(({ headers }) => headers.host),
    Array(2).fill(new URL(url).host),
    'the receiver is called by its name',
  )
})

t.test('over TLS the certificate has to be of the name, not of the address', async (t) => {
  const names: (string | boolean)[] = []
  const server = createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (socket) => {
    names.push(socket.servername ?? false)
    socket.end()
  })
  const asked: string[] = []
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  for (const name of ['hook.example', 'other.example']) {
    const pool = connections(t, `https://${name}:${port}`, LOCAL, (looked) => {
      asked.push(looked)
      return ['127.0.0.1']
    })
    const answer = await post(pool, { path: '/', headers: {}, body: BODY })
    t.match(answer, { outcome: 'unreachable', text: 'The TLS connection failed (DEPTH_ZERO_SELF_SIGNED_CERT).' })
  }
  t.strictSame(asked, ['hook.example', 'other.example'])
  t.ok(
    names.every((name) => name === 'hook.example' || name === 'other.example'),
    `asked for by name: ${names}`,
  )
})
