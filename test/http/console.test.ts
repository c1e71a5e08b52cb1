// The console as browsers get it: its files, their size, and the policy of every answer.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import t from 'tap'
import { request } from 'undici'
import { buildConsole, openConsole } from '../../server/console-build.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'
import { freePort } from '../support/service.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const KIB = 1024
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

/** The bytes of an answer as they are sent. */
async function get(app: TestApp, path: string, headers: Record<string, string> = {}) {
  const { statusCode: status, headers: received, body } = await request(app.url + path, { headers })
  return { status, headers: received, bytes: Buffer.from(await body.arrayBuffer()) }
}

t.test('the console', async (t) => {
  const app = await startTestApp(t, engine)
  const page = await get(app, '/console')
  const html = page.bytes.toString()
  const loaded = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path)

  await t.test('is one page at every address below it, asked for each time', async (t) => {
    t.equal(page.status, 200)
    t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    t.equal(page.headers['cache-control'], 'public, no-cache')
    for (const path of ['/console/', '/console/people/x/day/2026-11-20']) {
      t.same((await get(app, path)).bytes, page.bytes, path)
    }
    const again = await get(app, '/console', { 'If-None-Match': String(page.headers.etag) })
    t.strictSame([again.status, again.bytes.length], [304, 0])
    t.equal((await app.request('POST', '/console')).status, 405)
  })

  await t.test('loads files whose names change with their content, for a year', async (t) => {
    t.strictSame([...new Set(loaded.map((path) => path.replace(/-\w+\./, '-….')))].sort(), [
      '/console/assets/chunk-….js',
      '/console/assets/main-….css',
      '/console/assets/main-….js',
    ])
    const script = await get(app, loaded.find((path) => /main-\w+\.js$/.test(path)) ?? '')
    const imported = [...script.bytes.toString().matchAll(/from"\.\/([^"]+)"/g)].map(([, name]) => name)
    t.ok(imported.length > 0)
    for (const name of imported) t.ok(loaded.includes(`/console/assets/${name}`), `${name} is asked for with the page`)
    for (const path of loaded) {
      const plain = await get(app, path)
      t.equal(plain.status, 200)
      t.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
      t.match(plain.headers['content-type'], path.endsWith('.js') ? /^text\/javascript/ : /^text\/css/)
      const br = await get(app, path, { 'Accept-Encoding': 'gzip, deflate, br' })
      t.equal(br.headers['content-encoding'], 'br')
      t.same(brotliDecompressSync(br.bytes), plain.bytes)
      const gzip = await get(app, path, { 'Accept-Encoding': 'gzip' })
      t.equal(gzip.headers['content-encoding'], 'gzip')
      t.same(gunzipSync(gzip.bytes), plain.bytes)
    }
    t.equal((await get(app, '/console/assets/main-00000000.js')).status, 404)
    t.equal((await get(app, '/console/assets/..%2findex.html')).status, 404)
  })

  await t.test('is small', async (t) => {
    const { assets } = await buildConsole()
    const sizes: Record<string, number> = {}
    for (const name of assets.keys()) {
      const path = `/console/assets/${name}`
      sizes[path] = (await get(app, path, { 'Accept-Encoding': 'br' })).bytes.length
    }
    const sum = (paths: string[]) => paths.reduce((bytes, path) => bytes + (sizes[path] ?? Number.NaN), 0)
    const [all, first] = [sum(Object.keys(sizes)), sum(loaded)]
    t.comment(`${all} bytes in all, ${first} at first`)
    t.ok(all <= 60 * KIB, `${all} bytes of scripts and styles`)
    t.ok(first <= 48 * KIB, `${first} bytes before the first page is there`)
  })

  await t.test('runs nothing from elsewhere, nothing inline, and in no frame', async (t) => {
    for (const path of ['/console', '/console/people', '/console/assets/none.js', ...loaded]) {
      const { headers } = await get(app, path)
      t.equal(headers['content-security-policy'], POLICY, path)
      t.equal(headers['x-content-type-options'], 'nosniff')
      t.equal(headers['referrer-policy'], 'no-referrer')
      t.equal(headers['cross-origin-opener-policy'], 'same-origin')
    }
    t.notMatch(html, /<script(?![^>]* src=)|<style|style=|\son\w+=|(src|href)="(?!\/console\/|data:)/)
  })

  await t.test('is what browsers find at the root, where probes still get JSON', async (t) => {
    for (const Accept of ['text/html', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8']) {
      const { status, headers } = await get(app, '/', { Accept })
      t.strictSame([status, headers.location], [303, '/console'])
      t.match(headers.vary, /Accept/)
    }
    for (const Accept of [undefined, '*/*', 'application/json', 'application/json, text/html']) {
      const { status, bytes } = await get(app, '/', Accept === undefined ? {} : { Accept })
      t.strictSame([status, bytes.toString()], [200, '{"message":"Server is running!"}'])
    }
  })
})

t.test('without the console nothing of it is there', async (t) => {
  for (const settings of [{ consoleEnabled: false }, { role: 'worker' as const }]) {
    const app = await startTestApp(t, engine, settings)
    t.equal((await get(app, '/console')).status, 404)
    t.equal((await get(app, '/', { Accept: 'text/html, */*' })).status, 200)
  }
})

t.test('a build that fails is logged once, and answered in words; the API goes on', async (t) => {
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  let builds = 0
  const files = () => {
    builds += 1
    return Promise.reject(new Error('no bundler here'))
  }
  const app = await startTestApp(t, engine, { console: openConsole(log, files) })
  for (const path of ['/console', '/console/assets/main.js', '/console/people']) {
    const { status, headers, bytes } = await get(app, path)
    t.strictSame([status, headers['retry-after']], [503, '60'])
    t.match(JSON.parse(bytes.toString()), { detail: /^The console could not be built/ })
  }
  t.equal(builds, 1, 'it is not tried again at once')
  t.equal(lines.length, 1)
  t.match(lines[0], /no bundler here.*the console could not be built/)
  t.equal((await app.request('GET', '/api/v1/users')).status, 200)
})

t.test('npm run console:dev serves it from its source in front of a service', async (t) => {
  const app = await startTestApp(t, engine)
  const port = String(await freePort())
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, API_BASE_URL: app.url, CONSOLE_DEV_PORT: port }
  const command = ['--import', './server/typescript.mjs', 'dev/console.ts']
  const child = spawn(process.execPath, command, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  for await (const line of createInterface(child.stdout)) if (line.startsWith('built at')) break
  const url = `http://localhost:${port}`
  const html = await (await fetch(`${url}/console/people`)).text()
  const [script = ''] = /\/console\/assets\/main-\w+\.js/.exec(html) ?? []
  const source = await (await fetch(url + script)).text()
  t.match(source, /sourceMappingURL=data:/)
  t.match(source, /location\.reload\(\)/)
  t.equal((await fetch(`${url}/api/v1/users`)).status, 401, 'the service answers the rest')
  t.match(await (await fetch(`${url}/healthz`)).text(), /ok|alive/i)
})
