import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Nullable } from '../../http/schema.ts'
import {
  ENDPOINT_COLUMNS,
  Endpoint,
  EndpointPath,
  endpointErrors,
  endpointExample,
  endpointFields,
  notStored,
  requireUrl,
  requireWebhooks,
  unknownEndpoint,
} from './endpoint.ts'

/** Changes an endpoint; what null means differs by field (contract 10). */
export const updateEndpoint = route(
  {
    method: 'PATCH',
    path: '/api/v1/webhooks/endpoints/{endpoint_id}',
    operationId: 'updateEndpoint',
    summary: 'Change, disable or enable an endpoint',
    description:
      'Absent and null fields stay unchanged, except that null for `user_id` means events of all users, ' +
      'and null for `filter_scope` live and historical events. No `filter_types` (`[]`) means all kinds. `disabled: false` enables an endpoint again, whatever disabled it.',
    tag: 'Webhooks',
    guard: 'developer',
    params: EndpointPath,
    body: Type.Object({
      url: Type.Optional(Nullable(endpointFields.url)),
      description: Type.Optional(endpointFields.description),
      filter_types: Type.Optional(endpointFields.filter_types),
      filter_scope: Type.Optional(endpointFields.filter_scope),
      user_id: Type.Optional(endpointFields.user_id),
      disabled: Type.Optional(Nullable(Type.Boolean())),
    }),
    bodyExample: { filter_types: [], disabled: false },
    response: Endpoint,
    example: { ...endpointExample, filter_types: null },
    errors: { ...endpointErrors, 404: 'Unknown endpoint or user' },
  },
  async ({ params, body }, { config, db }) => {
    requireWebhooks(config)
    if (body.url) requireUrl(body.url, config)
    const row = await db.transaction(async (tx) => {
      // In the order of locks (store/lock.ts): the user before the endpoint.
      if (body.user_id) await tx.query('select 1 from app_user where id = $1 for key share', [body.user_id])
      const [updated] = await tx
        .query(UPDATE_SQL, [
          params.endpoint_id,
          body.url ?? null,
          body.description ?? null,
          body.filter_types ? [...new Set(body.filter_types)] : null,
          body.user_id !== undefined,
          body.user_id ?? null,
          body.disabled ?? null,
          body.filter_scope !== undefined,
          body.filter_scope ?? null,
        ])
        .catch((error) => {
          throw notStored(error, body.user_id)
        })
      return updated
    })
    if (!row) throw unknownEndpoint()
    return row
  },
)

const UPDATE_SQL = `
  update endpoint
  set url = coalesce($2, url),
      description = coalesce($3, description),
      filter_types = case when $4::text[] is null then filter_types else nullif($4, '{}') end,
      filter_scope = case when $8 then $9 else filter_scope end,
      user_id = case when $5 then $6 else user_id end,
      disabled_at = case $7::boolean when true then coalesce(disabled_at, now()) when false then null else disabled_at end,
      disabled_reason =
        case $7 when true then coalesce(disabled_reason, 'by_hand') when false then null else disabled_reason end,
      failing_since = case when url = coalesce($2, url) and (disabled_at is null or $7 is not false) then failing_since end,
      updated_at = now()
  where uid = $1
  returning ${ENDPOINT_COLUMNS}`
