import type { ParcelPart } from '../../../workers/parcel.ts'
import { PARCEL_BYTES } from '../../../workers/parcel.ts'
import type { Transaction } from '../../db/database.ts'
import { endGrant } from '../../oauth/disconnect.ts'
import type { OAuthParts } from '../../oauth/parts.ts'
import type { Covers, Notice } from '../../providers/notices.ts'
import { grantedScopes } from '../../providers/scopes.ts'
import { isoInstant } from '../../time.ts'
import { type PackedParcel, packParcel, sizeOf } from '../pulls/parcel.ts'
import { type WishRow, wishRow } from '../pulls/wishes.ts'
import { REPEATED_DAYS } from './repeats.ts'
import { type CarriedPart, type IsNewest, newestOf, noteStates } from './states.ts'

/** Fetches in an hour, of one grant, that notices may cause which prove nothing: anybody might send them. */
const UNSIGNED_FETCHES = 60

/** A signed deletion is confirmed once what was being asked for meanwhile is stored: that may still have it. */
const CONFIRM_SECONDS = 60

/** A parcel is closed at so many parts: those of notices are small, and nothing is asked for between them. */
const MOST_PARTS = 1_000

/** A grant that notices are about. */
export interface NoticedGrant {
  readonly id: string
  readonly account_id: string
  readonly scope: string | null
  readonly issuer: string | null
  /** Fetches that notices which prove nothing may still cause. */
  readonly unsigned_left: number
  /** It was granted so lately that a withdrawal may be that of an access before, of which nothing may be left here. */
  readonly is_new: boolean
  /** The first of those whose account it is. */
  readonly user_id: string
  /** Ranges of the past that the provider was asked to send; instants in epoch milliseconds. */
  readonly backfills: readonly Backfilled[] | null
}

/** A range of a stream; `open`: more of it may come. */
interface Backfilled {
  readonly stream: string
  readonly lo: number
  readonly hi: number
  readonly open: boolean
}

/** The grants of accounts of a provider that somebody has connected, locked in the order in which everybody locks several. */
export const GRANTS_SQL = `
  select g.id, g.account_id, g.scope, g.issuer,
         ${UNSIGNED_FETCHES} - case when g.unsigned_since > now() - interval '1 hour' then g.unsigned_fetches else 0 end
           as unsigned_left,
         g.granted_at > now() - interval '${REPEATED_DAYS} days' as is_new,
         (select min(c.user_id::text) from connection c where c.grant_id = g.id and c.status = 'active') as user_id,
         (
           select jsonb_agg(jsonb_build_object(
             'stream', p.stream, 'lo', date_part('epoch', p.lo) * 1000, 'hi', date_part('epoch', p.hi) * 1000,
             'open', t.id is not null
           ))
           from backfill_part p
           left join sync_task t
             on t.grant_id = g.id and t.kind = 'backfill' and t.stream = p.stream and t.run_key = p.run_key
           where p.grant_id = g.id and (p.asked_at is not null or t.id is not null)
         ) as backfills
  from provider_grant g
  where g.provider = $1 and g.account_id = any ($2) and g.state = 'live'
    and exists (select from connection c where c.grant_id = g.id and c.status = 'active')
  order by g.id
  for update`

// What is left out is found by the next pull, which comes sooner.
const UNSIGNED_SQL = `
  update provider_grant
  set unsigned_fetches = case when unsigned_since > now() - interval '1 hour' then unsigned_fetches else 0 end + $2,
      unsigned_since = case when unsigned_since > now() - interval '1 hour' then unsigned_since else now() end,
      next_pull_at = case when $3 then least(next_pull_at, now() + interval '1 hour') else next_pull_at end
  where id = $1`

const DOUBT_SQL = `
  with doubted as (
    update provider_grant set doubted_at = now() where id = $1 returning id, provider
  )
  select graphile_worker.add_job(
    'check_grant', payload => json_build_object('grant_id', id, 'attempt', 1), job_key => 'check:' || id,
    queue_name => 'check_grant:' || provider, job_key_mode => 'preserve_run_at', max_attempts => 3
  )
  from doubted`

// Of a consent since then, and of what a notice said since then, the newer one counts. A time to come would outlast them all.
const SCOPE_SQL = `
  with changed as (
    update provider_grant
    set scope = $2, scope_at = least(to_timestamp($3::float8), now())
    where id = $1 and greatest(granted_at, scope_at) < least(to_timestamp($3::float8), now())
    returning id
  )
  update connection c
  set scope = nullif($2, ''), updated_at = now()
  from changed
  where c.grant_id = changed.id and c.status = 'active'`

const STORE_SQL = 'select store_several_notices($1, $2, $3, $4, $5, $6, $7, $8, $9)'

type Means = Pick<OAuthParts, 'clients' | 'settings' | 'log'>

/** What notices brought of a range of the past; see note_items (sql/routines/pulls/backfill.sql). */
interface Brought {
  readonly stream: string
  readonly items: number
  readonly at: string
  readonly lo?: string
  readonly hi?: string
}

/** What is stored together: data, and what is to be asked for. */
interface Pile {
  readonly parts: CarriedPart[]
  readonly wishes: WishRow[]
  /** What is left of the parts, packed. */
  parcels: readonly PackedParcel[]
}

const emptyPile = (): Pile => ({ parts: [], wishes: [], parcels: [] })

/** What becomes of the notices about one grant. */
export class Plan {
  readonly grant: NoticedGrant
  readonly #parts: Means
  readonly #provider: string
  readonly #live = emptyPile()
  /** Of a backfill that is under way. */
  readonly #past = emptyPile()
  readonly #brought: Brought[] = []
  #unsigned = 0
  #isLimited = false
  #isDoubted = false
  #hasEnded = false
  #scope: { readonly scope: string; readonly atMs: number } | undefined

  constructor(parts: Means, provider: string, grant: NoticedGrant) {
    this.#parts = parts
    this.#provider = provider
    this.grant = grant
  }

  /** Adds what a notice says; `signed`: whether that is believed. */
  add(notice: Notice, { signed, at_ms: ms, body }: { signed: boolean; at_ms: number; body: Uint8Array }): void {
    const atMs = Math.floor(ms)
    // What comes behind the end of the access is about nobody.
    if (this.#hasEnded) return
    switch (notice.kind) {
      case 'data':
        // Whoever proves nothing brings nothing.
        if (!signed) break
        this.#pileOf(notice.stream, atMs, notice.covers).parts.push({
          part: { stream: notice.stream, args: notice.args ?? null, atMs, body: notice.body ?? body },
          states: notice.states,
        })
        break
      case 'fetch':
        this.#wish(this.#rowOf(notice.wish), signed, atMs)
        break
      case 'delete': {
        const { stream, externalId: gone, wish } = notice
        if (signed) this.#live.parts.push({ part: { stream, args: null, atMs, body: Buffer.alloc(0), gone } })
        this.#wish(this.#rowOf(wish, { last: true, ...(signed && { after: CONFIRM_SECONDS }) }), signed, atMs)
        break
      }
      case 'deauthorise':
        if (signed && !this.grant.is_new) this.#hasEnded = true
        else this.#isDoubted = true
        break
      case 'scope':
        if (signed && !((this.#scope?.atMs ?? 0) > notice.atMs)) this.#scope = notice
    }
  }

  /**
   * Whether something is of a backfill that is under way, or is new; notes what is of one. It is if its last record begins
   * before the end of the range; without `covers` it is not known when that was.
   */
  #pileOf(stream: string, atMs: number, covers: Covers | undefined): Pile {
    const ofStream = this.grant.backfills?.filter((one) => one.stream === stream) ?? []
    const isOpen = ofStream.some(({ open, hi }) => open && !(covers && covers.untilMs > hi))
    const isLate = ofStream.some(({ lo, hi }) => covers && covers.fromMs >= lo && covers.untilMs <= hi)
    if (isOpen || isLate) {
      const span = covers && { lo: isoInstant(covers.fromMs), hi: isoInstant(covers.untilMs) }
      this.#brought.push({ stream, items: covers?.items ?? 1, at: isoInstant(atMs), ...span })
    }
    return isOpen ? this.#past : this.#live
  }

  #rowOf(wish: Parameters<typeof wishRow>[2], urgency: Parameters<typeof wishRow>[3] = {}): WishRow | undefined {
    const client = this.#parts.clients.get(this.#provider)
    if (!client) return undefined
    const scope = grantedScopes(this.grant.scope, client.oauth(this.grant.issuer))
    return wishRow(client.provider, scope, wish, urgency)
  }

  #wish(row: WishRow | undefined, signed: boolean, atMs: number): void {
    if (!row) return
    if (!signed) {
      this.#isLimited = this.#unsigned >= this.grant.unsigned_left
      if (this.#isLimited) return
      this.#unsigned += 1
    }
    this.#pileOf(row.stream, atMs, undefined).wishes.push(row)
  }

  /** What its notices carried. */
  get carried(): CarriedPart[] {
    return [...this.#live.parts, ...this.#past.parts]
  }

  /** Packs what is left of that. @throws RangeError when it cannot be stored */
  async pack(isNewest: IsNewest): Promise<void> {
    for (const pile of [this.#live, this.#past]) {
      const parts = newestOf({ grantId: this.grant.id, parts: pile.parts }, isNewest)
      pile.parcels = await Promise.all(parcelsOf(parts).map(packParcel))
    }
  }

  /** What is to be stored of it, once it is packed. */
  get pieces(): Piece[] {
    const piecesOf = ({ parcels, wishes }: Pile, ofPast: boolean): Piece[] => {
      const of = { grantId: this.grant.id, ofPast, wishes: [], brought: [] }
      const found: Piece[] = parcels.map((parcel) => ({ ...of, parcel }))
      if (found.length === 0 && wishes.length > 0) found.push({ ...of, parcel: null })
      return found.map((one, at) => (at === 0 ? { ...one, wishes } : one))
    }
    const pieces = [...piecesOf(this.#live, false), ...piecesOf(this.#past, true)]
    if (this.#brought.length === 0) return pieces
    const last = pieces.pop() ?? { grantId: this.grant.id, ofPast: false, parcel: null, wishes: [], brought: [] }
    return [...pieces, { ...last, brought: this.#brought }]
  }

  /** Whether notices said more than what is stored of them. */
  get hasMore(): boolean {
    const isCounted = this.#unsigned > 0 || this.#isLimited
    return isCounted || this.#scope !== undefined || this.#hasEnded || this.#isDoubted
  }

  /** Stores that, too; the caller holds the grant. */
  async storeMore(tx: Transaction): Promise<void> {
    const { id } = this.grant
    if (this.#unsigned > 0 || this.#isLimited) await tx.query(UNSIGNED_SQL, [id, this.#unsigned, this.#isLimited])
    if (this.#scope) await tx.query(SCOPE_SQL, [id, this.#scope.scope, this.#scope.atMs / 1000])
    if (this.#hasEnded) {
      await endGrant(tx, this.#parts.settings, id, { status: 'revoked', reason: 'deregistration' })
      this.#parts.log.info({ provider: this.#provider, grant: id }, 'a person withdrew access at the provider')
    } else if (this.#isDoubted) await tx.query(DOUBT_SQL, [id])
  }
}

/** Parts as they fit in parcels, in their order. */
function parcelsOf(parts: readonly ParcelPart[]): ParcelPart[][] {
  const parcels: ParcelPart[][] = []
  let bytes = 0
  for (const part of parts) {
    const last = parcels.at(-1)
    bytes += sizeOf([part])
    if (last && last.length < MOST_PARTS && bytes <= PARCEL_BYTES) last.push(part)
    else {
      parcels.push([part])
      bytes = sizeOf([part])
    }
  }
  return parcels
}

/** Stores what notices said of several grants, which the caller holds. */
export async function storePlans(tx: Transaction, plans: readonly Plan[]): Promise<void> {
  const isNewest = await noteStates(
    tx,
    plans.map(({ grant, carried }) => ({ grantId: grant.id, parts: carried })),
  )
  // Before anything of a user is locked.
  await Promise.all(plans.map((plan) => plan.pack(isNewest)))
  // Runs and events of several users are written in the order of the users by everybody.
  let pieces: Piece[] = []
  for (const plan of [...plans].sort((a, b) => (a.grant.user_id < b.grant.user_id ? -1 : 1))) {
    pieces.push(...plan.pieces)
    if (!plan.hasMore) continue
    await storePieces(tx, pieces)
    pieces = []
    await plan.storeMore(tx)
  }
  await storePieces(tx, pieces)
}

/** What is stored of a grant by one call of store_notices, and what note_items notes of its past. */
interface Piece {
  readonly grantId: string
  readonly ofPast: boolean
  readonly parcel: PackedParcel | null
  readonly wishes: readonly WishRow[]
  readonly brought: readonly Brought[]
}

/** Stores pieces of several grants in one statement, in their order. */
async function storePieces(tx: Transaction, pieces: readonly Piece[]): Promise<void> {
  if (pieces.length === 0) return
  const packed = pieces.flatMap(({ parcel }) => parcel ?? [])
  await tx.query(STORE_SQL, [
    ...[pieces.map(({ grantId }) => grantId), pieces.map(({ ofPast }) => ofPast)],
    ...[pieces.map(({ parcel }) => parcel?.body.length ?? null), pieces.map(({ parcel }) => parcel?.bytes ?? null)],
    ...[Buffer.concat(packed.map(({ sha256 }) => sha256)), Buffer.concat(packed.map(({ body }) => body))],
    PARCEL_BYTES,
    ...[pieces.map(({ wishes }) => JSON.stringify(wishes)), pieces.map(({ brought }) => JSON.stringify(brought))],
  ])
}
