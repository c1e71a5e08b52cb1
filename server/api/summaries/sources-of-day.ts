import { bySourceRank, type Source } from '../../sources/source.ts'

/** The data of a source on a day: `n` samples of a stored series. */
interface Found {
  stored: { source: Source }
  n: number
}

/** The sources of a day from best to worst (contract 12.1): by rank, then number of samples, then name. */
export function bestFirst(found: readonly Found[]): Source[] {
  const counts = new Map<Source, number>()
  for (const { stored, n } of found) counts.set(stored.source, (counts.get(stored.source) ?? 0) + n)
  return [...counts]
    .sort(([a, ofA], [b, ofB]) => a.rank - b.rank || ofB - ofA || bySourceRank(a, b))
    .map(([source]) => source)
}
