// Does for older Node what newer does by itself, with the same compiler: types become spaces, so that lines and columns
// of an error stay those of the source.
import { readFile } from 'node:fs/promises'

let compiler

/** Loads a module (https://nodejs.org/docs/latest-v20.x/api/module.html#loadurl-context-nextload). */
export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context)
  const text = await readFile(new URL(url), 'utf8')
  compiler ??= await import('@swc/wasm-typescript')
  const { code } = compiler.transformSync(text, { mode: 'strip-only', module: true })
  return { format: 'module', source: code, shortCircuit: true }
}
