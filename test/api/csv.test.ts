// Tables for spreadsheets: every list of a person's data as CSV.
import { type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { workout } from '../support/event-lists.ts'
import { body, createUser, heartRate, importBody, iso, oneEngine, record, sharedApp, steps } from '../support/sdk.ts'
import { stage } from '../support/sleep.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const HOUR_MS = 3_600_000
const RANGE = 'start_date=2026-02-20&end_date=2026-02-28'
/** What a spreadsheet would execute. */
const FORMULA = '=HYPERLINK("http://example.org","x")'

/** The fields of a CSV, by line. */
function parsed(text: string): string[][] {
  const lines: string[][] = [[]]
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '\r\n') lines.push([])
  }
  return lines.slice(0, -1)
}

oneEngine(t, 'lists as CSV', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  await app.request('PATCH', `/api/v1/users/${user}`, { body: { first_name: FORMULA, last_name: 'Ada, "the runner"' } })
  const source = { name: FORMULA, deviceModel: 'Watch7,5', deviceType: 'watch' }
  const ZONE = { zoneOffset: '-05:00' }
  const records = [
    heartRate(NOON, 60, { ...ZONE, source }),
    steps(NOON, 1000, ZONE),
    record('HKQuantityTypeIdentifierRestingHeartRate', NOON, 50, { unit: 'bpm' }),
    record('HKCorrelationTypeIdentifierFood', NOON, 1, { id: 'lunch', metadata: { HKFoodType: '+1' } }),
    record('HKQuantityTypeIdentifierDietaryProtein', NOON, 20, { parentId: 'lunch', unit: 'g' }),
    record('HKCategoryTypeIdentifierMenstrualFlow', NOON, 3, { metadata: { HKMenstrualCycleStart: '1' } }),
  ]
  const workouts = [0, 1, 2].map((n) => workout('running', NOON + n * HOUR_MS, 30, { ...ZONE, source }))
  const sleep = [stage('deep', NOON - 12 * HOUR_MS, NOON - 6 * HOUR_MS)]
  await importBody(app, user, body(records, { data: { records, sleep, workouts } }))
  const of = `/api/v1/users/${user}`
  const csv = (path: string, headers = {}) => app.request('GET', path, { headers: { Accept: 'text/csv', ...headers } })
  const LISTS: [path: string, list: string, name: string][] = [
    [`${of}/summaries/activity?${RANGE}`, 'data', 'activity_2026-02-20_2026-02-28'],
    [`${of}/summaries/activity?${RANGE}&explain=true`, 'data', 'activity_2026-02-20_2026-02-28'],
    [`${of}/summaries/sleep?${RANGE}`, 'data', 'sleep_days_2026-02-20_2026-02-28'],
    [`${of}/summaries/recovery?${RANGE}`, 'data', 'recovery_2026-02-20_2026-02-28'],
    [`${of}/events/workouts?${RANGE}`, 'data', 'workouts_2026-02-20_2026-02-28'],
    [`${of}/events/sleep?${RANGE}&include=stages`, 'data', 'sleep_2026-02-20_2026-02-28'],
    [`${of}/events/meals?${RANGE}`, 'data', 'meals_2026-02-20_2026-02-28'],
    [`${of}/events/menstrual-cycles?${RANGE}`, 'data', 'menstrual_cycles_2026-02-20_2026-02-28'],
    [`${of}/coverage?${RANGE}`, 'days', 'coverage_2026-02-20_2026-02-28'],
    [`${of}/coverage?${RANGE}&days=local`, 'days', 'coverage_2026-02-20_2026-02-28'],
    ['/api/v1/users?include=connections,data', 'items', 'users'],
  ]

  await t.test('a line for each row, a column for each field', async (t) => {
    for (const [path, list, name] of LISTS) {
      const rows: Record<string, unknown>[] = (await app.request('GET', path)).body[list]
      t.ok(rows.length > 0, path)
      const answer = await csv(path)
      t.strictSame([answer.status, answer.headers.get('content-type')], [200, 'text/csv; charset=utf-8'], path)
      t.equal(answer.headers.get('content-disposition'), `attachment; filename="${name}.csv"`)
      t.match(answer.headers.get('vary'), /Accept/)
      const [head = [], ...lines] = parsed(answer.body)
      t.equal(lines.length, rows.length)
      for (const [at, line] of lines.entries()) {
        t.equal(line.length, head.length)
        t.notOk(
          line.find((field) => /^[=@]/.test(field)),
          'nothing that a spreadsheet executes',
        )
        for (const [name, value] of Object.entries(rows[at] ?? {})) {
          const field = line[head.indexOf(name)]
          if (value === null) t.equal(field ?? '', '', `${path} ${name}`)
          else if (typeof value !== 'object') t.equal(field?.replace(/^'/, ''), String(value), `${path} ${name}`)
          else if (Array.isArray(value)) t.strictSame(JSON.parse(field ?? ''), value, `${path} ${name}`)
        }
      }
    }
  })

  await t.test('texts stay texts, offsets and numbers stay as they are', async (t) => {
    const [head = [], first = []] = parsed((await csv(`${of}/events/workouts?${RANGE}`)).body)
    const field = (name: string) => first[head.indexOf(name)]
    t.equal(field('source_source'), `'${FORMULA}`)
    t.equal(field('source_device_type'), 'watch')
    t.equal(field('zone_offset'), '-05:00')
    t.equal(field('start_time'), iso(NOON + 2 * HOUR_MS))
    const users = (await csv('/api/v1/users')).body
    t.match(users, `"'=HYPERLINK(""http://example.org"",""x"")","Ada, ""the runner"""`)
  })

  await t.test('pages, and what the client holds', async (t) => {
    const path = `${of}/events/workouts?${RANGE}&limit=2`
    const first = await csv(path)
    t.equal(first.headers.get('x-total-count'), '3')
    t.equal(first.headers.get('x-previous-cursor'), null)
    const next = encodeURIComponent(first.headers.get('x-next-cursor') ?? '')
    const second = await csv(`${path}&cursor=${next}`)
    t.equal(parsed(second.body).length, 2)
    t.strictSame([second.headers.get('x-next-cursor'), !!second.headers.get('x-previous-cursor')], [null, true])
    const tags = {
      csv: first.headers.get('etag') ?? '',
      json: (await app.request('GET', path)).headers.get('etag') ?? '',
    }
    t.not(tags.csv, tags.json)
    t.equal((await csv(path, { 'If-None-Match': tags.csv })).status, 304)
    t.equal((await csv(path, { 'If-None-Match': tags.json })).status, 200, 'who holds JSON does not hold CSV')
    t.equal((await app.request('GET', path, { headers: { 'If-None-Match': tags.csv } })).status, 200)
    t.equal((await csv('/api/v1/users')).headers.get('x-total-count'), '1')
  })

  await t.test('large answers are compressed for those who take it', async (t) => {
    for (let n = 0; n < 12; n += 1) await createUser(app)
    const get = (path: string, headers: Record<string, string>) =>
      new Promise<{ headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
        const sent = { 'X-Service-API-Key': app.apiKey, ...headers }
        // fetch would decompress.
        const asked = request(app.url + path, { headers: sent }, async (response) =>
          resolve({ headers: response.headers, body: await buffer(response) }),
        )
        asked.on('error', reject).end()
      })
    const samples = `${of}/timeseries?start_time=2026-02-01&end_time=2026-03-01`
    for (const [path, Accept] of [
      ['/api/v1/users', 'application/json'],
      ['/api/v1/users', 'text/csv'],
      [samples, 'application/json'],
      [samples, 'application/vnd.pulsebase.columns+json'],
    ] as const) {
      const plain = await get(path, { Accept })
      const zipped = await get(path, { Accept, 'Accept-Encoding': 'gzip, deflate, br' })
      t.strictSame([plain.headers['content-encoding'], zipped.headers['content-encoding']], [undefined, 'gzip'], path)
      t.ok(gunzipSync(zipped.body).equals(plain.body))
      t.ok(zipped.body.length < plain.body.length)
      t.equal(Number(zipped.headers['content-length']), zipped.body.length)
      t.equal(zipped.headers['content-type'], plain.headers['content-type'])
      t.match(zipped.headers.vary, /Accept-Encoding/)
      t.equal((await get(path, { Accept, 'Accept-Encoding': 'gzip;q=0' })).headers['content-encoding'], undefined)
    }
    const small = await get(`/api/v1/users/${user}`, { 'Accept-Encoding': 'gzip' })
    t.equal(small.headers['content-encoding'], undefined, 'not what is small')
  })

  await t.test('only where somebody prefers it, and where it is', async (t) => {
    const type = async (path: string, accept: string) => {
      const { status, headers } = await app.request('GET', path, { headers: { Accept: accept } })
      return `${status} ${headers.get('content-type')?.split(';')[0]}`
    }
    for (const accept of ['*/*', 'application/json', 'application/json, text/csv', 'text/csv;q=0.5, application/json'])
      t.equal(await type('/api/v1/users', accept), '200 application/json', accept)
    for (const accept of ['text/csv', 'text/*', 'text/csv, application/json;q=0.1'])
      t.equal(await type('/api/v1/users', accept), '200 text/csv', accept)
    for (const path of [of, `${of}/summaries/data`, `${of}/data-sources`])
      t.equal(await type(path, 'text/csv'), '406 application/json', path)
    t.match(await csv(`${of}/events/workouts?start_date=x&end_date=y`), { status: 400, body: { detail: /Invalid/ } })
    t.equal((await csv(`${of}/events/workouts`)).status, 422, 'errors are JSON')
    t.equal(parsed((await csv(`${of}/events/meals?start_date=2020-01-01&end_date=2020-01-02`)).body).length, 1)
  })
})
