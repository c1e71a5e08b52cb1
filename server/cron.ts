import { schedule } from 'node-cron'
import type { Config } from './config.ts'
import type { Logger } from './log.ts'
import type { Jobs } from './queue.ts'

/** Scheduled jobs. An entry only enqueues, under a key, so any number of processes may run the clock. */
const ENTRIES: readonly [expression: string, job: string][] = [
  ['*/15 * * * * *', 'recover_processes'],
  ['* * * * *', 'refresh_rollups'],
  ['* * * * *', 'plan_pulls'],
  ['* * * * *', 'refresh_grants'],
  ['* * * * *', 'subscribe_accounts'],
  ['23 * * * *', 'reseal'],
  ['7 * * * *', 'close_silent_runs'],
  ['37 4 * * *', 'repair_subscriptions'],
  ['*/5 * * * *', 'close_sleep'],
  ['0 3 * * *', 'archive'],
  ['17 3 * * *', 'prune'],
  ['41 1 * * *', 'thin_rollups'],
  ['41 2 * * *', 'compress_chunks'],
]

type Intervals = Pick<Config, 'sleepScoreIntervalSeconds' | 'resilienceScoreIntervalSeconds'>

/** Starts the clock; returns a function that stops it. */
export function startCron(jobs: Jobs, intervals: Intervals, log: Logger): () => Promise<void> {
  const enqueue = async (job: string) => {
    try {
      await jobs.enqueue(job, `cron:${job}`)
    } catch (error) {
      log.warn({ err: error, job }, 'cannot enqueue a scheduled job')
    }
  }
  const logger = cronLogger(log)
  const entries = ENTRIES.map(([expression, job]) =>
    schedule(expression, () => enqueue(job), { timezone: 'UTC', noOverlap: true, logger }),
  )
  const every = (seconds: number, job: string) => setInterval(() => void enqueue(job), seconds * 1000)
  // An interval in seconds need not divide an hour, as a cron expression would require.
  const timers = [
    every(intervals.sleepScoreIntervalSeconds, 'score_sleep'),
    every(intervals.resilienceScoreIntervalSeconds, 'score_resilience'),
  ]
  return async () => {
    for (const timer of timers) clearInterval(timer)
    for (const entry of entries) await entry.stop()
  }
}

/** Messages of the clock itself, such as a missed tick; it would print them as text. */
function cronLogger(log: Logger) {
  const write = (level: 'error' | 'debug') => (message: string | Error, err?: Error) =>
    message instanceof Error ? log[level]({ err: message }, 'clock') : log[level]({ ...(err && { err }) }, message)
  return {
    info: (message: string) => log.info(message),
    warn: (message: string) => log.warn(message),
    error: write('error'),
    debug: write('debug'),
  }
}
