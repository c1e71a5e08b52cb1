import type { Scope } from '../catalogue/scopes.ts'
import { samplesJson, unpackSamples } from './packed.ts'

/** The parts of an event that its body depends on; `data` is JSON, or packed samples. */
export interface StoredEvent {
  type: string
  user_id: string | null
  /** Null: not known. */
  scope: Scope | null
  data: Buffer
  packed: boolean
}

/**
 * The body of every delivery of an event (contract 10.3): `{"type": …, "scope": …, "data": {…}}`, without a scope that is
 * not known.
 */
export function eventBody({ type, user_id, scope, data, packed }: StoredEvent): Buffer {
  const json = packed ? samplesJson(user_id ?? '', unpackSamples(data)) : data
  const head = JSON.stringify({ type, ...(scope && { scope }) })
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},"data":`), Buffer.from(json), Buffer.from('}')])
}
