import { readdir, readFile, rm } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** A run of tap, by its process id. */
interface Run {
  pid: number
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COMPILED = `${ROOT}.tap/compiled/`

/** The tests; everything they import is compiled with them. */
const TESTS = ['test/**/*.test.ts', 'test/**/*.long.ts', 'test/suites/*.ts']

/**
 * The processes and threads that tests start. They are compiled apart from the tests, which would split what they
 * import into three times as many files.
 */
const STARTED = [
  'test/support/clocked-main.ts',
  'test/support/embedded-main.ts',
  'test/support/hurried-main.ts',
  'test/support/measured-main.ts',
  'test/support/refreshing-main.ts',
  'server/main.ts',
  'server/console-code.ts',
  'server/replay.ts',
  'server/list-providers.ts',
  'server/list-sources.ts',
  'server/webhooks/listen.ts',
  'workers/sdk-upload.ts',
  'workers/sample-events.ts',
  'workers/parcel.ts',
  'workers/notices.ts',
  'workers/warm-up.ts',
  'demo/main.ts',
  'demo/worker.ts',
  'simulator/main.ts',
]

/** Packages that are bundled: those of many files, none of which looks for files beside its own. */
const COMPILED_IN = new Set(
  '@koa/router ajv ajv-formats graphile-worker jose koa koa-body msgpackr pg prom-client typebox undici'.split(' '),
)
const packageOf = (path: string) => path.split('/', path.startsWith('@') ? 2 : 1).join('/')

/** How the service names the entries of its threads, and how its compiled files do: a thread then needs no module hooks. */
const THREADS: [RegExp, (compiled: string) => string][] = [
  [
    /new URL\('\.\.\/workers\/', import\.meta\.url\)/g,
    (compiled) => `new URL(${JSON.stringify(`${compiled}/workers/`)})`,
  ],
  [/(?<=\$\{workers\}[\w-]+)\.ts/g, () => '.js'],
  [/'\.\.\/demo\/worker\.ts'(?=\))/g, (compiled) => JSON.stringify(`${compiled}/demo/worker.js`)],
]

/** A compiled file finds SQL and samples where its source does, and most packages in the usual way. */
const inPlace = (outdir: string): Plugin => ({
  name: 'in place',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8')
      for (const [source, compiled] of THREADS)
        contents = contents.replaceAll(source, compiled(pathToFileURL(outdir).href))
      contents = contents.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      return { contents, loader: 'ts' }
    })
    onResolve({ filter: /^[^./]/ }, ({ path, kind, importer }) =>
      kind === 'entry-point' || importer.includes('node_modules') || COMPILED_IN.has(packageOf(path))
        ? undefined
        : { path, external: true },
    )
  },
})

/** Compiles the tests, and the service as they start it, for a run of tap. */
export async function compileTests({ pid }: Run): Promise<void> {
  await Promise.all([TESTS, STARTED].map((entryPoints) => compile(entryPoints, `${COMPILED}${pid}`)))
}

async function compile(entryPoints: string[], outdir: string): Promise<void> {
  await build({
    entryPoints,
    absWorkingDir: ROOT,
    outdir,
    outbase: ROOT,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Bundled CommonJS code requires Node's own modules through this.
    banner: {
      js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`,
    },
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'error',
    plugins: [inPlace(outdir)],
  })
}

/** Removes compiled files, except those of these runs. */
export async function removeCompiled(runs: readonly Run[]): Promise<void> {
  const kept = runs.map(({ pid }) => String(pid))
  const found = await readdir(COMPILED).catch(() => [])
  for (const run of found.filter((name) => !kept.includes(name))) await rm(COMPILED + run, { recursive: true })
}
