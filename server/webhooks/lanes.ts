import type { Metrics } from '../metrics.ts'
import { openRecorder } from './attempts.ts'
import { Bodies } from './bodies.ts'
import { Calls } from './calls.ts'
import { coalesce } from './coalesce.ts'
import { readDue } from './due.ts'
import { type LeaseOptions, Leases } from './leases.ts'

/** What deliveries need beside leases. */
interface LanesOptions extends LeaseOptions {
  metrics: Metrics
}

/** Delivers what is due. */
export interface Lanes {
  /** Something may have become due, or an endpoint may have changed. */
  wake(): void
  /** Begins no more calls and gives those in flight some seconds; what they leave is due again. */
  stop(): Promise<void>
}

/**
 * Starts to deliver. Endpoints are leased from the database, so that each is served by one process at a time; a call is
 * made without anything being written before, and recorded after it. Whether something is due is decided by the clock of
 * the database; only `hook-timestamp` is of this process.
 */
export function startLanes(options: LanesOptions): Lanes {
  const { db, processId, metrics, log } = options
  const leases = new Leases(options)
  const bodies = new Bodies(db)
  const recorder = openRecorder(db, log, (attempts) => {
    for (const { lane, due } of attempts) {
      lane.known.delete(due.eventId)
      leases.forget(lane)
    }
    // More may wait to be recorded now.
    calls.begin()
  })
  const calls = new Calls({ leases, bodies, recorder, metrics, log, wanting: () => cycle.wake() })
  let changed = true
  const cycle = coalesce(
    async () => {
      if (await leases.renew()) changed = true
      if (changed) {
        changed = false
        await leases.take()
      }
      await readDue(db, processId(), leases.lanes, bodies)
      calls.begin()
    },
    (error) => {
      changed = true
      log.warn({ err: error }, 'cannot read what is to be delivered, trying again')
    },
  )
  return {
    wake() {
      changed = true
      cycle.wake()
      if (recorder.size() > 0) recorder.wake()
    },
    async stop() {
      const stopped = calls.stop()
      await cycle.stop()
      await stopped
      await leases.close()
      await recorder.stop()
      await leases.release()
    },
  }
}
