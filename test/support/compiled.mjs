// Preloaded by every process of the tests (see .taprc): lets it run what before.ts compiled for this run of tap, since
// importing some hundred files one by one takes a second. What is not compiled runs as the service does.
import hooks from 'node:async_hooks'
import { existsSync } from 'node:fs'
import { register, syncBuiltinESMExports } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const sources = new URL('../../', import.meta.url).href
const compiled = `${sources}.tap/compiled/${process.env.TAP_RUN ?? process.ppid}/`
const entry = isMainThread ? pathToFileURL(process.argv[1]).href : undefined

// tap follows every promise, to say which test an error belongs to that nobody caught: a third of the time of a
// request. Without it such an error ends the file, which fails.
hooks.createHook = () => ({ enable() {}, disable() {} })
syncBuiltinESMExports()

// It also has every process that a test starts record what it imports and keep source maps: a fifth of its start.
globalThis[Symbol.for('process-on-spawn@*:singletonId')]?.unwrap()

// What begins with a compiled file, as all threads do, imports nothing else, so it needs no thread that resolves its
// imports: 0.1 s.
const isCompiled = entry ? entry.startsWith(compiled) : existsSync(fileURLToPath(compiled))
if (!isCompiled) {
  await import('../../server/typescript.mjs')
  const file = entry?.replace(sources, compiled).replace(/\.ts$/, '.js')
  if (file && existsSync(fileURLToPath(file)))
    register('./compiled-hooks.mjs', import.meta.url, { data: { sources, compiled } })
}
