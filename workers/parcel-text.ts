import type { Score } from '../server/batch/columns.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import type { ScorePart } from '../server/providers/part.ts'

// Texts of providers as they are stored: clean, and cut at their limits.

/** The longest texts, in characters; the word for a score: contract 14.1. */
export const LENGTHS = { title: 255, notes: 4_000, mealType: 64, qualifier: 32 } as const

/** The text as it is stored; null for none. */
export const clean = (text: string | null | undefined, max: number): string | null =>
  normaliseDeviceString(text, max) || null

/** The components of a score that are known: numbers, and words for everything else; null: there are none. */
export function componentsOf(components: ScorePart['components'] = {}): Score['components'] {
  const known = Object.entries(components).flatMap(([name, value]) => {
    if (value === undefined) return []
    const word = typeof value === 'number' ? null : clean(String(value), LENGTHS.qualifier)
    return [[name, { value: typeof value === 'number' ? value : null, qualifier: word }] as const]
  })
  return known.length > 0 ? Object.fromEntries(known) : null
}
