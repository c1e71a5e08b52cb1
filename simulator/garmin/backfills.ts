import type { Told } from '../notices/notices.ts'
import { numberOf, random } from '../random.ts'
import type { Settings } from '../settings.ts'
import { daysBetween, type Person } from '../truth/person.ts'
import type { Callbacks } from './callbacks.ts'
import { Push } from './pushes.ts'
import { type SummaryType, styleOf } from './types.ts'

/** A span of time that somebody asked for; both ends in epoch ms, the second excluded. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** A day of a request for the past that will be told. */
interface Due {
  readonly dueMs: number
  readonly person: Person
  readonly type: SummaryType
  readonly day: number
  readonly span: Span
  readonly settings: Settings
}

/** Which spans of the past were asked for, of which person and type, and what of it is still to be told. */
export class Backfills {
  readonly #callbacks: Callbacks
  readonly #asked = new Map<string, Span[]>()
  #due: Due[] = []
  #made = 0

  constructor(callbacks: Callbacks) {
    this.#callbacks = callbacks
  }

  /** Whether any moment of a span was asked for since the person has given consent. */
  overlaps(person: Person, { key }: SummaryType, { fromMs, toMs }: Span): boolean {
    const asked = this.#asked.get(`${person.key} ${key}`) ?? []
    return asked.some((span) => span.fromMs < toMs && fromMs < span.toMs)
  }

  /** Takes a request: each day comes some time later, in no order, and now and then twice. */
  add(person: Person, type: SummaryType, span: Span, { nowMs, settings }: { nowMs: number; settings: Settings }): void {
    const name = `${person.key} ${type.key}`
    this.#asked.set(name, [...(this.#asked.get(name) ?? []), span])
    const next = random(`garmin/backfill/${name}/${++this.#made}`)
    const { delay_seconds: delay, spread_seconds: spread, repeat_percent: repeats } = settings.own
    const later = () => nowMs + (Number(delay) + next() * Number(spread)) * 1000
    for (const { day } of daysBetween(person, span.fromMs, span.toMs)) {
      const one = { person, type, day, span, settings }
      this.#due.push({ ...one, dueMs: later() })
      if (next() * 100 < Number(repeats)) this.#due.push({ ...one, dueMs: later() })
    }
  }

  /** What is told by now, each once. */
  due(nowMs: number): Told[] {
    if (this.#due.every(({ dueMs }) => dueMs > nowMs)) return []
    const now = this.#due.filter(({ dueMs }) => dueMs <= nowMs)
    this.#due = this.#due.filter(({ dueMs }) => dueMs > nowMs)
    const order = (one: Due) => numberOf(`${one.person.key} ${one.type.key} ${one.day} ${one.dueMs}`)
    return now
      .sort((a, b) => order(a) - order(b))
      .flatMap(({ person, type, day, span, settings }): Told[] => {
        const found = type.items(person, person.day(day), nowMs, styleOf(settings))
        const items = found.filter(({ startMs }) => startMs >= span.fromMs && startMs < span.toMs)
        if (items.length === 0) return []
        const given = { atMs: nowMs, key: type.key, person, family: type.family, items }
        return [{ person: person.key, notice: new Push(given, this.#callbacks) }]
      })
  }

  /** The consent has ended: nothing more comes, and everything may be asked for after another one. */
  forget(person: Person): void {
    this.#due = this.#due.filter((one) => one.person !== person)
    for (const name of this.#asked.keys()) if (name.startsWith(`${person.key} `)) this.#asked.delete(name)
  }
}
