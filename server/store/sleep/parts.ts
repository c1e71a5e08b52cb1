import { MAX_NIGHT_MS } from '../../batch/columns.ts'
import { groupBy } from '../../batch/group-by.ts'
import type { Transaction } from '../../db/database.ts'
import { planned } from '../../db/planned.ts'
import { DAY_MS } from '../../time.ts'
import type { EventTarget } from '../event-items.ts'
import type { NightPart } from './night-rules.ts'
import { SESSION_GAP_MS } from './sessions.ts'
import { firstEndingAfter, type Range, union } from './totals.ts'

// The stored parts of sleep: nights and naps as providers gave them.

/** A stored part, and the session it belongs to. */
export type StoredPart = NightPart & { sleepId: string | null }

/** Time in which parts of a source may be of one session, by source; each ends SESSION_GAP_MS after the last part in it. */
export type Chains = ReadonlyMap<number, readonly Range[]>

function chainsOf(parts: readonly NightPart[]): Chains {
  const sources = [...groupBy(parts, ({ sourceId }) => sourceId)]
  return new Map(
    sources.map(([id, list]) => [id, union(list.map(({ startMs, endMs }) => [startMs, endMs + SESSION_GAP_MS]))]),
  )
}

function rangeOf(ranges: readonly Range[], ms: number): Range | undefined {
  const range = ranges[firstEndingAfter(ranges, ms)]
  return range && range[0] <= ms ? range : undefined
}

/** Whether a part is in one of the chains. */
export const isIn = (chains: Chains, { sourceId, startMs }: NightPart): boolean =>
  rangeOf(chains.get(sourceId) ?? [], startMs) !== undefined

/**
 * Reads the parts around `touched` until the chains that these belong to are known from end to end. Nearly always they are
 * at once; a source without a gap for weeks takes some statements, each of which looks twice as far.
 */
export async function readChains(
  tx: Transaction,
  touched: readonly NightPart[],
): Promise<{ parts: StoredPart[]; chains: Chains }> {
  const bySource = [...groupBy(touched, ({ sourceId }) => sourceId)]
  for (let reachMs = DAY_MS; ; reachMs *= 2) {
    const read = bySource.map(([sourceId, list]) => {
      const around = list.map(({ startMs, endMs }): Range => [startMs - MAX_NIGHT_MS - reachMs, endMs + reachMs])
      return { sourceId, list, ranges: union(around) }
    })
    const asked = read.flatMap(({ sourceId, ranges }) => ranges.map((range) => [sourceId, ...range] as const))
    const parts = await planned<StoredPart>(tx, READ_AROUND_SQL, [
      asked.map(([sourceId]) => sourceId),
      asked.map(([, loMs]) => loMs / 1000),
      asked.map(([, , hiMs]) => hiMs / 1000),
    ])
    const all = chainsOf([...parts, ...touched])
    const chains = new Map(
      bySource.map(([sourceId, list]) => {
        const of = list.map(({ startMs }) => rangeOf(all.get(sourceId) ?? [], startMs) as Range)
        return [sourceId, [...new Set(of)].sort((a, b) => a[0] - b[0])]
      }),
    )
    // Nothing unread reaches into a chain.
    const isComplete = read.every(({ sourceId, ranges }) =>
      (chains.get(sourceId) ?? []).every(([loMs, hiMs]) => {
        const [fromMs, untilMs] = rangeOf(ranges, loMs) ?? [loMs, hiMs]
        return fromMs <= loMs - SESSION_GAP_MS - MAX_NIGHT_MS && untilMs >= hiMs
      }),
    )
    if (isComplete) return { parts, chains }
  }
}

const COLUMNS = `
  p.source_id as "sourceId", p.external_id as "externalId", p.rank, p.version,
  round(date_part('epoch', p.answered_at) * 1000) as "atMs", round(date_part('epoch', p.start_at) * 1000) as "startMs",
  round(date_part('epoch', p.end_at) * 1000) as "endMs", p.zone_offset_min as "zoneMin", p.asleep_s as "asleepS",
  p.in_bed_s as "inBedS", p.awake_s as "awakeS", p.light_s as "lightS", p.deep_s as "deepS", p.rem_s as "remS",
  p.efficiency_percent as "efficiencyPercent", p.is_nap as "isNap", p.stages, p.sleep_id as "sleepId"`

// "offset 0" keeps the planner from joining whole sources and filtering afterwards.
const READ_AROUND_SQL = `
  select ${COLUMNS}
  from unnest($1::int4[], $2::float8[], $3::float8[]) around (source_id, lo, hi)
  cross join lateral (
    select * from sleep_part
    where source_id = around.source_id and start_at >= to_timestamp(around.lo) and start_at <= to_timestamp(around.hi)
    offset 0
  ) p`

/** Reads the parts that a user and provider have with these ids. */
export async function readPartsById(
  tx: Transaction,
  { userId, provider }: Pick<EventTarget, 'userId' | 'provider'>,
  externalIds: readonly string[],
): Promise<StoredPart[]> {
  if (externalIds.length === 0) return []
  return planned<StoredPart>(
    tx,
    `select ${COLUMNS}
     from data_source d
     join sleep_part p on p.source_id = d.id and p.external_id = any ($3)
     where d.user_id = $1 and d.provider = $2`,
    [userId, provider, externalIds],
  )
}

/** Reads the parts of a session, with those it replaced. */
export function readPartsOfSession(tx: Transaction, sleepId: string): Promise<StoredPart[]> {
  return planned<StoredPart>(tx, `select ${COLUMNS} from sleep_part p where p.sleep_id = $1`, [sleepId])
}

const keyColumns = (parts: readonly NightPart[]) => [
  parts.map(({ sourceId }) => sourceId),
  parts.map(({ externalId }) => externalId),
]

/** Deletes parts. */
export async function removeParts(tx: Transaction, parts: readonly NightPart[]): Promise<void> {
  if (parts.length === 0) return
  await planned(
    tx,
    `delete from sleep_part p
     using unnest($1::int4[], $2::text[]) gone (source_id, external_id)
     where p.source_id = gone.source_id and p.external_id = gone.external_id`,
    keyColumns(parts),
  )
}

/** Inserts parts and overwrites those that are there; which sessions they belong to stays. */
export async function writeParts(tx: Transaction, parts: readonly NightPart[]): Promise<void> {
  if (parts.length === 0) return
  await planned(tx, WRITE_SQL, [JSON.stringify(parts)])
}

const WRITE_SQL = `
  insert into sleep_part (
    source_id, external_id, rank, version, answered_at, start_at, end_at, zone_offset_min, asleep_s, in_bed_s, awake_s,
    light_s, deep_s, rem_s, efficiency_percent, is_nap, stages)
  select "sourceId", "externalId", rank, version, to_timestamp("atMs" / 1000), to_timestamp("startMs" / 1000),
         to_timestamp("endMs" / 1000), "zoneMin", "asleepS", "inBedS", "awakeS", "lightS", "deepS", "remS",
         "efficiencyPercent", "isNap", stages
  from jsonb_to_recordset($1) as n (
    "sourceId" int4, "externalId" text, rank int2, version int8, "atMs" float8, "startMs" float8, "endMs" float8,
    "zoneMin" int2, "asleepS" int4, "inBedS" int4, "awakeS" int4, "lightS" int4, "deepS" int4, "remS" int4,
    "efficiencyPercent" float8, "isNap" bool, stages jsonb
  )
  on conflict (source_id, external_id) do update
  set rank = excluded.rank, version = excluded.version, answered_at = excluded.answered_at,
      start_at = excluded.start_at, end_at = excluded.end_at, zone_offset_min = excluded.zone_offset_min,
      asleep_s = excluded.asleep_s, in_bed_s = excluded.in_bed_s, awake_s = excluded.awake_s,
      light_s = excluded.light_s, deep_s = excluded.deep_s, rem_s = excluded.rem_s,
      efficiency_percent = excluded.efficiency_percent, is_nap = excluded.is_nap, stages = excluded.stages`

/** Notes which sessions parts belong to. */
export async function linkParts(tx: Transaction, parts: readonly StoredPart[]): Promise<void> {
  if (parts.length === 0) return
  await planned(
    tx,
    `update sleep_part p
     set sleep_id = n.sleep_id
     from unnest($1::int4[], $2::text[], $3::uuid[]) n (source_id, external_id, sleep_id)
     where p.source_id = n.source_id and p.external_id = n.external_id and p.sleep_id is distinct from n.sleep_id`,
    [...keyColumns(parts), parts.map(({ sleepId }) => sleepId)],
  )
}
