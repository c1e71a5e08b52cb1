// Uploads of phones and their answers: contract 9.1, sdk-payload 1 to 5.
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { startTestApp } from '../support/app.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  iso,
  MANY,
  oneEngine,
  record,
  startImports,
  storedSamples,
  upload,
  waitForAll,
  waitForBatch,
} from '../support/sdk.ts'
import { LOOKS_INSIDE, ofOneProcess, PROCESSES } from '../support/several.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

oneEngine(t, 'an upload', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const uploads = async (user: string) =>
    (await app.db.one<{ n: number }>('select count(*) as n from upload where user_id = $1', [user])).n

  await t.test('is answered 202 with the batch and its run', async (t) => {
    const user = await createUser(app)
    const answer = await upload(app, user, body([heartRate(NOON, 60)]))
    t.equal(answer.status, 202)
    const { batch_id: batchId, run_id: runId } = answer.body
    t.match(batchId, UUID)
    t.strictSame(answer.body, {
      status_code: 202,
      response: 'Import task queued successfully',
      user_id: user,
      batch_id: batchId,
      run_id: runId,
      dropped_count: 0,
      records_saved: 0,
      records_inserted: 0,
      records_updated: 0,
      types: [],
      workouts_saved: 0,
      meals_saved: 0,
      sleep_saved: 0,
    })
    t.match(await waitForBatch(app, user, batchId), { status: 'success', run_id: runId, inserted: 1 })
  })

  await t.test('may be compressed, chunked, and say JSON in several ways', async (t) => {
    const user = await createUser(app)
    const text = JSON.stringify(body([heartRate(NOON, 60, { source: { name: 'Größe ’ 心' } })]))
    const bytes = Buffer.from(text)
    const rows = async () => (await storedSamples(app.db, user)).map(({ source, value }) => [source, value])
    for (const [content, headers] of [
      [bytes, {}],
      [gzipSync(bytes), { 'Content-Encoding': 'gzip' }],
      [gzipSync(bytes), { 'Content-Encoding': 'GZIP' }],
      [gzipSync(bytes), { 'Content-Encoding': 'x-gzip' }],
      [Buffer.concat([gzipSync(bytes.subarray(0, 50)), gzipSync(bytes.subarray(50))]), { 'Content-Encoding': 'gzip' }],
      [deflateSync(bytes), { 'Content-Encoding': 'deflate' }],
      [deflateRawSync(bytes), { 'Content-Encoding': 'deflate' }],
      [bytes, { 'Content-Encoding': 'identity' }],
      [bytes, { 'Content-Type': 'application/json; charset=utf-8' }],
      [bytes, { 'Content-Type': 'application/vnd.health+json' }],
      [Buffer.from(text.replaceAll(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)), {}],
    ] as [Buffer, Record<string, string>][]) {
      const batch = await importBody(app, user, content, { headers })
      t.match(batch, { status: 'success', received: 1 }, JSON.stringify(headers))
    }
    t.strictSame(await rows(), [['Größe ’ 心', 60]], 'all of them said the same')

    const chunked = await fetch(`${app.url}/api/v1/sdk/users/${user}/sync`, {
      method: 'POST',
      headers: { 'X-Service-API-Key': app.apiKey, 'Content-Type': 'application/json' },
      body: new Blob([bytes]).stream(),
      duplex: 'half',
    } as RequestInit)
    t.equal(chunked.status, 202, 'as the Android SDK sends it')
    const untyped = await fetch(`${app.url}/api/v1/sdk/users/${user}/sync`, {
      method: 'POST',
      headers: { 'X-Service-API-Key': app.apiKey },
      body: bytes,
    })
    t.equal(untyped.status, 202)
    t.ok((await waitForAll(app, user)).every(({ status }) => status === 'success'))
  })

  await t.test('names its provider in the body or, with precedence, in the query', async (t) => {
    const names: [inBody: unknown, query: string, provider: string][] = [
      ['google', '', 'health_connect'],
      ['GOOGLE', '', 'health_connect'],
      [' Health_Connect ', '', 'health_connect'],
      ['SAMSUNG', '', 'samsung'],
      ['Apple', '', 'apple'],
      ['apple', '?provider=google', 'health_connect'],
      ['fitbit', '?provider=Samsung', 'samsung'],
      [undefined, '?provider=apple', 'apple'],
    ]
    for (const [inBody, query, provider] of names) {
      const user = await createUser(app)
      const type = provider === 'apple' ? 'HKQuantityTypeIdentifierHeartRate' : 'HEART_RATE'
      await importBody(app, user, body([heartRate(NOON, 60, { type })], { provider: inBody }), { query })
      const [sample] = await storedSamples(app.db, user)
      t.equal(sample?.provider, provider, `${inBody} ${query}`)
      const connections = (await app.request('GET', `/api/v1/users/${user}/connections`)).body
      t.match(connections, [{ provider, status: 'active', last_synced_at: /Z$/ }])
      t.equal(connections.length, 1)
    }
  })

  await t.test('of the same bytes for another provider is another upload', async (t) => {
    const user = await createUser(app)
    const content = body([heartRate(NOON, 60, { type: 'HEART_RATE' })], { provider: 'samsung' })
    await importBody(app, user, content)
    await importBody(app, user, content, { query: '?provider=google' })
    await importBody(app, user, content)
    t.strictSame(
      (await storedSamples(app.db, user)).map(({ provider }) => provider),
      ['health_connect', 'samsung'],
    )
  })

  await t.test('is refused for a provider without an SDK', async (t) => {
    const user = await createUser(app)
    const refused = async (content: unknown, query: string, name: string) => {
      const answer = await upload(app, user, content, { query })
      t.equal(answer.status, 400, name)
      t.strictSame(answer.body, {
        detail: `Unsupported provider: ${name}. Supported: apple, health_connect, samsung`,
      })
    }
    await refused(body([], { provider: 'fitbit' }), '', 'fitbit')
    await refused(body([]), '?provider=fitbit', 'fitbit')
    await refused(body([], { provider: 5 }), '', '')
    await refused(body([], { provider: 'constructor' }), '', 'constructor')
    for (const content of [body([], { provider: undefined }), body([], { provider: null }), {}]) {
      const { status, body: answer } = await upload(app, user, content)
      t.equal(status, 422)
      t.match(answer, { detail: [{ type: 'missing', loc: ['body', 'provider'], msg: 'Field required' }] })
    }
    t.equal(await uploads(user), 0)
  })

  await t.test('with the same X-Request-Id is the same upload', async (t) => {
    const user = await createUser(app)
    const other = await createUser(app)
    const content = body([heartRate(NOON, 60)])
    const headers = { 'X-Request-Id': '6f3c1b9e-76d0-4b0e-9a5b-2f4f3f1f6c11' }
    // An upload answered 401 is sent again with the same id: only one answered 202 counts.
    t.equal((await upload(app, user, content, { headers, auth: 'none' })).status, 401)
    t.equal((await upload(app, user, '{', { headers })).status, 400)
    const first = await upload(app, user, content, { headers })
    t.equal(first.status, 202)
    t.equal(first.headers.get('x-request-id'), headers['X-Request-Id'])
    const replay = await upload(app, user, content, { headers })
    t.equal(replay.status, 202)
    t.strictSame(replay.body, first.body)
    await waitForBatch(app, user, first.body.batch_id)
    t.strictSame((await upload(app, user, content, { headers })).body, first.body, 'after the import, too')
    t.equal(await uploads(user), 1)
    const once = { 'X-Request-Id': 'all-at-once' }
    const racing = body([heartRate(NOON, 61)])
    const answers = await Promise.all(Array.from({ length: 8 }, () => upload(app, user, racing, { headers: once })))
    t.equal(new Set(answers.map((answer) => answer.body.batch_id)).size, 1, 'while the first one is under way, too')
    t.equal(await uploads(user), 2)
    t.not((await upload(app, other, content, { headers })).body.batch_id, first.body.batch_id)
    t.equal(await uploads(other), 1, 'of this user only')
    await app.db.query(`update upload set received_at = received_at - interval '25 hours' where user_id = $1`, [user])
    t.not((await upload(app, user, content, { headers })).body.batch_id, first.body.batch_id, 'for a day')
    await waitForAll(app, user)
  })

  await t.test('takes an SDK token of its own user, or an API key in either header', async (t) => {
    const user = await createUser(app)
    const other = await createUser(app)
    const content = body([heartRate(NOON, 60)])
    const bearer = await app.sdkToken(user)
    t.equal((await upload(app, user, content, { auth: { bearer } })).status, 202)
    const refused = await upload(app, other, content, { auth: { bearer } })
    t.equal(refused.status, 403)
    t.strictSame(refused.body, { detail: 'Token does not match user_id' })
    const anonymous = await upload(app, user, content, { auth: 'none' })
    t.equal(anonymous.status, 401)
    t.strictSame(anonymous.body, { detail: 'Authentication required: provide SDK token or API key' })
    const headers = { 'X-Open-Wearables-API-Key': app.apiKey }
    t.equal((await upload(app, user, content, { auth: 'none', headers })).status, 202)
    t.equal(await uploads(other), 0)
    await waitForAll(app, user)
  })

  await t.test('for an unknown user, or no user at all, is refused', async (t) => {
    const unknown = '00000000-0000-4000-8000-000000000000'
    const answer = await upload(app, unknown, body([heartRate(NOON, 60)]))
    t.equal(answer.status, 404)
    t.strictSame(answer.body, { detail: `User with ID: ${unknown} not found.` })
    t.equal((await upload(app, 'nobody', body([]))).status, 422)
    const query = await upload(app, await createUser(app), body([]), { query: '?providre=apple' })
    t.equal(query.status, 422)
    t.match(query.body.detail, [{ type: 'extra_forbidden', loc: ['query', 'providre'] }])
  })

  await t.test('in another type or encoding is refused', async (t) => {
    const user = await createUser(app)
    const content = body([])
    const type = await upload(app, user, content, { headers: { 'Content-Type': 'text/plain' } })
    t.equal(type.status, 415)
    const encoding = await upload(app, user, content, { headers: { 'Content-Encoding': 'br' } })
    t.equal(encoding.status, 415)
    t.equal(encoding.headers.get('accept-encoding'), 'gzip, deflate, identity')
    t.equal(await uploads(user), 0)
  })

  await t.test('loses its bad records only, and says which', async (t) => {
    const soon = Date.now()
    const bad: [fields: object, field: string, type: string][] = [
      [{ startDate: '1970-01-01T00:00:00Z' }, 'startDate', 'implausible_timestamp'],
      [{ startDate: '1970-01-01T23:59:59Z' }, 'startDate', 'implausible_timestamp'],
      [{ startDate: '2099-01-01T00:00:00Z', endDate: '2099-01-01T00:00:00Z' }, 'startDate', 'implausible_timestamp'],
      [{ endDate: '2099-01-01T00:00:00Z' }, 'endDate', 'implausible_timestamp'],
      [{ startDate: iso(soon + 25 * 3_600_000) }, 'startDate', 'implausible_timestamp'],
      [{ startDate: '2026-02-24T12:00:00+99:00' }, 'startDate', 'datetime_parsing'],
      [{ startDate: '2026-02-24T12:00:00+18:01' }, 'startDate', 'datetime_parsing'],
      [{ startDate: '2026-02-24' }, 'startDate', 'datetime_parsing'],
      [{ startDate: '2026-02-30T12:00:00Z' }, 'startDate', 'datetime_parsing'],
      [{ startDate: '2026-02-24T24:00:00Z' }, 'startDate', 'datetime_parsing'],
      [{ startDate: '2026-02-24T12:00:0\0Z' }, 'startDate', 'datetime_parsing'],
      [{ endDate: 1_771_934_400 }, 'endDate', 'datetime_parsing'],
      [{ endDate: undefined }, 'endDate', 'missing'],
      [{ value: null }, 'value', 'missing'],
      [{ value: 'NaN' }, 'value', 'float_parsing'],
      [{ value: '-Infinity' }, 'value', 'float_parsing'],
      [{ value: '1e400' }, 'value', 'float_parsing'],
      [{ value: '0x10' }, 'value', 'float_parsing'],
      [{ value: '' }, 'value', 'float_parsing'],
      [{ value: true }, 'value', 'float_parsing'],
      [{ value: [1] }, 'value', 'float_parsing'],
      [{ value: { toString: 1 } }, 'value', 'float_parsing'],
      [{ value: '@1e400@' }, 'value', 'finite_number'],
      [{ value: 1e308, unit: 'count/s' }, 'value', 'implausible_value'],
      [{ unit: 'kg' }, 'unit', 'unit'],
      [{ unit: 'parsec' }, 'unit', 'unit'],
    ]
    const user = await createUser(app)
    const records = [
      heartRate(NOON - 1000, 59),
      ...bad.map(([fields]) => heartRate(NOON, 4711, { id: 'x', ...fields })),
    ]
    const content = JSON.stringify(body([...records, heartRate(NOON + 1000, 61)])).replaceAll('"@1e400@"', '1e400')
    const batch = await importBody(app, user, content)
    t.match(batch, { status: 'partial', received: bad.length + 2, inserted: 2, dropped_count: bad.length })
    t.strictSame(
      batch.dropped.map(({ collection, index, id, loc, type }) => ({ collection, index, id, loc, type })),
      bad.map(([, field, type], at) => {
        const index = at + 1
        return { collection: 'records', index, id: 'x', loc: ['data', 'records', index, field], type }
      }),
    )
    t.notMatch(JSON.stringify(batch), '4711', 'no measured value is told')
  })

  await t.test('of many records loses the one that is bad, and nothing else', async (t) => {
    const user = await createUser(app)
    const index = Math.floor(MANY * 0.7)
    const records = Array.from({ length: MANY }, (_, n) => heartRate(NOON + n * 1000, 60, { id: `r${n}` }))
    records[index] = heartRate(NOON + index * 1000, 'fast', { id: 'bad' })
    const batch = await importBody(app, user, body(records))
    t.match(batch, { status: 'partial', received: MANY, inserted: MANY - 1, duplicates: 0, dropped_count: 1 })
    const where = { collection: 'records', index, id: 'bad', loc: ['data', 'records', index, 'value'] }
    t.strictSame(
      batch.dropped.map(({ msg, ...rest }) => rest),
      [{ ...where, type: 'float_parsing' }],
    )
    t.match(batch.dropped[0]?.msg, /number/, 'with the reason')
    const wanted = records.flatMap(({ startDate }, n) => (n === index ? [] : [startDate]))
    t.strictSame(
      (await storedSamples(app.db, user)).map(({ ts }) => ts),
      wanted,
    )
  })

  await t.test('may have strings no database can hold', async (t) => {
    const user = await createUser(app)
    const odd = '"A\\u0000da\\ud800 \\udc00\\ufffe\\u202e \\u0007B"'
    const content = JSON.stringify(
      body(
        [
          heartRate(NOON, 60, {
            id: '@',
            zoneOffset: '+01:00',
            source: { name: '@', deviceModel: '@', deviceType: '@' },
          }),
          heartRate(NOON, 60, { id: '@', value: null }),
          record('@', NOON, 60),
          heartRate(NOON + 1000, 60, { parentId: '@', metadata: { '@': '@' } }),
          heartRate(NOON + 2000, 60, { id: 'x'.repeat(70_000), source: { name: 'ñ'.repeat(70_000) } }),
          heartRate(NOON + 3000, 60, { source: { name: { a: 1 }, deviceModel: ['x'], operatingSystemVersion: 'x' } }),
          heartRate(NOON + 4000, 60, { unit: '@' }),
        ],
        { sdkVersion: '@', syncSessionId: '@', syncType: '@', __proto__: '@', data2: '@' },
      ),
    ).replaceAll('"@"', odd)
    const batch = await importBody(app, user, content)
    t.match(batch, {
      status: 'partial',
      inserted: 4,
      ignored_type: 1,
      dropped_count: 2,
      dropped: [{ index: 1 }, { index: 6 }],
    })
    const { body: page } = await app.request(
      'GET',
      `/api/v1/users/${user}/timeseries?start_time=2026-02-24&end_time=2026-02-24`,
    )
    const names = page.data.map(({ source }: { source: { source: string; device: string } }) => source)
    t.match(names[0], { source: /^Ada.* B$/, device: /^Ada.* B$/ })
    for (const { source } of names) t.ok(source === null || (source.isWellFormed() && !/\p{Cc}/u.test(source)))
    t.equal(names[2].source, 'ñ'.repeat(100), 'cut')
    t.strictSame([names[3].source, names[3].device], [null, null])
  })

  await t.test('of invalid UTF-8 is stored with replacement characters', async (t) => {
    const user = await createUser(app)
    const [start, end] = JSON.stringify(body([heartRate(NOON, 60, { source: { name: '@' } })])).split('@')
    const bytes = Buffer.concat([Buffer.from(`${start}`), Buffer.from([0x41, 0xc3, 0xff]), Buffer.from(`${end}`)])
    t.match(await importBody(app, user, bytes), { status: 'success', inserted: 1 })
    t.match(await storedSamples(app.db, user), [{ source: 'A\ufffd\ufffd' }])
  })

  await t.test('whose user is deleted meanwhile is answered 404', async (t) => {
    const user = await createUser(app)
    const client = await app.db.pool.connect()
    await client.query('begin')
    await client.query('delete from app_user where id = $1', [user])
    const answer = upload(app, user, body([heartRate(NOON, 61)]))
    const waiting = async () => {
      const rows = await app.db.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%app_user%for key share%'`,
      )
      return rows.length > 0
    }
    t.ok(await waitUntil(waiting, 60_000, 5))
    await client.query('commit')
    client.release()
    t.equal((await answer).status, 404)
  })

  await t.test('that cannot be stored is answered 503, so that the phone tries again', async (t) => {
    const user = await createUser(app)
    const error = t.capture(app.deps.log, 'error')
    await app.db.query('alter table upload rename to upload_away')
    const answer = await upload(app, user, body([heartRate(NOON, 60)]))
    await app.db.query('alter table upload_away rename to upload')
    t.equal(answer.status, 503)
    t.strictSame(answer.body, { detail: 'Failed to persist payload; please retry.' })
    t.equal(answer.headers.get('retry-after'), '5')
    if (PROCESSES === 1)
      t.match(error(), [{ args: [{ err: /does not exist/ }, 'request failed'] }], 'and the operator is told why')
    t.match(await importBody(app, user, body([heartRate(NOON, 60)])), { status: 'success' })
  })

  await t.test('is counted by provider for the operator', ofOneProcess(LOOKS_INSIDE), async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([heartRate(NOON, 60, { type: 'HEART_RATE' })], { provider: 'samsung' }))
    await upload(app, user, '[')
    const { body: metrics } = await app.request('GET', '/metrics', { auth: 'none' })
    for (const [name, label] of [
      ['uploads_accepted', 'provider="samsung"'],
      ['uploads_refused', 'reason="bad_request"'],
      ['samples', 'outcome="inserted"'],
    ]) {
      const line = `pulsebase_${name}_total{${label}} `
      t.ok(
        metrics.split('\n').some((one: string) => one.startsWith(line) && Number(one.slice(line.length)) > 0),
        line,
      )
    }
  })
})
