import pg from 'pg'
import { databaseUnavailable, type Queryable } from '../../db/database.ts'
import { AppError } from '../../errors.ts'
import { ForbiddenAddress } from '../../provider-client/call.ts'
import { NoAnswer, type Received } from '../../provider-client/http.ts'
import type { Granularity, Request, StreamState, Wish } from '../../providers/provider.ts'
import { grantedScopes } from '../../providers/scopes.ts'
import { isoInstant } from '../../time.ts'
import { type Account, type AccountMeans, openAccount } from './account.ts'
import { nextOfBackfill } from './backfill.ts'
import { BudgetClosed, type Lane } from './budget.ts'
import { Gathered, type StoreMeans } from './gathered.ts'
import type { Lease, Outcome } from './parcel.ts'
import type { RetiredApis } from './retired.ts'
import { streamOf, Task, type TaskRow } from './task.ts'
import { verdictOf } from './verdicts.ts'
import { objectOf, type WishRow, wishRow } from './wishes.ts'

// The turn of a grant: it asks for what is due, page by page, and ends after 20 requests or 10 s, so that grants take turns.
// No transaction is open while a provider is asked.

const MAX_REQUESTS = 20
const MAX_MS = 10_000

/** Streams of an account that are asked for at a time: the time of a request is mostly that of the provider. */
const STREAMS_AT_ONCE = 3

/** With more uploads of a person waiting for their import, nothing is added to them. */
const MAX_WAITING = 50
const WAITING_MS = 5_000

/** How long a grant is left alone whose token cannot be had, and nobody says until when. */
const NO_TOKEN_MS = 3_600_000

/** After so many attempts a 500 is that of a day, where others can be asked for. */
const BAD_ATTEMPTS = 3

/** After so long a 401 is tried again: whether the connection has ended is for the refresh to say. */
const REFUSED_SECONDS = 3_600

/** What turns work with. */
export interface TurnMeans extends AccountMeans, StoreMeans {
  readonly parts: AccountMeans['parts']
  /** Whether this process is stopping. */
  stopping(): boolean
  /** Told whether a provider answered at all. */
  answered(provider: string, did: boolean): void
  readonly retired: RetiredApis
}

/** A claimed grant, and for whom. */
export interface Claimed extends Lease {
  readonly lane: Lane
}

interface GrantRow {
  readonly issuer: string | null
  readonly granularity: Granularity | null
  readonly scope: string | null
  readonly zone: string | null
  readonly granted_ms: number
  readonly waiting: number
}

const GRANT_SQL = `
  select g.issuer, g.scope, g.zone, date_part('epoch', g.granted_at) * 1000 as granted_ms,
         (select s.data_granularity from provider_setting s where s.provider = g.provider) as granularity, (
    select coalesce(max(w.n), 0) from connection c
    cross join lateral (
      select count(*) as n
      from (select from upload u where u.user_id = c.user_id and u.status = 'queued' limit ${MAX_WAITING + 1}) q
    ) w
    where c.grant_id = g.id and c.status = 'active'
  ) as waiting
  from provider_grant g
  where g.id = $1 and g.process_id = $2 and g.fence = $3 and g.state = 'live'`

// Those of one run together, since they are stored and imported together; of history the newest first.
const TASKS_SQL = `
  select t.id, t.kind, t.stream, t.object, t.args, t.generation, t.run_key, t.lane, t.lo, t.hi, t.reach_days, t.options,
         t.position, t.attempts, t.failing_since, encode(s.last_hash, 'hex') as last_hash
  from sync_task t
  left join stream_cursor s on s.grant_id = t.grant_id and s.stream = t.stream
  where t.grant_id = $1 and t.due_at <= now() and (t.lane = 'history') = $2
  order by t.lane, min(t.id) over (partition by t.run_key), case when t.lane = 'history' then t.hi end desc, t.id`

/** What goes on in a turn. */
interface Turn {
  readonly means: TurnMeans
  readonly lease: Claimed
  readonly account: Account
  readonly scope: StreamState['scope']
  readonly grantedMs: number
  readonly granularity: Granularity
  readonly endsMs: number
  requests: number
  readonly gathered: Gathered
  /** Not before then, by lane; epoch milliseconds. */
  readonly blocked: Partial<Record<Lane, number>>
  /** Why, for the runs that wait. */
  readonly waits: Partial<Record<Lane, Wait>>
  /** Ended before its time: nothing can be had for this grant now. */
  over: boolean
}

/** Why a lane waits, for people; `failed`: it was tried. */
interface Wait {
  readonly why: string
  readonly failed: boolean
}

/** Serves a claimed grant, and gives it back. */
export async function serveTurn(means: TurnMeans, lease: Claimed): Promise<void> {
  const { grantId, processId, fence } = lease
  const [grant] = await means.db.query<GrantRow>(GRANT_SQL, [grantId, processId, fence])
  const isFull = grant !== undefined && grant.waiting > MAX_WAITING
  const turn = grant && !isFull ? begin(means, lease, grant) : undefined
  if (turn) {
    await serveTasks(turn)
    await noteWaits(turn)
  }
  // Even if it was lost: whoever has it now is left alone, and one that was lost because a task was cancelled is free.
  await release(means.db, lease, isFull ? everyLane(Date.now() + WAITING_MS) : (turn?.blocked ?? {}))
}

async function serveTasks(turn: Turn): Promise<void> {
  const { means, lease } = turn
  const left = await means.db.query<TaskRow>(TASKS_SQL, [lease.grantId, lease.lane === 'history'])
  while (left.length > 0 && goesOn(turn)) {
    const ofRun = left.findIndex(({ run_key }) => run_key !== left[0]?.run_key)
    await serveRun(turn, left.splice(0, ofRun < 0 ? left.length : ofRun))
  }
  await turn.gathered.flush()
}

/** Serves the tasks of one run, some at a time: each stream has a cursor of its own, and its pages come one by one. */
async function serveRun(turn: Turn, rows: TaskRow[]): Promise<void> {
  const serve = async () => {
    for (let row = rows.shift(); row && goesOn(turn); row = rows.shift())
      if (turn.blocked[row.lane] === undefined) await serveTask(turn, row)
  }
  // Between two requests for the past there is a pause.
  const atOnce = rows.some(({ kind }) => kind === 'backfill') ? 1 : STREAMS_AT_ONCE
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, serve))
  const failed = ended.find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
}

function begin(means: TurnMeans, lease: Claimed, grant: GrantRow): Turn {
  const { issuer, scope, zone, granted_ms: grantedMs, granularity } = grant
  const { grantId: id, provider } = lease
  const account = openAccount(means, { id, provider, issuer })
  return {
    ...{ means, lease, account },
    scope: grantedScopes(scope, account.client.oauth(issuer)),
    grantedMs,
    granularity: granularity ?? means.parts.settings.dataGranularity,
    endsMs: Date.now() + MAX_MS,
    requests: 0,
    gathered: new Gathered(means, lease, zone),
    blocked: {},
    waits: {},
    over: false,
  }
}

const goesOn = (turn: Turn) =>
  !turn.over &&
  !turn.gathered.lost &&
  turn.requests < MAX_REQUESTS &&
  Date.now() < turn.endsMs &&
  !turn.means.stopping()

/** No lane before then, epoch milliseconds. */
export const everyLane = (fromMs: number): Turn['blocked'] => ({ asked: fromMs, live: fromMs, history: fromMs })

async function serveTask(turn: Turn, row: TaskRow): Promise<void> {
  if (row.kind === 'backfill') return servePast(turn, row)
  const stream = streamOf(turn.account.client.provider, row)
  if (!stream) return turn.gathered.add(row, [], unknown(row))
  const task = new Task(row, stream, Date.now())
  while (goesOn(turn)) {
    const outcome = await askOnce(turn, task).catch((error) => defect(turn, task, error))
    if (outcome === 'blocked') break
    if (typeof outcome === 'object') return turn.gathered.add(row, task.takeParts(), outcome)
  }
  if (task.hasMoved) await pause(turn, task)
}

/** This version no longer asks for it. */
const unknown = ({ id, stream }: TaskRow): Outcome => ({
  ...{ id, stream, answers: 0, ended: true },
  report: { status: 'failed', code: 'wrong', error: 'There is no such stream any more' },
})

/** A range of the past that comes as notices: it is asked for, or waited for. */
async function servePast(turn: Turn, row: TaskRow): Promise<void> {
  const { provider } = turn.account.client
  const stream = streamOf(provider, row)
  if (!stream || !provider.backfill) return turn.gathered.add(row, [], unknown(row))
  const task = new Task(row, stream, Date.now())
  const asking = {
    ...{ db: turn.means.db, lease: turn.lease, backfill: provider.backfill, scope: turn.scope },
    ask: (request: Request) => askOfPast(turn, task, request),
    said: (answer: Received) => said(turn, answer),
  }
  const outcome = await nextOfBackfill(asking, task).catch((error) => {
    return { ...defect(turn, task, error), part: { state: 'failed' } } as const
  })
  if (outcome === 'lost') turn.over = true
  else if (outcome !== 'blocked') await turn.gathered.add(row, [], outcome)
}

/** One request in a while for each account: others of the turn wait, too. */
async function askOfPast(turn: Turn, task: Task, request: Request): Promise<Received | Outcome | 'blocked'> {
  const pauseMs = (turn.account.client.provider.backfill?.pauseSeconds ?? 0) * 1000
  const { lane } = task.row
  turn.requests += 1
  turn.blocked[lane] = Date.now() + pauseMs
  const answer = await ask(turn, task, request)
  turn.blocked[lane] = Math.max(turn.blocked[lane] ?? 0, Date.now() + pauseMs)
  if (typeof answer === 'object' && !('id' in answer)) turn.means.answered(turn.lease.provider, true)
  return answer
}

/** Keeps the place of a task that goes on later. */
function pause(turn: Turn, task: Task): Promise<void> {
  const outcome = task.paused()
  return turn.gathered.add(task.row, task.takeParts(), outcome)
}

/** A connector that fails at an answer costs this stream, not the grant. */
function defect({ means, lease }: Turn, task: Task, error: unknown): Outcome {
  if (databaseUnavailable(error) || error instanceof pg.DatabaseError) throw error
  means.log.error({ err: error, provider: lease.provider, stream: task.stream.name }, 'a connector failed at an answer')
  return task.failed('wrong', 'The answer cannot be read')
}

/** One request of a task: it goes on, it has ended with an outcome, or there is nothing to be had now. */
async function askOnce(turn: Turn, task: Task): Promise<Outcome | 'on' | 'blocked'> {
  const retired = turn.means.retired.reason(turn.account.client)
  if (retired !== undefined) return task.failed('retired', retired)
  const request = task.request ?? task.stream.first(task.window, stateOf(turn, task))
  if (!request) return task.nextWindow() ? 'on' : task.done()
  turn.requests += 1
  const answer = await ask(turn, task, request)
  if (typeof answer === 'string' || 'id' in answer) return answer
  turn.means.answered(turn.lease.provider, true)
  return judged(turn, task, request, answer)
}

/** All that a workout has is asked for where an operator wants that, whoever asks. */
const WITH_SAMPLES = { samples: true, zones: true, route: true }

function stateOf(turn: Turn, { row }: Task): StreamState {
  const { means, account, scope, grantedMs, granularity, gathered } = turn
  const options = means.parts.settings.ingestWorkoutSamples ? { ...row.options, ...WITH_SAMPLES } : row.options
  const settings = account.client.settings.more
  const why = { isHistory: row.lane === 'history', isPull: row.kind === 'pull', isNotice: row.kind === 'notice' }
  return { scope, zone: gathered.zone, options, grantedMs, ...why, granularity, settings }
}

async function ask(turn: Turn, task: Task, request: Request): Promise<Received | Outcome | 'blocked'> {
  try {
    if (objectOf(turn.account.client.provider, task.row.object ?? '')?.provesAccess) await turn.account.prove()
    return await turn.account.ask(request, task.row.lane)
  } catch (error) {
    if (error instanceof BudgetClosed) {
      turn.blocked[task.row.lane] = error.untilMs
      const why = `The limit of requests is used up until ${isoInstant(Math.ceil(error.untilMs))}`
      turn.waits[task.row.lane] = { why, failed: false }
      return 'blocked'
    }
    if (error instanceof NoAnswer) {
      turn.means.answered(turn.lease.provider, false)
      turn.over = true
      return task.later(`No answer: ${error.message}`, null)
    }
    if (error instanceof ForbiddenAddress) return task.failed('wrong', `The provider named a next page elsewhere`)
    if (!(error instanceof AppError)) throw error
    noToken(turn, error)
    return 'blocked'
  }
}

/** No token can be had, or the connection has ended. */
function noToken(turn: Turn, error: AppError): void {
  // Streams that are asked at the same time find out together.
  if (turn.over) return
  const { log } = turn.means
  const { provider, grantId: grant } = turn.lease
  const untilMs = error.retryAtMs ?? Date.now() + NO_TOKEN_MS
  const until = isoInstant(Math.ceil(untilMs))
  Object.assign(turn.blocked, everyLane(untilMs))
  const wait = { why: `${error.message.replace(/\.$/, '')}; tried again at ${until}`, failed: true }
  Object.assign(turn.waits, { asked: wait, live: wait, history: wait })
  turn.over = true
  log.warn({ provider, grant, reason: error.message, until }, 'a grant waits: there is no access token')
}

/** Runs say why they wait. */
async function noteWaits({ means, lease, waits }: Turn): Promise<void> {
  const rows = Object.entries(waits).map(([lane, wait]) => ({ lane, ...wait }))
  if (rows.length === 0) return
  const { grantId, processId, fence } = lease
  await means.db.query('select note_waits($1, $2, $3, $4)', [grantId, processId, fence, JSON.stringify(rows)])
}

async function judged(turn: Turn, task: Task, request: Request, answer: Received): Promise<Outcome | 'on'> {
  const verdict = verdictOf(turn.account.client.provider.api, answer, task.stream)
  const isBad = answer.status === 500 && task.row.attempts >= BAD_ATTEMPTS && task.stream.skip !== undefined
  if (isBad) return passedOver(turn, task, request, answer)
  const why = turn.account.client.provider.api.problem?.(answer) ?? `HTTP ${answer.status}`
  if (typeof verdict === 'object') return task.later(turn.account.excerpt(why), verdict.afterSeconds)
  switch (verdict) {
    case 'ok':
    case 'empty':
      return taken(turn, task, request, answer)
    case 'auth':
      return task.later(said(turn, answer), REFUSED_SECONDS)
    case 'denied':
      return task.failed('not_permitted', said(turn, answer))
    case 'retired':
      return retire(turn, task)
    case 'missing':
      return task.row.object === null ? task.failed('wrong', said(turn, answer)) : absent(turn, task)
    default:
      return passedOver(turn, task, request, answer)
  }
}

/** An answer that cannot be used fails the stream; where days are asked for one by one, after the others were. */
function passedOver(turn: Turn, task: Task, request: Request, answer: Received): Outcome | 'on' {
  const { skip } = task.stream
  if (!skip) return task.failed('wrong', said(turn, answer))
  task.skip(said(turn, answer))
  return goOn(task, request, skip(request))
}

/** Goes on with a further page, or with the next window. */
function goOn(task: Task, request: Request, next: Request | null): Outcome | 'on' {
  if (!next) return task.nextWindow() ? 'on' : task.done()
  const problem = task.turnPage(request, next)
  return problem === undefined ? 'on' : task.failed('wrong', problem)
}

/** The provider has ended its API. */
function retire({ means: { retired, log }, account: { client } }: Turn, task: Task): Outcome {
  if (retired.close(client)) log.error({ provider: client.id }, 'a provider has ended its API')
  return task.failed('retired', retired.reason(client) ?? '')
}

/** The provider does not have a thing. */
function absent(turn: Turn, task: Task): Outcome {
  const { object, args } = task.row
  const kind = objectOf(turn.account.client.provider, object ?? '')
  const { wish, ...missing } = kind?.missing?.(args) ?? {}
  return task.absent({ ...missing, wish: wish && wished(turn, task.row, [wish])[0] })
}

function wished({ account, scope }: Turn, { options }: TaskRow, wishes: readonly Wish[]): WishRow[] {
  const more = Object.keys(options).length > 0 ? { options } : {}
  return wishes.flatMap((wish) => wishRow(account.client.provider, scope, wish, more) ?? [])
}

/** What an answer says, for people; nothing of one that may hold measurements. */
function said({ account }: Turn, answer: Received): string {
  const { status, body } = answer
  const problem = account.client.provider.api.problem?.(answer)
  if (problem !== undefined) return account.excerpt(problem)
  if (status < 400) return `HTTP ${status}: the answer cannot be read`
  return account.excerpt(`HTTP ${status}: ${body.subarray(0, 4_000).toString()}`.trim())
}

/** Keeps an answer, and goes on to the next page, or to the next window. */
async function taken(turn: Turn, task: Task, request: Request, received: Received): Promise<Outcome | 'on'> {
  const { stream, row } = task
  const answer = stream.isEmpty?.(received, request) ? { ...received, body: Buffer.alloc(0) } : received
  const { gathered } = turn
  const zone = stream.zone?.(answer, request) ?? null
  // What was long ago says nothing of where the person is.
  if (row.kind === 'pull') gathered.zone = zone ?? gathered.zone
  if (!task.takes(request, answer)) {
    await pause(turn, task)
    await gathered.flush()
  }
  task.keep(request, answer, zone ?? gathered.zone)
  task.follow(wished(turn, row, stream.follow?.(answer, request, stateOf(turn, task)) ?? []))
  return goOn(task, request, stream.next?.(answer, request) ?? null)
}

const RELEASE_SQL = `
  select release_grant($1, $2, $3, to_timestamp($4::float8), to_timestamp($5::float8), to_timestamp($6::float8))`

/** Gives a grant back; `blocked`: not before then, by lane. */
export async function release(db: Queryable, lease: Lease, blocked: Turn['blocked']): Promise<void> {
  const lanes = [blocked.asked, blocked.live, blocked.history]
  const seconds = lanes.map((fromMs) => (fromMs === undefined ? null : fromMs / 1000))
  await db.query(RELEASE_SQL, [lease.grantId, lease.processId, lease.fence, ...seconds])
}
