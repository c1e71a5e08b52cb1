import type { Readable } from 'node:stream'
import type { Database } from '../../db/database.ts'
import { listen } from '../../db/listen.ts'
import { AppError, errors } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { EVENT_COLUMNS } from './event.ts'
import { Follower } from './follower.ts'
import { Watches } from './watches.ts'

/** Streams that may be open in one process; each is a connection and a few kilobytes. */
const MAX_STREAMS = 500

/** Contract 7.5. */
const HEARTBEAT_MS = 15_000

/** Events of one read. */
const PAGE = 100

interface Request {
  userId: string
  /** Id of the last event the client has; an unknown one counts as none. */
  lastEventId: string | null
  /** Events sent at first to a client that has none. */
  replay: number
  /** Rejects with an AppError once the caller may no longer read this. */
  allowed(): Promise<unknown>
}

interface Options {
  heartbeatMs?: number
  maxStreams?: number
}

/**
 * Opens the feed: one connection listens for all streams of this process. At each heartbeat every stream also checks
 * for itself, so a lost notification costs that much time and no event.
 */
export async function openSyncFeed(
  db: Database,
  log: Logger,
  metrics: Metrics,
  { heartbeatMs = HEARTBEAT_MS, maxStreams = MAX_STREAMS }: Options = {},
): Promise<SyncFeed> {
  const feed = new SyncFeed({ db, metrics, log, maxStreams })
  await feed.listen()
  feed.beat(heartbeatMs)
  return feed
}

/** Progress events of users as they happen, in any process. */
export class SyncFeed {
  readonly #options: { db: Database; log: Logger; metrics: Metrics; maxStreams: number }
  readonly #followers = new Map<string, Map<Follower, Request>>()
  readonly #watches: Watches
  #stopListening = async () => {}
  #timer: NodeJS.Timeout | undefined
  #open = 0
  #closed = false

  constructor(options: { db: Database; log: Logger; metrics: Metrics; maxStreams: number }) {
    this.#options = options
    this.#watches = new Watches({
      wanted: () => this.#followers,
      begun: (userId) => this.#wake(userId),
      log: options.log,
    })
  }

  /** Receives what other processes, and this one, have written. Throws when the first attempt to connect fails. */
  async listen(): Promise<void> {
    const { db, log } = this.#options
    this.#stopListening = await listen(db, log, {
      channel: 'sync_event',
      notified: (userId) => this.#wake(userId),
      opened: (client) => {
        this.#watches.use(client)
        for (const userId of this.#followers.keys()) this.#wake(userId)
      },
      lost: () => this.#watches.use(undefined),
    })
  }

  /** Makes every stream send a heartbeat, and ends those whose client may no longer read. */
  beat(everyMs: number): void {
    this.#timer = setInterval(() => {
      void this.#watches.adjust()
      for (const [follower, { allowed }] of this.#all()) {
        follower.heartbeat()
        allowed().catch((error) => {
          if (error instanceof AppError && error.status < 500) follower.end()
        })
      }
    }, everyMs).unref()
  }

  /**
   * The body of a stream of events in the user's order, none missing or twice.
   * @throws AppError not_found, overloaded
   */
  async open(request: Request): Promise<Readable> {
    const { db, maxStreams } = this.#options
    if (this.#closed || this.#open >= maxStreams) throw errors.overloaded('Too many streams are open; please retry.', 5)
    this.#count(1)
    try {
      const after = await placeOf(db, request)
      if (this.#closed) throw errors.overloaded('The service is stopping; please retry.', 1)
      return this.#add(request, after)
    } catch (error) {
      this.#count(-1)
      throw error
    }
  }

  /** Ends all streams at once and accepts no more. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    for (const [follower] of this.#all()) follower.end()
    this.#watches.use(undefined)
    await this.#stopListening()
  }

  #all = () => [...this.#followers.values()].flatMap((ofUser) => [...ofUser])

  #wake(userId: string): void {
    for (const follower of this.#followers.get(userId)?.keys() ?? []) follower.wake()
  }

  #count(change: 1 | -1): void {
    this.#open += change
    this.#options.metrics.syncStreams.set(this.#open)
  }

  #add(request: Request, after: number): Readable {
    const { userId } = request
    const follower = new Follower({
      after,
      read: (last) => readEvents(this.#options.db, userId, last),
      onClose: () => {
        this.#count(-1)
        const others = this.#followers.get(userId)
        others?.delete(follower)
        if (others?.size === 0) this.#followers.delete(userId)
        void this.#watches.adjust()
      },
    })
    const ofUser = this.#followers.get(userId) ?? new Map<Follower, Request>()
    this.#followers.set(userId, ofUser.set(follower, request))
    void this.#watches.adjust()
    return follower.stream
  }
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
 * The next page, undefined when the user no longer exists. The page is cut before its runs are joined: otherwise
 * everything that follows is read each time (90 ms against 2 with 30,000 events to go).
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
