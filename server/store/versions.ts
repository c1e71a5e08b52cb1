// What a cloud provider says of one thing comes again and again, from pulls that overlap, notices and stored answers that are
// read again. The latest counts, whatever the order.

/** When the provider changed a thing, epoch ms or null if it does not say, and when it said so; absent or null: a phone. */
export interface Versioned {
  /** How final it is, if that is known: a lower one never replaces a higher one. */
  rank?: number
  version?: number | null
  atMs?: number | null
}

/**
 * Whether `one` is older than `other`: by rank, else by the time of the change where both have one, else by that of the
 * answer. What has the same time of change says the same, perhaps in another detail.
 */
export function isOlder(one: Versioned, other: Versioned): boolean {
  if (one.rank !== undefined && other.rank !== undefined && one.rank !== other.rank) return one.rank < other.rank
  const [version, otherVersion] = [one.version ?? null, other.version ?? null]
  if (version !== null && otherVersion !== null) return version < otherVersion
  return (one.atMs ?? Number.POSITIVE_INFINITY) < (other.atMs ?? Number.NEGATIVE_INFINITY)
}

/** The latest of the items with one key, of equally late ones the last, by key; and how many others there were. */
export function latestOfEach<Item extends Versioned>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): { kept: Map<string, Item>; duplicates: number } {
  const kept = new Map<string, Item>()
  for (const item of items) {
    const key = keyOf(item)
    const known = kept.get(key)
    if (!known || !isOlder(item, known)) kept.set(key, item)
  }
  return { kept, duplicates: items.length - kept.size }
}
