import { dayText } from '../../batch/day-counts.ts'
import { IMPLAUSIBLE_OFFSET } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { DAY_MS } from '../../time.ts'

/** Days that are counted one by one, today included. */
export const RECENT_DAYS = 30

const SQL = `
  select d.user_id, d.day, d.n, local_day(d.first_at, null), local_day(d.last_at, null)
  from days_of_users($1, to_timestamp($2), to_timestamp($3), ${IMPLAUSIBLE_OFFSET}::int2) d`

type Row =
  | [userId: string, day: number, n: number, firstDay: null, lastDay: null]
  | [userId: string, day: null, n: null, firstDay: number | null, lastDay: number | null]

/** Which days a user has data of, in UTC: the first, the last, and how much there is of each recent one, the oldest first. */
export interface RecentData {
  first_day: string | null
  last_day: string | null
  recent_days: number[]
}

/** What users have, in their order; in one statement. Samples of the next day, for clocks that are ahead, are none of today. */
export async function readRecentData(db: Database, userIds: readonly string[], nowMs: number): Promise<RecentData[]> {
  const today = Math.floor(nowMs / DAY_MS)
  const from = today - RECENT_DAYS + 1
  const found = new Map(
    userIds.map((id) => [
      id,
      {
        first: Number.POSITIVE_INFINITY,
        last: Number.NEGATIVE_INFINITY,
        counts: new Array<number>(RECENT_DAYS).fill(0),
      },
    ]),
  )
  const params = [userIds, from * (DAY_MS / 1000), (today + 1) * (DAY_MS / 1000)]
  for (const [id, day, n, first, last] of userIds.length > 0 ? await db.rows<Row>(SQL, params) : []) {
    const user = found.get(id)
    if (!user) continue
    if (day !== null) user.counts[day - from] = (user.counts[day - from] ?? 0) + n
    else if (first !== null && last !== null) {
      user.first = Math.min(user.first, first)
      user.last = Math.max(user.last, last)
    }
  }
  return [...found.values()].map(({ first, last, counts }) => ({
    first_day: Number.isFinite(first) ? dayText(first * DAY_MS) : null,
    last_day: Number.isFinite(last) ? dayText(last * DAY_MS) : null,
    recent_days: counts,
  }))
}
