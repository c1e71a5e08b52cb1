// What providers send is taken if it is proven to be theirs, and nothing else is.

import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { KeyRing } from '../../../server/intake/notices/keys.ts'
import { hasOthers } from '../../../server/limits.ts'
import { notifyingProviders } from '../../../server/providers/index.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type Notifying, notify, type Proof, proofs, signs } from '../../support/notices.ts'
import { oneEngine } from '../../support/sdk.ts'

const HOUR_MS = 3_600_000

const SECRET = 'the secret of the application'
const clients = (more: Record<string, string> = {}) => ({
  ...{ clientId: 'id', clientSecret: SECRET, more },
})

const bodies: Record<Notifying, object> = {
  oura: { event_type: 'update', data_type: 'sleep', object_id: '96e7772a-64a7', event_time: '', user_id: 'u-1' },
  whoop: { user_id: 10129, id: '3f0a2d7e-6b1c-4a55-9d0e-5b8f1c2d3e4f', type: 'sleep.updated', trace_id: 't' },
  polar: { event: 'EXERCISE', user_id: 10579, entity_id: '2AC312F', timestamp: '2026-03-10T17:20:12Z', url: '' },
  strava: {
    ...{ object_type: 'activity', object_id: 15550123456, aspect_type: 'create', updates: {}, owner_id: 48211907 },
    ...{ subscription_id: 301222, event_time: 1772867500 },
  },
}

const everyBody: Record<string, string> = {
  ...Object.fromEntries(Object.entries(bodies).map(([provider, body]) => [provider, JSON.stringify(body)])),
  suunto: '{"type":"SUUNTO_247_ACTIVITY_CREATED","username":"anna","samples":[]}',
  garmin: '{"dailies":[{"userId":"anna","summaryId":"d","startTimeInSeconds":1773097200}]}',
  withings: 'userid=363&appli=1&startdate=1773097200&enddate=1773097201',
  google_health: '{"data":{"healthUserId":"anna","operation":"UPSERT","dataType":"steps","intervals":[]}}',
}

/** These prove the sender, not what it says, and none of them when. */
const PROVES_SENDER = ['garmin', 'withings', 'google_health']
const PROVES_TIME = ['oura', 'whoop', 'strava']

/** Where the secret of a provider is configured; of the others it is the client's, or was given. */
const SETTING: Record<string, string> = {
  ...{ strava: 'WEBHOOK_SIGNING_SECRET', suunto: 'WEBHOOK_SECRET', garmin: 'WEBHOOK_PATH_SECRET' },
  ...{ withings: 'WEBHOOK_TOKEN', google_health: 'WEBHOOK_SECRET' },
}

type Forged = readonly [proof: Proof, body: string]

/** What nobody may take; `name` is what is wrong with it. */
function forgeriesOf(provider: string, other: string): Record<string, Forged> {
  const body = everyBody[provider] ?? ''
  const proofOf = proofs[provider] as (typeof proofs)[string]
  const good = proofOf(SECRET, body)
  const changed = (change: (value: string) => string): Forged => {
    const headers = Object.fromEntries(Object.entries(good.headers).map(([name, value]) => [name, change(value)]))
    const fields = [...new URLSearchParams(good.query)].map(([name, value]) => [name, change(value)])
    return [{ headers, query: good.query && `?${new URLSearchParams(Object.fromEntries(fields))}` }, body]
  }
  const otherCase = (value: string) => {
    const lower = value.toLowerCase()
    return lower === value ? value.toUpperCase() : lower
  }
  const flipped = (value: string) => value.replace(/[\da-z](?=[^\da-z]*$)/i, (last) => (last === '0' ? '1' : '0'))
  const at = (hours: number): Forged => [proofOf(SECRET, body, Date.now() + hours * HOUR_MS), body]
  const cases: Record<string, Forged> = {
    'no header': [{ headers: {}, query: '' }, body],
    'empty headers': changed(() => ''),
    cut: changed((value) => value.slice(0, -1)),
    'one digit': changed(flipped),
    'another secret': [proofOf(`${SECRET}.`, body), body],
    'no secret': [proofOf('', body), body],
    'of another provider': [(proofs[other] as typeof proofOf)(SECRET, body), body],
  }
  // Hexadecimal digits have no case.
  if (provider === 'whoop' || PROVES_SENDER.includes(provider)) cases['another case'] = changed(otherCase)
  if (provider === 'garmin') cases['another client'] = [proofOf(SECRET, body, 0, 'else'), body]
  // Oura may sign what it sends as JSON writes it again, so a further blank would be no other body.
  if (!PROVES_SENDER.includes(provider)) cases['another body'] = [good, body.replace(/}$/, ',"more":1}')]
  return PROVES_TIME.includes(provider) ? { ...cases, 'two hours ago': at(-2), 'in two hours': at(2) } : cases
}

oneEngine(t, 'nothing is taken that is not proven', async (t, engine) => {
  const names = Object.keys(everyBody)
  t.strictSame(names.toSorted(), [...notifyingProviders.keys()].toSorted(), 'every provider that notifies')
  const configured = (more: (name: string) => Record<string, string>) =>
    Object.fromEntries(names.map((name) => [name, clients(more(name))]))
  const withSecrets = configured((name) => (SETTING[name] ? { [SETTING[name]]: SECRET } : {}))
  const app = await startTestApp(t, engine, { providers: withSecrets })
  const stored = () => app.db.query<{ provider: string; body: Buffer; signed: boolean }>('select * from notification')
  const unproven = async (to: TestApp, provider: string, forged: Record<string, Forged>) => {
    const answered = Object.entries(forged).map(async ([name, [proof, body]]) => {
      const { status, body: answer } = await notify(to, provider, body, proof)
      const isRefused = status === 401 && answer.detail === 'Invalid webhook signature'
      return isRefused ? [] : [`${provider}: ${name}: ${status}`]
    })
    return (await Promise.all(answered)).flat()
  }
  const good = (provider: string): Forged => {
    const body = everyBody[provider] ?? ''
    return [(proofs[provider] as (typeof proofs)[string])(SECRET, body), body]
  }

  await t.test('without a secret, or without a client', async (t) => {
    const [without, nobody] = [
      await app.another({ providers: configured(() => ({})) }),
      await app.another({ providers: {} }),
    ]
    const wrong: string[] = []
    for (const provider of names) {
      // The client's own; and what Strava says is believed of nobody, so it is taken without one.
      const isOwn = !['oura', 'whoop', 'strava'].includes(provider)
      const empty: Forged = [(proofs[provider] as (typeof proofs)[string])('', good(provider)[1]), good(provider)[1]]
      if (isOwn) wrong.push(...(await unproven(without, provider, { 'not known': good(provider), empty })))
      wrong.push(...(await unproven(nobody, provider, { 'not configured': good(provider) })))
    }
    t.strictSame(wrong, [])
    const { values } = await without.deps.metrics.notices.get()
    const hinted = values.filter(({ labels }) => labels.outcome === 'no_secret').map(({ labels }) => labels.provider)
    t.strictSame(hinted.sort(), ['garmin', 'polar', 'suunto'], 'an operator can do something about these')
  })

  await keepGiven(app, 'polar', SECRET)
  await t.test('no header, a wrong one, another body, an old time, the secret of another', async (t) => {
    const wrong: string[] = []
    for (const [place, provider] of names.entries()) {
      const other = names[(place + 1) % names.length] as string
      wrong.push(...(await unproven(app, provider, forgeriesOf(provider, other))))
    }
    t.strictSame(wrong, [])
    t.strictSame(await stored(), [], 'nothing is stored')
  })

  await t.test('what is proven is stored as it came, once while it waits', async (t) => {
    const wrong: string[] = []
    for (const provider of names) {
      for (const [proof, body] of [good(provider), good(provider)]) {
        const { status } = await notify(app, provider, body, proof)
        if (status !== (provider === 'google_health' ? 204 : 200)) wrong.push(`${provider}: ${status}`)
      }
    }
    t.strictSame(wrong, [])
    const rows = (await stored()).map(({ provider, body, signed }) => [provider, body.toString(), signed])
    t.strictSame(
      rows,
      names.map((provider) => [provider, everyBody[provider], provider !== 'strava']),
    )
  })
})

/** As if Polar had given it when it was subscribed to. */
async function keepGiven(app: Awaited<ReturnType<typeof startTestApp>>, provider: string, value: string) {
  const { vault } = app.deps.oauth
  const place = { table: 'provider_secret', row: `${provider} given`, column: 'sealed', version: 1 }
  const { keyId, sealed } = vault.seal(place, value)
  await app.db.query(`insert into provider_secret (provider, name, key_id, sealed) values ($1, 'given', $2, $3)`, [
    provider,
    keyId,
    sealed,
  ])
}

t.test(
  'many that are refused cost a look or two, and one that is refused after a secret was stored sees that',
  async (t) => {
    let looks = 0
    const ring = new KeyRing(async () => {
      looks += 1
      return { keys: undefined, isEnabled: looks > 2 }
    })
    await ring.get('polar')
    await Promise.all(Array.from({ length: 1_000 }, () => ring.again('polar')))
    t.equal(looks, 2)
    t.equal((await ring.again('polar')).isEnabled, true)
  },
)

oneEngine(t, 'every other request has its answer', async (t, engine) => {
  const app = await startTestApp(t, engine, {
    providers: {
      oura: { ...clients({ WEBHOOK_VERIFICATION_TOKEN: 'ours' }), previousClientSecret: 'before' },
      strava: clients({ WEBHOOK_VERIFY_TOKEN: 'ours', WEBHOOK_KEY: 'k' }),
      polar: clients(),
    },
  })
  const path = (provider: string) => `/api/v1/providers/${provider}/webhooks`
  const body = JSON.stringify(bodies.oura)
  const count = async () => (await app.db.one<{ n: number }>('select count(*) as n from notification')).n

  await t.test('POST', async (t) => {
    const send = async (provider: string, sent: string | Uint8Array, headers: Record<string, string>, query = '') => {
      const answer = await notify(app, provider, sent, { headers, query })
      return [answer.status, answer.body.detail ?? answer.body]
    }
    const oura = (sent: string) => signs.oura(SECRET, sent)
    const large = `{"a":"${'x'.repeat(70_000)}"}`
    const strava = JSON.stringify(bodies.strava)
    t.strictSame(
      [
        await send('nobody', body, {}),
        await send('unknown', body, {}),
        await send('fitbit', body, {}),
        await send('whoop', body, signs.whoop('', body)),
        await send('oura', 'not JSON', oura('not JSON')),
        await send('oura', '', oura('')),
        await send('oura', large, oura(large)),
        await send('oura', body, { ...oura(body), 'content-encoding': 'gzip' }),
        await send('polar', '{"timestamp":"2026-03-10T07:00:00Z","event":"PING"}', {}),
        await send('polar', '{"event":"PING","user_id":1}', {}),
        await send('polar', JSON.stringify(bodies.polar), signs.polar('', JSON.stringify(bodies.polar))),
        await send('oura', body, signs.oura('before', body)),
        await send('strava', strava, {}),
        await send('strava', strava, {}, '?k=k'),
        await send('strava', strava, {}, '?k=l'),
      ],
      [
        [404, "Unknown provider: 'nobody'"],
        [404, "Unknown provider: 'unknown'"],
        [501, "Provider 'fitbit' has not implemented a webhook handler yet."],
        [401, 'Invalid webhook signature'],
        [400, 'Invalid JSON body'],
        [400, 'Invalid JSON body'],
        [413, 'Request body is larger than 65536 bytes. Send less per request.'],
        [415, 'Unsupported content encoding. Send it uncompressed.'],
        [200, { status: 'ok' }],
        [401, 'Invalid webhook signature'],
        [401, 'Invalid webhook signature'],
        [200, { status: 'accepted' }],
        [200, { status: 'accepted' }],
        [200, { status: 'accepted' }],
        [401, 'Invalid webhook signature'],
      ],
    )
    t.equal(await count(), 2, 'the one of oura, and the one of strava')
  })

  await t.test('GET and HEAD', async (t) => {
    const get = async (provider: string, query: string) => {
      const answer = await app.request('GET', path(provider) + query, { auth: 'none' })
      return [answer.status, answer.body.detail ?? answer.body]
    }
    t.strictSame(
      [
        await get('oura', '?verification_token=ours&challenge=abc'),
        await get('oura', '?verification_token=OURS&challenge=abc'),
        await get('oura', '?challenge=abc'),
        await get('oura', ''),
        await get('strava', '?hub.mode=subscribe&hub.verify_token=ours&hub.challenge=abc&more=1'),
        await get('strava', '?hub.mode=unsubscribe&hub.verify_token=ours&hub.challenge=abc'),
        await get('strava', '?hub.mode=subscribe&hub.verify_token=x&hub.challenge=abc'),
        await get('strava', '?hub.mode=subscribe&hub.challenge=abc'),
        await get('polar', '?challenge=abc'),
        await get('whoop', '?challenge=abc'),
        await get('apple', ''),
        await get('nobody', ''),
      ],
      [
        [200, { challenge: 'abc' }],
        [401, 'Invalid verification token'],
        [401, 'Invalid verification token'],
        [401, 'Invalid verification token'],
        [200, { 'hub.challenge': 'abc' }],
        [400, 'Invalid hub.mode'],
        [403, 'Invalid verify token'],
        [403, 'Invalid verify token'],
        [501, "Provider 'polar' does not support webhook subscription verification via GET."],
        [501, "Provider 'whoop' does not support webhook subscription verification via GET."],
        [501, "Provider 'apple' has not implemented a webhook handler yet."],
        [404, "Unknown provider: 'nobody'"],
      ],
    )
    t.match(await get('strava', '?hub.mode=subscribe&hub.verify_token=ours&hub.challenge=abc&k=k'), [200])
    // The key was made known to Strava, and it sends it back: from now on it is demanded.
    const again = await app.another()
    const body = JSON.stringify({ ...bodies.strava, object_id: 2 })
    t.strictSame(
      [(await notify(again, 'strava', body)).status, (await notify(again, 'strava', body, { query: '?k=k' })).status],
      [401, 200],
    )
    t.match(await app.request('HEAD', path('oura'), { auth: 'none' }), { status: 200, body: '' })
  })

  await t.test('a disabled provider gets its success, and nothing is stored', async (t) => {
    await app.db.query('delete from notification')
    await app.db.query(`insert into provider_setting (provider, is_enabled) values ('polar', false)`)
    await keepGiven(app, 'polar', SECRET)
    const sent = JSON.stringify(bodies.polar)
    t.match(await notify(app, 'polar', sent, { headers: signs.polar(SECRET, sent) }), {
      ...{ status: 200, body: { status: 'accepted' } },
    })
    t.equal(await count(), 0)
  })

  await t.test('what another process is storing has its place before what comes later', async (t) => {
    await app.db.query('delete from notification')
    const [first, second] = ['o-1', 'o-2'].map((id) => JSON.stringify({ ...bodies.oura, object_id: id })) as [
      string,
      string,
    ]
    let answered: ReturnType<typeof notify> | undefined
    await app.db.transaction(async (tx) => {
      const body = Buffer.from(first)
      const sha256 = createHash('sha256').update(body).digest()
      await tx.query('select receive_notices($1, $2, $3, $4, $5)', [['oura'], [true], sha256, [body.length], body])
      answered = notify(app, 'oura', second, { headers: signs.oura(SECRET, second) })
      const waits = `select from pg_stat_activity where wait_event = 'advisory' and query like 'select receive_notices%'`
      t.ok(await waitUntil(async () => (await app.db.query(waits)).length > 0, 10_000, 5))
    })
    t.equal((await answered)?.status, 200)
    const rows = await app.db.query<{ body: Buffer }>('select body from notification order by id')
    t.strictSame(
      rows.map(({ body }) => body.toString()),
      [first, second],
    )
    await app.db.query('delete from notification')
  })

  await t.test(
    'with too much in flight a notice is refused at once, and taken when the others are through',
    async (t) => {
      const { limits } = app.deps
      const gates = { ...limits.gates, notices: { ...limits.gates.notices, capacity: 65_536, perKey: 65_536 } }
      const small = await app.another({ limits: { ...limits, gates } })
      const { hostname, port } = new URL(small.url)
      const slow = connect(Number(port), hostname)
      t.teardown(() => slow.destroy())
      slow.write('POST /api/v1/providers/oura/webhooks HTTP/1.1\r\nHost: us\r\nContent-Length: 65536\r\n\r\n{')
      const send = () => notify(small, 'oura', body, { headers: signs.oura(SECRET, body) })
      let answer = await send()
      const isFull = async () => {
        answer = await send()
        return answer.status === 503
      }
      t.ok(await waitUntil(isFull, 10_000, 10))
      t.match(answer.headers.get('retry-after'), /^\d+$/)
      slow.destroy()
      t.ok(await waitUntil(async () => (await send()).status === 200, 10_000, 10))
      await app.db.query('delete from notification')
    },
  )

  await t.test('who announces much, and proves nothing, keeps nobody else out', async (t) => {
    const { limits } = app.deps
    const gates = { ...limits.gates, notices: { ...limits.gates.notices, capacity: 131_072, perKey: 131_072 } }
    const small = await app.another({ limits: { ...limits, gates } })
    const { hostname, port } = new URL(small.url)
    const slow = connect(Number(port), hostname)
    t.teardown(() => slow.destroy())
    slow.write('POST /api/v1/providers/garmin/webhooks HTTP/1.1\r\nHost: us\r\nContent-Length: 33554432\r\n\r\n{')
    t.ok(await waitUntil(async () => small.deps.gates.notices.held() > 0, 10_000, 10))
    t.equal((await notify(small, 'oura', body, { headers: signs.oura(SECRET, body) })).status, 200)
    await app.db.query('delete from notification')
  })

  await t.test('the probe says what waits', async (t) => {
    t.equal((await notify(app, 'oura', body, { headers: signs.oura(SECRET, body) })).status, 200)
    const probed = async () => (await app.request('GET', '/readyz', { auth: 'none' })).body.notices
    t.ok(await waitUntil(async () => (await probed())?.waiting === 1, 20_000, 200))
    t.match(await probed(), { waiting: 1, held: 0, malformed: 0, oldest_waiting_seconds: Number })
    const metrics = await (await fetch(`${app.url}/metrics`)).text()
    t.match(metrics, /^pulsebase_notices_waiting\{provider="oura",state="waiting"\} 1$/m)
    t.match(metrics, /^pulsebase_notices_lag_seconds\{provider="oura"\} \d/m)
    await app.db.query('delete from notification')
  })

  await t.test('of hundreds at once many are stored together, few while somebody else is answered', async (t) => {
    const sent = Array.from({ length: 400 }, (_, at) => JSON.stringify({ ...bodies.oura, object_id: `o-${at}` }))
    /** How many each statement stored. */
    const sendAll = async () => {
      const held = async () => app.deps.gates.notices.held() >= 100 * 65_536
      const answers = await app.db.transaction(async (tx) => {
        await tx.query('lock table notification in share mode')
        const sending = Promise.all(sent.map((one) => notify(app, 'oura', one, { headers: signs.oura(SECRET, one) })))
        t.ok(await waitUntil(held, 10_000, 1), 'a hundred have come before one is stored')
        return { sending }
      })
      t.strictSame(new Set((await answers.sending).map(({ status }) => status)), new Set([200]))
      const rows = await app.db.query<{ body: Buffer; received_at: string }>('delete from notification returning *')
      t.strictSame(rows.map(({ body }) => body.toString()).sort(), sent.sort())
      const counts = new Map<string, number>()
      for (const { received_at } of rows) counts.set(received_at, (counts.get(received_at) ?? 0) + 1)
      return [...counts.values()]
    }
    const others = () => hasOthers(app.deps.gates)
    t.ok(await waitUntil(async () => !others(), 10_000, 50))
    t.ok(Math.max(...(await sendAll())) > 16, 'alone')
    // A place in its gate is all that is known of a reader. Real ones were not answered for a second on a busy processor.
    const reading = setInterval(() => void app.deps.gates.read.run('a reader', async () => {}), 20)
    t.teardown(() => clearInterval(reading))
    t.ok(await waitUntil(async () => others(), 10_000, 10))
    const beside = await sendAll()
    clearInterval(reading)
    t.ok(Math.max(...beside) <= 16, `${Math.max(...beside)} at once`)
  })
})
