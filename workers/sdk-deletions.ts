import type { Deletion } from '../server/batch/columns.ts'
import type { SdkAbility } from '../server/providers/sdk.ts'
import { externalId, type Json, MISSING, type Problem } from './sdk-fields.ts'
import type { Reading } from './sdk-reading.ts'

/** Reads an item of `data.deleted` or `data.deletions`: the platform deleted a record (sdk-payload 8). */
export function readDeletion({ ability, decode, events }: Reading, item: Json): Problem | undefined {
  const id = externalId(item.id, decode)
  if (id === null) return ['id', ...MISSING]
  events.deletions.push({
    externalId: id,
    seriesId: typeof item.type === 'string' ? seriesOf(ability, item.type) : null,
  })
  return undefined
}

/** Samples come from records and with workouts, never from stages, meals, observations or sessions. */
function seriesOf(ability: SdkAbility, type: string): Deletion['seriesId'] {
  const kind = ability.recordKind(type)
  if (kind === 'ignored') return ability.loggedEvents.get(type) === 'sleep' ? 'none' : null
  return typeof kind === 'object' && 'series' in kind ? kind.series.id : 'none'
}
