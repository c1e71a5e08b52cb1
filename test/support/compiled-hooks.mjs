// The module hooks of compiled.mjs.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

let sources
let compiled

/** Takes the URLs of the checkout and of the folder of its compiled files. */
export function initialize(data) {
  ;({ sources, compiled } = data)
}

/** Resolves an entry to its compiled file; all that this imports is compiled too, or a package. */
export function resolve(specifier, context, next) {
  if (!specifier.startsWith(sources) || !specifier.endsWith('.ts')) return next(specifier, context)
  const url = `${compiled}${specifier.slice(sources.length, -'.ts'.length)}.js`
  return existsSync(fileURLToPath(url)) ? { url, format: 'module', shortCircuit: true } : next(specifier, context)
}
