import type { Sent } from '../notices/notices.ts'
import { secretOf } from '../random.ts'
import type { Person } from '../truth/person.ts'
import type { Item, Row } from './items.ts'

/** Records that a ping stands for. */
export interface Announced {
  readonly topic: string
  readonly atMs: number
  readonly person: Person
  readonly items: readonly Item[]
  rows(): Row[]
}

/** How long what a ping names can be fetched. */
const LIFE_MS = 86_400_000

/** Where what a ping names can be fetched. */
export interface Place {
  readonly token: string
  /** End of the time of its upload, epoch seconds: no other records of this person and type have the same. */
  readonly uploaded: number
}

/** What pings have named, by the tokens of their addresses. */
export class Callbacks {
  readonly #kept = new Map<string, { what: Announced; untilMs: number }>()
  readonly #uploads = new Set<string>()

  /** A place that is good for a day from now on. */
  add(what: Announced, { nowMs, remember }: Sent): Place {
    const { person, topic, atMs } = what
    let uploaded = Math.floor(atMs / 1000)
    while (this.#uploads.has(`${person.key} ${topic} ${uploaded}`)) uploaded--
    this.#uploads.add(`${person.key} ${topic} ${uploaded}`)
    const token = secretOf(`garmin callback ${person.seed} ${topic} ${uploaded}`).slice(0, 32)
    remember(token)
    this.#kept.set(token, { what, untilMs: nowMs + LIFE_MS })
    return { token, uploaded }
  }

  /** What a token stands for; too late: it stood for something. */
  find(token: string, nowMs: number): Announced | 'too late' | undefined {
    const found = this.#kept.get(token)
    if (!found) return undefined
    return nowMs <= found.untilMs ? found.what : 'too late'
  }
}
