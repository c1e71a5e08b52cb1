import { externalId, type Json, MISSING, type Problem } from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'

/** Reads an item of `data.deleted` or `data.deletions`: the platform deleted a record (sdk-payload 8). */
export function readDeletion({ ability, decode, events }: Reading, item: Json): Problem | undefined {
  const id = externalId(item.id, decode)
  if (id === null) return ['id', ...MISSING]
  const kind = typeof item.type === 'string' ? ability.recordKind(item.type) : 'ignored'
  const seriesId = typeof kind === 'object' && 'series' in kind ? kind.series.id : null
  events.deletions.push({ externalId: id, seriesId })
  return undefined
}
