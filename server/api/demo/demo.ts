import { Type } from 'typebox'
import { externalId, people } from '../../../demo/people.ts'
import type { Database } from '../../db/database.ts'
import type { Demo } from '../../demo.ts'
import { Enum, Nullable, Uuid } from '../../http/schema.ts'

/** Whether the demo data is there, and what happens to it. */
export const DemoData = Type.Object(
  {
    state: Enum(['absent', 'adding', 'present', 'removing'], { title: 'DemoState' }),
    progress: Nullable(Type.Number({ minimum: 0, maximum: 1, description: 'Of what is being added or removed' })),
    people: Type.Array(
      Type.Object(
        {
          user_id: Uuid(),
          external_user_id: Type.String(),
          first_name: Nullable(Type.String()),
          last_name: Nullable(Type.String()),
        },
        { title: 'DemoPerson' },
      ),
    ),
    error: Nullable(Type.String({ description: 'Why the last run in this process failed' })),
  },
  { title: 'DemoData' },
)

/** A `DemoData` for the API description. */
export const demoExample = {
  state: 'adding',
  progress: 0.42,
  people: [
    {
      user_id: 'f91a9cd8-98e4-4b67-8dec-d22117aa89c9',
      external_user_id: 'demo:ada',
      first_name: 'Ada',
      last_name: 'Runner',
    },
  ],
  error: null,
}

/** Reads what there is of the demo data, and what this process is doing about it. */
export async function readDemo(db: Database, demo: Demo) {
  const found = await db.query<{ user_id: string }>(
    `select id as user_id, external_user_id, first_name, last_name
     from app_user
     where external_user_id = any ($1)
     order by external_user_id`,
    [people().map(externalId)],
  )
  const { doing, share, error } = demo.state()
  const idle = found.length > 0 ? 'present' : 'absent'
  const state = doing === 'add' ? 'adding' : doing === 'remove' ? 'removing' : idle
  return { state, progress: share, people: found, error }
}
