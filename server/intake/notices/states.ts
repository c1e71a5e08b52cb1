import type { ParcelPart } from '../../../workers/parcel.ts'
import type { Queryable } from '../../db/database.ts'
import type { State } from '../../providers/notices.ts'

// A provider repeats what was not taken, so an older state of a thing may come behind a newer one. Of each thing it is noted
// how far its states have come, and what is older is left out.

/** How long is noted how far something has come: longer than providers repeat what was not taken. */
export const STATE_DAYS = 40

/** A part, and what the elements of its body are states of. */
export interface CarriedPart {
  readonly part: Omit<ParcelPart, 'zone'>
  readonly states?: readonly (State | null)[] | undefined
}

const NOTE_SQL = `
  insert into carried_state as c (grant_id, key, reached)
  select $1, s.key, max(s.reached)
  from unnest($2::text[], $3::float8[]) s (key, reached)
  group by s.key
  order by s.key
  on conflict (grant_id, key) do update
  set reached = greatest(c.reached, excluded.reached), noted_at = now()
  returning key, reached`

/** The parts without elements that are older than what has come of the same thing; the caller holds the grant. */
export async function newestOf(tx: Queryable, grantId: string, carried: readonly CarriedPart[]): Promise<ParcelPart[]> {
  const states = carried.flatMap((one) => one.states ?? []).filter((state) => state !== null)
  const reached = new Map<string, number>()
  if (states.length > 0) {
    const noted = await tx.query<{ key: string; reached: number }>(NOTE_SQL, [
      ...[grantId, states.map(({ key }) => key), states.map(({ order }) => order)],
    ])
    for (const one of noted) reached.set(one.key, one.reached)
  }
  const isNewest = (state: State | null | undefined) => !state || state.order >= (reached.get(state.key) ?? 0)
  return carried.flatMap(({ part, states: of }) => {
    const { body } = part
    if (!of || of.every(isNewest) || !body) return [{ ...part, zone: null }]
    const kept = (JSON.parse(Buffer.from(body).toString('utf8')) as unknown[]).filter((_, at) => isNewest(of[at]))
    return kept.length === 0 ? [] : [{ ...part, zone: null, body: Buffer.from(JSON.stringify(kept)) }]
  })
}
