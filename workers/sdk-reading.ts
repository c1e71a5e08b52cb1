import type { BatchEvents } from '../server/batch/columns.ts'
import type { SampleStreams } from '../server/batch/sample-streams.ts'
import type { SdkAbility } from '../server/providers/sdk.ts'
import type { Decode } from './json-bytes.ts'
import type { Account } from './sdk-account.ts'
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
  /** See `Batch`. */
  implausibleParts: Record<number, number>
}
