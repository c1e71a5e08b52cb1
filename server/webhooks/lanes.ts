import type { Metrics } from '../metrics.ts'
import { openRecorder } from './attempts.ts'
import { Bodies } from './bodies.ts'
import { coalesce } from './coalesce.ts'
import { Calls } from './deliver.ts'
import { readDue } from './due.ts'
import { wantedOf } from './lane.ts'
import { type LeaseOptions, Leases } from './leases.ts'

/** Everything that deliveries need besides leases. */
interface LanesOptions extends LeaseOptions {
  metrics: Metrics
}

/** Delivers due events. */
export interface Lanes {
  /** Call it when something may be due, or an endpoint may have changed. */
  wake(): void
  /** Begins no more calls and gives those in flight some seconds; unfinished deliveries are due again. */
  stop(): Promise<void>
}

/**
 * Starts to deliver. Endpoints are leased from the database, so that one process at a time serves each. Nothing is
 * written before a call; the attempt is recorded after it. The clock of the database decides what is due; only
 * `hook-timestamp` is of this process.
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
      // A look at the feed ends somewhere, and may have found nothing.
      if (leases.behind) await leases.lookOn()
      if (leases.behind || Array.from(leases.lanes).some((lane) => wantedOf(lane).feed > 0)) cycle.wake()
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
