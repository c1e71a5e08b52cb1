import type { Queryable, Transaction } from '../../db/database.ts'
import type { Received } from '../../provider-client/http.ts'
import type { Backfill, Request, StreamState } from '../../providers/provider.ts'
import { DAY_MS, isoInstant } from '../../time.ts'
import type { Lease, Outcome, PartState } from './parcel.ts'
import type { Task } from './task.ts'
import type { Started } from './tasks.ts'

// The past that a provider sends as notices. Each stream is asked for once; its task then lives until nothing has come for
// a while, so that the run ends when the data can be read. No two requests of a consent overlap: the provider would refuse
// the second one and send nothing (sql/routines/pulls/backfill.sql).

/** Inside what the provider gives: its earliest instant moves on with the clock. */
const INSIDE_MS = 300_000

/** How often a range is asked for again that the provider cuts, and one that it cannot take now. */
const MAX_CUTS = 3
export const MAX_RETRIES = 3

/** How often a notice is looked for whose data is being fetched. */
const FETCHING_SECONDS = 15

/** Whose past is asked for. */
export interface Whose {
  readonly grantId: string
  readonly userId: string
}

/**
 * Starts asking for the past of everybody who has connected an account, but for what was asked for before. When that runs
 * already it is that run, and when there is nothing to ask for, the user's last one. Undefined: the grant has ended, or there is
 * none.
 */
export async function startBackfill(
  tx: Transaction,
  { grantId, userId }: Whose,
  { days, types }: Backfill,
): Promise<Started | undefined> {
  const nowMs = Date.now()
  const [started] = await tx.query<{ runKey: string; running: boolean }>(
    'select run_key as "runKey", running from start_backfill($1, $2, $3, $4, $5)',
    [
      ...[grantId, userId, types.map(({ stream }) => stream)],
      ...[isoInstant(nowMs - days * DAY_MS + INSIDE_MS), isoInstant(nowMs)],
    ],
  )
  return started
}

/** Opens a run that says why there is nothing to ask for: all of it was, for another user. The caller holds the grant. */
export async function refuseBackfill(
  tx: Transaction,
  { grantId, userId }: Whose,
  { types }: Backfill,
): Promise<Started> {
  const streams = types.map(({ stream }) => stream)
  const { run } = await tx.one<{ run: string }>('select refuse_backfill($1, $2, $3) as run', [grantId, userId, streams])
  return { runKey: run, running: false }
}

interface PartRow {
  readonly lo_ms: number
  readonly hi_ms: number
  /** As ISO text. */
  readonly hi: string
  readonly cuts: number
  readonly asked: boolean
  /** Whether the answer to an earlier request for it was lost. */
  readonly attempted: boolean
  /** Ranges of the stream that are still to be asked for after this one. */
  readonly more: number
  /** Of the stream in this run. */
  readonly items: number
  /** Of what was received and opened, so many seconds brought nothing of the stream; null: it was not asked for. */
  readonly quiet_seconds: number | null
  /** Whether notices have named data of it that is still being fetched. */
  readonly fetching: boolean
  /** What the provider said that makes asking for more of the run useless; null: nothing. */
  readonly refused: string | null
}

// What was received and waits to be opened may be of it. Most streams have one range; another one if an answer was lost.
const PART_SQL = `
  select date_part('epoch', p.lo) * 1000 as lo_ms, date_part('epoch', p.hi) * 1000 as hi_ms, p.hi, p.cuts,
         p.attempted, p.asked_at is not null as asked, count(*) filter (where p.asked_at is null) over () - 1 as more,
         sum(p.items) over () as items,
         date_part('epoch', least(clock_timestamp(), (
           select min(n.due_at) from notification n where n.provider = g.provider and n.state = 'waiting'
         )) - max(greatest(p.asked_at, p.last_item_at)) filter (where p.asked_at is not null) over ()) as quiet_seconds,
         exists (
           select from sync_task t
           where t.grant_id = p.grant_id and t.run_key = p.run_key and t.stream = p.stream and t.kind = 'object'
         ) as fetching,
         (
           select min(r.error) from backfill_part r
           where r.grant_id = p.grant_id and r.run_key = p.run_key and r.state = 'refused'
         ) as refused
  from backfill_part p
  join provider_grant g on g.id = p.grant_id
  where p.grant_id = $1 and p.run_key = $2 and p.stream = $3
  order by p.asked_at nulls first, p.hi
  limit 1`

/** What a range of the past is asked with. */
interface Asking {
  readonly db: Queryable
  readonly lease: Lease
  readonly backfill: Backfill
  readonly scope: StreamState['scope']
  ask(request: Request): Promise<Received | Outcome | 'blocked'>
  /** What an answer says, for people. */
  said(answer: Received): string
}

/** Asks for a range, once; afterwards says whether all of it has come. `lost`: the grant is another process's. */
export async function nextOfBackfill(asking: Asking, task: Task): Promise<Outcome | 'blocked' | 'lost'> {
  const { db, lease, backfill, scope } = asking
  const { run_key: runKey, stream } = task.row
  const [part] = await db.query<PartRow>(PART_SQL, [lease.grantId, runKey, stream])
  const type = backfill.types.find((one) => one.stream === stream)
  if (!part || !type) return task.failed('wrong', 'It cannot be asked for any more')
  if (part.asked) return waited(backfill, task, part)
  if (part.refused !== null) return ended(task.failed('not_permitted', part.refused), 'refused')
  const missing = type.scopes.filter((one) => scope?.has(one) === false)
  if (missing.length > 0)
    return ended(task.failed('not_permitted', `The person does not allow ${missing.join(', ')}`), 'forbidden')
  // A process that dies from here on leaves it in doubt whether the provider has taken it.
  const attempt = [lease.grantId, lease.processId, lease.fence, runKey, stream, part.hi]
  const { wanted } = await db.one<{ wanted: boolean }>(ATTEMPT_SQL, attempt)
  if (!wanted) return 'lost'
  const answer = await asking.ask(backfill.request(type.type, { fromMs: part.lo_ms, untilMs: part.hi_ms }))
  if (answer === 'blocked') {
    // Nothing was sent.
    if (!part.attempted) await db.query(NOT_ATTEMPTED_SQL, [lease.grantId, stream, part.hi])
    return answer
  }
  if ('id' in answer) return answer.ended ? ended(answer, 'failed') : answer
  return judged(asking, task, part, answer)
}

const ATTEMPT_SQL = 'select attempt_part($1, $2, $3, $4, $5, $6) as wanted'
const NOT_ATTEMPTED_SQL =
  'update backfill_part set attempted = false where grant_id = $1 and stream = $2 and hi = $3 and asked_at is null'

/** An outcome that ends what was not asked for of a stream, with why, if it says so; `part`: more of it. */
const ended = (outcome: Outcome, state: PartState, part: Outcome['part'] = {}): Outcome => ({
  ...outcome,
  part: { ...part, state, ...(outcome.report?.error !== undefined && { error: outcome.report.error }) },
})

/** It goes on later. */
const later = ({ row: { id, stream, generation } }: Task, seconds: number): Outcome => ({
  ...{ id, stream, generation, answers: 0, due_at: isoInstant(Date.now() + Math.ceil(seconds * 1000)) },
})

/** The provider has not taken it, unless an earlier request of which the answer was lost. */
const refusal = ({ attempted }: PartRow) => (attempted ? {} : ({ refused: true } as const))

function judged({ backfill, said }: Asking, task: Task, part: PartRow, answer: Received): Outcome {
  const verdict = backfill.judge(answer)
  const refused = refusal(part)
  if (typeof verdict === 'object') {
    if ('earliestMs' in verdict) return cut(backfill, task, part, verdict.earliestMs)
    const why = `HTTP ${answer.status}`
    const failure = answer.status >= 500 ? {} : refused
    if (task.row.attempts >= MAX_RETRIES) return ended(task.failed('gave_up', why), 'failed', failure)
    return { ...task.later(why, verdict.afterSeconds), part: { ...failure, hi: part.hi } }
  }
  switch (verdict) {
    case 'asked':
    case 'duplicate': {
      // Of a request whose answer was lost the data comes all the same.
      const seconds = part.more > 0 ? backfill.pauseSeconds : backfill.silenceSeconds
      return { ...later(task, seconds), part: { hi: part.hi, state: verdict, asked: true } }
    }
    case 'disabled':
      return ended(task.failed('wrong', `Not enabled at the provider. ${said(answer)}`), 'disabled', refused)
    case 'forbidden':
      return ended(task.failed('not_permitted', said(answer)), 'refused', refused)
    default:
      return ended(task.failed('wrong', said(answer)), 'failed', refused)
  }
}

/** The provider has nothing before `earliestMs`. */
function cut({ pauseSeconds }: Backfill, task: Task, part: PartRow, earliestMs: number): Outcome {
  const { lo_ms: loMs, hi_ms: hiMs, hi, cuts } = part
  const refused = refusal(part)
  if (earliestMs >= hiMs) return ended(task.done(), 'no_data', refused)
  if (earliestMs <= loMs || cuts >= MAX_CUTS) {
    const why = `The provider moves the start of what it gives, at last to ${isoInstant(earliestMs)}`
    return ended(task.failed('wrong', why), 'failed', refused)
  }
  return { ...later(task, pauseSeconds), part: { ...refused, hi, lo: isoInstant(earliestMs) } }
}

/** Whether nothing comes any more. */
function waited({ silenceSeconds }: Backfill, task: Task, { quiet_seconds: quiet, fetching, items }: PartRow): Outcome {
  const leftSeconds = silenceSeconds - (quiet ?? 0)
  if (fetching || leftSeconds > 0) return later(task, fetching ? FETCHING_SECONDS : Math.max(leftSeconds, 1))
  return { ...task.done(), answers: items, part: { state: 'quiet' } }
}
