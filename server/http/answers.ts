import type { ServerResponse } from 'node:http'
import { errors } from '../errors.ts'
import type { Limits } from '../limits.ts'

/** Smaller answers are not counted: they fit into the buffers of the connection. */
const SMALL_BYTES = 64 * 1024

/** Answers in flight: complete in memory, but not yet taken by their clients. */
export interface Answers {
  /** Makes sure that the caller may have another large answer. @throws AppError overloaded */
  admit(caller: string): void
  /** Counts the bytes of an answer while something is done with it; returns what ends that. */
  holding(caller: string, bytes: number): () => void
  /** Counts the bytes of an answer until it is taken; a client that takes it too slowly is disconnected. */
  sending(caller: string, bytes: number, res: ServerResponse): void
}

/** Creates the count of answers in flight; it holds neither the answers nor a database connection for them. */
export function countAnswers({ answers, answerPace }: Pick<Limits, 'answers' | 'answerPace'>): Answers {
  let bytesOfAll = 0
  const bytesOf = new Map<string, number>()
  function change(caller: string, by: number): void {
    bytesOfAll += by
    const now = (bytesOf.get(caller) ?? 0) + by
    if (now > 0) bytesOf.set(caller, now)
    else bytesOf.delete(caller)
  }
  return {
    admit(caller) {
      if (bytesOfAll < answers.bytes && (bytesOf.get(caller) ?? 0) < answers.perCaller) return
      throw errors.overloaded('Too many large answers are still unread; please retry.', 5)
    },
    holding(caller, bytes) {
      if (bytes < SMALL_BYTES) return () => {}
      change(caller, bytes)
      return () => change(caller, -bytes)
    },
    sending(caller, bytes, res) {
      if (bytes < SMALL_BYTES || res.destroyed) return
      change(caller, bytes)
      const late = setTimeout(() => res.destroy(), answerPace.ms + (bytes / answerPace.bytesPerSecond) * 1000)
      res.once('close', () => {
        clearTimeout(late)
        change(caller, -bytes)
      })
    },
  }
}
