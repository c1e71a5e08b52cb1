import { samplesJson, unpackSamples } from './packed.ts'

/** The parts of an event that its body depends on; `data` is JSON, or packed samples. */
export interface StoredEvent {
  type: string
  user_id: string | null
  data: Buffer
  packed: boolean
}

/** The body of every delivery of an event: `{"type": …, "data": {…}}` (contract 10.3). */
export function eventBody({ type, user_id, data, packed }: StoredEvent): Buffer {
  const json = packed ? samplesJson(user_id ?? '', unpackSamples(data)) : data
  return Buffer.concat([Buffer.from(`{"type":${JSON.stringify(type)},"data":`), Buffer.from(json), Buffer.from('}')])
}
