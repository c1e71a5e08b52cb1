import { randomInt } from 'node:crypto'
import { Type } from 'typebox'
import { eventNames } from '../../catalogue/events.ts'
import type { Config } from '../../config.ts'
import { type Queryable, violatedConstraint } from '../../db/database.ts'
import { errors, type Issue } from '../../errors.ts'
import { Enum, Nullable, SyncScope, Uuid } from '../../http/schema.ts'
import { checkUrl } from '../../webhooks/address-guard.ts'

/** An endpoint of contract 10. */
export const Endpoint = Type.Object(
  {
    id: Type.String(),
    url: Type.String(),
    description: Nullable(Type.String()),
    filter_types: Nullable(Type.Array(Type.String(), { description: 'Names of events; null = all of them' })),
    filter_scope: Nullable(SyncScope()),
    user_id: Nullable(Uuid({ description: 'Only events of this user; null = of all users' })),
    disabled: Type.Boolean(),
    disabled_reason: Nullable(
      Enum(['by_hand', 'gone', 'failing'], {
        description: 'by_hand: a developer did; gone: it answered 410; failing: nothing was delivered for five days',
      }),
    ),
  },
  { title: 'WebhookEndpoint' },
)

/** The columns of `Endpoint`. */
export const ENDPOINT_COLUMNS = `uid as id, url, description, filter_types, filter_scope, user_id,
  disabled_at is not null as disabled, disabled_reason`

/** Path parameter of the routes of one endpoint. */
export const EndpointPath = Type.Object({ endpoint_id: Type.String() })

/** The fields of an endpoint that a developer writes. */
export const endpointFields = {
  url: Type.String({ format: 'uri', maxLength: 2083, description: 'Where to POST events: absolute, https' }),
  description: Nullable(Type.String({ maxLength: 1000 })),
  filter_types: Nullable(
    Type.Array(Enum(eventNames, { title: 'EventName', 'x-error-type': 'value_error' }), { maxItems: 100 }),
  ),
  filter_scope: Nullable(SyncScope()),
  user_id: Nullable(Uuid()),
}

/** An `Endpoint` for the API description. */
export const endpointExample = {
  id: 'ep_4hJ7kQ2mZx9RtB1vNc6WsY0e',
  url: 'https://example.org/hooks/pulsebase',
  description: 'Coaching app',
  filter_types: ['workout.created', 'sleep.created'],
  filter_scope: null,
  user_id: null,
  disabled: false,
  disabled_reason: null,
}

/** Errors that every route of one endpoint can answer, for the description. */
export const endpointErrors = { 404: 'Unknown endpoint', 503: 'Outgoing webhooks are not enabled' }

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new id of an endpoint: `ep_` and 24 random characters. */
export const newEndpointId = (): string =>
  `ep_${Array.from({ length: 24 }, () => BASE62[randomInt(BASE62.length)]).join('')}`

/** Accepts a request only if webhooks are enabled. @throws AppError webhooks_off (503) */
export function requireWebhooks({ outgoingWebhooksEnabled }: Config): void {
  if (!outgoingWebhooksEnabled) throw errors.webhooksOff()
}

/** The error in a field of a body beyond its shape (contract 1.8). */
export const valueError = (field: string, error: string, input: unknown): Issue => ({
  type: 'value_error',
  loc: ['body', field],
  msg: `Value error, ${error}`,
  input,
  ctx: { error },
})

/** Accepts only a URL that Pulsebase may call. @throws AppError invalid (422) */
export function requireUrl(url: string, { webhooksAllowHttp, webhooksAllowNetworks }: Config): void {
  const problem =
    checkUrl(url, { allowHttp: webhooksAllowHttp, allowNetworks: webhooksAllowNetworks }) ??
    // A fragment would never be sent (RFC 9110, 4.2.5).
    (url.includes('#') ? 'must not contain a fragment' : undefined)
  if (!problem) return
  throw errors.invalid([valueError('url', `url ${problem}`, url)])
}

/** The filter in its stored form: no type twice; an empty filter means every type. */
export const storedFilter = (types: readonly string[] | null | undefined): string[] | null =>
  types?.length ? [...new Set(types)] : null

/** The error for an endpoint that could not be stored: its user may be unknown. */
export function notStored(error: unknown, userId: string | null | undefined): unknown {
  return violatedConstraint(error) === 'endpoint_user_id_fkey' ? errors.notFound('User', String(userId)) : error
}

/** The error for an unknown id of an endpoint. */
export const unknownEndpoint = () => errors.missing('Endpoint not found')

/** The key and the state of an endpoint by its public id. @throws AppError not_found */
export async function findEndpoint(db: Queryable, uid: string): Promise<{ id: number; disabled: boolean }> {
  const [row] = await db.query<{ id: number; disabled: boolean }>(
    'select id, disabled_at is not null as disabled from endpoint where uid = $1',
    [uid],
  )
  if (!row) throw unknownEndpoint()
  return row
}

/** The key of an endpoint that is not disabled. @throws AppError not_found, bad_request */
export async function enabledEndpoint(db: Queryable, uid: string): Promise<number> {
  const { id, disabled } = await findEndpoint(db, uid)
  if (disabled) throw errors.badRequest('The endpoint is disabled. Enable it first: PATCH it with {"disabled": false}.')
  return id
}

/** Makes the delivering processes look for work, once committed. */
export async function notifyDelivery(db: Queryable): Promise<void> {
  await db.query(`select pg_notify('delivery', '')`)
}
