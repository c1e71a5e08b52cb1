import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Database } from './database.ts'
import { type Fallback, openReplica, type Replica, type UserRead } from './replica.ts'
import { openRevisions } from './revisions.ts'

// Where reads of a user go if DATABASE_READ_URL names replicas. The primary only says which revision of the user it has; a
// replica that has it answers, and the primary takes over wherever none does. So no answer is older than the request.

/** The replicas of the database. */
export interface Replicas {
  /**
   * Runs `work` on a replica that has all that the primary has of the user by now; otherwise, and if it fails there, on
   * the primary. So `work` may run twice.
   */
  read<T>(asked: UserRead, primary: Database, work: (db: Database) => Promise<T>): Promise<T>
  /** In the order of the configuration: why one is not used, null if it is. */
  states(): { unavailable: string | null }[]
  end(): Promise<void>
}

interface ReplicasOptions {
  urls: readonly string[]
  primary: Database
  /** Of each replica. */
  maxConnections: number
  metrics: Metrics
  log: Logger
}

/** Connects to replicas, each of which is used once it is known to be one of this database. */
export function openReplicas({ urls, primary, maxConnections, metrics, log }: ReplicasOptions): Replicas {
  const shared = { primary, maxConnections, metrics, log }
  const replicas = urls.map((url, index) => openReplica({ url, name: `${index + 1}`, ...shared }))
  const revisions = openRevisions(primary)
  let turn = 0

  /** The next one in use, by turns. */
  function next(): Replica | undefined {
    const usable = replicas.filter(({ unavailable }) => unavailable() === null)
    turn += 1
    return usable[turn % usable.length]
  }

  return {
    async read(asked, primaryOfRead, work) {
      const onPrimary = (reason: Fallback) => {
        metrics.replicaFallbacks.inc({ reason })
        metrics.reads.inc({ answered_by: 'primary' })
        return work(primaryOfRead)
      }
      const replica = next()
      if (!replica) return onPrimary('unavailable')
      const wanted = await revisions.of(asked.userId)
      // Nobody the primary knows: it says so.
      if (!wanted) return work(primaryOfRead)
      const outcome = await replica.answer(asked, wanted, work)
      if ('fallback' in outcome) return onPrimary(outcome.fallback)
      metrics.reads.inc({ answered_by: replica.name })
      return outcome.answer
    },
    states: () => replicas.map(({ unavailable }) => ({ unavailable: unavailable() })),
    async end() {
      await Promise.all(replicas.map((replica) => replica.end()))
    },
  }
}
