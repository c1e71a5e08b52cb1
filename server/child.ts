import cluster from 'node:cluster'
import { Gauge, type MetricObject, type Registry } from 'prom-client'
import type { Bootstrap } from './api/auth/bootstrap.ts'
import type { ShownMetrics } from './metrics.ts'
import { ALONE, type Place } from './shares.ts'

// What one of several processes behind a port and its parent (cluster.ts) say to each other.

/** What a process says when it serves, with what it created. */
export interface Serving {
  kind: 'serving'
  port: number
  created: Bootstrap
}

/** Asks for metrics: a process those of all, and the parent those of each. */
export interface Ask {
  kind: 'metrics of all' | 'metrics of one'
  id: number
}

/** An answer to `Ask`: the parent's is the text of all, null when there is none; that of a process its own metrics. */
export interface Answer {
  kind: 'answer'
  id: number
  metrics: MetricObject[] | string | null
}

/** Any of them. */
export type Message = Serving | Ask | Answer

/** Whether this is one of several processes behind one port. */
export const isOneOfSeveral = (): boolean => cluster.isWorker

const NUMBER = 'PULSEBASE_PROCESS'

/** The variables that say to a process which of them it is. */
export const numbered = (number: number): Record<string, string> => ({ [NUMBER]: String(number) })

/** Which of so many processes this is; one that replaces another has its place. */
export const placeOf = (count: number): Place =>
  isOneOfSeveral() ? { number: Number(process.env[NUMBER]), count } : ALONE

/** Whether this is the first of them, or the only one; not one that replaces it. */
export const isFirst = (): boolean => cluster.worker === undefined || cluster.worker.id === 1

/** Time from SIGTERM to the end of one of several processes: what is left of the parent's is for the embedded database. */
export const CHILD_DRAIN_MS = 18_000

/** Ends this process by `stop` when the parent is gone, and with it the port; Node would end it at once. */
export function outliveParent(stop: () => void): void {
  if (!cluster.worker) return
  cluster.worker.exitedAfterDisconnect = true
  process.once('disconnect', stop)
}

/** Tells the parent that this process serves. */
export function tellServing(port: number, created: Bootstrap): void {
  process.send?.({ kind: 'serving', port, created } satisfies Serving)
}

let lastId = 0

/** How long a process has for its metrics, some of which wait a second for the database (metrics.ts). */
export const METRICS_MS = 2_500

/** Adds the metrics of this process to those of the others, if there are others, and counts the processes. */
export function shareMetrics(registry: Registry): ShownMetrics {
  const help = 'Processes behind this port that answer'
  new Gauge({ name: 'pulsebase_processes', help, registers: [registry] }).set(1)
  if (!isOneOfSeveral()) return { text: () => registry.metrics() }
  const asked = new Map<number, (text: string | null) => void>()
  process.on('message', async (message: Message) => {
    if (message.kind === 'metrics of one') {
      const metrics = await registry.getMetricsAsJSON()
      process.send?.({ kind: 'answer', id: message.id, metrics } satisfies Answer)
    }
    if (message.kind === 'answer') asked.get(message.id)?.(message.metrics as string | null)
  })
  return {
    async text() {
      lastId += 1
      const id = lastId
      const sum = new Promise<string | null>((resolve) => {
        asked.set(id, resolve)
        setTimeout(resolve, 2 * METRICS_MS, null).unref()
      })
      process.send?.({ kind: 'metrics of all', id } satisfies Ask)
      const text = await sum
      asked.delete(id)
      return text ?? registry.metrics()
    },
  }
}
