import { schedule } from 'node-cron'
import type { Jobs } from './jobs.ts'
import type { Logger } from './log.ts'

/** What happens on a clock. An entry only enqueues, under a key, so any number of processes may tick. */
const ENTRIES: readonly [expression: string, job: string][] = [
  ['*/15 * * * * *', 'recover_processes'],
  ['* * * * *', 'refresh_rollups'],
  ['7 * * * *', 'close_silent_runs'],
  ['*/5 * * * *', 'close_sleep'],
  ['0 3 * * *', 'archive'],
  ['17 3 * * *', 'prune'],
  ['41 2 * * *', 'compress_chunks'],
]

/** Starts the clock; returns how to stop it. */
export function startCron(jobs: Jobs, log: Logger): () => Promise<void> {
  const entries = ENTRIES.map(([expression, job]) =>
    schedule(
      expression,
      async () => {
        try {
          await jobs.enqueue(job, `cron:${job}`)
        } catch (error) {
          log.warn({ err: error, job }, 'cannot enqueue a scheduled job')
        }
      },
      { timezone: 'UTC', noOverlap: true },
    ),
  )
  return async () => {
    for (const entry of entries) await entry.stop()
  }
}
