// Runs the snippets of the documentation against the service that `npm start` starts, so they stay correct.
import { type ExecFileOptions, execFile, spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { eventRoutes } from '../server/api/events/index.ts'
import { listHealthScores } from '../server/api/health-scores/list.ts'
import { getTimeseries } from '../server/api/timeseries/get-timeseries.ts'
import { shareMetrics } from '../server/child.ts'
import { loadConfig } from '../server/config.ts'
import type { Database } from '../server/db/database.ts'
import { signalProcess, waitUntil } from '../server/db/embedded/processes.ts'
import { freePort, stopLeftover } from '../server/db/embedded/server.ts'
import { observeNotices } from '../server/intake/notices/observe.ts'
import { observePulls } from '../server/intake/pulls/observe.ts'
import { LIMITS, openGates } from '../server/limits.ts'
import { createMetrics } from '../server/metrics.ts'
import { observeGrants } from '../server/oauth/observe.ts'
import { cloudProviders, sdkProviders } from '../server/providers/index.ts'
import { observeRollups } from '../server/rollups/observe.ts'
import { observeWebhooks } from '../server/webhooks/observe.ts'
import { play } from './support/simulator.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PAGES = [
  'README.md',
  'docs/uploads.md',
  'docs/record-types.md',
  'docs/events.md',
  'docs/phones.md',
  'docs/reading.md',
  'docs/scores.md',
  'docs/operations.md',
  'docs/rollups.md',
  'docs/sizing.md',
  'docs/webhooks.md',
  // Last, since it brings data of other sources.
  'docs/providers.md',
]

interface Block {
  language: string
  code: string
}

/** The variables of the snippets; values that a page assigns to them are replaced. */
type Variables = Record<
  | 'URL'
  | 'KEY'
  | 'USER_ID'
  | 'BATCH_ID'
  | 'PASSWORD'
  | 'TOKEN'
  | 'APP_ID'
  | 'APP_SECRET'
  | 'PHONE_TOKEN'
  | 'CODE'
  | 'REFRESH_TOKEN'
  | 'ENDPOINT_ID'
  | 'AUTHORIZATION_URL'
  | 'TASK_ID',
  string
>

t.test('npm start, and then everything the pages show', async (t) => {
  const simulator = await play(t, { now: Date.now, people: 1, days: 10 })
  const service = await npmStart(t, simulator.env)
  const variables: Variables = {
    ...{ URL: service.url, KEY: service.apiKey, PASSWORD: service.password, USER_ID: '', BATCH_ID: '' },
    ...{ TOKEN: '', APP_ID: '', APP_SECRET: '', PHONE_TOKEN: '', CODE: '', REFRESH_TOKEN: '', ENDPOINT_ID: '' },
    ...{ AUTHORIZATION_URL: '', TASK_ID: '' },
  }

  await t.test('README.md shows what the first start prints', async (t) => {
    const shown = (await blocks('README.md')).find(({ code }) => code.includes('First start'))?.code ?? ''
    const password = /password (\S+)/.exec(shown)?.[1] ?? ''
    const apiKey = /API key {2}(\S+)/.exec(shown)?.[1] ?? ''
    const code = /code=(\S+)/.exec(shown)?.[1] ?? ''
    const printed = service
      .welcome()
      .replaceAll(service.url, 'http://localhost:8000')
      .replace(service.dataDir, '/home/ada/pulsebase/data')
      .replaceAll(service.apiKey, apiKey)
      .replace(/password \S+/, `password ${password}`)
      .replace(/code=\S+/, `code=${code}`)
    t.equal(printed, shown.trim())
  })

  for (const page of PAGES) {
    await t.test(`${page} shows what the service answers`, async (t) => {
      const all = await blocks(page)
      for (const [index, { language, code }] of all.entries()) {
        if (language !== 'sh') continue
        const answer = await runShell(code, variables)
        const next = all[index + 1]
        if (next && ['json', 'csv', 'text'].includes(next.language)) {
          t.strictSame(comparable(answer), comparable(next.code), firstLine(code))
        } else t.notMatch(answer, '"detail":', firstLine(code))
        remember(variables, answer)
      }
    })
  }

  await t.test('the program in Python', async (t) => {
    const code = (await blocks('docs/reading.md')).find(({ language }) => language === 'python')?.code ?? ''
    const lines = await output('python3', ['-c', code], { env: { ...process.env, ...variables } })
    if (lines === undefined) {
      t.comment('there is no python3 here: not run')
      return
    }
    t.strictSame(lines.trim().split('\n'), [
      '2026-02-24T08:30:00Z 62 bpm',
      '2026-02-24T08:45:00Z 70 bpm',
      '2026-02-24T09:10:00Z 118 bpm',
    ])
  })

  await t.test('the program in JavaScript', async (t) => {
    const code = (await blocks('docs/reading.md')).find(({ language }) => language === 'js')?.code ?? ''
    const env = { ...process.env, ...variables }
    const lines = await output(process.execPath, ['--input-type=module', '-e', code], { env })
    t.match(
      lines,
      /^heart_rate bpm \[\s+\[ '2026-02-24T08:00:00.000Z', 66 \],\s+\[ '2026-02-24T09:00:00.000Z', 118 \]\s+\]$/m,
    )
  })

  await t.test('a SIGTERM that reaches npm alone stops all of it', async (t) => {
    service.stop()
    const gone = () =>
      fetch(service.url).then(
        () => false,
        () => true,
      )
    t.ok(await waitUntil(gone, 20_000, 50))
    const pidFile = join(service.dataDir, 'postgres', 'postmaster.pid')
    t.ok(
      await waitUntil(
        async () =>
          stat(pidFile).then(
            () => false,
            () => true,
          ),
        20_000,
        50,
      ),
      'its database as well',
    )
  })
})

t.test('the table of variables in README.md is complete', async (t) => {
  const read = new Set<string>()
  loadConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  const endings =
    /^[A-Z_]+_(CLIENT_ID|CLIENT_SECRET|CLIENT_SECRET_PREVIOUS|AUTHORIZE_URL|TOKEN_URL|API_URL|DEFAULT_SCOPE)$/
  // Former names count still, but nobody should set them.
  const isFormer = (name: string) =>
    [...cloudProviders.values()].some(
      ({ id, formerPrefix }) =>
        formerPrefix !== undefined && name.startsWith(`${formerPrefix}_`) && !name.startsWith(`${id.toUpperCase()}_`),
    )
  const names = [...read].filter((name) => !isFormer(name)).map((name) => name.replace(endings, '<PROVIDER>_$1'))
  t.strictSame((await namesIn('README.md', 'Configuration')).sort(), [...new Set(names)].sort())
})

t.test('the parameters in docs/reading.md are those of the route', async (t) => {
  const { properties } = getTimeseries.query as unknown as { properties: object }
  const documented = await namesIn('docs/reading.md', 'Samples')
  t.strictSame(documented.sort(), Object.keys(properties).sort())
})

t.test('the parameters of events in docs/reading.md are those of the routes', async (t) => {
  const names = eventRoutes.flatMap(({ query }) =>
    Object.keys((query as { properties?: object } | undefined)?.properties ?? {}),
  )
  const documented = await namesIn('docs/reading.md', 'Parameters of events')
  t.strictSame(documented.sort(), [...new Set(names)].sort())
})

t.test('the types in docs/record-types.md are those of the platforms', async (t) => {
  for (const [heading, providers] of [
    ['Apple Health', ['apple']],
    ['Health Connect and Samsung Health', ['health_connect', 'samsung']],
  ] as const) {
    // The column's own name is not a type.
    const documented = (await namesIn('docs/record-types.md', heading)).filter((name) => name !== 'type')
    for (const provider of providers) {
      const types = sdkProviders.get(provider)?.records.keys() ?? []
      t.strictSame(documented.toSorted(), [...types].sort(), provider)
    }
  }
})

t.test('the parameters in docs/scores.md are those of the route', async (t) => {
  const { properties } = listHealthScores.query as unknown as { properties: object }
  const documented = await namesIn('docs/scores.md', 'Health scores')
  t.strictSame(documented.sort(), Object.keys(properties).sort())
})

t.test('the metrics in docs/operations.md are those that are offered', async (t) => {
  const { registry } = createMetrics()
  // No values are requested here, so no database is queried.
  shareMetrics(registry)
  openGates(LIMITS, registry)
  observeGrants(registry, {} as Database, { keyIds: [] })
  observeRollups(registry, {} as Database)
  observeWebhooks(registry, {} as Database)
  observeNotices(registry, {} as Database)
  observePulls(registry, {} as Database, new Map())
  const offered = registry.getMetricsAsArray()
  const documented = await namesIn('docs/operations.md', 'Probes and metrics')
  t.strictSame(
    documented.filter((name) => name.startsWith('pulsebase_')).sort(),
    offered
      .map(({ name }) => name)
      .filter((name) => name.startsWith('pulsebase_'))
      .sort(),
  )
})

t.test('the reasons in docs/uploads.md exist', async (t) => {
  const readers = (await readdir(`${ROOT}workers`)).map((name) => `workers/${name}`)
  const texts = [...readers, 'server/store/archived.ts'].map((file) => readFile(ROOT + file, 'utf8'))
  const reader = (await Promise.all(texts)).join()
  const documented = await namesIn('docs/uploads.md', 'What became of an upload')
  const statuses = ['status', 'queued', 'success', 'partial', 'skipped', 'failed', 'type']
  const fields = ['field', 'ignored_types', 'unknown_fields', 'implausible']
  const reasons = documented.filter((name) => !statuses.includes(name) && !fields.includes(name))
  for (const name of reasons) t.match(reader, `'${name}'`)
})

t.test('the programs for phones in docs/phones.md send what their examples hold', async (t) => {
  const programs = await blocks('docs/phones.md')
  for (const [language, fields, example] of [
    ['swift', /(?<=struct \w+: Encodable \{[^}]*)let (\w+)/g, 'from-healthkit.json'],
    ['kotlin', /\.put\("(\w+)"/g, 'from-health-connect.json'],
  ] as const) {
    const code = programs.find((block) => block.language === language)?.code ?? ''
    const written = [...code.matchAll(fields)].map(([, name = '']) => name)
    const body: unknown = JSON.parse(await readFile(`${ROOT}docs/examples/${example}`, 'utf8'))
    t.strictSame([...new Set(written)].sort(), [...fieldsOf(body)].sort(), language)
  }
})

/** Starts the service with the README's command, in a separate data directory. */
async function npmStart(t: Test, settings: Record<string, string>) {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'pulsebase-readme-')))
  await chmod(dataDir, 0o755)
  t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }))
  const port = String(await freePort())
  const { PATH, HOME } = process.env
  const npm = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { PATH, HOME, PORT: port, DATA_DIR: dataDir, OUTGOING_WEBHOOKS_ENABLED: 'true', ...settings },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => signalProcess(-(npm.pid ?? 0), 'SIGKILL')
  process.once('exit', end)
  t.teardown(async () => {
    end()
    process.off('exit', end)
    await stopLeftover(join(dataDir, 'postgres'), () => {}).catch(() => {})
  })
  let printed = ''
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      printed += chunk
    })
  }
  const welcome = () => /^Pulsebase is ready[\s\S]*\n\n$/m.exec(printed)?.[0].trim() ?? ''
  await waitUntil(async () => welcome() !== '' || npm.exitCode !== null, 60_000)
  const url = /ready at (\S+)/.exec(welcome())?.[1]
  const apiKey = /API key {2}(\S+)/.exec(welcome())?.[1]
  const password = /password (\S+)/.exec(welcome())?.[1]
  if (!url || !apiKey || !password) throw new Error(`npm start did not start the service: ${printed}`)
  return { url, apiKey, password, dataDir, welcome, stop: () => npm.kill('SIGTERM') }
}

async function blocks(page: string): Promise<Block[]> {
  const text = await readFile(ROOT + page, 'utf8')
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => ({ language, code }))
}

/** The names in backticks in the first column of the tables of a section. */
async function namesIn(page: string, heading: string): Promise<string[]> {
  const sections = (await readFile(ROOT + page, 'utf8')).split(/^#+ /m)
  const section = sections.find((text) => text.startsWith(`${heading}\n`)) ?? ''
  const cells = [...section.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

/** The names of all fields of a JSON value, at any depth. */
function fieldsOf(value: unknown): Set<string> {
  if (typeof value !== 'object' || value === null) return new Set()
  const names = Array.isArray(value) ? [] : Object.keys(value)
  return new Set([...names, ...Object.values(value).flatMap((part) => [...fieldsOf(part)])])
}

/** Runs a block with bash; fails with the script's own output when one of its commands fails. */
async function runShell(code: string, variables: Variables): Promise<string> {
  // Imports run in the background, a moment after their upload.
  if (variables.USER_ID) await waitUntil(async () => !(await batches(variables)).includes('"queued"'), 20_000)
  // So do deliveries, which look up the endpoint's name before they fail.
  if (code.includes('/attempts')) await waitUntil(async () => (await attempts(variables)).includes('"msgId"'), 20_000)
  const names = Object.keys(variables).join('|')
  const assignments = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`)
  const script = code.replaceAll(new RegExp(`^(${names})=.*$`, 'gm'), '')
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', assignments.join('') + script], { cwd: ROOT })
  return stdout
}

async function batches({ URL: url, KEY, USER_ID }: Variables): Promise<string> {
  const headers = { 'X-Service-API-Key': KEY }
  return (await fetch(`${url}/api/v1/sdk/users/${USER_ID}/sync/batches`, { headers })).text()
}

async function attempts({ URL: url, TOKEN, ENDPOINT_ID }: Variables): Promise<string> {
  const headers = { Authorization: `Bearer ${TOKEN}` }
  return (await fetch(`${url}/api/v1/webhooks/endpoints/${ENDPOINT_ID}/attempts`, { headers })).text()
}

/** The values the reader is told to copy from an answer. */
function remember(variables: Variables, answer: string): void {
  variables.USER_ID ||= /^\{"id":"([^"]+)"/.exec(answer)?.[1] ?? ''
  variables.BATCH_ID ||= /"batch_id":"([^"]+)"/.exec(answer)?.[1] ?? ''
  const told = (field: string) => new RegExp(`"${field}":"([^"]+)"`).exec(answer)?.[1]
  variables.APP_ID = told('app_id') ?? variables.APP_ID
  variables.APP_SECRET = told('app_secret') ?? variables.APP_SECRET
  variables.CODE = told('code') ?? variables.CODE
  variables.REFRESH_TOKEN = told('refresh_token') ?? variables.REFRESH_TOKEN
  variables.ENDPOINT_ID ||= /"id":"(ep_\w+)"/.exec(answer)?.[1] ?? ''
  variables.AUTHORIZATION_URL = told('authorization_url') ?? variables.AUTHORIZATION_URL
  variables.TASK_ID = told('task_id') ?? variables.TASK_ID
  // The first login is the developer's.
  if (variables.TOKEN) variables.PHONE_TOKEN = told('access_token') ?? variables.PHONE_TOKEN
  else variables.TOKEN = told('access_token') ?? ''
}

/** An answer without the parts that differ from run to run: ids, secrets, cursors, times and durations of this run. */
function comparable(text: string): unknown {
  const stable = text
    .trim()
    .replaceAll('\r\n', '\n')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\b(ep_|msg_|atmpt_|whsec_)[\w+/]+=?/g, '$1…')
    .replaceAll(/"(test\.[\w.…]+\.)[0-9a-f]{16}"/g, '"$1<random>"')
    .replaceAll(/("responseDurationMs": ?)\d+/g, '$1"<ms>"')
    .replaceAll(/("(?:access_token|refresh_token|app_id|app_secret|code)": ?)"[^"]+"/g, '$1"<secret>"')
    .replaceAll(/("\w+_cursor": ?)"[^"]+"/g, '$1"<cursor>"')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, '<now>')
  return /^[[{]/.test(stable) ? JSON.parse(stable) : stable
}

const firstLine = (code: string) => code.split('\n')[0] ?? ''

/** The output of a program; undefined if the program does not exist. */
async function output(program: string, args: string[], options: ExecFileOptions): Promise<string | undefined> {
  try {
    return String((await run(program, args, options)).stdout)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
