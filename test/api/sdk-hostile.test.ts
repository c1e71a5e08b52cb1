// Broken and malicious uploads, against the service in a separate process: it answers, keeps nothing of refused
// uploads, stays alive, and never blocks its event loop for long.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { openDatabase } from '../../server/db/database.ts'
import { createTestDatabase } from '../support/app.ts'
import { body, createUser, heartRate, waitForBatch } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { API_KEY, onDatabase, type Service, startService } from '../support/service.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const MIB = 2 ** 20
const LIMIT_MS = 100

interface Answer {
  status: number
  detail: unknown
  batchId: string
}

/** Sends a body piece by piece; the answer may arrive, and the connection end, before all of it is sent. */
function send(
  service: Service,
  user: string,
  pieces: Iterable<Uint8Array>,
  headers: Record<string, string | number> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${service.url}/api/v1/sdk/users/${user}/sync`, {
      method: 'POST',
      headers: { 'X-Service-API-Key': API_KEY, 'Content-Type': 'application/json', ...headers },
    })
    let failure: Error | undefined
    sent.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const { detail, batch_id: batchId } = JSON.parse(text)
        resolve({ status: response.statusCode ?? 0, detail, batchId })
      })
      response.on('error', reject)
    })
    sent.on('error', (error) => {
      failure = error
    })
    sent.on('close', () => reject(failure ?? new Error('no answer')))
    const iterator = pieces[Symbol.iterator]()
    const writeOn = () => {
      for (;;) {
        const { done, value } = iterator.next()
        if (done) return void sent.end()
        if (sent.destroyed || !sent.write(value)) return void sent.once('drain', writeOn)
      }
    }
    writeOn()
  })
}

/** Announces a body with `Expect: 100-continue` and sends it once it is asked for. */
function waiting(service: Service, user: string, key: string) {
  const content = JSON.stringify(body([heartRate(NOON, 60)]))
  return new Promise((resolve, reject) => {
    let continued = false
    const sent = request(`${service.url}/api/v1/sdk/users/${user}/sync`, {
      method: 'POST',
      agent: new Agent({ keepAlive: true, maxTotalSockets: 1 }),
      headers: {
        'X-Service-API-Key': key,
        'Content-Type': 'application/json',
        'Content-Length': content.length,
        Expect: '100-continue',
      },
    })
    sent.on('continue', () => {
      continued = true
      sent.end(content)
    })
    sent.on('response', (response) => {
      response.resume()
      resolve({ continued, status: response.statusCode, connection: response.headers.connection })
      sent.destroy()
    })
    sent.on('error', reject)
    sent.flushHeaders()
  })
}

/** Sends this many MiB of a larger body and closes the connection. */
async function breakOff(service: Service, user: string, mebibytes: number): Promise<void> {
  const sent = request(`${service.url}/api/v1/sdk/users/${user}/sync`, {
    method: 'POST',
    headers: { 'X-Service-API-Key': API_KEY, 'Content-Type': 'application/json', 'Content-Length': 31 * MIB },
  })
  sent.on('error', () => {})
  for (let count = 0; count < mebibytes; count += 1) {
    if (!sent.write(Buffer.alloc(MIB, ' ')) && !sent.destroyed) await once(sent, 'drain')
  }
  sent.destroy()
  await new Promise((resolve) => sent.once('close', resolve))
}

function* repeated(piece: Uint8Array, times: number) {
  for (let count = 0; count < times; count += 1) yield piece
}

/** A body of `mebibytes` whose records repeat this text. */
const filled = (item: string, mebibytes: number) => [
  ...text('{"provider":"apple","data":{"records":['),
  ...repeated(Buffer.from(`${item},`.repeat(Math.floor(MIB / (item.length + 1)))), mebibytes),
  ...text(`${item}]}}`),
]

const json = (value: unknown) => [Buffer.from(JSON.stringify(value))]
const text = (value: string) => [Buffer.from(value)]

const TOO_LARGE = `Request body is larger than ${32 * MIB} bytes. Send less per request.`
const NOT_JSON = 'The request body is not valid JSON.'
const TOO_DEEP = 'The request body is nested too deeply or has too many parts.'
const DAMAGED = 'The compressed request body is damaged or incomplete.'
const gzip = { 'Content-Encoding': 'gzip' }
const good = gzipSync(JSON.stringify(body([heartRate(NOON, 60)])))
const spoilt = Buffer.from(good)
spoilt[good.length - 6] = (spoilt.at(-6) ?? 0) ^ 1

const refused: Record<string, [status: number, detail: string, pieces: () => Iterable<Uint8Array>, headers?: object]> =
  {
    'text that is not JSON': [400, NOT_JSON, () => text('hello')],
    'nothing at all': [400, NOT_JSON, () => text('')],
    'half a JSON object': [400, NOT_JSON, () => text('{"provider":"apple","data":{"records":[')],
    'two JSON objects': [400, NOT_JSON, () => text('{"provider":"apple"}{}')],
    'a value NaN': [400, NOT_JSON, () => text('{"provider":"apple","data":{"records":[{"value":NaN}]}}')],
    'a raw NUL in a string': [400, NOT_JSON, () => text('{"provider":"apple\0"}')],
    'bytes at random': [400, NOT_JSON, () => [Buffer.from(Array.from({ length: 5000 }, (_, n) => (n * 7919) % 256))]],
    'a JSON array': [400, 'The request body must be a JSON object.', () => text('[{"provider":"apple"}]')],
    'JSON null': [400, 'The request body must be a JSON object.', () => text('null')],
    'a JSON string': [400, 'The request body must be a JSON object.', () => text('"apple"')],
    'arrays 200,000 deep': [
      400,
      TOO_DEEP,
      () => text(`{"provider":"apple","data":${'['.repeat(200_000)}${']'.repeat(200_000)}}`),
    ],
    'objects 200,000 deep': [400, TOO_DEEP, () => text('{"a":'.repeat(200_000))],
    '33 MiB with Content-Length': [
      413,
      TOO_LARGE,
      () => repeated(Buffer.alloc(MIB, ' '), 33),
      { 'Content-Length': 33 * MIB },
    ],
    '33 MiB in chunks': [413, TOO_LARGE, () => repeated(Buffer.alloc(MIB, ' '), 33)],
    '33 MiB of content in gzip': [413, TOO_LARGE, () => [gzipSync(Buffer.alloc(33 * MIB, ' '))], gzip],
    'a gzip bomb of 1 GiB': [413, TOO_LARGE, () => repeated(gzipSync(Buffer.alloc(MIB)), 1024), gzip],
    'a deflate bomb': [413, TOO_LARGE, () => [deflateSync(Buffer.alloc(40 * MIB))], { 'Content-Encoding': 'deflate' }],
    'a raw deflate bomb': [
      413,
      TOO_LARGE,
      () => [deflateRawSync(Buffer.alloc(40 * MIB))],
      { 'Content-Encoding': 'deflate' },
    ],
    'truncated raw deflate': [
      400,
      DAMAGED,
      () => [deflateRawSync(good).subarray(0, -5)],
      { 'Content-Encoding': 'deflate' },
    ],
    '30 MiB without a credential': [
      401,
      'Authentication required: provide SDK token or API key',
      () => repeated(Buffer.alloc(MIB, ' '), 30),
      { 'X-Service-API-Key': '' },
    ],
    '30 MiB of text': [
      415,
      'Unsupported media type. Send the body as application/json.',
      () => repeated(Buffer.alloc(MIB, ' '), 30),
      { 'Content-Type': 'text/plain' },
    ],
    'truncated gzip': [400, DAMAGED, () => [good.subarray(0, -10)], gzip],
    'gzip with a wrong checksum': [400, DAMAGED, () => [spoilt], gzip],
    'JSON that says it is gzip': [400, DAMAGED, () => json(body([])), gzip],
    'JSON that says it is deflate': [400, DAMAGED, () => json(body([])), { 'Content-Encoding': 'deflate' }],
  }

t.test('a hostile upload', async (t) => {
  // Refused uploads never reach the database, so one engine is enough.
  const engine = engines()[0]
  if (!engine) throw new Error('no engine')
  const databaseUrl = await createTestDatabase(t, engine)
  const service = await startService(t, onDatabase(databaseUrl), 'test/support/measured-main.ts')
  const db = openDatabase({
    url: databaseUrl,
    name: 'test',
    maxConnections: 2,
    statementTimeoutMs: 10_000,
    onError: () => {},
  })
  t.teardown(() => db.end())
  const stored = (user: string) =>
    db.one(
      `select (select count(*) from upload where user_id = $1) as uploads,
              (select count(*) from upload_body where user_id = $1) as bodies,
              (select count(*) from sync_run where user_id = $1) as runs`,
      [user],
    )
  const warmUp = await createUser(service)
  for (const headers of [{}, gzip]) {
    const { batchId } = await send(
      service,
      warmUp,
      headers === gzip ? [good] : json(body([heartRate(NOON, 1)])),
      headers,
    )
    await waitForBatch(service, warmUp, batchId)
  }
  await send(service, warmUp, repeated(Buffer.alloc(MIB, ' '), 30))

  /** Runs `work` and returns how long it blocked the event loop, in processor time of the service. */
  const watched = async <T>(work: () => Promise<T>): Promise<{ result: T; longestMs: number }> => {
    let result: T | undefined
    const longestMs = await service.loopDelay(async () => {
      result = await work()
    })
    return { result: result as T, longestMs }
  }

  await t.test('is refused and leaves nothing behind:', async (t) => {
    const user = await createUser(service)
    for (const [name, [status, detail, pieces, headers]] of Object.entries(refused)) {
      const parts = [...pieces()]
      const { result, longestMs } = await watched(() => send(service, user, parts, { ...headers }))
      t.match(result, { status, detail }, name)
      t.ok(longestMs < LIMIT_MS, `the event loop was blocked for ${longestMs.toFixed(0)} ms at most`)
    }
    t.strictSame(await stored(user), { uploads: 0, bodies: 0, runs: 0 })
    t.ok(service.alive())
    t.equal(
      service
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .join('\n'),
      '',
      'no error was logged',
    )
  })

  await t.test('that waits for 100 Continue is asked for only if it is taken', async (t) => {
    const user = await createUser(service)
    const asked = await waiting(service, user, API_KEY)
    t.strictSame(asked, { continued: true, status: 202, connection: 'keep-alive' })
    const refused = await waiting(service, user, 'nobody')
    t.strictSame(refused, { continued: false, status: 401, connection: 'close' }, 'and its connection ends')
  })

  await t.test('of many records does not hold up others', async (t) => {
    const user = await createUser(service)
    const count = runs(10_000, 50_000)
    let base = NOON - 2 * 86_400_000
    const { result, longestMs } = await watched(async () => {
      base -= 2 * 86_400_000
      const parts = json(body(Array.from({ length: count }, (_, n) => heartRate(base + n * 1000, 60 + (n % 40)))))
      const { batchId, status } = await send(service, user, parts)
      return { status, batch: await waitForBatch(service, user, batchId) }
    })
    t.equal(result.status, 202)
    t.match(result.batch, { status: 'success', received: count, inserted: count })
    t.ok(longestMs < LIMIT_MS, `the event loop was blocked for ${longestMs.toFixed(0)} ms at most`)
  })

  await t.test('made to cost memory does not end the process', async (t) => {
    const user = await createUser(service)
    // Small as text, large as objects: 31 MiB of these took up to a gigabyte.
    for (const piece of ['[[[{}]]]', '{}', '[[],[]]', '{"a":{"a":0}}']) {
      const { status, detail } = await send(service, user, filled(piece, runs(8, 31)))
      t.match({ status, detail }, { status: 400, detail: TOO_DEEP }, piece)
    }
    const { status } = await send(service, user, filled('0', 2))
    t.equal(status, 202, 'a million items of no kind')
    t.ok(service.alive())
    t.equal((await send(service, user, json(body([heartRate(NOON, 60)])))).status, 202, 'and the next is accepted')
  })

  await t.test('that breaks off leaves no trace', async (t) => {
    const user = await createUser(service)
    for (let count = 0; count < runs(3, 6); count += 1) await breakOff(service, user, 30)
    const after = await send(service, user, json(body([heartRate(NOON, 60)])))
    t.equal(after.status, 202, 'its bytes are not counted for ever')
    t.match(await stored(user), { uploads: 1 })
  })

  t.equal(
    service
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n'),
    '',
    'no error was logged',
  )
})
