import type { Database } from '../../db/database.ts'
import { bySourceRank } from '../../sources/source.ts'
import type { Stored } from '../../sources/user-view.ts'
import type { Range } from './page.ts'

const RANGES_SQL = `
  select place - 1, date_part('epoch', starts) * 1000, date_part('epoch', ends) * 1000
  from priority_ranges($1, $2, $3, to_timestamp($4), to_timestamp($5))`

/**
 * The ranges in which each stored series counts when only the best source does: per series type and local date the
 * best-ranked source that has the type on that date (contract D-14 and 12.1); undefined where no other source has the
 * type. In the order of `stored`; see `sql/routines/priority/priority_ranges.sql`.
 */
export async function priorityRanges(
  db: Database,
  stored: readonly Stored[],
  startMs: number,
  endMs: number,
): Promise<(Range[] | undefined)[]> {
  const places = [...stored.keys()].filter((place) => {
    const { series, source } = stored[place] as Stored
    return stored.some((other) => other.series === series && other.source !== source)
  })
  const ranges: (Range[] | undefined)[] = stored.map(() => undefined)
  if (places.length === 0) return ranges
  const contested = places.map((place) => stored[place] as Stored)
  const ranked = [...new Set(contested.map(({ source }) => source))].sort(bySourceRank)
  const rows = await db.rows<[index: number, startMs: number, endMs: number]>(RANGES_SQL, [
    contested.map(({ source }) => source.id),
    contested.map(({ seriesId }) => seriesId),
    contested.map(({ source }) => ranked.indexOf(source)),
    startMs / 1000,
    endMs / 1000,
  ])
  // A series without a range counts nowhere.
  for (const place of places) ranges[place] = []
  for (const [index, from, until] of rows) ranges[places[index] as number]?.push([from, until])
  return ranges
}
