import { bySourceRank, type Source } from '../../sources/source.ts'

/** What a day has of a source: `n` samples of a stored series. */
interface Found {
  stored: { source: Source }
  n: number
}

/** The sources of a day from best to worst (contract 12.1): those of one rank by the number of their samples, then by name. */
export function bestFirst(found: readonly Found[]): Source[] {
  const counts = new Map<Source, number>()
  for (const { stored, n } of found) counts.set(stored.source, (counts.get(stored.source) ?? 0) + n)
  return [...counts]
    .sort(([a, ofA], [b, ofB]) => a.rank - b.rank || ofB - ofA || bySourceRank(a, b))
    .map(([source]) => source)
}
