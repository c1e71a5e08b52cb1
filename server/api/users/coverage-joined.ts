import { dayText } from '../../batch/day-counts.ts'
import type { Stored } from '../../sources/user-view.ts'
import { DAY_MS, isoInstant } from '../../time.ts'

interface Key {
  day: string
  provider: string
  type: string
}

/** A kind of rows of `daysSql`; a `samples` row counts those of the series in that place. */
export type CountRow =
  | (Omit<Key, 'day'> & { kind: 'received'; pairs: Buffer })
  | (Key & { kind: 'stored'; n: number })
  | (Key & { kind: 'implausible'; n: number })
  | (Key & { kind: 'rejected'; reason: string; n: number })
  | { kind: 'samples'; n: number; pairs: Buffer }

/** What happened to the data of one type of a provider on a day. */
export interface CoverageDay extends Key {
  received: number
  stored: number
  implausible: number
  rejected: number
  reasons: { reason: string; items: number }[]
  last_upload_at: string | null
}

/** An instant of epoch microseconds in the form of contract 1.2. */
function microsecondsText(us: number): string {
  const second = Math.floor(us / 1e6)
  const text = isoInstant(second * 1000)
  const fraction = us - second * 1e6
  return fraction === 0 ? text : `${text.slice(0, -1)}.${String(fraction).padStart(6, '0')}Z`
}

/** Computes each text of something once: days and instants repeat for every type. */
function remembered(make: (of: number) => string): (of: number) => string {
  const known = new Map<number, string>()
  return (of) => {
    const text = known.get(of) ?? make(of)
    known.set(of, text)
    return text
  }
}

type Rows = Map<string, CoverageDay>

/** All sides by day, provider and type; several devices and daily totals are one. Without a key per item: there are thousands. */
export function joined(counts: readonly CountRow[], series: readonly Stored[]): CoverageDay[] {
  const kinds = new Map<string, Rows>()
  const rowsOf = (provider: string, type: string) => {
    const key = `${provider} ${type}`
    const rows: Rows = kinds.get(key) ?? new Map()
    kinds.set(key, rows)
    return (day: string) => rows.get(day) ?? added(rows, day, provider, type)
  }
  const dateOf = remembered((day) => dayText(day * DAY_MS))
  const instantOf = remembered(microsecondsText)
  for (const one of counts) {
    if (one.kind === 'received') {
      const rowOf = rowsOf(one.provider, one.type)
      for (let at = 0; at < one.pairs.length; at += 16) {
        const row = rowOf(dateOf(one.pairs.readInt32BE(at)))
        row.received = one.pairs.readInt32BE(at + 4)
        row.last_upload_at = instantOf(Number(one.pairs.readBigInt64BE(at + 8)))
      }
    } else if (one.kind === 'samples') {
      const { source, series: of, isImplausible } = series[one.n - 1] as Stored
      const rowOf = rowsOf(source.provider, of.type)
      for (let at = 0; at < one.pairs.length; at += 8) {
        const row = rowOf(dateOf(one.pairs.readInt32BE(at)))
        const samples = one.pairs.readInt32BE(at + 4)
        row.stored += samples
        if (isImplausible) row.implausible += samples
      }
    } else if (one.kind === 'rejected') {
      const row = rowsOf(one.provider, one.type)(one.day)
      row.rejected += one.n
      row.reasons.push({ reason: one.reason, items: one.n })
    } else rowsOf(one.provider, one.type)(one.day)[one.kind] += one.n
  }
  return inOrder(kinds)
}

/** Written out: with `...` of another object, thousands of rows took 29 ms. */
function added(rows: Rows, day: string, provider: string, type: string): CoverageDay {
  const row = {
    day,
    provider,
    type,
    received: 0,
    stored: 0,
    implausible: 0,
    rejected: 0,
    reasons: [],
    last_upload_at: null,
  }
  rows.set(day, row)
  return row
}

/** By day, provider and type; reasons by how many there are. */
function inOrder(kinds: ReadonlyMap<string, Rows>): CoverageDay[] {
  for (const rows of kinds.values())
    for (const { reasons } of rows.values())
      if (reasons.length > 1) reasons.sort((a, b) => b.items - a.items || (a.reason < b.reason ? -1 : 1))
  const ordered = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rows]) => rows)
  const dates = [...new Set(ordered.flatMap((rows) => [...rows.keys()]))].sort()
  return dates.flatMap((day) => ordered.flatMap((rows) => rows.get(day) ?? []))
}
