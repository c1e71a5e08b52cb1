import { kept } from '../kept.ts'
import type { Bundle, Notice, Sent, Told } from '../notices/notices.ts'
import type { Subscription } from '../notices/subscriptions.ts'
import { numberOf, random, whole } from '../random.ts'
import type { Settings } from '../settings.ts'
import type { Person } from '../truth/person.ts'
import { DAY_MS } from '../zones.ts'
import type { Announced, Callbacks, Place } from './callbacks.ts'
import { type Item, type Row, userIdOf } from './items.ts'

/** Records of one type and person that are told together. */
export class Push implements Notice, Announced {
  readonly atMs: number
  readonly topic: string
  readonly person: Person
  readonly family: string
  readonly items: readonly Item[]
  readonly #callbacks: Callbacks
  #place: Place | null = null

  constructor(
    given: { atMs: number; key: string; person: Person; family: string; items: readonly Item[] },
    callbacks: Callbacks,
  ) {
    this.atMs = given.atMs
    this.topic = given.key
    this.person = given.person
    this.family = given.family
    this.items = given.items
    this.#callbacks = callbacks
  }

  /** What it says: records, or where they can be fetched; files always say where. */
  entries({ ping }: Subscription, sent: Sent): Row[] {
    const userId = userIdOf(this.person)
    if (this.topic === 'activityFiles')
      return this.items.map((item) => ({ userId, ...item.row(), callbackURL: this.#link(sent, 'activityFile') }))
    if (ping) return [{ userId, callbackURL: this.#link(sent, this.topic) }]
    return this.rows()
  }

  rows(): Row[] {
    const userId = userIdOf(this.person)
    return this.items.map((item) => ({ userId, ...item.row() }))
  }

  body(subscription: Subscription, sent: Sent): Record<string, unknown> {
    return { [this.topic]: this.entries(subscription, sent) }
  }

  #link(sent: Sent, name: string): string {
    this.#place ??= this.#callbacks.add(this, sent)
    const { token, uploaded } = this.#place
    const span =
      name === 'activityFile'
        ? { id: String(uploaded) }
        : { uploadStartTimeInSeconds: String(uploaded - 3600), uploadEndTimeInSeconds: String(uploaded) }
    const query = new URLSearchParams({ ...span, token })
    return `${sent.address}/wellness-api/rest/${name}?${query}`
  }
}

/** People whose records may stand in one body: every second. */
const SHARDS = 2
/** Records of the past that may be sent at the same time. */
const PAST_LANES = 16
/** Nothing new is told of what ended so long ago. */
const SETTLED_MS = 2 * DAY_MS
/** What is told within so much time may stand in one body. */
const NEAR_MS = 900_000

/**
 * Puts what is told into bodies: several people's records in one, now and then several types. Bodies of the same people
 * and family of types follow each other, so that what is newer comes later unless something fails.
 */
export function bundled(told: readonly Told[], settings: Settings): Bundle[] {
  const most = Math.max(1, Number(settings.own.records_together))
  const lanes = new Map<string, Told[]>()
  for (const one of told) {
    kept(lanes, laneOf(one), () => []).push(one)
  }
  return [...lanes].flatMap(([lane, list]) => {
    const sorted = [...list].sort((a, b) => a.notice.atMs - b.notice.atMs || tieOf(a) - tieOf(b))
    return chunks(sorted, most).map((chunk) => bundleOf(lane, chunk))
  })
}

/** What is told at the same time comes in no order, but by type and day, so that people come together. */
function tieOf({ notice }: Told): number {
  const day = notice instanceof Push ? Math.floor((notice.items[0]?.startMs ?? 0) / DAY_MS) : 0
  return numberOf(`${notice.topic} ${day}`)
}

function laneOf({ person, notice }: Told): string {
  if (!(notice instanceof Push)) return `${notice.topic} ${person}`
  const isSettled = notice.items.every(({ endMs }) => endMs < notice.atMs - SETTLED_MS)
  if (!isSettled) return `${notice.family} ${numberOf(person) % SHARDS}`
  return `past ${tieOf({ person, notice }) % PAST_LANES}`
}

function chunks(told: readonly Told[], most: number): Told[][] {
  const found: Told[][] = []
  const next = random(`garmin/${told[0]?.person}/${told[0]?.notice.atMs}/${told.length}`)
  let room = 0
  for (const one of told) {
    const chunk = found.at(-1)
    const [first] = chunk ?? []
    const fits = first && room > 0 && one.notice.atMs - first.notice.atMs <= NEAR_MS
    const alike = first?.notice.topic === one.notice.topic || next() < 0.2
    if (chunk && fits && alike && one.notice instanceof Push) {
      chunk.push(one)
      room--
    } else {
      found.push([one])
      room = whole(next, 0, most - 1)
    }
  }
  return found
}

function bundleOf(lane: string, chunk: readonly Told[]): Bundle {
  const pushes = chunk.map(({ notice }) => notice).filter((notice) => notice instanceof Push)
  const [first] = chunk
  const people = [...new Set(chunk.map(({ person }) => person))]
  const topic = [...new Set(chunk.map(({ notice }) => notice.topic))].join(' ')
  const notice: Notice = {
    atMs: Math.max(...chunk.map(({ notice: one }) => one.atMs)),
    topic,
    body(subscription, sent) {
      if (pushes.length < chunk.length) return first?.notice.body(subscription, sent) ?? {}
      const body: Record<string, Row[]> = {}
      for (const push of pushes) {
        body[push.topic] ??= []
        body[push.topic]?.push(...push.entries(subscription, sent))
      }
      return body
    },
  }
  return { people, lane, notice }
}
