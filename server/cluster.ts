import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { AggregatorRegistry, type MetricObject } from 'prom-client'
import { type Answer, type Ask, METRICS_MS, type Message, type Serving } from './child.ts'
import type { Config } from './config.ts'
import { type EmbeddedDatabase, startEmbeddedDatabase } from './db/embedded.ts'
import type { Logger } from './log.ts'
import type { Closers } from './parts.ts'
import { dataDirSecret } from './secrets.ts'
import { welcome } from './welcome.ts'

// WEB_CONCURRENCY processes behind one port. The parent owns what there is once: the embedded database, the secret, what
// the first start prints. It starts the others, replaces those that end, and adds up their metrics; it serves nothing.

/** A process that ended is replaced after a second, and after twice as long each time that others end soon. */
const AGAIN_MS = 1_000
const LONGEST_MS = 30_000
/** A process that lived as long did not end because of how it starts. */
const SETTLED_MS = 60_000

const NOT_STARTED = 'the first process could not start'

/**
 * Starts the embedded database if none is configured, then `WEB_CONCURRENCY` processes that serve: the first alone, so
 * that one migrates and creates accounts. Resolves, with the reason, when it cannot continue.
 */
export async function startProcesses(config: Config, log: Logger, closers: Closers): Promise<string> {
  const { dataDir, webConcurrency } = config
  const options = { dataDir, processes: webConcurrency, log: (message: string) => log.info(message) }
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
  processes.startOthers(webConcurrency - 1)
  return embedded ? embedded.exited : new Promise(() => {})
}

// Each process takes connections by itself, those that are idle first. Handed out by the parent, which is what Node does
// otherwise, one that is on its way to a process that is killed at that moment is lost: its client waits for ever.
cluster.schedulingPolicy = cluster.SCHED_NONE

/** The processes that serve. */
class Processes {
  readonly #env: NodeJS.ProcessEnv
  readonly #log: Logger
  #stopping = false
  #waitMs = AGAIN_MS

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
      const worker = cluster.fork(this.#env)
      const ended = () => {
        if (!this.#stopping) resolve(NOT_STARTED)
      }
      worker.once('exit', ended)
      worker.on('message', (message: Message) => {
        if (message.kind !== 'serving') return
        worker.off('exit', ended)
        this.#replaceWhenEnded(worker)
        serving(message)
        resolve(undefined)
      })
    })
  }

  startOthers(count: number): void {
    for (let n = 0; n < count; n += 1) this.#start()
  }

  /** Ends every process as SIGTERM does, and waits for it. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(
      Object.values(cluster.workers ?? {}).map(async (worker) => {
        if (!worker || worker.isDead()) return
        worker.process.kill('SIGTERM')
        await once(worker, 'exit')
      }),
    )
  }

  #start(): void {
    if (!this.#stopping) this.#replaceWhenEnded(cluster.fork(this.#env))
  }

  #replaceWhenEnded(worker: Worker): void {
    const startedMs = performance.now()
    worker.once('exit', async (code, signal) => {
      if (this.#stopping) return
      if (performance.now() - startedMs >= SETTLED_MS) this.#waitMs = AGAIN_MS
      const waitMs = this.#waitMs
      this.#waitMs = Math.min(LONGEST_MS, waitMs * 2)
      this.#log.error({ code, signal, pid: worker.process.pid, waitMs }, 'a process ended and is replaced')
      await delay(waitMs)
      this.#start()
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
