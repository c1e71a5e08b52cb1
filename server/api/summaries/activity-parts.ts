import { byStrictRank, type Source } from '../../sources/source.ts'
import type { Stored } from '../../sources/user-view.ts'
import { bestFirst } from './sources-of-day.ts'

/** The sum of a stored series on a local day, or of its part that counts or does not count. */
export interface Part {
  stored: Stored
  counted: boolean
  /** Number of samples. */
  n: number
  total: number
  lowest: number
  highest: number
}

/** Which parts of a day count. */
export interface Choice {
  /** All sources with data on the day, best first. */
  sources: Source[]
  /** The source that the row names. */
  source: Source
  parts: Part[]
}

/**
 * Everything of the best source; if a series has a daily total, only that (contract 12.1, `merge=none`).
 * `parts` must not be empty.
 */
export function ofOneSource(parts: readonly Part[]): Choice {
  const sources = [...new Set(parts.map(({ stored }) => stored.source))].sort(byStrictRank)
  const [source] = sources as [Source]
  const key = ({ stored }: Part) => `${stored.source.id} ${stored.series.id}`
  const totals = new Set(parts.filter(({ stored }) => stored.isDailyTotal).map(key))
  const chosen = parts.map((part) => ({
    ...part,
    counted: part.stored.source === source && (part.stored.isDailyTotal || !totals.has(key(part))),
  }))
  return { sources, source, parts: chosen.sort((a, b) => byStrictRank(a.stored.source, b.stored.source)) }
}

/**
 * Each series combined from several sources (contract 12.1, `merge=segments`): the quarter hours that the database chose,
 * and daily totals. The row names the best source that contributes anything. `parts` must not be empty.
 */
export function ofAllSources(parts: readonly Part[]): Choice {
  const sources = bestFirst(parts)
  const byType = new Map<number, Part[]>()
  for (const part of parts) {
    const { id } = part.stored.series
    const others = byType.get(id)
    if (others) others.push(part)
    else byType.set(id, [part])
  }
  const chosen = [...byType.values()].flatMap(withTotals)
  const used = new Set(chosen.filter(({ counted }) => counted).map(({ stored }) => stored.source))
  return { sources, source: sources.find((one) => used.has(one)) ?? (sources[0] as Source), parts: chosen }
}

/**
 * Applies daily totals to the parts of one series. The total of the best source that measured the series replaces that
 * source's samples; if it has no samples, the total counts for the whole day. Other totals do not count, since nobody knows
 * which part of them is new. There is one exception: if everything that counts is less than half of one of them, the better
 * source was not worn for most of the day, and the largest of them counts.
 */
function withTotals(parts: readonly Part[]): readonly Part[] {
  if (!parts.some(({ stored }) => stored.isDailyTotal)) return parts
  const measured = parts.filter(({ stored }) => !stored.isManual)
  const [leader] = bestFirst(measured.length > 0 ? measured : parts)
  const led = (part: Part) => part.stored.source === leader
  const hasTotal = measured.some((part) => led(part) && part.stored.isDailyTotal)
  const hasSamples = measured.length === 0 || measured.some((part) => led(part) && !part.stored.isDailyTotal)
  const chosen = parts.map((part) => {
    if (part.stored.isDailyTotal) return { ...part, counted: led(part) }
    return { ...part, counted: part.counted && (led(part) ? !hasTotal : hasSamples) }
  })
  const amount = totalOf(chosen.filter(({ counted }) => counted))
  const rivals = chosen.filter((part) => part.stored.isDailyTotal && !led(part))
  const [larger] = bestFirst(rivals)
    .map((source) => ({ source, total: totalOf(rivals.filter(({ stored }) => stored.source === source)) ?? 0 }))
    .sort((a, b) => b.total - a.total)
  if (!larger || (amount !== null && amount >= larger.total / 2)) return chosen
  return chosen.map((part) => ({
    ...part,
    counted: part.stored.isDailyTotal && part.stored.source === larger.source,
  }))
}

/** The sum of parts; null if there are none. */
export const totalOf = (parts: readonly Part[]): number | null =>
  parts.length > 0 ? parts.reduce((sum, { total }) => sum + total, 0) : null
