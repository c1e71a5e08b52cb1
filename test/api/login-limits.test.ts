// Strangers can neither lock a developer out nor keep one waiting.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createTurns } from '../../server/api/auth/hash-turns.ts'
import { hashNetwork } from '../../server/api/auth/known-networks.ts'
import { counterOf } from '../../server/api/auth/throttle.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { deriveKeys } from '../../server/http/tokens.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'
import { ofOneProcess, REPLACES } from '../support/several.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

/** Trusts the address that the client states itself. */
const BEHIND_PROXY = { trustedProxies: ['127.0.0.0/8'] }

const HOME = '198.51.100.1'
const OFFICE = '2001:db8:0:1::1'
const STRANGERS = ['203.0.113.1', '203.0.113.2', '2001:db8:0:2::1']

async function login(app: TestApp, from: string, password = app.developer.password, username = app.developer.email) {
  const body = new URLSearchParams({ username, password })
  const answer = await app.request('POST', '/api/v1/auth/login', {
    auth: 'none',
    body,
    headers: { 'X-Forwarded-For': from },
  })
  return answer.status
}

t.test('wrong passwords of strangers do not lock out who logs in from a network it has logged in from', async (t) => {
  const app = await startTestApp(t, engine, { ...BEHIND_PROXY, loginAttemptsPerAccount: 3 })
  const other = await app.another()
  const [first = '', second = '', third = ''] = STRANGERS
  t.strictSame([await login(app, HOME), await login(other, OFFICE)], [200, 200])

  t.strictSame(
    [await login(app, first, 'x'), await login(other, second, 'y'), await login(app, third, 'z')],
    [401, 401, 401],
  )
  for (const address of [...STRANGERS, '203.0.113.3'])
    t.equal(await login(app, address, 'x'), 429, 'all of them together')
  t.equal(await login(other, '203.0.113.3'), 429, 'whatever the password, from a network of which nothing is known')
  for (const address of [HOME, OFFICE, '2001:db8:0:1:ffff::2']) t.equal(await login(other, address), 200, address)

  const guesses = await Promise.all(Array.from({ length: 6 }, (_, n) => login(n % 2 ? app : other, HOME, 'x')))
  t.strictSame(guesses.sort(), [401, 401, 401, 429, 429, 429], 'a known network is limited, too')
  t.strictSame([await login(app, HOME), await login(app, OFFICE)], [429, 200], 'by itself')
  await app.db.query(`update throttle set expires_at = now() - interval '1 second'`)
  t.strictSame([await login(app, HOME), await login(app, first)], [200, 200], 'until the window is over')
})

t.test('an account that does not exist is limited like one that does', async (t) => {
  const app = await startTestApp(t, engine, { ...BEHIND_PROXY, loginAttemptsPerAccount: 2 })
  const attempts = async (email: string) => {
    const statuses: number[] = []
    for (const address of [...STRANGERS, HOME]) statuses.push(await login(app, address, 'x', email))
    return statuses
  }
  t.strictSame(await attempts('nobody@example.org'), [401, 401, 429, 429])
  t.strictSame(await attempts(app.developer.email), [401, 401, 429, 429])
})

t.test('networks are known for 90 days, 20 of them, without their addresses', async (t) => {
  const app = await startTestApp(t, engine, { ...BEHIND_PROXY, loginAttemptsPerAccount: 1 })
  const networks = () => app.db.query<{ text: string }>('select n::text as text from known_network n')
  t.equal(await login(app, HOME), 200)
  await app.db.query(
    `insert into known_network (developer_id, network, last_login_at)
     select $1, decode(md5(n::text), 'hex'), now() - n * interval '1 day' from generate_series(1, 30) n`,
    [app.developer.id],
  )
  t.equal(await login(app, OFFICE), 200)
  const kept = await networks()
  t.equal(kept.length, 20)
  t.notOk(kept.some(({ text }) => text.includes('198.51') || text.includes(Buffer.from(HOME).toString('hex'))))
  t.ok(
    kept.some(({ text }) => text.includes(hashNetwork(app.deps.keys, HOME).toString('hex'))),
    'the oldest go first',
  )

  await app.db.query(`update known_network set last_login_at = now() - interval '91 days'`)
  t.equal(await login(app, STRANGERS[0] ?? '', 'x'), 401)
  t.equal(await login(app, HOME), 429, 'it counts among the strangers again')
  await app.db.query('delete from developer')
  t.strictSame(await networks(), [])
})

t.test('however many names and addresses are tried, the counters are limited', async (t) => {
  const keys = deriveKeys('any secret')
  const limit = { name: 'login account', attempts: 1, windowSeconds: 60 }
  const counters = Array.from({ length: 2000 }, (_, n) => counterOf(keys, limit, `${n}@example.org`).toString())
  t.ok(new Set(counters).size > 1900, 'few share one')
  t.strictSame(
    counters.filter((counter) => Number(/^login account (\d+)$/.exec(counter)?.[1] ?? 65_536) >= 65_536),
    [],
  )
})

interface Scene {
  /** The waiting callers, in this order: network, `*` for known, `-` for gone once it waits. */
  waiting: string
  /** The callers that got a turn, in this order, and the refused ones. */
  done: string
  refused: string
}

t.test('turns', async (t) => {
  const scenes: [string, Scene][] = [
    ['in order', { waiting: 'a b c', done: 'a b c', refused: '' }],
    ['networks alternate', { waiting: 'a1 a2 a3 b1 c1 b2', done: 'a1 b1 c1 a2 b2 a3', refused: '' }],
    ['the known first', { waiting: 'a1 b1* a2 c1* b2*', done: 'b1 c1 b2 a1 a2', refused: '' }],
    ['whoever left has none', { waiting: 'a1- a2 b1- b2- c1', done: 'a2 c1', refused: 'a1- b1- b2-' }],
    ['nor a place', { waiting: 'a1 b1- c1- d1 e1 f1 g1 h1', done: 'a1 d1 e1 f1 g1 h1', refused: 'b1- c1-' }],
    ['a flood is refused', { waiting: 'a1 a2 a3 a4 a5 a6 a7 a8', done: 'a1 a2 a3 a4 a5 a6', refused: 'a7 a8' }],
    ['and gives way', { waiting: 'a1 a2 a3 a4 a5 a6 b1 c1 b2', done: 'a1 b1 c1 a2 b2 a3', refused: 'a4 a5 a6' }],
    ['not to its like', { waiting: 'a1 b1 c1 d1 e1 f1 g1 a2', done: 'a1 b1 c1 d1 e1 f1', refused: 'a2 g1' }],
    ['but to the known', { waiting: 'a1 b1 c1 d1 e1 f1 g1* g2*', done: 'g1 g2 c1 d1 e1 f1', refused: 'a1 b1' }],
    ['who share as well', { waiting: 'a1* a2* a3* a4* a5* a6* b1* c1', done: 'a1 b1 a2 a3 a4 a5', refused: 'a6 c1' }],
  ]
  for (const [name, scene] of scenes) t.strictSame(await play(scene.waiting), scene, name)
})

/** Lets all of them queue behind a working caller, for six places, and then work. */
async function play(waiting: string): Promise<Scene> {
  const inTurn = createTurns(1, 6)
  const done: string[] = []
  const refused: string[] = []
  let start = () => {}
  const nobody = { network: '', known: true, gone: () => false }
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const first = inTurn(nobody, () => started)
  const gone = new Set<string>()
  const all = waiting.split(' ').map(async (label) => {
    const name = label.replace('*', '')
    const caller = { network: label[0] ?? '', known: label.endsWith('*'), gone: () => gone.has(name) }
    const turn = inTurn(caller, async () => void done.push(name))
    if (name.endsWith('-')) gone.add(name)
    await turn.catch(({ status }) => refused.push(status === (gone.has(name) ? 499 : 503) ? name : `${name} ${status}`))
  })
  start()
  await Promise.all([first, ...all])
  return { waiting, done: done.join(' '), refused: refused.sort().join(' ') }
}

t.test(
  'who hangs up gives up its place: ninety do, and the next login is the next',
  ofOneProcess(REPLACES),
  async (t) => {
    const app = await startTestApp(t, engine, BEHIND_PROXY)
    const requests = serverSockets(t)
    // No caller gets a turn until all have arrived and left.
    let free = () => {}
    const freed = new Promise<void>((resolve) => {
      free = resolve
    })
    const ours = { network: '', known: true, gone: () => false }
    const { inTurn } = app.deps.passwords
    const held = [inTurn(ours, () => freed), inTurn(ours, () => freed)]

    const clients = await Promise.all(Array.from({ length: 90 }, (_, n) => abandonedLogin(app, `203.0.113.${n}`)))
    const answered = async (status: number) =>
      (await app.deps.metrics.httpSeconds.get()).values
        .filter(({ metricName, labels }) => metricName?.endsWith('_count') && labels.status === String(status))
        .reduce((sum, { value }) => sum + value, 0)
    t.ok(await waitUntil(async () => (await answered(503)) === 50, 60_000, 5), '40 may wait')
    for (const client of clients) client.destroy()
    t.ok(await waitUntil(async () => requests.every((socket) => socket.destroyed), 60_000, 5))

    const next = login(app, HOME)
    t.ok(await waitUntil(async () => (await answered(499)) === 40, 60_000, 5), 'they make way at once for it')
    free()
    t.equal(await next, 200)
    t.equal(await answered(401), 0, 'no password of theirs was hashed')
    await Promise.all(held)
  },
)

/** The connections of all requests to this process from now on. */
function serverSockets(t: Test): Socket[] {
  const sockets: Socket[] = []
  const note = (message: unknown) => void sockets.push((message as { socket: Socket; server: Server }).socket)
  subscribe('http.server.request.start', note)
  t.teardown(() => unsubscribe('http.server.request.start', note))
  return sockets
}

/** Requests a login and does not wait for the answer. */
async function abandonedLogin(app: TestApp, from: string): Promise<Socket> {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  const form = 'username=nobody@example.org&password=x'
  const head = [
    'POST /api/v1/auth/login HTTP/1.1',
    'Host: test',
    `X-Forwarded-For: ${from}`,
    `Content-Length: ${form.length}`,
  ]
  const type = 'Content-Type: application/x-www-form-urlencoded'
  socket.write(`${[...head, type].join('\r\n')}\r\n\r\n${form}`)
  return socket
}
