import { randomUUID } from 'node:crypto'

// A platform may send one thing under several ids: two apps wrote it, or it was written again. It is one row, which keeps
// all of these ids and goes when the last of them is deleted. Pure; held-rows.ts reads and writes such rows.

/** How many ids of a row are kept, the latest ones, as of a sample: nobody records a run more often in good faith. */
export const MAX_IDS = 16

/** The ids of a row as its columns: the first of them, and the others or null. */
export interface IdColumns {
  external_id: string | null
  other_ids: readonly string[] | null
}

/** The ids in the columns of a row, in the order in which they arrived. */
export const idsIn = ({ external_id, other_ids }: IdColumns): string[] =>
  external_id === null ? [] : [external_id, ...(other_ids ?? [])]

/** The columns for ids. */
export const columnsOf = (ids: readonly string[]): IdColumns => ({
  external_id: ids[0] ?? null,
  other_ids: ids.length > 1 ? ids.slice(1) : null,
})

/** Adds the ids that a row does not have yet, as the latest; keeps at most MAX_IDS. */
export function withIds(ids: readonly string[], added: readonly string[]): readonly string[] {
  const news = added.filter((id) => !ids.includes(id))
  return news.length > 0 ? [...ids, ...news].slice(-MAX_IDS) : ids
}

/** Whether two rows have the same ids in the same order. */
export const sameIds = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((id, place) => id === other[place])

/** A stored row: how to find it again, the place that only one row has (source, times, kind), and its ids. */
export interface HeldRow {
  row: string
  place: string
  ids: readonly string[]
}

/** A row after an upload, stored before or new. */
export interface Entry<Item> {
  row: string
  /** Null when another row took its place. */
  place: string | null
  ids: readonly string[]
  stored: HeldRow | null
  /** What the upload says of it; absent when it only lost an id. */
  item?: Item
  /** Whether it took the place of another stored row. */
  displaced: boolean
}

/** An entry that an item ended in. */
export type Taken<Item> = Entry<Item> & { item: Item }

/** Whether a stored row has another place now. */
export const hasMoved = ({ stored, place }: Pick<Entry<unknown>, 'stored' | 'place'>): boolean =>
  stored !== null && stored.place !== place

/** What becomes of the stored rows that share an id or a place with items. */
export interface Resolved<Item> {
  taken: Taken<Item>[]
  /** Stored rows that lost or got ids, and that no item ended in. */
  relabelled: Entry<Item>[]
  /** Stored rows that are no more. */
  gone: HeldRow[]
  /** Ids whose row has another place now. */
  moved: string[]
}

/**
 * Takes items one after another, as if each had its own upload, so it makes no difference how they are spread. An item
 * goes to the row with its id, which moves to its place; a row with other ids stays there without this one. Without such a
 * row, it goes to the row at its place. Rows that meet at a place become one, with the ids of both.
 */
export function resolveItems<Item extends { externalId: string | null }>(
  stored: readonly HeldRow[],
  items: readonly Item[],
  placeOf: (item: Item) => string,
): Resolved<Item> {
  const rows = new Rows<Item>(stored)
  for (const item of items) rows.take(item, placeOf(item))
  return rows.resolved(stored)
}

class Rows<Item extends { externalId: string | null }> {
  readonly #entries = new Set<Entry<Item>>()
  readonly #byId = new Map<string, Entry<Item>>()
  readonly #byPlace = new Map<string, Entry<Item>>()
  /** Stored rows that another took the place of, by their ids: one whose id goes on to another place is used again. */
  readonly #displaced = new Map<string, Entry<Item>>()

  constructor(stored: readonly HeldRow[]) {
    for (const row of stored) {
      const entry = { ...row, stored: row, displaced: false }
      this.#entries.add(entry)
      this.#byPlace.set(row.place, entry)
      for (const id of row.ids) this.#byId.set(id, entry)
    }
  }

  take(item: Item, place: string): void {
    const { externalId } = item
    const there = this.#byPlace.get(place)
    let entry = externalId === null ? undefined : this.#byId.get(externalId)
    if (externalId !== null && entry && entry !== there && entry.ids.length > 1) {
      entry.ids = entry.ids.filter((id) => id !== externalId)
      const spare = there ? undefined : this.#displaced.get(externalId)
      entry = spare && !this.#entries.has(spare) ? spare : undefined
    }
    if (entry && there && entry !== there) entry = this.#join(entry, there)
    entry ??= there ?? { row: randomUUID(), place: null, ids: [], stored: null, displaced: false }
    if (entry.place !== null) this.#byPlace.delete(entry.place)
    entry.place = place
    this.#byPlace.set(place, entry)
    this.#entries.add(entry)
    if (externalId !== null) this.#addIds(entry, [externalId])
    entry.item = item
  }

  /** Makes two rows one: the first, unless only the second is stored. */
  #join(one: Entry<Item>, other: Entry<Item>): Entry<Item> {
    const [stays, goes] = one.stored || !other.stored ? [one, other] : [other, one]
    this.#entries.delete(goes)
    if (goes.place !== null) this.#byPlace.delete(goes.place)
    goes.place = null
    if (goes.stored) for (const id of goes.ids) this.#displaced.set(id, goes)
    stays.displaced ||= goes.stored !== null || goes.displaced
    this.#addIds(stays, goes.ids)
    goes.ids = []
    return stays
  }

  #addIds(entry: Entry<Item>, added: readonly string[]): void {
    const before = entry.ids
    entry.ids = withIds(before, added)
    for (const id of entry.ids) this.#byId.set(id, entry)
    for (const id of [...before, ...added]) if (!entry.ids.includes(id)) this.#byId.delete(id)
  }

  resolved(stored: readonly HeldRow[]): Resolved<Item> {
    const entries = [...this.#entries]
    const kept = new Set(entries.map(({ stored }) => stored))
    return {
      taken: entries.filter((entry): entry is Taken<Item> => entry.item !== undefined),
      relabelled: entries.filter((entry) => !entry.item && entry.stored && !sameIds(entry.ids, entry.stored.ids)),
      gone: stored.filter((row) => !kept.has(row)),
      moved: stored.flatMap(({ place, ids }) => ids.filter((id) => (this.#byId.get(id)?.place ?? place) !== place)),
    }
  }
}
