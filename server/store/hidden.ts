import { type Batch, type BatchEvents, countSamples, type SampleColumns } from '../batch/columns.ts'
import { columnsAt, originsOf, sampleOrigins } from '../batch/columns-at.ts'
import { groupBy } from '../batch/group-by.ts'
import { type Origin, originHash } from '../batch/origins.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import type { EventTarget } from './event-items.ts'

// What was deleted through the API is not brought back by a pull or an upload, unless the provider says that it was changed
// after the deletion (docs/reading.md, "Deleting an event").

/** What can be hidden; sleep by the id of a night, of a platform's own session, or of a stage. */
export type HiddenKind = 'workout' | 'sleep' | 'menstrual_cycle' | 'meal'

type Owner = Pick<EventTarget, 'userId' | 'provider'>

/** The reason for which hidden items are not stored. */
const REASON = 'deleted'

/** Hides items of a user and provider by their ids. The caller holds the user's ingest lock. */
export async function hide(
  tx: Transaction,
  { userId, provider }: Owner,
  kind: HiddenKind,
  externalIds: readonly string[],
): Promise<void> {
  if (externalIds.length === 0) return
  await planned(
    tx,
    `insert into hidden_item (user_id, provider, kind, external_id)
     select distinct $1::uuid, $2::text, $3::text, id from unnest($4::text[]) id
     on conflict (user_id, provider, kind, external_id) do update set hidden_at = excluded.hidden_at`,
    [userId, provider, kind, externalIds],
  )
}

/**
 * The batch without hidden items, their samples and their scores, which it counts as ignored. Items that were changed after
 * they were hidden are not hidden any longer. The caller holds the user's ingest lock.
 */
export async function withoutHidden(tx: Transaction, owner: Owner, batch: Batch): Promise<Batch> {
  const hidden = await hiddenAmong(tx, owner, batch.events)
  if (hidden.size === 0) return batch
  const { events, gone, records } = siftedEvents(batch.events, hidden)
  const [samples, derived] = [batch.samples, batch.derived].map((all) => withoutRecords(all, records)) as [
    SampleColumns[],
    SampleColumns[],
  ]
  const counts = { ...gone, records: gone.records + countSamples(batch.samples) - countSamples(samples) }
  const unstored = Object.entries(counts)
    .filter(([, items]) => items > 0)
    .map(([collection, items]) => ({ collection, type: null, reason: REASON, items }))
  return {
    ...{ ...batch, samples, derived, events },
    ignored: batch.ignored + unstored.reduce((sum, { items }) => sum + items, 0),
    unstored: [...batch.unstored, ...unstored],
  }
}

const key = (kind: HiddenKind, id: string) => `${kind} ${id}`

/** The keys of the hidden items in a batch; those that were changed since are forgotten. */
async function hiddenAmong(tx: Transaction, { userId, provider }: Owner, events: BatchEvents): Promise<Set<string>> {
  const asked = new Map<string, { kind: HiddenKind; id: string; version: number | null }>()
  const ask = (kind: HiddenKind, id: string | null, version: number | null = null) => {
    if (!id) return
    const known = asked.get(key(kind, id))?.version ?? null
    asked.set(key(kind, id), { kind, id, version: Math.max(known ?? 0, version ?? 0) || null })
  }
  for (const { externalId, version } of events.workouts) ask('workout', externalId, version)
  for (const { externalId, version } of events.nights) ask('sleep', externalId, version)
  for (const { externalId, lastUpdatedMs } of events.wholeCycles) ask('menstrual_cycle', externalId, lastUpdatedMs)
  for (const { externalId } of events.meals) ask('meal', externalId)
  for (const { meal } of events.nutrients) ask('meal', meal)
  for (const { externalId, session } of events.sleep) for (const id of [externalId, session]) ask('sleep', id)
  for (const { night, workout } of events.scores) {
    ask('sleep', night)
    ask('workout', workout)
  }
  if (asked.size === 0 || !(await hasHidden(tx, userId, provider))) return new Set()
  const all = [...asked.values()]
  const rows = await planned<{ kind: HiddenKind; external_id: string }>(tx, HIDDEN_SQL, [
    ...[userId, provider, all.map(({ kind }) => kind), all.map(({ id }) => id), all.map(({ version }) => version)],
  ])
  return new Set(rows.map((row) => key(row.kind, row.external_id)))
}

/** Hardly anybody has any. */
async function hasHidden(tx: Transaction, userId: string, provider: string): Promise<boolean> {
  const sql = 'select exists (select from hidden_item where user_id = $1 and provider = $2) as found'
  return (await tx.one<{ found: boolean }>(sql, [userId, provider])).found
}

const HIDDEN_SQL = `
  with asked as materialized (
    select h.kind, h.external_id, k.version > date_part('epoch', h.hidden_at) * 1000 as changed
    from unnest($3::text[], $4::text[], $5::float8[]) k (kind, external_id, version)
    join hidden_item h
      on h.user_id = $1 and h.provider = $2 and (h.kind, h.external_id) = (k.kind, k.external_id)
  ), shown as (
    delete from hidden_item h
    using asked a
    where a.changed and h.user_id = $1 and h.provider = $2 and (h.kind, h.external_id) = (a.kind, a.external_id)
  )
  select kind, external_id from asked where changed is not true`

/** The events that are not hidden, how many of each collection are, and the ids that their samples came under. */
function siftedEvents(events: BatchEvents, hidden: ReadonlySet<string>) {
  const records = new Set<string>()
  const gone = { sleep: 0, workouts: 0, records: 0 }
  const sift = <Item extends { externalId: string | null }>(
    collection: keyof typeof gone,
    items: readonly Item[],
    isHidden: (item: Item) => boolean,
  ): Item[] =>
    items.filter((item) => {
      if (!isHidden(item)) return true
      gone[collection] += 1
      if (item.externalId) records.add(item.externalId)
      return false
    })
  const has = (kind: HiddenKind, id: string | null) => id !== null && hidden.has(key(kind, id))
  const sifted: BatchEvents = {
    ...events,
    workouts: sift('workouts', events.workouts, ({ externalId }) => has('workout', externalId)),
    nights: sift('sleep', events.nights, ({ externalId }) => has('sleep', externalId)),
    sleep: sift('sleep', events.sleep, ({ externalId, session }) => has('sleep', externalId) || has('sleep', session)),
    wholeCycles: sift('records', events.wholeCycles, ({ externalId }) => has('menstrual_cycle', externalId)),
    meals: sift('records', events.meals, ({ externalId }) => has('meal', externalId)),
    nutrients: sift('records', events.nutrients, ({ meal }) => has('meal', meal)),
    scores: sift('records', events.scores, ({ night, workout }) => has('sleep', night) || has('workout', workout)),
  }
  return { events: sifted, gone, records }
}

/** Samples without those that only records with these ids state; a whole record stands for its parts. */
function withoutRecords(samples: readonly SampleColumns[], ids: ReadonlySet<string>): SampleColumns[] {
  const hashes = groupBy(
    [...ids].map((id) => originHash(id, null)),
    ({ record }) => record,
  )
  const isHidden = ({ record, part }: Origin) => hashes.get(record)?.some((one) => one.part === 0 || one.part === part)
  return samples.flatMap((columns) => {
    const entries = originsOf(columns)
    const left = entries.filter((one) => !isHidden(one))
    if (left.length === entries.length) return [columns]
    const stated = new Set(entries.map((one) => one.timeMs))
    const kept = new Set(left.map((one) => one.timeMs))
    const isKept = (ms: number) => kept.has(ms) || !stated.has(ms)
    const places = [...columns.timeMs.keys()].filter((at) => isKept(columns.timeMs[at] as number))
    return places.length > 0 ? [{ ...columnsAt(columns, places), origins: sampleOrigins(left) }] : []
  })
}
