import { smallBodyBytes } from '../../limits.ts'

/** A larger notice takes so long to store and to read that no other waits for it. The same as in receive_notices (SQL). */
export const LARGE_NOTICE_BYTES = smallBodyBytes('identity')

/** Bytes of bodies that are kept, and how long: in the usual case they are opened within a second. */
export const NOTICE_BYTES = 16 * 1024 * 1024
const KEPT_MS = 30_000

/**
 * Bodies of notices on their way from receipt to opening within this process, by the id of the notice. It only saves
 * reading them back: what is missing here (another process received it, others displaced it) is read from the database.
 */
export interface NoticeBodies {
  put(id: number, body: Uint8Array): void
  get(id: number): Uint8Array | undefined
  forget(ids: readonly number[]): void
}

interface Kept {
  readonly body: Uint8Array
  readonly sinceMs: number
}

/** Creates an empty store of at most `limitBytes`; 0 keeps nothing. */
export function keepBodies(limitBytes = NOTICE_BYTES): NoticeBodies {
  const kept = new Map<number, Kept>()
  let bytes = 0
  let isTimed = false
  function forget(id: number): void {
    bytes -= kept.get(id)?.body.length ?? 0
    kept.delete(id)
  }
  /** What another process has opened stays no longer than that. */
  function forgetOld(): void {
    isTimed = false
    for (const [id, { sinceMs }] of kept) {
      if (performance.now() - sinceMs < KEPT_MS) break
      forget(id)
    }
    forgetLater()
  }
  function forgetLater(): void {
    if (isTimed || kept.size === 0) return
    isTimed = true
    setTimeout(forgetOld, KEPT_MS).unref()
  }
  return {
    put(id, body) {
      kept.set(id, { body, sinceMs: performance.now() })
      bytes += body.length
      // The first in the map came first.
      for (const oldest of kept.keys()) {
        if (bytes <= limitBytes) break
        forget(oldest)
      }
      forgetLater()
    },
    get: (id) => kept.get(id)?.body,
    forget: (ids) => ids.forEach(forget),
  }
}
