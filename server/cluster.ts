import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { AggregatorRegistry, type MetricObject } from 'prom-client'
import { BackOff } from './back-off.ts'
import { type Answer, type Ask, CHILD_DRAIN_MS, METRICS_MS, type Message, numbered, type Serving } from './child.ts'
import type { Config } from './config.ts'
import { connectionsNeeded } from './connections.ts'
import { type EmbeddedDatabase, startEmbeddedDatabase } from './db/embedded.ts'
import type { Logger } from './log.ts'
import type { Closers } from './parts.ts'
import { dataDirSecret } from './secrets.ts'
import { welcome } from './welcome.ts'

// WEB_CONCURRENCY processes behind one port. The parent owns what there is once: the embedded database, the secret, what
// the first start prints. It starts the others, replaces those that end, and adds up their metrics; it serves nothing.

/** How long it waits for them to end. One that still waits for tokens of a provider stores them without it (main.ts). */
const ENDING_MS = CHILD_DRAIN_MS + 300

const NOT_STARTED = 'the first process could not start'

/**
 * Starts the embedded database if none is configured, then `WEB_CONCURRENCY` processes that serve: the first alone, so
 * that one migrates and creates accounts. Resolves, with the reason, when it cannot continue.
 */
export async function startProcesses(config: Config, log: Logger, closers: Closers): Promise<string> {
  const { dataDir, webConcurrency } = config
  const options = { dataDir, connections: connectionsNeeded(config), log: (message: string) => log.info(message) }
  const embedded = config.databaseUrl ? undefined : await startEmbeddedDatabase(options)
  if (embedded) closers.push(() => embedded.stop())
  const secretKey = config.secretKey ?? (await dataDirSecret(dataDir))
  const url = config.databaseUrl ?? (embedded as EmbeddedDatabase).url
  const processes = new Processes({ ...process.env, DATABASE_URL: url, SECRET_KEY: secretKey }, log)
  closers.push(() => processes.stop())
  const failed = await processes.startFirst(({ port, created }) =>
    welcome({ config, port, created, embedded: embedded !== undefined }),
  )
  if (failed) return failed
  for (let number = 2; number <= webConcurrency; number += 1) processes.start(number)
  return embedded ? embedded.exited : new Promise(() => {})
}

// Each process takes connections by itself, those that are idle first. Handed out by the parent, which is what Node does
// otherwise, one that is on its way to a process that is killed at that moment is lost: its client waits for ever.
cluster.schedulingPolicy = cluster.SCHED_NONE

/** The processes that serve. */
class Processes {
  readonly #env: NodeJS.ProcessEnv
  readonly #log: Logger
  readonly #backOff = new BackOff()
  #stopping = false

  constructor(env: NodeJS.ProcessEnv, log: Logger) {
    this.#env = env
    this.#log = log
    const metrics = new AllMetrics()
    cluster.on('message', (worker, message: Message) => {
      if (message.kind === 'metrics of all') void metrics.send(worker, message.id)
    })
    cluster.on('fork', (worker) => {
      // It ended while something was sent to it, or could not begin: its exit says so, too.
      worker.on('error', (error) => log.warn({ err: error }, 'a process cannot be reached'))
      worker.once('exit', () => metrics.ended(worker))
    })
  }

  /** Starts the first process. Resolves once it serves, or with why it does not. */
  startFirst(serving: (message: Serving) => void): Promise<string | undefined> {
    return new Promise((resolve) => {
      const worker = this.#fork(1)
      // What it could not do it has said itself, unless a signal ended it.
      const ended = (_code: number, signal: string | null) => {
        if (!this.#stopping) resolve(signal ? `${NOT_STARTED}: ${signal} ended it` : NOT_STARTED)
      }
      worker.once('exit', ended)
      worker.on('message', (message: Message) => {
        if (message.kind !== 'serving') return
        worker.off('exit', ended)
        this.#replaceWhenEnded(worker, 1)
        serving(message)
        resolve(undefined)
      })
    })
  }

  /** Starts the process of this number, and another one in its place whenever it ends. */
  start(number: number): void {
    if (!this.#stopping) this.#replaceWhenEnded(this.#fork(number), number)
  }

  /** Ends every process as SIGTERM does, and waits for it. */
  async stop(): Promise<void> {
    this.#stopping = true
    const left = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isDead() === false) as Worker[]
    const ended = left.map((worker) => once(worker, 'exit'))
    for (const worker of left) worker.process.kill('SIGTERM')
    const late = new AbortController()
    await Promise.race([Promise.all(ended), delay(ENDING_MS, undefined, { signal: late.signal })])
    late.abort()
  }

  #fork(number: number): Worker {
    return cluster.fork({ ...this.#env, ...numbered(number) })
  }

  #replaceWhenEnded(worker: Worker, number: number): void {
    const startedMs = performance.now()
    worker.once('exit', async (code, signal) => {
      if (this.#stopping) return
      const waitMs = this.#backOff.afterMs(performance.now() - startedMs)
      this.#log.error({ code, signal, ended: worker.process.pid, waitMs }, 'a process ended and is replaced')
      await delay(waitMs)
      this.start(number)
    })
  }
}

/** The metrics of all processes, added up. What processes counted that ended since goes on to count. */
class AllMetrics {
  #lastId = 0
  /** The last answer of each process. */
  readonly #known = new Map<number, MetricObject[]>()
  /** Of processes that ended; one at a time is added. */
  #ended: Promise<MetricObject[]> = Promise.resolve([])

  /** Answers a process that asks for the metrics of all. */
  async send(asking: Worker, id: number): Promise<void> {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected() === true)
    await Promise.all(workers.map((worker) => this.#ask(worker as Worker)))
    const found = [...this.#known.values()]
    const metrics =
      found.length > 0 ? await AggregatorRegistry.aggregate([...found, await this.#ended]).metrics() : null
    if (asking.isConnected()) asking.send({ kind: 'answer', id, metrics } satisfies Answer)
  }

  /** Keeps what an ended process has counted: a sum that becomes less would be taken for a new start. */
  ended({ id }: Worker): void {
    const last = this.#known.get(id)
    this.#known.delete(id)
    if (!last) return
    const counts = last.filter(isCount)
    this.#ended = this.#ended.then((others) => AggregatorRegistry.aggregate([counts, others]).getMetricsAsJSON())
  }

  /** One that answers late is counted as it was. */
  #ask(worker: Worker): Promise<void> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer)
        worker.off('message', answered)
        resolve()
      }
      const answered = (message: Message) => {
        if (message.kind !== 'answer' || message.id !== id) return
        if (!worker.isDead()) this.#known.set(worker.id, message.metrics as MetricObject[])
        finish()
      }
      const timer = setTimeout(finish, METRICS_MS)
      worker.on('message', answered)
      worker.send({ kind: 'metrics of one', id } satisfies Ask)
    })
  }
}

const isCount = ({ type }: MetricObject) => String(type) === 'counter' || String(type) === 'histogram'
