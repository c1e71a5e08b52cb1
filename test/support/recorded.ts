// Events as they are recorded for developers, and endpoints that ask for them.
import { randomBytes } from 'node:crypto'
import { eventBody } from '../../server/webhooks/body.ts'
import { newSecret, sealSecret } from '../../server/webhooks/secrets.ts'
import type { TestApp } from './app.ts'

/** A recorded event with the body its receivers get, and the bytes of it. */
export interface RecordedEvent {
  id: number
  uid: string
  type: string
  key: string
  user_id: string
  bytes: number
  // biome-ignore lint/suspicious/noExplicitAny: every kind has a shape of its own
  body: { type: string; data: any }
}

/** The events recorded after one, in their order. */
export async function recordedEvents({ db }: Pick<TestApp, 'db'>, after = 0): Promise<RecordedEvent[]> {
  const rows = await db.query<Omit<RecordedEvent, 'bytes' | 'body'> & { data: Buffer; packed: boolean }>(
    'select id, uid, type, key, user_id, data, packed from event where id > $1 order by id',
    [after],
  )
  return rows.map(({ data, packed, ...row }) => {
    const body = eventBody({ ...row, data, packed })
    return { ...row, bytes: body.length, body: JSON.parse(body.toString()) }
  })
}

interface EndpointOptions {
  url?: string
  filterTypes?: readonly string[] | null
  userId?: string | null
  disabledReason?: 'by_hand' | 'gone' | 'failing' | null
}

/** Stores an endpoint and returns its keys and its secret. */
export async function addEndpoint(
  { db, deps }: Pick<TestApp, 'db' | 'deps'>,
  { url = 'https://example.org/hook', filterTypes = null, userId = null, disabledReason = null }: EndpointOptions = {},
): Promise<{ id: number; uid: string; secret: string }> {
  const uid = `ep_${randomBytes(12).toString('hex')}`
  const secret = newSecret()
  const { id } = await db.one<{ id: number }>(
    `insert into endpoint (uid, url, filter_types, user_id, secret, disabled_at, disabled_reason)
     values ($1, $2, $3, $4, $5, case when $6::text is not null then now() end, $6)
     returning id`,
    [uid, url, filterTypes, userId, sealSecret(deps.keys.webhookSecret, uid, secret), disabledReason],
  )
  return { id, uid, secret }
}
