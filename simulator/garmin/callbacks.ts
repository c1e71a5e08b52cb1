import type { Sent } from '../notices/notices.ts'
import { secretOf } from '../random.ts'
import type { Person } from '../truth/person.ts'
import type { Item, Row } from './items.ts'

/** Records that a ping stands for. */
export interface Announced {
  readonly topic: string
  readonly person: Person
  readonly items: readonly Item[]
  rows(): Row[]
}

/** How long what a ping names can be fetched. */
const LIFE_MS = 86_400_000

/** What pings have named, by the tokens of their addresses. */
export class Callbacks {
  readonly #kept = new Map<string, { what: Announced; untilMs: number }>()
  #made = 0

  /** A token for an address that is good for a day from now on. */
  add(what: Announced, { nowMs, remember }: Sent): string {
    const token = secretOf(`garmin callback ${++this.#made} ${what.person.seed}`).slice(0, 32)
    remember(token)
    this.#kept.set(token, { what, untilMs: nowMs + LIFE_MS })
    return token
  }

  /** What a token stands for; too late: it stood for something. */
  find(token: string, nowMs: number): Announced | 'too late' | undefined {
    const found = this.#kept.get(token)
    if (!found) return undefined
    return nowMs <= found.untilMs ? found.what : 'too late'
  }
}
