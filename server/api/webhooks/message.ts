import { Type } from 'typebox'
import { Instant, Nullable } from '../../http/schema.ts'
import { eventBody, type StoredEvent } from '../../webhooks/body.ts'
import { messageId } from '../../webhooks/message-id.ts'

/** A message of contract 10: an event in the form of its delivery. */
export const Message = Type.Object(
  {
    id: Type.String(),
    eventType: Type.String(),
    eventId: Nullable(Type.String({ description: 'The same for two events that report the same fact' })),
    timestamp: Instant(),
    channels: Nullable(Type.Array(Type.String())),
    tags: Nullable(Type.Array(Type.String())),
    payload: Nullable(Type.Record(Type.String(), Type.Unknown(), { description: 'The body of its deliveries' })),
  },
  { title: 'WebhookMessage' },
)

/** The columns of an event that `messageJson` needs. */
export interface MessageRow extends StoredEvent {
  uid: string
  key: string
  created_at: string
}

/** The columns of `MessageRow` except `data`, of event `e`. */
export const MESSAGE_COLUMNS = 'e.uid, e.type, e.key, e.user_id, e.scope, e.packed, e.created_at'

/** A `Message` as JSON. */
export function messageJson(event: MessageRow): string {
  const message = {
    id: messageId(event.uid),
    eventType: event.type,
    eventId: event.key,
    timestamp: event.created_at,
    channels: event.user_id && [`user.${event.user_id}`],
    tags: null,
  }
  return `${JSON.stringify(message).slice(0, -1)},"payload":${eventBody(event)}}`
}

/** A `Message` for the API description. */
export const messageExample = {
  id: 'msg_2f1c9a60b7d84e53a1f0c6e2d9b83475',
  eventType: 'connection.created',
  eventId: 'connection.created.0b0c7a52-8f3e-4c1b-9c54-2f6f1f7a9d10.apple.2026-02-24T10_00_13Z',
  timestamp: '2026-02-24T10:00:13.250000Z',
  channels: ['user.0b0c7a52-8f3e-4c1b-9c54-2f6f1f7a9d10'],
  tags: null,
  payload: {
    type: 'connection.created',
    scope: 'live',
    data: {
      user_id: '0b0c7a52-8f3e-4c1b-9c54-2f6f1f7a9d10',
      provider: 'apple',
      connection_id: '91aa6a1e-3b8d-4f0e-8f5d-1c2b3a4d5e6f',
      connected_at: '2026-02-24T10:00:13Z',
    },
  },
}
