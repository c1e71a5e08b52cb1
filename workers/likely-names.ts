// What a sender probably meant by an unknown name.

/** Longer names are not compared: a comparison costs the product of the lengths. */
const MAX_LENGTH = 60

/** A name without the most frequent differences: case, separators, the prefixes of HealthKit. */
const folded = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/^hk(?:quantity|category|correlation)type(?:identifier)?/, '')

const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g

/** Words that say only that something is measured; Health Connect's classes are called records. */
const EMPTY = new Set(['count', 'percentage', 'burned', 'climbed', 'record'])

/** A folded name without plurals and empty words: `StepsRecord` and `STEP_COUNT` are `step`. */
const essence = (name: string) =>
  folded(
    (name.match(WORD) ?? [])
      .map((word) => word.toLowerCase().replace(/(?<=[^s])s$/, ''))
      .filter((word) => !EMPTY.has(word))
      .join(''),
  )

/**
 * The known name most similar to `name`: equal except for case, separators and HealthKit's prefixes, or with at most
 * two letters wrong, fewer in short names; else the only one with the same essence; null when there is none.
 */
export function likelyName(name: string, known: Iterable<string>): string | null {
  const wanted = folded(name)
  if (wanted === '' || wanted.length > MAX_LENGTH) return null
  let best: string | null = null
  let fewest = Math.min(2, Math.floor(wanted.length / 4)) + 1
  for (const candidate of known) {
    const distance = distanceBelow(wanted, folded(candidate), fewest)
    if (distance === undefined) continue
    best = candidate
    fewest = distance
    if (distance === 0) break
  }
  return best ?? alike(name, known)
}

/** Of the known names, which are constant. */
const essences = new Map<string, string>()

function essenceOf(known: string): string {
  const found = essences.get(known) ?? essence(known)
  essences.set(known, found)
  return found
}

function alike(name: string, known: Iterable<string>): string | null {
  const wanted = essence(name)
  const found = wanted === '' ? [] : [...known].filter((candidate) => essenceOf(candidate) === wanted)
  return found.length === 1 ? (found[0] as string) : null
}

/** Letters to insert, remove, replace or swap with the next one, if fewer than `limit` (optimal string alignment). */
function distanceBelow(a: string, b: string, limit: number): number | undefined {
  if (Math.abs(a.length - b.length) >= limit) return undefined
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] as number) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    before = row
    row = next
  }
  const distance = row[b.length] as number
  return distance < limit ? distance : undefined
}
