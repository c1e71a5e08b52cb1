// The events recorded for developers.
import type { Scope } from '../../server/catalogue/scopes.ts'
import { eventBody } from '../../server/webhooks/body.ts'
import type { TestApp } from './app.ts'
import { undescribedEvent } from './described.ts'

/** A recorded event with the body its receivers get, also as bytes. */
export interface RecordedEvent {
  id: number
  uid: string
  type: string
  key: string
  user_id: string
  scope: Scope | null
  bytes: number
  // biome-ignore lint/suspicious/noExplicitAny: every kind has a shape of its own
  body: { type: string; scope?: string; data: any }
}

/** The id of the latest event, 0 before there is one. */
export async function latestEvent({ db }: Pick<TestApp, 'db'>): Promise<number> {
  return (await db.one<{ id: number }>('select coalesce(max(id), 0) as id from event')).id
}

/** The events recorded after one, in their order. */
export async function recordedEvents({ db }: Pick<TestApp, 'db'>, after = 0): Promise<RecordedEvent[]> {
  const rows = await db.query<Omit<RecordedEvent, 'bytes' | 'body'> & { data: Buffer; packed: boolean }>(
    'select id, uid, type, key, user_id, scope, data, packed from event where id > $1 order by id',
    [after],
  )
  return rows.map(({ data, packed, ...row }) => {
    const bytes = eventBody({ ...row, data, packed })
    const body = JSON.parse(bytes.toString())
    const problems = undescribedEvent(body)
    if (problems.length > 0) throw new Error(`not as /openapi.json says: ${problems.slice(0, 5).join('; ')}`)
    return { ...row, bytes: bytes.length, body }
  })
}
