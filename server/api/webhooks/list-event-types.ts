import { Type } from 'typebox'
import { eventTypes } from '../../catalogue/events.ts'
import { route } from '../../http/route.ts'
import { Nullable } from '../../http/schema.ts'

const EventTypeRead = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    child_events: Nullable(Type.Array(Type.String())),
  },
  { title: 'EventType' },
)

const answer = eventTypes.map((type) => ({ ...type, child_events: null }))

/** Every kind of event, in the order of contract 10.1; none has kinds below it (decision D-24). */
export const listEventTypes = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/event-types',
    operationId: 'listEventTypes',
    summary: 'List the kinds of events',
    tag: 'Webhooks',
    guard: 'public',
    response: Type.Array(EventTypeRead),
    example: answer.slice(0, 3),
  },
  async () => answer,
)
