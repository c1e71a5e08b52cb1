import { ago } from './person.ts'
import { count } from './words.ts'

/** How long ago something was, and when exactly for those who point at it. */
export function When({ at, never = 'never' }: { at: string | null; never?: string }) {
  if (!at) return <span class="quiet">{never}</span>
  return (
    <time dateTime={at} title={at}>
      {ago(at)}
    </time>
  )
}

/** A number of things, such as "1 record" and "1,200 records". */
export const counted = (things: number, noun: string): string => `${count(things)} ${noun}${things === 1 ? '' : 's'}`
