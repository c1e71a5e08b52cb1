import { ago } from './person.ts'

/** How long ago something was, and when exactly for those who point at it. */
export function When({ at, never = 'never' }: { at: string | null; never?: string }) {
  if (!at) return <span class="quiet">{never}</span>
  return (
    <time dateTime={at} title={at}>
      {ago(at)}
    </time>
  )
}

const numbers = new Intl.NumberFormat('en')

/** A number of things, such as "1 record" and "1,200 records". */
export const counted = (count: number, noun: string): string =>
  `${numbers.format(count)} ${noun}${count === 1 ? '' : 's'}`

/** A number with its thousands apart. */
export const figure = (count: number): string => numbers.format(count)
