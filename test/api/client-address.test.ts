// Which address counts as the client's, and that limits and sign-ins use it.
import t from 'tap'
import { clientAddresses, clientNetwork } from '../../server/http/client-address.ts'
import { startTestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

const CLIENT = '198.51.100.7'
const FORGED = '203.0.113.99'

t.test('the address of a client', async (t) => {
  const addressOf = clientAddresses(['127.0.0.1/32', '10.0.0.0/8', 'fd00::/8', '2001:db8:aa::/48'])
  const cases: [peer: string | undefined, forwardedFor: string, client: string, why: string][] = [
    [CLIENT, '', CLIENT, 'no proxy'],
    [CLIENT, FORGED, CLIENT, 'a client that only says it is somebody else'],
    [CLIENT, '10.0.0.1', CLIENT, 'a client that says it is our proxy'],
    ['10.0.0.1', '', '10.0.0.1', 'our proxy itself, which checks our health'],
    ['10.0.0.1', CLIENT, CLIENT, 'one proxy'],
    ['10.0.0.1', `${FORGED}, ${CLIENT}`, CLIENT, 'a client that forged the header before'],
    ['10.0.0.1', `${FORGED},10.9.9.9 , ${CLIENT}`, CLIENT, 'with one of our addresses'],
    ['127.0.0.1', `${FORGED}, ${CLIENT}, 10.0.0.2, 10.0.0.1`, CLIENT, 'several proxies'],
    ['127.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', 'a client in our own network'],
    ['10.0.0.1', `${CLIENT}, unknown`, '10.0.0.1', 'what is no address ends the walk'],
    ['10.0.0.1', `${CLIENT}, , 10.0.0.2`, '10.0.0.2', 'so does an empty entry'],
    ['10.0.0.1', `${CLIENT},`, '10.0.0.1', 'also at the end'],
    ['10.0.0.1', `${FORGED} ${CLIENT}`, '10.0.0.1', 'and two in one'],
    ['10.0.0.1', '999.1.1.1', '10.0.0.1', 'and a number too large'],
    ['10.0.0.1', '[::1]/x[', '10.0.0.1', 'and brackets that are none'],
    ['10.0.0.1', `${CLIENT}:4711`, CLIENT, 'a port'],
    ['10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7', 'a port of IPv6'],
    ['10.0.0.1', '2001:DB8:0:0::7', '2001:db8::7', 'one spelling'],
    ['::ffff:10.0.0.1', `::ffff:${CLIENT}`, CLIENT, 'IPv4 mapped into IPv6'],
    ['::ffff:a00:1', '::ffff:c633:6407', CLIENT, 'the same in hexadecimal'],
    ['fd00::1', '2001:db8:bb::1, 2001:db8:aa::1', '2001:db8:bb::1', 'IPv6 proxies'],
    ['fe80::1%eth0', FORGED, 'fe80::1', 'a zone is nobody else\u2019s business'],
    [undefined, FORGED, '', 'a connection that is gone'],
  ]
  t.strictSame(
    cases.map(([peer, header, , why]) => [why, addressOf(peer, header)]),
    cases.map(([, , client, why]) => [why, client]),
  )
  t.equal(clientAddresses([])('127.0.0.1', CLIENT), '127.0.0.1', 'nobody is trusted by default')
})

t.test('a client is its IPv4 address or its IPv6 network', async (t) => {
  const networks = {
    '192.0.2.7': '192.0.2.7',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2',
    '2001:db8::5:6': '2001:db8:0:0',
    'fe80::1': 'fe80:0:0:0',
    '::1': '0:0:0:0',
    '': '',
  }
  t.strictSame(Object.fromEntries(Object.keys(networks).map((address) => [address, clientNetwork(address)])), networks)
})

t.test('every limit goes by the client, and only by what our proxy says of it', async (t) => {
  const limits = { loginAttemptsPerMinute: 1 }
  const app = await startTestApp(t, engine, { ...limits, trustedProxies: ['127.0.0.0/8'] })
  const untrusting = await app.another({ trustedProxies: [] })
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const requests: [path: string, body: object, refusal: number][] = [
    ['/auth/login', new URLSearchParams({ username: 'nobody@example.org', password: 'x' }), 401],
    ['/invitation-code/redeem', { code: 'AAAAAAAA' }, 404],
    ['/invitations/accept', { token: 'x', first_name: 'A', last_name: 'B', password: 'x'.repeat(12) }, 404],
    [`/users/${user}/token`, { app_id: 'x', app_secret: 'y' }, 401],
  ]
  for (const [path, body, refusal] of requests) {
    const ask = async (from: string, to = app) => {
      const options = { auth: 'none', body, headers: { 'X-Forwarded-For': from } } as const
      return (await to.request('POST', `/api/v1${path}`, options)).status
    }
    const statuses = [
      await ask('198.51.100.1'),
      await ask('198.51.100.2'),
      await ask('198.51.100.1'),
      await ask(`${FORGED}, 198.51.100.1`),
      await ask('2001:db8::1'),
      await ask('2001:db8::2'),
      await ask('2001:db8:0:1::2'),
      await ask('198.51.100.3', untrusting),
      await ask('198.51.100.4', untrusting),
    ]
    t.strictSame(statuses, [refusal, refusal, 429, 429, refusal, 429, refusal, refusal, 429], path)
  }
})
