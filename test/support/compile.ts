import { readdir, readFile, rm } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** A run of tap, by its process id. */
interface Run {
  pid: number
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COMPILED = `${ROOT}.tap/compiled/`

/** What a process or a thread of the tests starts with; all they import is compiled with them. */
const ENTRIES = [
  'test/**/*.test.ts',
  'test/**/*.long.ts',
  'test/support/clocked-main.ts',
  'test/support/measured-main.ts',
  'server/main.ts',
  'server/replay.ts',
  'server/webhooks/listen.ts',
  'workers/sdk-upload.ts',
  'workers/sample-events.ts',
]

/** A compiled file finds SQL, samples and threads where its source does, and packages as it would. */
const inPlace: Plugin = {
  name: 'in place',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
      loader: 'ts',
    }))
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || path === 'typebox' ? undefined : { path, external: true },
    )
  },
}

/** Compiles the tests, and the service as they start it, for a run of tap. */
export async function compileTests({ pid }: Run): Promise<void> {
  await build({
    entryPoints: ENTRIES,
    absWorkingDir: ROOT,
    outdir: `${COMPILED}${pid}`,
    outbase: ROOT,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'error',
    plugins: [inPlace],
  })
}

/** Removes what was compiled, but not for these runs. */
export async function removeCompiled(runs: readonly Run[]): Promise<void> {
  const kept = runs.map(({ pid }) => String(pid))
  const found = await readdir(COMPILED).catch(() => [])
  for (const run of found.filter((name) => !kept.includes(name))) await rm(COMPILED + run, { recursive: true })
}
