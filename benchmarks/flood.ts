import { join } from 'node:path'
import type { Client } from 'pg'
import { userIdOf } from '../simulator/garmin/items.ts'
import {
  type Bench,
  cpuText,
  figure,
  type Measure,
  percentile,
  type Timed,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import { startBeside } from './beside.ts'
import {
  afterDays,
  askForPast,
  connectAccount,
  GARMIN_SETTINGS,
  monthOf,
  ofTwins,
  type PushBody,
  personOf,
  pushesOf,
  pushRequest,
  readable,
  twinOf,
} from './garmin.ts'
import { type Uploads, uploadRequest, writeUploads } from './garmin-uploads.ts'
import { residentMb, watchMemory } from './processes.ts'
import { type Load, type Request, sendEach } from './requests.ts'
import type { Service } from './service.ts'

/** What becomes of everybody else, and of the pushes, when the past of many people comes at once. */
export const ids = ['FLOOD']

const CLIENTS = 32
const DAYS = 30
const WARM_UP = 100

/** Whose past comes: so many people of the simulator, and twins of them. */
interface Crowd {
  readonly bodies: readonly PushBody[]
  readonly accounts: readonly string[]
  /** By person. */
  readonly uploads: readonly Uploads[]
  readonly twins: number
  readonly days: number
}

interface Side {
  readonly bench: Bench
  readonly url: string
  readonly crowd: Crowd
}

/** A way in: how fast it took everything, and until when all could be read, while others read and uploaded. */
interface Part {
  readonly sent: Load
  readonly whole: Timed<number>
  readonly samples: number
  /** Uploads that it became. */
  readonly imports: number
  /** p99 of the others, idle and meanwhile. */
  readonly reads: Beside
  readonly uploads: Beside
  readonly memory: { idleMb: number; peakMb: number }
}

interface Beside {
  readonly idleMs: number
  readonly busyMs: number
}

/** 200 people's month as pushes of Garmin's, and as uploads of phones, while ten people page and ten others upload. */
export async function run(bench: Bench): Promise<Measure[]> {
  const crowd = await crowdOf(
    bench,
    bench.quick ? { people: 20, twins: 10, days: 1 } : { people: 20, twins: 10, days: DAYS },
  )
  const part = (name: string, send: Sending) =>
    withDatabase(bench, `flood_${name}`, (url) => measurePart({ bench, url, crowd }, name, send))
  const pushes = await part('pushes', pushAll)
  return measures(pushes, await part('uploads', uploadAll), crowd)
}

async function crowdOf(bench: Bench, { people, twins, days }: { people: number; twins: number; days: number }) {
  const persons = Array.from({ length: people }, (_, number) => personOf(number, days))
  const uploads: Uploads[] = []
  for (const person of persons)
    uploads.push(
      await writeUploads(join(bench.directory, `flood-${person.key}`), pushesOf(person, days, afterDays(days))),
    )
  return { bodies: monthOf(persons, days), accounts: persons.map(userIdOf), uploads, twins, days }
}

/** Prepares the users of one way in; returns what sends everything, and whose it is. */
type Sending = (side: Side, service: Service, db: Client) => Promise<{ users: string[]; send: () => Promise<Load> }>

const pushAll: Sending = async ({ crowd }, service, db) => {
  await warmUp(crowd, service, db)
  const users: string[] = []
  for (const account of crowd.accounts) {
    for (let twin = 0; twin < crowd.twins; twin += 1) {
      const connected = await connectAccount(service, db, twinOf(account, twin))
      await askForPast(db, connected, crowd.days)
      users.push(connected.user)
    }
  }
  async function* requests(): AsyncGenerator<Request> {
    for (const body of crowd.bodies)
      for (let twin = 0; twin < crowd.twins; twin += 1) yield pushRequest(ofTwins(body, twin))
  }
  return { users, send: () => sendEach(service.origin, requests(), { connections: CLIENTS }) }
}

/** Some pushes of other twins: everybody compiles their code. */
async function warmUp({ bodies, accounts, twins }: Crowd, service: Service, db: Client): Promise<void> {
  const users: string[] = []
  for (const account of accounts) users.push((await connectAccount(service, db, twinOf(account, twins))).user)
  async function* requests(): AsyncGenerator<Request> {
    for (const body of bodies.slice(0, WARM_UP)) yield pushRequest(ofTwins(body, twins))
  }
  await sendEach(service.origin, requests(), { connections: CLIENTS })
  await readable(db, users)
}

const uploadAll: Sending = async ({ crowd }, service) => {
  const phones: { user: string; uploads: Uploads }[] = []
  for (const uploads of crowd.uploads)
    for (let twin = 0; twin < crowd.twins; twin += 1) phones.push({ user: await service.createUser(), uploads })
  async function* requests(): AsyncGenerator<Request> {
    for (let body = 0; phones.some(({ uploads }) => body < uploads.bodies); body += 1)
      for (const { user, uploads } of phones)
        if (body < uploads.bodies) yield uploadRequest(service, user, await uploads.read(body))
  }
  const send = () => sendEach(service.origin, requests(), { connections: CLIENTS, status: 202 })
  return { users: phones.map(({ user }) => user), send }
}

function measurePart(side: Side, name: string, sending: Sending): Promise<Part> {
  const { bench, url } = side
  return withService(bench, { url, name: `flood-${name}`, settings: GARMIN_SETTINGS }, (service) =>
    withClient(url, async (db) => {
      const beside = await startBeside(bench, service, db)
      try {
        const { users, send } = await sending(side, service, db)
        const idle = await beside.idle()
        await db.query('checkpoint')
        const idleMb = residentMb(service.pid)
        const peak = watchMemory(service.pid)
        await beside.start()
        let sent: Load | undefined
        const whole = await timed(bench, service.pid, async () => {
          sent = await send()
          return readable(db, users)
        })
        const busy = await beside.stop()
        const memory = { idleMb, peakMb: peak() }
        const { samples, imports } = await stored(db, users)
        const [reads, uploads] = [
          { idleMs: idle.readMs, busyMs: busy.readMs },
          { idleMs: idle.uploadMs, busyMs: busy.uploadMs },
        ]
        return { sent: sent as Load, whole, samples, imports, reads, uploads, memory }
      } finally {
        await beside.end()
      }
    }),
  )
}

/** How many samples there are of everybody, and in how many imports they came. @throws Error when something was not taken */
async function stored(db: Client, users: readonly string[]): Promise<{ samples: number; imports: number }> {
  const { rows } = await db.query<{ samples: string; imports: string; failed: string; kept: string }>(
    `select (select count(*) from sample s join data_source d on d.id = s.source_id where d.user_id = any ($1)) as samples,
            (select count(*) from upload where user_id = any ($1)) as imports,
            (select count(*) from upload where status = 'failed' or rejected > 0) as failed,
            (select count(*) from notification) as kept`,
    [users],
  )
  const [row] = rows
  if (Number(row?.failed) > 0 || Number(row?.kept) > 0)
    throw new Error(`${row?.failed} imports failed or rejected something, ${row?.kept} notices are not opened`)
  return { samples: Number(row?.samples), imports: Number(row?.imports) }
}

function measures(pushes: Part, uploads: Part, { accounts, twins, days }: Crowd): Measure[] {
  const rate = ({ samples, whole }: Part) => samples / whole.seconds
  // The same but for totals of days, and what comes less often.
  if (Math.abs(pushes.samples / uploads.samples - 1) > 0.03)
    throw new Error(`pushes brought ${pushes.samples} samples where uploads brought ${uploads.samples}`)
  const people = accounts.length * twins
  return [
    {
      id: 'FLOOD',
      what: `${days} days of ${people} people as pushes ÷ the same as uploads of phones, samples/s until all is readable`,
      values: [rate(pushes) / rate(uploads)],
      target: { at: 'least', value: 0.7 },
      beside: [...lines('pushes', pushes), ...lines('uploads', uploads)],
    },
    {
      id: 'FLOOD',
      what: 'p99 of ten people who page meanwhile ÷ idle',
      values: [pushes.reads.busyMs / pushes.reads.idleMs],
      target: { at: 'most', value: 5 },
      beside: [],
    },
  ]
}

function lines(what: string, { sent, whole, samples, imports, reads, uploads, memory }: Part): string[] {
  const p99 = (one: Beside) => `${figure(one.busyMs)} ms (idle ${figure(one.idleMs)} ms)`
  const ms = (share: number) => figure(percentile(sent.latenciesMs, share))
  return [
    `${what}: ${figure(sent.count)} accepted, ${figure(sent.count / sent.seconds)} a second, within ${ms(0.5)} ms (median) and ${ms(0.99)} ms (p99); all of it readable ${figure(whole.result)} s later`,
    `${what}: ${figure(samples)} samples in ${figure(imports)} imports, ${figure(samples / whole.seconds)} a second: ${cpuText([{ cpu: whole.cpu, count: samples }], 'sample')}`,
    `${what}: meanwhile p99 of reads ${p99(reads)}, of live uploads ${p99(uploads)}; resident ${figure(memory.peakMb)} MB at most (idle ${figure(memory.idleMb)} MB)`,
  ]
}
