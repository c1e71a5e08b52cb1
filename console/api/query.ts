import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { Failure } from './client.ts'

/** What is known of an answer. */
export interface Query<T> {
  state: 'loading' | 'ready' | 'failed'
  data: T | undefined
  failure: Failure | undefined
  /** Asks again. */
  again(): void
}

/** Grows with every sign-in: then everything that is shown is asked for again. */
export const signIns = signal(0)

/**
 * Asks for what `key` names, again when the key changes, and gives up the former request. Answers are revalidated by
 * the browser, which keeps their ETag.
 */
export function useQuery<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [round, setRound] = useState(0)
  const asked = `${key} ${round} ${signIns.value}`
  const [known, setKnown] = useState<{ asked: string; data?: T; failure?: Failure }>({ asked: '' })
  useEffect(() => {
    const controller = new AbortController()
    load(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setKnown({ asked, data })
      },
      (error: unknown) => {
        if (controller.signal.aborted) return
        setKnown({ asked, failure: error instanceof Failure ? error : new Failure(0, String(error), null) })
      },
    )
    return () => controller.abort()
  }, [asked])
  const current = known.asked === asked ? known : undefined
  const state = current === undefined ? 'loading' : current.failure ? 'failed' : 'ready'
  return { state, data: current?.data, failure: current?.failure, again: () => setRound(round + 1) }
}
