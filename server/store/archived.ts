import { type Batch, countSamples, type SampleColumns } from '../batch/columns.ts'
import { columnsAt } from '../batch/columns-at.ts'
import { withRejected } from '../batch/day-counts.ts'
import { counted } from '../counted.ts'
import type { Transaction } from '../db/database.ts'

/** The reason of a rejection. */
const ARCHIVED = 'archived'

const QUARTER_MS = 900_000

/** The samples that can be stored, and those that cannot, since their time has only rollups, or nothing is kept of it. */
export interface Sifted {
  kept: SampleColumns[]
  archived: SampleColumns[]
  expired: SampleColumns[]
  /** The instant from which anything is kept, epoch ms; null if no sample was older. */
  keptFromMs: number | null
}

type Old = [place: number, starts: number, ends: number, keptFrom: number | null]

/**
 * Leaves out samples of archived quarter hours, whose rollups are final, and samples older than anything that is kept.
 * All other old samples are accepted, whatever the settings: the next run archives them. Call it before the samples are
 * written, in the same transaction, which holds the user's ingest lock.
 */
export async function withoutArchived(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
): Promise<Sifted> {
  const all = { kept: [...samples], archived: [], expired: [], keptFromMs: null }
  if (samples.length === 0) return all
  const sources = samples.map(({ source }) => sourceIds[source] as number)
  const old = await tx.rows<Old>('select place, starts, ends, kept_from from archived_within($1, $2, $3, $4)', [
    sources,
    samples.map(({ seriesId }) => seriesId),
    samples.map(({ timeMs }) => (timeMs[0] as number) / 1000),
    samples.map(({ timeMs }) => (timeMs.at(-1) as number) / 1000),
  ])
  if (old.length === 0) return all
  const keptFrom = old.find(([, , , from]) => from !== null)?.[3] ?? null
  const keptFromMs = keptFrom === null ? null : keptFrom * 1000
  const refused = await refusedQuarters(tx, samples, sources, old)
  const sifted: Sifted = { kept: [], archived: [], expired: [], keptFromMs }
  for (const [place, columns] of samples.entries()) {
    const final = refused.get(place)
    const kindOf = (ms: number) =>
      keptFromMs !== null && ms < keptFromMs ? 'expired' : final?.has(quarterOf(ms)) ? 'archived' : 'kept'
    for (const [kind, part] of divided(columns, kindOf)) sifted[kind].push(part)
  }
  return sifted
}

const quarterOf = (ms: number) => Math.floor(ms / QUARTER_MS)

/** By position of the column set: numbers of quarter hours since 1970 that are archived; all others are accepted. */
async function refusedQuarters(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sources: readonly number[],
  old: readonly Old[],
): Promise<Map<number, Set<number>>> {
  const asked: [place: number, quarter: number][] = []
  for (const [place, starts, ends, keptFrom] of old) {
    if (keptFrom !== null) continue
    const { timeMs } = samples[place - 1] as SampleColumns
    const [first, end] = [quarterOf(starts * 1000), quarterOf(ends * 1000)]
    let last = first - 1
    for (const ms of timeMs) {
      const quarter = quarterOf(ms)
      if (quarter >= end) break
      if (quarter > last) asked.push([place - 1, quarter])
      last = Math.max(last, quarter)
    }
  }
  const refused = new Map<number, Set<number>>()
  if (asked.length === 0) return refused
  const rows = await tx.rows<[place: number]>('select place from take_late($1, $2, $3)', [
    asked.map(([place]) => sources[place] as number),
    asked.map(([place]) => samples[place]?.seriesId as number),
    asked.map(([, quarter]) => (quarter * QUARTER_MS) / 1000),
  ])
  for (const [at] of rows) {
    const [place, quarter] = asked[at - 1] as (typeof asked)[number]
    refused.set(place, (refused.get(place) ?? new Set()).add(quarter))
  }
  return refused
}

/** A column set divided by the kind of its samples. */
function divided<Kind>(columns: SampleColumns, kindOf: (ms: number) => Kind): Map<Kind, SampleColumns> {
  const places = new Map<Kind, number[]>()
  for (const [at, ms] of columns.timeMs.entries()) {
    const kind = kindOf(ms)
    const same = places.get(kind)
    if (same) same.push(at)
    else places.set(kind, [at])
  }
  if (places.size === 1) return new Map([...places.keys()].map((kind) => [kind, columns]))
  return new Map([...places].map(([kind, ats]) => [kind, columnsAt(columns, ats)]))
}

/**
 * The batch without samples that cannot be stored, which it counts as rejected. Samples that arrive with events are not
 * items, so only their days count.
 */
export function rejectArchived(batch: Batch, samples: Sifted, derived: Sifted): Batch {
  const gone = [...samples.archived, ...samples.expired, ...derived.archived, ...derived.expired]
  if (gone.length === 0) return batch
  const archived = countSamples(samples.archived)
  const expired = countSamples(samples.expired)
  const messages: string[] = []
  if (archived > 0)
    messages.push(`${counted(archived, 'sample')} of archived quarter hours, which keep only their final sums`)
  if (expired > 0) {
    const day = new Date(samples.keptFromMs ?? 0).toISOString().slice(0, 10)
    messages.push(`${counted(expired, 'sample')} from before ${day}, which is too long ago to be kept`)
  }
  const rejected = archived + expired
  return {
    ...batch,
    samples: samples.kept,
    derived: derived.kept,
    ...withRejected(batch, ARCHIVED, gone),
    rejected: batch.rejected + rejected,
    rejections: [
      ...batch.rejections,
      ...messages.map((msg) => {
        return { collection: 'records', index: null, id: null, loc: ['data', 'records'], type: ARCHIVED, msg }
      }),
    ],
    unstored:
      rejected === 0
        ? batch.unstored
        : [...batch.unstored, { collection: 'records', type: null, reason: ARCHIVED, items: rejected }],
  }
}
