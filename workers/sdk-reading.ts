import type { BatchEvents } from '../server/batch/columns.ts'
import type { OriginHash } from '../server/batch/origins.ts'
import type { SampleStreams } from '../server/batch/sample-streams.ts'
import type { SdkAbility } from '../server/providers/sdk.ts'
import type { Account } from './account.ts'
import type { Decode } from './json-bytes.ts'
import type { Sources } from './sdk-sources.ts'

/** State that the readers of an upload's collections share and fill. */
export interface Reading {
  ability: SdkAbility
  /** The last plausible instant, in epoch milliseconds. */
  latestMs: number
  decode: Decode
  sources: Sources
  account: Account
  streams: SampleStreams
  /** See `Batch`. */
  derived: SampleStreams
  events: BatchEvents
  /** Totals of days, which have an instant only when all zones are settled. */
  totals: DayTotal[]
  /** For each session of the platform, the ids of all its items, including ignored and rejected ones. */
  sleepIds: Map<string, Set<string | null>>
  /** See `Batch`. */
  implausibleParts: Record<number, number>
}

/** The total of the local day of an instant, to be added to a stream. */
export interface DayTotal {
  source: number
  /** As stored. */
  seriesId: number
  startMs: number
  zoneMin: number | null
  value: number
  origin: OriginHash | null
}
