// The data of summaries, written as an import writes it, and pages of summaries.

import { NO_ZONE, type SampleColumns } from '../../server/batch/columns.ts'
import type { Database } from '../../server/db/database.ts'
import { withoutArchived } from '../../server/store/archived.ts'
import { writeSamples } from '../../server/store/samples.ts'
import type { TestAnswer, TestApp } from './app.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** A seeded source of numbers in [0, 1) (mulberry32), so a failure can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Adds sources of a user and returns their keys. */
export async function addSources(
  db: Database,
  user: string,
  sources: readonly { provider: string; device: string; source: string; type: string }[],
): Promise<number[]> {
  const ids: number[] = []
  for (const { provider, device, source, type } of sources) {
    const { id } = await db.one<{ id: number }>(
      `insert into data_source (user_id, provider, device_model, source, device_type) values ($1, $2, $3, $4, $5)
       returning id`,
      [user, provider, device, source, type],
    )
    ids.push(id)
  }
  return ids
}

/** A sample to write; `sourceId` is the key of its source, `ms` epoch ms. */
export interface Written {
  sourceId: number
  seriesId: number
  ms: number
  value: number
  zone: number | null
  /** Seconds, as they are stored. */
  lastsS?: number
}

/**
 * Writes samples as an import does; the last sample of each instant of a series of a source stays, those of archived quarter hours
 * are left out.
 */
export async function write(db: Database, user: string, samples: readonly Written[]): Promise<void> {
  const groups = new Map<string, Map<number, Written>>()
  for (const one of samples) {
    const key = `${one.sourceId} ${one.seriesId}`
    const group = groups.get(key) ?? new Map<number, Written>()
    groups.set(key, group.set(one.ms, one))
  }
  const sources: number[] = []
  const columns = [...groups.values()].map((group): SampleColumns => {
    const sorted = [...group.values()].sort((a, b) => a.ms - b.ms)
    const { sourceId, seriesId } = sorted[0] as Written
    sources.push(sourceId)
    return {
      source: sources.length - 1,
      seriesId,
      timeMs: Float64Array.from(sorted, ({ ms }) => ms),
      value: Float64Array.from(sorted, ({ value }) => value),
      zoneMin: Int16Array.from(sorted, ({ zone }) => zone ?? NO_ZONE),
      lastsS: sorted.some(({ lastsS }) => lastsS) ? Int32Array.from(sorted, ({ lastsS }) => lastsS ?? 0) : null,
      zoneTaken: null,
      origins: null,
    }
  })
  await db.transaction(async (tx) => {
    const { kept } = await withoutArchived(tx, columns, sources)
    await writeSamples(tx, kept, sources)
    await tx.query('update app_user set revision = revision + 1 where id = $1', [user])
  })
}

/** A page of a summary. */
export function summary(
  app: TestApp,
  user: string,
  name: string,
  query: Record<string, string | number | boolean | undefined>,
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  const text = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) text.set(key, String(value))
  return app.request('GET', `/api/v1/users/${user}/summaries/${name}?${text}`, { headers })
}

interface Walked {
  // biome-ignore lint/suspicious/noExplicitAny: rows of every summary
  rows: any[]
  pages: unknown[][]
}

/** Reads all pages forward and then back to the first; throws if these differ. */
export async function walk(
  app: TestApp,
  user: string,
  name: string,
  query: Record<string, string | number | boolean | undefined>,
): Promise<Walked> {
  const pages: unknown[][] = []
  let answer = await summary(app, user, name, query)
  for (;;) {
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    const { data, pagination, metadata } = answer.body
    pages.push(data)
    if (metadata.sample_count !== data.length || pagination.has_more !== (pagination.next_cursor !== null))
      throw new Error(`inconsistent page: ${JSON.stringify({ pagination, metadata })}`)
    if ((pagination.previous_cursor !== null) !== pages.length > 1) throw new Error('wrong previous_cursor')
    if (!pagination.next_cursor) break
    if (data.length !== Number(query.limit ?? 50)) throw new Error(`a page of ${data.length} rows is not the last one`)
    answer = await summary(app, user, name, { ...query, cursor: pagination.next_cursor })
  }
  for (let place = pages.length - 2; place >= 0; place -= 1) {
    answer = await summary(app, user, name, { ...query, cursor: answer.body.pagination.previous_cursor })
    // With merge=none the last digit of a sum depends on the order of addition, as it always did.
    const same = query.merge === 'none' ? alike : (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
    if (!same(answer.body.data, pages[place]))
      throw new Error(`page ${place} of ${name} is another one on the way back`)
    if (!answer.body.pagination.next_cursor) throw new Error('no way forward from a page before the last')
  }
  if (answer.body.pagination.previous_cursor !== null) throw new Error('something before the first page')
  return { rows: pages.flat(), pages }
}

/** Number of the local day of an instant; null = UTC. */
export const localDay = (ms: number, zone: number | null): number => Math.floor((ms + (zone ?? 0) * MINUTE_MS) / DAY_MS)

/** `YYYY-MM-DD` of a local day. */
export const dateText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** Whether two answers are equal except for the last digits of their numbers. */
export function alike(found: unknown, wanted: unknown): boolean {
  if (typeof found === 'number' && typeof wanted === 'number')
    return Math.abs(found - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted))
  if (typeof found !== 'object' || typeof wanted !== 'object' || !found || !wanted) return found === wanted
  const keys = Object.keys(found)
  return (
    keys.length === Object.keys(wanted).length &&
    keys.every((key) => key in wanted && alike(found[key as never], wanted[key as never]))
  )
}
