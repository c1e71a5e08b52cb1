import { existsSync } from 'node:fs'
import nodeModule from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CHILD_DRAIN_MS, isOneOfSeveral, outliveParent } from './child.ts'
import { startProcesses } from './cluster.ts'
import { type Config, ConfigError, loadConfig } from './config.ts'
import { configWarnings } from './config-warnings.ts'
import { type Logger, logProcess, openLog } from './log.ts'
import type { AccessTokens } from './oauth/refresh.ts'
import type { Closers } from './parts.ts'
import { REQUEST_MS } from './provider-client/http.ts'

/** Time from SIGTERM to the end, whatever still runs; the embedded database stops last. */
const DRAIN_MS = 19_000

/**
 * How much longer tokens that were asked for are waited for: they may be the only ones that work from then on. The parent
 * of several processes does not wait for that: they go on without it.
 */
const REFRESH_MS = REQUEST_MS + 5_000 - DRAIN_MS

/** How often it is looked whether a start that goes on meanwhile has added steps. */
const LOOK_MS = 50

/** Undoes steps, the last one first; those that are added meanwhile first of all: one under way may wait for them. */
async function close(closers: Closers, log: Logger): Promise<void> {
  const begun = new Set<Promise<void>>()
  while (closers.length + begun.size > 0) {
    const step = closers.pop()
    if (step) {
      const undone = undo(step, log).finally(() => begun.delete(undone))
      begun.add(undone)
    }
    const left = closers.length
    while (begun.size > 0 && closers.length === left) await Promise.race([...begun, delay(LOOK_MS)])
  }
}

async function undo(step: () => Promise<unknown>, log: Logger): Promise<void> {
  try {
    await step()
  } catch (error) {
    log.error({ err: error }, 'a part did not stop cleanly')
  }
}

/** Has Node keep what it compiles, from 22.1 on, for the next start; where there is no such folder yet, none is made. */
function keepCompiled({ dataDir }: Config): void {
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (directory: string) => unknown }
  if (existsSync(dataDir)) enableCompileCache?.(join(dataDir, 'compiled'))
}

/** Serves, or starts several processes that do. Resolves, with the reason, when it cannot continue. */
async function begin(config: Config, log: Logger, closers: Closers, tokens: AccessTokens[]): Promise<string> {
  if (config.webConcurrency > 1 && !isOneOfSeveral()) return startProcesses(config, log, closers)
  keepCompiled(config)
  const { startParts } = await import('./parts.ts')
  return startParts(config, log, closers, tokens)
}

async function main(): Promise<void> {
  const config = loadConfig(process.env)
  const log = openLog(config.logLevel)
  if (isOneOfSeveral()) {
    // The parent has said what is to be said. What it passed on is nobody else's.
    for (const name of ['SECRET_KEY', 'DATABASE_URL']) delete process.env[name]
  } else for (const warning of configWarnings(process.env)) log.warn(warning)
  const closers: Closers = []
  const tokens: AccessTokens[] = []
  let stopping = false
  async function stop(code: number): Promise<void> {
    if (stopping) return
    stopping = true
    const refreshed = Promise.all(tokens.map((one) => one.stop()))
    setTimeout(
      () => {
        log.error('could not finish in time, stopping anyway')
        setTimeout(() => process.exit(code), REFRESH_MS)
        void refreshed.finally(() => process.exit(code))
      },
      isOneOfSeveral() ? CHILD_DRAIN_MS : DRAIN_MS,
    ).unref()
    await close(closers, log)
    process.exit(code)
  }
  logProcess(log, () => void stop(1))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      log.info({ signal }, 'stopping')
      void stop(0)
    })
  }
  outliveParent(() => void stop(1))
  try {
    const reason = await begin(config, log, closers, tokens)
    if (!stopping) log.fatal(reason)
    await stop(1)
  } catch (error) {
    if (!stopping) {
      if (!(error instanceof ConfigError)) log.fatal({ err: error }, 'could not start')
      sayCannotStart(error)
    }
    await stop(1)
  }
}

function sayCannotStart(error: unknown): void {
  process.stderr.write(`Cannot start: ${reasonOf(error)}\n`)
}

/** The text of an error; a refused connection has none of its own, only one error per address tried. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

main().catch((error: unknown) => {
  sayCannotStart(error)
  process.exit(1)
})
