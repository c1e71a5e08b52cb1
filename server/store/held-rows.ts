import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import type { EventTarget } from './event-items.ts'
import { columnsOf, type HeldRow, type IdColumns, idsIn } from './platform-ids.ts'

// The rows of events that a platform's id identifies, else their source, times and kind (contract 12.9).

/** Whose rows. */
type Owner = Pick<EventTarget, 'userId' | 'provider'>

/** How rows of a table are found again, the type of that column, and the column that says what they are. */
const tables = {
  workout: { row: 'id', type: 'uuid', kind: null },
  activity: { row: 'id', type: 'uuid', kind: 'type' },
  // Nobody else writes a user's rows while this transaction holds the ingest lock.
  cycle_observation: { row: 'ctid', type: 'tid', kind: 'kind' },
} as const

type Table = keyof typeof tables

/** Ids of one statement: the time to search an index of lists of ids grows with their square. */
const IDS_AT_ONCE = 1_000

/** A place where a row can be: key of the source, epoch ms, what it is. */
export interface Place {
  sourceId: number
  startMs: number
  endMs: number
  kind?: string
}

/** A place as text. */
export const placeText = ({ sourceId, startMs, endMs, kind }: Place): string =>
  `${sourceId} ${startMs} ${endMs}${kind === undefined ? '' : ` ${kind}`}`

/** The stored rows at these places, and those that the user and provider have with one of these ids. */
export async function storedRows(
  tx: Transaction,
  owner: Owner,
  table: Table,
  { ids, places }: { ids: readonly (string | null)[]; places: readonly Place[] },
): Promise<HeldRow[]> {
  const known = new Map<string, HeldRow>()
  const there = await planned<StoredRow>(tx, atPlaces(table), [
    places.map(({ sourceId }) => sourceId),
    places.map(({ startMs }) => startMs / 1000),
    places.map(({ endMs }) => endMs / 1000),
    places.map(({ kind }) => kind ?? null),
  ])
  const named = await rowsWithIds(tx, owner, byId(table), [...new Set(ids.filter((id) => id !== null))])
  for (const { row, place, ...columns } of [...there, ...named]) known.set(row, { row, place, ids: idsIn(columns) })
  return [...known.values()]
}

interface StoredRow extends IdColumns {
  row: string
  place: string
}

async function rowsWithIds(tx: Transaction, { userId, provider }: Owner, sql: string, ids: readonly string[]) {
  const rows: StoredRow[] = []
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE)
    rows.push(...(await planned<StoredRow>(tx, sql, [userId, provider, ids.slice(from, from + IDS_AT_ONCE)])))
  return rows
}

const columns = (table: Table) => {
  const { row, kind } = tables[table]
  return `
    e.${row}::text as row, e.external_id, e.other_ids,
    concat_ws(' ', e.source_id, round(date_part('epoch', e.start_at) * 1000)::int8,
              round(date_part('epoch', e.end_at) * 1000)::int8${kind ? `, e.${kind}` : ''}) as place`
}

// One look-up per place: until a user's first export is in the statistics, a join compares every item with every row of
// the user (4 s for 10,000 workouts against 0.1 s).
const atPlaces = (table: Table) => `
  select ${columns(table)}
  from unnest($1::int4[], $2::float8[], $3::float8[], $4::text[]) as i (source_id, start_s, end_s, kind)
  cross join lateral (
    select *${table === 'cycle_observation' ? ', ctid' : ''}
    from ${table} s
    where s.source_id = i.source_id and s.start_at = to_timestamp(i.start_s) and s.end_at = to_timestamp(i.end_s)
          ${tables[table].kind ? `and s.${tables[table].kind} = i.kind` : ''}
    offset 0
  ) e`

const having = (table: Table, condition: string) => `
  select ${columns(table)}
  from ${table} e
  where e.user_id = $1 and ${condition}
    and e.source_id = any (array (select d.id from data_source d where d.user_id = $1 and d.provider = $2))`

const others = (table: Table) => (table === 'workout' ? 'with_records(e.other_ids)' : 'e.other_ids')

const byId = (table: Table) => `
  ${having(table, 'e.external_id = any ($3)')}
  union
  ${having(table, `${others(table)} && $3::text[]`)}`

// An id also stands for the sessions made of it, `{id}-s0` and so on (sdk-payload 4.7, 8).
const byRecord = `
  ${byId('workout')}
  union
  ${having('workout', `e.external_id ~ '-s\\d+$' and record_of(e.external_id) = any ($3)`)}`

const recordOf = (id: string) => id.replace(/-s\d+$/, '')

/**
 * Takes platform ids from the rows of the user and provider that have them, and deletes the rows that are left without
 * any. Returns the ids found.
 */
export async function takeIds(
  tx: Transaction,
  owner: Owner,
  table: Table,
  externalIds: readonly string[],
): Promise<string[]> {
  const asked = [...new Set(externalIds)]
  const names = new Set(asked)
  const found = new Set<string>()
  const left = new Map<string, string[]>()
  for (const { row, ...columns } of await rowsWithIds(tx, owner, table === 'workout' ? byRecord : byId(table), asked)) {
    const kept = idsIn(columns).filter((id) => {
      const said = table === 'workout' ? [id, recordOf(id)] : [id]
      for (const name of said) if (names.has(name)) found.add(name)
      return !said.some((name) => names.has(name))
    })
    left.set(row, kept)
  }
  const rows = [...left].map(([row, ids]) => ({ row, ids }))
  await deleteRows(
    tx,
    table,
    rows.filter(({ ids }) => ids.length === 0),
  )
  await relabelRows(
    tx,
    table,
    rows.filter(({ ids }) => ids.length > 0),
  )
  return asked.filter((id) => found.has(id))
}

/** Deletes rows. */
export async function deleteRows(tx: Transaction, table: Table, rows: readonly { row: string }[]): Promise<void> {
  if (rows.length === 0) return
  const { row, type } = tables[table]
  await planned(tx, `delete from ${table} e where e.${row} = any ($1::${type}[])`, [rows.map((one) => one.row)])
}

/** Stores which ids rows have now. */
export async function relabelRows(
  tx: Transaction,
  table: Table,
  rows: readonly Pick<HeldRow, 'row' | 'ids'>[],
): Promise<void> {
  if (rows.length === 0) return
  const { row, type } = tables[table]
  await planned(
    tx,
    `update ${table} e
     set external_id = n.external_id, other_ids = n.other_ids
     from json_to_recordset($1) as n (row text, external_id text, other_ids text[])
     where e.${row} = n.row::${type}`,
    [JSON.stringify(rows.map((one) => ({ row: one.row, ...columnsOf(one.ids) })))],
  )
}
