import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Database } from '../../db/database.ts'
import { listen } from '../../db/listen.ts'
import { AppError, errors } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { EVENT_COLUMNS } from './event.ts'
import { type Follower, follow } from './follow.ts'

/** Streams that may be open in one process; each is a connection and a few kilobytes. */
const MAX_STREAMS = 500

/** Contract 7.5. */
const HEARTBEAT_MS = 15_000

/** Events of one read. */
const PAGE = 100

/** How soon another attempt is made to have a user's writers notify, while one of them is under way. */
const WATCH_RETRY_MS = 50

interface Request {
  userId: string
  /** Id of the last event the client has; an unknown one counts as none. */
  lastEventId: string | null
  /** Events told at first to a client that has none. */
  replay: number
  /** Rejects with an AppError once the caller may not read this any more. */
  allowed(): Promise<unknown>
}

/** Progress events of users as they happen, in whichever process. */
export interface SyncFeed {
  /**
   * The body of a stream of events in the user's order, none missing or twice.
   * @throws AppError not_found, overloaded
   */
  open(request: Request): Promise<Readable>
  /** Ends all streams at once and takes no more. */
  close(): Promise<void>
}

interface Options {
  heartbeatMs?: number
  maxStreams?: number
}

/**
 * Opens the feed: one connection listens for all streams of this process. Writers notify only of users that somebody
 * follows, which a shared advisory lock per user tells them (sync_event_notify.sql). At each heartbeat every stream
 * looks for itself, too, so that a notification that got lost costs that much time and no event.
 */
export async function openSyncFeed(
  db: Database,
  log: Logger,
  metrics: Metrics,
  { heartbeatMs = HEARTBEAT_MS, maxStreams = MAX_STREAMS }: Options = {},
): Promise<SyncFeed> {
  const followers = new Map<string, Map<Follower, Request>>()
  /** Users whose writers notify for us. */
  const watched = new Set<string>()
  let client: pg.PoolClient | undefined
  let adjusting = false
  let open = 0
  let closed = false

  const wake = (userId: string) => {
    for (const follower of followers.get(userId)?.keys() ?? []) follower.wake()
  }
  const count = (change: 1 | -1) => {
    open += change
    metrics.syncStreams.set(open)
  }

  /** Holds the locks of the followed users and no others. */
  async function adjustWatches(): Promise<void> {
    if (adjusting) return
    adjusting = true
    try {
      while (client && !closed) {
        const unneeded = [...watched].filter((userId) => !followers.has(userId))
        const missing = [...followers.keys()].filter((userId) => !watched.has(userId))
        if (unneeded.length + missing.length === 0) return
        const held = await watch(client, unneeded, missing)
        for (const userId of unneeded) watched.delete(userId)
        for (const userId of held) watched.add(userId)
        // What was written before may not have been notified.
        for (const userId of held) wake(userId)
        if (held.length < missing.length) await delay(WATCH_RETRY_MS)
      }
    } catch (error) {
      if (client) log.warn({ err: error }, 'cannot say which users are followed, trying again')
    } finally {
      adjusting = false
    }
  }

  const stopListening = await listen(db, log, {
    channel: 'sync_event',
    notified: wake,
    opened(opened) {
      client = opened
      watched.clear()
      void adjustWatches()
      for (const userId of followers.keys()) wake(userId)
    },
    lost() {
      client = undefined
    },
  })

  const timer = setInterval(() => {
    void adjustWatches()
    for (const [follower, { allowed }] of [...followers.values()].flatMap((all) => [...all])) {
      follower.heartbeat()
      allowed().catch((error) => {
        if (error instanceof AppError && error.status < 500) follower.end()
      })
    }
  }, heartbeatMs).unref()

  function add(request: Request, after: number): Readable {
    const { userId } = request
    const follower = follow({
      after,
      read: (last) => readEvents(db, userId, last),
      onClose() {
        count(-1)
        const others = followers.get(userId)
        others?.delete(follower)
        if (others?.size === 0) followers.delete(userId)
        void adjustWatches()
      },
    })
    const all = followers.get(userId) ?? new Map<Follower, Request>()
    followers.set(userId, all.set(follower, request))
    void adjustWatches()
    return follower.stream
  }

  return {
    async open(request) {
      if (closed || open >= maxStreams) throw errors.overloaded('Too many streams are open; please retry.', 5)
      count(1)
      try {
        const after = await placeOf(db, request)
        if (closed) throw errors.overloaded('The service is stopping; please retry.', 1)
        return add(request, after)
      } catch (error) {
        count(-1)
        throw error
      }
    },
    async close() {
      closed = true
      clearInterval(timer)
      for (const follower of [...followers.values()].flatMap((all) => [...all.keys()])) follower.end()
      await stopListening()
    },
  }
}

/** Gives up and tries to take the locks of users; returns whose it got. It never waits: writers come first. */
async function watch(client: pg.PoolClient, unneeded: string[], missing: string[]): Promise<string[]> {
  await client.query('select pg_advisory_unlock_shared(sync_watch_key(id)) from unnest($1::uuid[]) id', [unneeded])
  const { rows } = await client.query<{ id: string; held: boolean }>(
    'select id, pg_try_advisory_lock_shared(sync_watch_key(id)) as held from unnest($1::uuid[]) id',
    [missing],
  )
  return rows.filter(({ held }) => held).map(({ id }) => id)
}

/** Id of the event after which a stream begins. @throws AppError not_found */
async function placeOf(db: Database, { userId, lastEventId, replay }: Request): Promise<number> {
  const [row] = await db.query<{ after: number }>(
    `select coalesce(
       (select id from sync_event where user_id = u.id and event_id = $2),
       (select min(id) - 1 from (select id from sync_event where user_id = u.id order by id desc limit $3) newest),
       0
     ) as after
     from app_user u
     where u.id = $1`,
    [userId, lastEventId, replay],
  )
  if (!row) throw errors.notFound('User', userId)
  return row.after
}

/**
 * The next page, undefined when the user is gone. The page is cut before its runs are joined: else all that follows is
 * read each time (90 ms against 2 with 30,000 events to go).
 */
async function readEvents(db: Database, userId: string, after: number) {
  const rows = await db.query<{ id: number; event_id: string }>(
    `select e.id, ${EVENT_COLUMNS}
     from (select * from sync_event where user_id = $1 and id > $2 order by id limit ${PAGE}) e
     join sync_run r on r.user_id = e.user_id and r.run_key = e.run_key
     order by e.id`,
    [userId, after],
  )
  if (rows.length === 0) {
    const [user] = await db.query('select 1 from app_user where id = $1', [userId])
    if (!user) return undefined
  }
  const events = rows.map(({ id, ...event }) => ({
    id,
    text: `id: ${event.event_id}\nevent: sync.status\ndata: ${JSON.stringify(event)}\n\n`,
  }))
  return { events, more: rows.length === PAGE }
}
