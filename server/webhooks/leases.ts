import type { Database } from '../db/database.ts'
import type { Logger } from '../log.ts'
import type { Vault } from '../vault.ts'
import type { AddressGuard } from './address-guard.ts'
import { IS_AHEAD, LEAST_REACH, LOOK_AT, lookBehind, NEWEST, REACH, STORED_EVERY } from './due.ts'
import { dropQueues, type Lane, type LeasedEndpoint, openLane, placeOf, updateLane } from './lane.ts'

/** How long an endpoint stays with a process that does not renew its lease, by the clock of the database. */
const LEASE_SECONDS = 30
const RENEW_MS = 10_000

/** Everything that leases need. */
export interface LeaseOptions {
  db: Database
  /** Opens the secrets of endpoints. */
  vault: Vault
  guard: AddressGuard
  /** Id of this process in the list of living ones. */
  processId(): number
  log: Logger
}

/**
 * The endpoints that this process serves, each with its lane; the database gives an endpoint to one process at a time.
 */
export class Leases {
  readonly #options: LeaseOptions
  readonly #lanes = new Map<number, Lane>()
  /** Where looks at the feed ended for endpoints that are not served: before, there is nothing for them. */
  readonly #seen = new Map<number, number>()
  /** Endpoints whose secrets cannot be read; logged once. */
  readonly #unusable = new Set<number>()
  #renewedAt = performance.now()
  #behind = false
  #closed = false

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** The lanes, the least recently used first; a lane that is moved to the end meanwhile comes up again. */
  get lanes(): IterableIterator<Lane> {
    return this.#lanes.values()
  }

  /** Whether the feed is to be looked at further for endpoints that are not served. */
  get behind(): boolean {
    return this.#behind
  }

  /** Puts a lane behind all others. */
  putLast(lane: Lane): void {
    this.#lanes.delete(lane.id)
    this.#lanes.set(lane.id, lane)
  }

  /** Renews endpoints used recently and releases the others; returns whether it was time to. */
  async renew(): Promise<boolean> {
    if (performance.now() - this.#renewedAt <= RENEW_MS) return false
    this.#renewedAt = performance.now()
    const inUse = ({ usedAt, known }: Lane) => this.#renewedAt - usedAt < RENEW_MS || known.size > 0
    const used = [...this.lanes].filter(inUse).map(({ id }) => id)
    const { db, processId } = this.#options
    await db.query(RENEW, [processId(), used, LEASE_SECONDS])
    await this.#storePlaces()
    return true
  }

  /** Stores how far endpoints are that get little of the feed, so that nobody reads all of it again. */
  async #storePlaces(): Promise<void> {
    const places = new Map(this.#seen)
    for (const lane of this.lanes) {
      const [place, begun] = placeOf(lane, new Set())
      if (begun.length === 0) places.set(lane.id, place)
    }
    if (places.size === 0) return
    const { db } = this.#options
    const left = await db.query<{ id: number }>(STORE, [[...places.keys()], [...places.values()], STORED_EVERY])
    const exists = new Set(left.map(({ id }) => id))
    for (const id of this.#seen.keys()) if (!exists.has(id)) this.#seen.delete(id)
  }

  /** Leases the endpoints with due deliveries that no other process serves, and follows changes of those held. */
  async take(): Promise<void> {
    await this.#lease(await this.#look())
  }

  /** Looks further at the feed. One step, so that nobody waits for an endpoint that is far behind. */
  async lookOn(): Promise<void> {
    const found = await this.#look()
    if (found.length > 0) await this.#lease(found)
  }

  async #lease(found: number[]): Promise<void> {
    const { db, processId } = this.#options
    const endpoints = await db.query<LeasedEndpoint>(LEASE, [processId(), LEASE_SECONDS, found])
    const held = new Set(endpoints.filter((endpoint) => this.#serve(endpoint)).map(({ id }) => id))
    for (const lane of this.lanes) {
      if (held.has(lane.id)) continue
      lane.served = false
      dropQueues(lane)
      this.forget(lane)
    }
  }

  /** Endpoints that no process serves and that have something ahead in the next part of the feed. */
  async #look(): Promise<number[]> {
    const looked = await this.#options.db.query<{ id: number; is_due: boolean; read_to: number; last: number }>(LOOK, [
      [...this.#seen.keys()],
      [...this.#seen.values()],
      REACH,
      LOOK_AT,
    ])
    for (const { id, is_due, read_to } of looked) if (!is_due) this.#seen.set(id, read_to)
    this.#behind = looked.some(({ is_due, read_to, last }) => !is_due && read_to < last)
    return looked.filter(({ is_due }) => is_due).map(({ id }) => id)
  }

  /** Opens or updates the lane of an endpoint; false when its secret cannot be read. */
  #serve(endpoint: LeasedEndpoint): boolean {
    const { vault, guard, log } = this.#options
    const lane = this.#lanes.get(endpoint.id)
    try {
      if (lane) updateLane(lane, endpoint, vault, guard)
      else this.#lanes.set(endpoint.id, openLane(endpoint, this.#seen.get(endpoint.id), vault, guard))
      this.#unusable.delete(endpoint.id)
      return true
    } catch (error) {
      if (!this.#unusable.has(endpoint.id))
        log.error({ err: error, endpoint: endpoint.uid }, 'cannot deliver to an endpoint')
      this.#unusable.add(endpoint.id)
      return false
    }
  }

  /** Drops a lane that is no longer served and has nothing in hand. */
  forget(lane: Lane): void {
    // At shutdown all connections are destroyed together.
    if (this.#closed || lane.served || lane.known.size > 0) return
    this.#lanes.delete(lane.id)
    if (lane.readTo !== undefined) this.#seen.set(lane.id, lane.readTo)
    void lane.connections.close()
  }

  /** Ends all calls in flight. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(Array.from(this.lanes, ({ connections }) => connections.destroy()))
  }

  /** Releases all endpoints. */
  async release(): Promise<void> {
    const { db, processId } = this.#options
    await db.query('update endpoint set process_id = null, leased_until = null where process_id = $1', [processId()])
  }
}

// In the order of ids, like every caller that locks several endpoints.
const RENEW = `
  update endpoint n
  set process_id = case when n.id = any ($2) then $1::int8 end,
      leased_until = case when n.id = any ($2) then now() + make_interval(secs => $3) end
  from (select id from endpoint where process_id = $1 order by id for no key update) held
  where n.id = held.id`

// Who is locked is stored the next time. Returns those that exist.
const STORE = `
  with held as materialized (
    select n.id, p.position
    from unnest($1::int4[], $2::int8[]) p (id, position)
    join endpoint n on n.id = p.id
    where lower(n.ahead) < p.position - $3
    order by n.id
    for no key update of n skip locked
  ), stored as (
    update endpoint n
    set ahead = n.ahead - int8multirange(int8range(null, held.position, '[]'))
    from held
    where n.id = held.id
  )
  select id from endpoint where id = any ($1)`

// Only endpoints that have not been looked at since the last event.
const LOOK = `
  with behind as materialized (
    select n.id, coalesce(seen.position, 0) as position
    from ${NEWEST}
    cross join endpoint n
    left join unnest($1::int4[], $2::int8[]) as seen (id, position) on seen.id = n.id
    where n.disabled_at is null
      and (n.process_id is null or n.leased_until <= now())
      and coalesce(seen.position, 0) < newest.position
  )
  select n.id, reached.position as read_to, newest.position as last, exists (select from event e where ${IS_AHEAD}) as is_due
  from ${NEWEST}
  cross join (select least($3, greatest(${LEAST_REACH}, $4 / greatest(1, count(*)))) as positions from behind) reach
  cross join behind
  join endpoint n on n.id = behind.id
  ${lookBehind('behind.position', 'reach.positions')}`

const ENDPOINT = `n.id, n.uid, n.url, n.filter_types, n.filter_scope, n.user_id, n.secret, n.key_id,
                  n.former_key_id, case when n.former_until > now() then n.former_secret end as former_secret`

const LEASE = `
  with free as materialized (
    select n.id
    from endpoint n
    where n.disabled_at is null
      and (n.process_id is null or n.leased_until <= now())
      and (n.id = any ($3)
        or exists (select from delivery d
                   where d.endpoint_id = n.id and d.state = 'waiting' and d.attempts = 0 and d.due_at <= now())
        or exists (select from delivery d
                   where d.endpoint_id = n.id and d.state = 'waiting' and d.attempts > 0 and d.due_at <= now()))
    for no key update skip locked
  ), leased as (
    update endpoint n
    set process_id = $1, leased_until = now() + make_interval(secs => $2)
    from free
    where n.id = free.id
    returning ${ENDPOINT}
  )
  select * from leased
  union all
  select ${ENDPOINT} from endpoint n where n.process_id = $1 and n.leased_until > now() and n.disabled_at is null`
