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

interface Known<T> {
  name: string
  asked: string
  data?: T
  failure?: Failure
}

/** Whether the same request may well be answered in a moment: nobody answered, too many asked, or the service is at fault. */
const isPassing = ({ status }: Failure) => status === 0 || status === 429 || status >= 500

/**
 * Asks for what `key` names, again when the key changes, and gives up the former request; asked again for the same, it
 * keeps what is known meanwhile. `pace` says after how many milliseconds to ask again by itself, 0 for never. Answers are
 * revalidated by the browser, which keeps their ETag.
 */
export function useQuery<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  pace: (data: T) => number = () => 0,
): Query<T> {
  const [round, setRound] = useState(0)
  const name = `${key} ${signIns.value}`
  const asked = `${name} ${round}`
  const [known, setKnown] = useState<Known<T>>({ name: '', asked: '' })
  useEffect(() => {
    const controller = new AbortController()
    load(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setKnown({ name, asked, data })
      },
      (error: unknown) => {
        if (controller.signal.aborted) return
        const failure = error instanceof Failure ? error : new Failure(0, String(error), null)
        // What is asked for again and again stays meanwhile, and comes back by itself.
        const stays = (last: Known<T>) =>
          last.name === name && last.data !== undefined && isPassing(failure) && pace(last.data) > 0
        setKnown((last) => (stays(last) ? { ...last, asked } : { name, asked, failure }))
      },
    )
    return () => controller.abort()
  }, [asked])
  const again = () => setRound((last) => last + 1)
  useEffect(() => {
    const ms = known.asked === asked && known.data !== undefined ? pace(known.data) : 0
    if (ms === 0) return
    const timer = setTimeout(again, ms)
    return () => clearTimeout(timer)
  }, [known, asked])
  const current = known.asked === asked || (known.name === name && !known.failure) ? known : undefined
  const state = current === undefined ? 'loading' : current.failure ? 'failed' : 'ready'
  return { state, data: current?.data, failure: current?.failure, again }
}
