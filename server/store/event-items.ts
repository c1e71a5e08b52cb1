import type { ChangedSamples, EventKind } from '../batch/changes.ts'
import type { Scope } from '../catalogue/scopes.ts'

/** Whose events are written; `sourceIds` are the keys of the batch's sources, in its order. */
export interface EventTarget {
  userId: string
  provider: string
  /** How the batch came; null: it is no batch, but a deletion through the API. */
  scope: Scope | null
  sourceIds: readonly number[]
  /** What the batch has changed so far; absent when nobody needs it. */
  changes?: ChangedSamples[] | undefined
}

/** The result for the items of one kind of event; the instants (epoch ms) bound those that changed something. */
export interface EventCounts {
  type: EventKind
  inserted: number
  updated: number
  unchanged: number
  /** Items whose key another item of the same batch repeated. */
  duplicates: number
  firstMs: number | null
  lastMs: number | null
  /** Rows that developers get events about (contract 10.1): new ones, and changed sleep. */
  announced: string[]
  /** Rows derived from such items that are different now; absent if nothing is derived. */
  derived?: DerivedChange[]
}

/** Which derived rows are different, and which of them developers get events about. */
export type Rebuilt = Required<Pick<EventCounts, 'derived' | 'announced'>>

/** The result of deleting items by the platform's ids: the ids found, and the rows that developers get events about. */
export interface RemovedItems {
  found: string[]
  announced: string[]
}

/** A sleep session or a cycle that was written or removed, with its time (epoch ms). */
export interface DerivedChange {
  isNew: boolean
  startMs: number
  endMs: number
}

/** The items without those whose key a later one repeats; items without a key (null) stay. */
export function lastOfEach<Item>(items: readonly Item[], keyOf: (item: Item) => string | null): Item[] {
  const last = new Map<string, Item>()
  for (const item of items) {
    const key = keyOf(item)
    if (key !== null) last.set(key, item)
  }
  return items.filter((item) => {
    const key = keyOf(item)
    return key === null || last.get(key) === item
  })
}

/** Time of an item, epoch ms. */
interface Timed {
  startMs: number
  endMs: number
}

/** An item that changed a stored row: its position among the written ones, and whether it is new. */
export interface ChangedItem {
  position: number
  is_new: boolean
  /** The id of its row; absent if it has none. */
  id?: string
}

/** The account of `received` items, of which `kept` had a distinct key and `changed` were written. */
export function countItems(
  type: EventCounts['type'],
  received: number,
  kept: readonly Timed[],
  changed: readonly ChangedItem[],
): EventCounts {
  const inserted = changed.filter(({ is_new }) => is_new).length
  return {
    type,
    inserted,
    updated: changed.length - inserted,
    unchanged: kept.length - changed.length,
    duplicates: received - kept.length,
    ...boundsOf(changed.map(({ position }) => kept[position] as Timed)),
    announced: changed.flatMap(({ is_new, id }) => (is_new && id ? [id] : [])),
  }
}

/** The account of several, one at least, of one kind. */
export function sumCounts(counts: readonly EventCounts[]): EventCounts {
  return counts.reduce((sum, one) => ({
    type: sum.type,
    inserted: sum.inserted + one.inserted,
    updated: sum.updated + one.updated,
    unchanged: sum.unchanged + one.unchanged,
    duplicates: sum.duplicates + one.duplicates,
    firstMs:
      sum.firstMs === null || one.firstMs === null ? (sum.firstMs ?? one.firstMs) : Math.min(sum.firstMs, one.firstMs),
    lastMs: sum.lastMs === null || one.lastMs === null ? (sum.lastMs ?? one.lastMs) : Math.max(sum.lastMs, one.lastMs),
    announced: [...sum.announced, ...one.announced],
    ...((sum.derived ?? one.derived) && { derived: [...(sum.derived ?? []), ...(one.derived ?? [])] }),
  }))
}

/** First start and last end of items; null when there are none. */
export function boundsOf(items: readonly Timed[]): Pick<EventCounts, 'firstMs' | 'lastMs'> {
  let firstMs: number | null = null
  let lastMs: number | null = null
  for (const { startMs, endMs } of items) {
    firstMs = Math.min(firstMs ?? startMs, startMs)
    lastMs = Math.max(lastMs ?? endMs, endMs)
  }
  return { firstMs, lastMs }
}

/** The account of derived rows: of those written or removed, the new ones are not in `before`. */
export function derivedChanges(
  before: readonly { id: string }[],
  changed: readonly (Timed & { id: string })[],
): DerivedChange[] {
  const known = new Set(before.map(({ id }) => id))
  return changed.map(({ id, startMs, endMs }) => ({ isNew: !known.has(id), startMs, endMs }))
}
