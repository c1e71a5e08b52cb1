import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { userIdOf } from '../simulator/garmin/items.ts'
import {
  type Bench,
  cpuText,
  figure,
  type Measure,
  median,
  type Timed,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import {
  afterDays,
  bodyAlone,
  connectAccount,
  GARMIN_SETTINGS,
  ofTwins,
  type PushBody,
  personOf,
  pushesOf,
  pushRequest,
  readable,
  twinOf,
} from './garmin.ts'
import { type Uploads, uploadRequest, writeUploads } from './garmin-uploads.ts'
import { type Load, type Request, sendEach } from './requests.ts'
import type { Service } from './service.ts'

/** What a burst of one person's pushes costs that person, and somebody else whose push comes meanwhile. */
export const ids = ['V6']

const CLIENTS = 32
/** Pushes of a day of a person, at least. */
const PUSHES_PER_DAY = 15
const LOOK_MS = 20
/** How often the other one's watch is heard of. */
const OTHER_MS = 500
const IDLE_TIMES = 12
const WARM_UP = 100

interface Side {
  readonly bench: Bench
  readonly service: Service
  readonly db: Client
  readonly account: string
  readonly bodies: readonly PushBody[]
  readonly uploads: Uploads
  /** Somebody else, of whom so many weighings are told. */
  readonly other: { readonly user: string; readonly account: string; told: number }
  /** Accounts so far. */
  readonly made: { twins: number }
}

interface Burst {
  readonly sent: Load
  readonly whole: Timed<unknown>
  readonly imports: number
  /** Until pushes of somebody else could be read, ms. */
  readonly otherMs: number[]
}

interface Round {
  readonly idleMs: number
  readonly pushes: Burst
  /** The same with one among them that cannot be read. */
  readonly broken: Burst
  readonly uploads: Timed<unknown>
}

/** A year of one person comes as a burst of pushes, and as uploads of 4 MiB. */
export async function run(bench: Bench): Promise<Measure[]> {
  const count = bench.quick ? 500 : 10_000
  const days = Math.ceil(count / PUSHES_PER_DAY)
  const person = personOf(0, days)
  const pushes = pushesOf(person, days, afterDays(days)).slice(0, count)
  const uploads = await writeUploads(join(bench.directory, 'burst'), pushes)
  const bodies = pushes.map(bodyAlone)
  return withDatabase(bench, 'burst', (url) =>
    withService(bench, { url, name: 'burst', settings: GARMIN_SETTINGS }, (service) =>
      withClient(url, async (db) => {
        const account = userIdOf(person)
        const { user } = await connectAccount(service, db, 'other')
        const other = { user, account: 'other', told: 0 }
        const side = { bench, service, db, account, bodies, uploads, other, made: { twins: 0 } }
        return measures(await rounds(side), side)
      }),
    ),
  )
}

async function rounds(side: Side): Promise<Round[]> {
  const { bench } = side
  const found: Round[] = []
  // Not counted: everybody compiles their code.
  await burst({ ...side, bodies: side.bodies.slice(0, WARM_UP) }, false)
  await uploaded({ ...side, uploads: { ...side.uploads, bodies: 1 } })
  // A round takes minutes.
  const count = bench.quick ? 1 : Math.ceil(bench.samples / 2)
  for (let round = 0; round < count; round += 1) {
    const result: { -readonly [Name in keyof Round]?: Round[Name] } = { idleMs: await idle(side) }
    const parts = [
      async () => {
        result.pushes = await burst(side, false)
      },
      async () => {
        result.uploads = await uploaded(side)
      },
      async () => {
        result.broken = await burst(side, true)
      },
    ]
    for (const part of round % 2 === 0 ? parts : parts.reverse()) await part()
    found.push(result as Round)
  }
  return found
}

/** Until a push can be read while nothing else happens. */
async function idle(side: Side): Promise<number> {
  const found: number[] = []
  for (let time = 0; time < IDLE_TIMES; time += 1) found.push(await toldOfOther(side))
  return median(found.slice(2))
}

async function burst(side: Side, withOneUnreadable: boolean): Promise<Burst> {
  const { bench, service, db, account, bodies, made } = side
  made.twins += 1
  const twin = made.twins
  const { user } = await connectAccount(service, db, twinOf(account, twin))
  await empty(db)
  async function* requests(): AsyncGenerator<Request> {
    for (const [place, body] of bodies.entries()) {
      if (withOneUnreadable && place === Math.floor(bodies.length / 2))
        yield pushRequest(unreadable(twinOf(account, twin)))
      yield pushRequest(ofTwins(body, twin))
    }
  }
  let over = false
  let sent: Load | undefined
  const others = otherMeanwhile(side, () => over)
  const whole = await timed(bench, service.pid, async () => {
    sent = await sendEach(service.origin, requests(), { connections: CLIENTS })
    await readable(db, [user])
  })
  over = true
  const otherMs = await others
  const imports = await importsOf(db, user)
  await db.query('delete from notification')
  return { sent: sent as Load, whole, imports, otherMs }
}

/** A body that becomes larger when it is read, and with that too large to be stored: it is kept as one that cannot be read. */
const unreadable = (account: string): Buffer =>
  Buffer.from(`{"userMetrics":[{"userId":"${account}","more":[${'1E20,'.repeat(1_700_000)}0]}]}`)

async function otherMeanwhile(side: Side, isOver: () => boolean): Promise<number[]> {
  const found: number[] = []
  while (!isOver()) {
    await delay(OTHER_MS)
    found.push(await toldOfOther(side))
  }
  return found
}

/** Tells of a weighing of somebody else; returns how long it takes until that can be read, in milliseconds. */
async function toldOfOther({ service, other }: Side): Promise<number> {
  other.told += 1
  const seconds = afterDays(other.told) / 1000
  const weighing = { userId: other.account, summaryId: `other-${other.told}`, measurementTimeInSeconds: seconds }
  const body = JSON.stringify({
    bodyComps: [{ ...weighing, measurementTimeOffsetInSeconds: 0, weightInGrams: 70_000 }],
  })
  const { path, headers } = pushRequest(Buffer.from(body))
  const started = performance.now()
  const { status } = await fetch(service.origin + path, { method: 'POST', headers, body })
  if (status !== 200) throw new Error(`a push was answered ${status}`)
  const page = `${service.origin}/api/v1/users/${other.user}/timeseries?types=weight&start_time=${seconds - 60}&end_time=${seconds + 60}`
  for (;;) {
    const answer = await fetch(page, { headers: service.headers })
    if (((await answer.json()) as { data: unknown[] }).data.length > 0) return performance.now() - started
    await delay(LOOK_MS)
  }
}

async function uploaded({ bench, service, db, uploads }: Side): Promise<Timed<void>> {
  await empty(db)
  const user = await service.createUser()
  async function* requests(): AsyncGenerator<Request> {
    for (let body = 0; body < uploads.bodies; body += 1) yield uploadRequest(service, user, await uploads.read(body))
  }
  return timed(bench, service.pid, async () => {
    await sendEach(service.origin, requests(), { connections: 2, status: 202 })
    await readable(db, [user])
  })
}

async function empty(db: Client): Promise<void> {
  await db.query('truncate sample')
  await db.query('checkpoint')
}

async function importsOf(db: Client, user: string): Promise<number> {
  const { rows } = await db.query<{ imports: string; failed: string }>(
    `select count(*) as imports, count(*) filter (where status = 'failed' or rejected > 0) as failed
     from upload
     where user_id = $1`,
    [user],
  )
  if (Number(rows[0]?.failed) > 0) throw new Error(`${rows[0]?.failed} imports failed or rejected something`)
  return Number(rows[0]?.imports)
}

function measures(found: Round[], { bodies, uploads }: Side): Measure[] {
  const middle = (of: (round: Round) => number) => figure(median(found.map(of)))
  const cpu = (of: (round: Round) => Timed<unknown>) =>
    cpuText(
      found.map((round) => ({ cpu: of(round).cpu, count: uploads.samples })),
      'sample',
    )
  const others = (of: (round: Round) => Burst) => {
    const all = found.map((round) => of(round).otherMs)
    return `${figure(median(all.flat()))} ms (median), at most ${figure(Math.max(...all.flat()))} ms`
  }
  return [
    {
      id: 'V6',
      what: `${figure(bodies.length)} pushes of one person until they are imported ÷ the same as uploads of 4 MiB`,
      values: found.map((round) => round.pushes.whole.seconds / round.uploads.seconds),
      target: { at: 'most', value: 2 },
      beside: [
        `${figure(uploads.samples)} samples as pushes ${middle(({ pushes }) => pushes.whole.seconds)} s, ${middle(({ pushes }) => pushes.sent.seconds)} s of that until the last is accepted: ${cpu(({ pushes }) => pushes.whole)}`,
        `the same as uploads ${middle((round) => round.uploads.seconds)} s: ${cpu((round) => round.uploads)}`,
        `as pushes of which one cannot be read ${middle(({ broken }) => broken.whole.seconds)} s`,
      ],
    },
    {
      id: 'V6',
      what: 'imports of those pushes',
      values: found.map(({ pushes }) => pushes.imports),
      target: { at: 'most', value: 100 },
      beside: [],
    },
    {
      id: 'V6',
      what: 'another’s push until it can be read, the longest meanwhile ÷ idle',
      values: found.map(({ pushes, idleMs }) => Math.max(...pushes.otherMs) / idleMs),
      target: { at: 'most', value: 3 },
      beside: [
        `another’s push until it can be read: idle ${middle(({ idleMs }) => idleMs)} ms; meanwhile ${others(({ pushes }) => pushes)}; with one that cannot be read ${others(({ broken }) => broken)}`,
      ],
    },
    {
      id: 'V6',
      what: 'the same with a push among them that cannot be read',
      values: found.map(({ broken, idleMs }) => Math.max(...broken.otherMs) / idleMs),
      target: { at: 'most', value: 3 },
      beside: [],
    },
  ]
}
