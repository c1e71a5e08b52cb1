import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BuildOptions, BuildResult, Metafile, OutputFile } from 'esbuild'
import type { Logger } from './log.ts'

const SOURCE = fileURLToPath(new URL('../console/', import.meta.url))

/** Where the page finds its files. */
export const ASSETS_PATH = '/console/assets/'

/** The web console as browsers load it. */
export interface ConsoleFiles {
  /** HTML. */
  page: string
  /** The files that the page loads, by a name that changes with their content. */
  assets: ReadonlyMap<string, Buffer>
}

/** The files of the console, built once in this process. */
export interface Console {
  /** The files; the first call builds them. A build that failed is not tried again for a minute. Throws its error. */
  files(): Promise<ConsoleFiles>
}

/** After a failed build: another one would hardly go better at once, and anybody may ask for the page. */
const RETRY_MS = 60_000

/** Holds the files of the console, and logs why they cannot be built; `build` stands in for `buildConsole` in tests. */
export function openConsole(log: Logger, build: () => Promise<ConsoleFiles> = buildConsole): Console {
  let built: Promise<ConsoleFiles> | undefined
  let retryAtMs = Number.POSITIVE_INFINITY
  return {
    files() {
      if (built && Date.now() < retryAtMs) return built
      retryAtMs = Number.POSITIVE_INFINITY
      built = build().catch((error) => {
        log.error({ err: error }, 'the console could not be built')
        retryAtMs = Date.now() + RETRY_MS
        throw error
      })
      return built
    },
  }
}

type Bundled = Pick<BuildResult<{ write: false; metafile: true }>, 'outputFiles' | 'metafile'>

/** What the bundler does with `console/`. */
export const BUNDLE = {
  absWorkingDir: SOURCE,
  entryPoints: ['main.tsx'],
  outdir: '.',
  bundle: true,
  splitting: true,
  minify: true,
  write: false as const,
  metafile: true as const,
  format: 'esm' as const,
  target: 'es2022',
  jsx: 'automatic' as const,
  jsxImportSource: 'preact',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  logLevel: 'silent' as const,
} satisfies BuildOptions & { write: false; metafile: true }

/**
 * Bundles `console/` in memory: nothing is written, so it works in a read-only image and for any user. The bundler runs
 * in a process of its own, which ends afterwards. Throws an Error when the source cannot be bundled.
 */
export async function buildConsole(): Promise<ConsoleFiles> {
  // Only now: nothing else needs it, and the API starts without waiting for it.
  const { build, stop } = await import('esbuild')
  try {
    return await filesOf(await build(BUNDLE))
  } finally {
    await stop()
  }
}

/** The page and its files, of what the bundler made. */
export async function filesOf({ outputFiles, metafile }: Bundled): Promise<ConsoleFiles> {
  const html = await readFile(`${SOURCE}index.html`, 'utf8')
  return { page: withPreloads(withHashes(html, outputFiles), metafile), assets: assetsOf(outputFiles) }
}

const assetsOf = (files: readonly OutputFile[]) =>
  new Map(files.map(({ path, contents }) => [basename(path), Buffer.from(contents)]))

/** The page with the names of the built files in place of `main.js` and `main.css`. */
function withHashes(html: string, files: readonly OutputFile[]): string {
  return html.replaceAll(new RegExp(`(?<=${ASSETS_PATH})main\\.(js|css)`, 'g'), (name, ending) => {
    const found = files
      .map(({ path }) => basename(path))
      .find((one) => /^main-/.test(one) && one.endsWith(`.${ending}`))
    if (!found) throw new Error(`the build has no ${name}`)
    return found
  })
}

/** The page with links to what its script imports, so that the browser asks for all of it at once. */
function withPreloads(page: string, { outputs }: Metafile): string {
  const main = Object.entries(outputs).find(([path]) => /^main-.*\.js$/.test(path))
  const imports = main?.[1].imports.filter(({ kind }) => kind === 'import-statement') ?? []
  const links = imports.map(({ path }) => `<link rel="modulepreload" href="${ASSETS_PATH}${basename(path)}">`)
  return page.replace('</head>', `  ${links.join('\n    ')}\n  </head>`)
}
