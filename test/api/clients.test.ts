// Clients generated from /openapi.json: compiled, and run against the service with the programs of docs/examples.
import { execFile } from 'node:child_process'
import { access, copyFile, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, startImports } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const [engine] = engines()
if (!engine) throw new Error('no engine')

/** Runs a program in a folder, as a shell would: without the environment that tap adds to test processes. */
const run = (program: string, args: string[], cwd: string) =>
  promisify(execFile)(program, args, { cwd, env: { PATH: process.env.PATH, HOME: process.env.HOME } })

/** The output of both programs for the samples below. */
const PRINTED = ['2026-02-24T08:00:00Z 61 bpm apple', '2026-02-24T08:01:00Z 62.5 bpm apple', '2 of 3', ''].join('\n')

const generator = await pythonGenerator()

t.test('clients in other programs', async (t) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const at = Date.parse('2026-02-24T08:00:00Z')
  const values = [61, 62.5, 70]
  await importBody(app, user, body(values.map((value, minute) => heartRate(at + minute * 60_000, value))))

  await t.test('openapi-typescript and openapi-fetch read a page of samples', async (t) => {
    const folder = await clientFolder(t, app)
    const node = (...args: string[]) => run(process.execPath, args, folder)
    const hook = join(ROOT, 'test/support/typescript-api.mjs')
    const cli = join(ROOT, 'node_modules/openapi-typescript/bin/cli.js')
    await node(
      `--import=${new URL(`file://${hook}`)}`,
      cli,
      'openapi.json',
      '--default-non-nullable',
      'false',
      '--output',
      'pulsebase.ts',
    )
    await copyFile(join(ROOT, 'docs/examples/read-samples.ts'), join(folder, 'read-samples.ts'))
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    await writeFile(join(folder, 'wrong.ts'), WRONG)
    await node(join(ROOT, 'node_modules/typescript/lib/tsc.js'))
    const { stdout } = await node(LOADER, 'read-samples.ts', app.url, app.apiKey, user)
    t.equal(stdout, PRINTED)
  })

  const without = !generator && 'openapi-python-client is not installed'
  await t.test('openapi-python-client reads a page of samples', { skip: without }, async (t) => {
    if (!generator) return
    const folder = await clientFolder(t, app)
    await writeFile(join(folder, 'config.yml'), 'post_hooks: []\n')
    const options = ['--config', 'config.yml', '--meta', 'none', '--output-path', 'pulsebase', '--fail-on-warning']
    await run(generator, ['generate', '--path', 'openapi.json', ...options], folder)
    await copyFile(join(ROOT, 'docs/examples/read_samples.py'), join(folder, 'read_samples.py'))
    // The Python that runs the generator has the packages its clients need.
    const python = join(dirname(generator), 'python3')
    await run(python, ['-m', 'compileall', '-q', 'pulsebase'], folder)
    const { stdout } = await run(python, ['read_samples.py', app.url, app.apiKey, user], folder)
    t.equal(stdout, PRINTED)
  })
})

/** What runs TypeScript, as the service runs its own. */
const LOADER = `--import=${new URL('../../server/typescript.mjs', import.meta.url)}`
const TSCONFIG = {
  compilerOptions: {
    ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2023', types: ['node'] },
    ...{ allowImportingTsExtensions: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  },
  include: ['*.ts'],
}

/** Requests that the types of a client must reject. */
const WRONG = `import createClient from 'openapi-fetch'
import type { components, paths } from './pulsebase.ts'

const client = createClient<paths>({ baseUrl: '' })
const path = { user_id: '' }
// @ts-expect-error: no such type of series
client.GET('/api/v1/users/{user_id}/timeseries', { params: { path, query: { start_time: '', end_time: '', types: ['pulse'] } } })
// @ts-expect-error: without the range
client.GET('/api/v1/users/{user_id}/timeseries', { params: { path, query: {} } })
// @ts-expect-error: no such path
client.GET('/api/v1/samples')
// A field with a default may be left out.
client.POST('/api/v1/developer/api-keys', { body: {} })

type Event = components['schemas']['HeartRateCreatedEvent']
export const values = ({ data }: Event): number[] => data.samples.map(({ value }) => value)
`

/** A folder within the project, so that its packages are found, with the served description. */
async function clientFolder(t: Test, app: TestApp): Promise<string> {
  const parent = join(ROOT, '.tap')
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, 'client-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const description = await app.request('GET', '/openapi.json')
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(description.body))
  return folder
}

/** The openapi-python-client on the PATH, if any; its Python is beside it. */
async function pythonGenerator(): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const found = await realpath(join(folder, 'openapi-python-client')).catch(() => undefined)
    if (
      found &&
      (await access(join(dirname(found), 'python3')).then(
        () => true,
        () => false,
      ))
    )
      return found
  }
  return undefined
}
