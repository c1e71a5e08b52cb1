import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { Cursor, Instant, Limit, SyncScope } from '../../http/schema.ts'
import { eventBody, type StoredEvent } from '../../webhooks/body.ts'
import { messageId } from '../../webhooks/message-id.ts'
import { messageExample } from './message.ts'
import { BODY_BYTES, cut, jsonArray, PAGE_BYTES } from './page.ts'

const FeedEvent = Type.Object(
  {
    id: Type.String({ description: '`hook-id` of its deliveries' }),
    timestamp: Instant({ description: 'When it was recorded' }),
    type: Type.String(),
    scope: Type.Optional(SyncScope()),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: 'FeedEvent' },
)

interface FeedRow extends StoredEvent {
  uid: string
  created_at: string
  position: number
  fits: boolean
}

/** Cursors of the feed differ only in a position; those of lists name a row by its time as well. */
const SCOPE = 'events'
const markAt = (position: number) => ({ at: 'position', id: String(position), backward: false, total: 0 })

/**
 * The feed: events in the order in which they became visible (contract 10). Positions are given to events one
 * transaction after the other, so none appears behind a reader.
 */
export const listEvents = route(
  {
    method: 'GET',
    path: '/api/v1/webhooks/events',
    operationId: 'listEvents',
    summary: 'Follow events: those of the last 30 days in a fixed order',
    description:
      'Begin without `after`, then keep asking with `next` of the previous answer: nothing is missed and nothing is ' +
      'repeated. `done` says that there was no more at that moment. A page of large events is shorter than `limit`. Events ' +
      'are recorded when an endpoint matches them, or always with EVENT_FEED_ENABLED.',
    tag: 'Webhooks',
    guard: 'key',
    query: Type.Object({
      after: Cursor('`next` of the previous answer'),
      limit: Limit(1000, 100),
    }),
    response: Type.Object(
      { data: Type.Array(FeedEvent), next: Type.String(), done: Type.Boolean() },
      { title: 'FeedPage' },
    ),
    example: {
      data: [{ id: messageExample.id, timestamp: messageExample.timestamp, ...messageExample.payload }],
      next: 'cG9zaXRpb258NDJ8MHxxM1J0WjhfTHBhMXY=',
      done: true,
    },
    errors: { 400: 'Bad cursor', 503: 'Neither outgoing webhooks nor the event feed are enabled' },
  },
  async ({ query }, { config, db, keys }) => {
    if (!config.eventFeedEnabled && !config.outgoingWebhooksEnabled) throw errors.feedOff()
    const after = query.after === undefined ? 0 : Number(readCursor(keys.cursor, SCOPE, query.after).id)
    const read = await db.query<FeedRow>(FEED, [after, query.limit + 1, PAGE_BYTES])
    const { shown, further } = cut(read, query.limit)
    // `{"type": …, …}` as in its delivery, with id and time before it.
    const data = await jsonArray(shown, (event) => {
      const head = JSON.stringify({ id: messageId(event.uid), timestamp: event.created_at })
      return `${head.slice(0, -1)},${eventBody(event).toString().slice(1)}`
    })
    const next = writeCursor(keys.cursor, SCOPE, markAt(shown.at(-1)?.position ?? after))
    return new Reply(200, 'application/json', `{"data":${data},${JSON.stringify({ next, done: !further }).slice(1)}`)
  },
)

/** How far back the feed reaches (contract 10), whatever is kept longer. */
const REACH = `interval '30 days'`

/**
 * A page of the feed after a position; only bodies that fit on it are read. If the next event is too old, the page
 * begins at the first position of the first hour within reach, without reading through everything older: positions
 * follow times, except for transactions that were open longer than others, which last minutes.
 */
export const FEED = `
  with first as materialized (
    select e.position
    from event e
    where e.created_at >= now() - ${REACH}
      and e.created_at < interval '1 hour' + (
        select oldest.created_at
        from event oldest
        where oldest.created_at >= now() - ${REACH} and oldest.position is not null
        order by oldest.created_at
        limit 1
      )
  ), start as materialized (
    select case
      when now() - ${REACH} > (select e.created_at from event e where e.position > $1 order by e.position limit 1)
        then greatest($1, (select coalesce(min(position) - 1, ${Number.MAX_SAFE_INTEGER}) from first))
      else $1
    end as position
  )
  select e.uid, e.type, e.user_id, e.scope, e.packed, e.created_at, e.position, e.fits, case when e.fits then e.data end as data
  from (
    select e.*, sum(${BODY_BYTES}) over (order by e.position rows unbounded preceding) - ${BODY_BYTES} < $3 as fits
    from (
      select uid, type, user_id, scope, packed, created_at, position, data
      from event
      where position > (select start.position from start) and created_at >= now() - ${REACH}
      order by position
      limit $2
    ) e
  ) e
  order by e.position`
