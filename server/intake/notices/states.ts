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
  select s.grant_id, s.key, max(s.reached)
  from unnest($1::uuid[], $2::text[], $3::float8[]) s (grant_id, key, reached)
  group by s.grant_id, s.key
  order by s.grant_id, s.key
  on conflict (grant_id, key) do update
  set reached = greatest(c.reached, excluded.reached), noted_at = now()
  returning grant_id, key, reached`

/** What is carried of a grant. */
export interface CarriedOf {
  readonly grantId: string
  readonly parts: readonly CarriedPart[]
}

/** Whether nothing newer of a thing has come. */
export type IsNewest = (grantId: string, state: State | null | undefined) => boolean

/** Notes how far states have come; the caller holds the grants. */
export async function noteStates(tx: Queryable, carried: readonly CarriedOf[]): Promise<IsNewest> {
  const states = carried.flatMap(({ grantId, parts }) =>
    parts.flatMap((one) => one.states ?? []).flatMap((state) => (state ? [{ grantId, ...state }] : [])),
  )
  const reached = new Map<string, number>()
  const nameOf = (grantId: string, key: string) => `${grantId} ${key}`
  if (states.length > 0) {
    const noted = await tx.query<{ grant_id: string; key: string; reached: number }>(NOTE_SQL, [
      ...[states.map(({ grantId }) => grantId), states.map(({ key }) => key), states.map(({ order }) => order)],
    ])
    for (const one of noted) reached.set(nameOf(one.grant_id, one.key), one.reached)
  }
  return (grantId, state) => !state || state.order >= (reached.get(nameOf(grantId, state.key)) ?? 0)
}

/** The parts without elements that are older than what has come of the same thing. */
export function newestOf({ grantId, parts }: CarriedOf, isNewest: IsNewest): ParcelPart[] {
  const isKept = (state: State | null | undefined) => isNewest(grantId, state)
  return parts.flatMap(({ part, states: of }) => {
    const { body } = part
    if (!of || of.every(isKept) || !body) return [{ ...part, zone: null }]
    const kept = (JSON.parse(Buffer.from(body).toString('utf8')) as unknown[]).filter((_, at) => isKept(of[at]))
    return kept.length === 0 ? [] : [{ ...part, zone: null, body: Buffer.from(JSON.stringify(kept)) }]
  })
}
