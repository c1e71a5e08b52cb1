// How the limits of one process are shared out among several behind a port.
import pg from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import t from 'tap'
import { BackOff } from '../server/back-off.ts'
import { connectionsNeeded, needsOf, reportConnections } from '../server/connections.ts'
import { LIMITS, type Limits, limitsOf, openGates } from '../server/limits.ts'
import { ALONE, placesOf, shareOf } from '../server/shares.ts'
import { threadCount } from '../server/threads.ts'
import { oneEngine } from './support/sdk.ts'

const MIB = 1024 * 1024
/** What a stock PostgreSQL allows: 100, of which 3 are for its superuser. */
const STOCK_CONNECTIONS = 97

const settings = (webConcurrency: number, role: 'all' | 'api' | 'worker' = 'all') => ({
  ...{ role, webConcurrency, outgoingWebhooksEnabled: true, eventFeedEnabled: true },
})
const needs = (count: number) => placesOf(count).map((place) => needsOf(settings(count), place))
const sumOver = (count: number, of: (one: ReturnType<typeof needsOf>) => number) =>
  needs(count).reduce((sum, one) => sum + of(one), 0)
const capacity = (name: keyof Limits['gates']) => (one: { limits: Limits }) => one.limits.gates[name].capacity

t.test('a whole is shared out without a rest', async (t) => {
  for (const count of [1, 2, 3, 4, 8, 16])
    for (const whole of [0, 1, 2, 5, 16, 33]) {
      const shares = placesOf(count).map((place) => shareOf(whole, place))
      t.equal(
        shares.reduce((sum, one) => sum + one, 0),
        whole,
      )
      t.ok(Math.max(...shares) - Math.min(...shares) <= 1)
    }
})

t.test('connections, memory and threads of all processes together', async (t) => {
  const table = [1, 2, 4, 8, 16].map((count) => ({
    processes: count,
    connections: connectionsNeeded(settings(count)),
    ofRequests: sumOver(count, ({ connections }) => connections.api),
    imports: sumOver(count, ({ work }) => work.imports),
    largeBodiesMiB: sumOver(count, capacity('largeBodies')) / MIB,
    noticesMiB: sumOver(count, capacity('notices')) / MIB,
    smallBodiesMiB: sumOver(count, capacity('smallBodies')) / MIB,
    answersMiB: sumOver(count, ({ limits }) => limits.answers.bytes) / MIB,
    threadsOf4Cores: placesOf(count).reduce((sum, place) => sum + threadCount(place, 4), 0),
  }))
  const same = { imports: 4, smallBodiesMiB: 64, answersMiB: 256 }
  t.strictSame(
    table,
    [
      ...[{ processes: 1, connections: 66, ofRequests: 36, largeBodiesMiB: 128, noticesMiB: 64, threadsOf4Cores: 3 }],
      ...[{ processes: 2, connections: 75, ofRequests: 39, largeBodiesMiB: 128, noticesMiB: 64, threadsOf4Cores: 3 }],
      ...[{ processes: 4, connections: 91, ofRequests: 49, largeBodiesMiB: 128, noticesMiB: 128, threadsOf4Cores: 4 }],
      ...[{ processes: 8, connections: 138, ofRequests: 88, largeBodiesMiB: 256, noticesMiB: 256, threadsOf4Cores: 8 }],
      ...[
        { processes: 16, connections: 242, ofRequests: 176, largeBodiesMiB: 512, noticesMiB: 512, threadsOf4Cores: 16 },
      ],
    ].map((row) => ({ ...row, ...same })),
  )
  t.ok(connectionsNeeded(settings(4)) <= STOCK_CONNECTIONS, 'four fit into a stock server')
  t.equal(connectionsNeeded(settings(4, 'api')), 49 + 4 + 4)
  t.equal(connectionsNeeded(settings(1, 'worker')), 66 - 22, 'which answers no reads and changes')
})

t.test('one process has what it always had', async (t) => {
  const [one] = needs(1)
  t.equal(one?.limits, LIMITS)
  t.strictSame(one?.work, { imports: 4, importing: 1, delivers: true, asks: true })
  t.strictSame(one?.connections, {
    ...{ api: 36, probe: 1, saving: 2, jobs: 5, queue: 7, life: 1, pulls: 5, notices: 3, webhooks: 6 },
  })
  t.equal(threadCount(ALONE, 1), 2)
  t.equal(threadCount(ALONE, 8), 7)
})

t.test('each process can do each kind of request, and each kind of work is done', async (t) => {
  for (const count of [1, 2, 3, 4, 8, 16, 64]) {
    const all = needs(count)
    for (const { limits, connections } of all) {
      const { gates, answers, shortConnections } = limits
      const wrong = Object.entries(gates).filter(([, one]) => one.perKey < 1 || one.perKey > one.capacity)
      t.strictSame(wrong, [], `gates of ${count}`)
      t.ok(gates.largeBodies.perKey >= 32 * MIB && gates.largeRequests.perKey >= MIB, 'one body fits')
      t.ok(answers.bytes > 0 && answers.perCaller > 0 && shortConnections >= 2 && connections.saving >= 1)
    }
    t.equal(all.filter(({ work }) => work.delivers).length, 1)
    t.equal(all.filter(({ work }) => work.asks).length, 1)
    t.equal(all.filter(({ work }) => work.imports > 0).length, Math.min(2, count))
    t.equal(
      sumOver(count, ({ work }) => work.imports),
      4,
    )
  }
})

t.test('kinds that share their connections take turns: many of one kind wait, one of another does not', async (t) => {
  const { gates: limits, ...rest } = limitsOf({ number: 8, count: 8 })
  t.equal(rest.shortConnections, 2)
  const gates = openGates({ gates: limits, ...rest }, new Registry())
  const first = await Promise.all([gates.guard.enter(''), gates.upload.enter('ada')])
  const order: string[] = []
  const enter = (name: 'guard' | 'upload' | 'login') =>
    gates[name].enter('').then((leave) => {
      order.push(name)
      leave()
    })
  const all = [enter('guard'), enter('guard'), enter('guard'), enter('upload'), enter('upload'), enter('login')]
  for (const leave of first) leave()
  await Promise.all(all)
  t.ok(order.indexOf('login') < 3, order.join())
  t.equal(gates.guard.held() + gates.upload.held() + gates.login.held(), 0)
})

t.test(
  'a process that ended is replaced after 1, 2, 4 … 30 s, and after 1 s if it had lived for a minute',
  async (t) => {
    const backOff = new BackOff()
    const waits = (livedMs: number[]) => livedMs.map((one) => backOff.afterMs(one) / 1000)
    t.strictSame(waits([0, 59_999, 0, 0, 0, 0, 0]), [1, 2, 4, 8, 16, 30, 30])
    t.strictSame(waits([60_000, 0, 0, 90_000]), [1, 2, 4, 1])
  },
)

oneEngine(t, 'a database that allows too few connections is reported, with what to change', async (t, { url }) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(`select current_setting('max_connections')::int as most`)
  await client.end()
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await reportConnections(url, settings(1), log)
  t.strictSame(lines, [])
  await reportConnections(url, settings(64), log)
  const needed = connectionsNeeded(settings(64))
  t.match(lines, [{ level: 40, needed, allowed: rows[0].most - 3, processes: 64 }])
  t.match(lines[0]?.msg, new RegExp(`max_connections to ${needed + 3} or more, or WEB_CONCURRENCY to less$`))
})
