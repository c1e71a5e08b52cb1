import type { Reading } from './sdk-batch.ts'
import type { Json, Problem } from './sdk-fields.ts'

export function readWorkout(_reading: Reading, _item: Json): Problem | 'ignored' | undefined {
  return 'ignored'
}
