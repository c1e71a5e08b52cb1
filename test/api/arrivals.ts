// Some days of a person of the simulator with a ring, a watch (Garmin) and a phone, as they arrive: the answers to
// the pulls of the ring, what the watch's provider sends, and the uploads of the phone.
import type { Test } from 'tap'
import { notifyingProviders } from '../../server/providers/index.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { openNotices } from '../../workers/notices.ts'
import { encodeParcel, type ParcelPart, readParcel } from '../../workers/parcel.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type CloudUser, write } from '../support/given.ts'
import { accountOf, partsOf } from '../support/pages.ts'
import { listen } from '../support/receiver.ts'
import { body, createUser, importBody, iso, PHONE, type SdkRecord, startImports, steps } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'
import { type Json, play, START, tokens } from '../support/simulator.ts'
import { stage } from '../support/sleep.ts'
import { seeded, summary } from '../support/summaries.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** What is pulled. */
export type Ring = 'oura' | 'ultrahuman'

/** How much arrives, and in how many orders. */
export interface Arriving {
  ring: Ring
  people: readonly string[]
  days: number
  orders: number
  seed: number
}

/** Something that arrives: an upload of the phone, or parts of a provider. */
type Arrival = { readonly upload: object } | { readonly provider: Ring | 'garmin'; readonly parts: ParcelPart[] }

/** What each source sends, in its order. */
async function arrivalsOf(t: Test, person: string, { ring: provider, days }: Arriving): Promise<Arrival[][]> {
  const simulator = await play(t, { people: 2, days: 8 })
  for (const one of [provider, 'garmin'])
    await simulator.control('POST', 'settings', { provider: one, limits: [1e6, 1e6], access_seconds: 1e6 })
  const receiver = await listen(t)
  await simulator.control('POST', 'subscriptions', { provider: 'garmin', url: receiver.url })
  await tokens(simulator, 'garmin', { auto: person })
  const account = await accountOf(simulator, provider, person)
  const [ring, watch, phone]: [Arrival[], Arrival[], Arrival[]] = [[], [], []]
  for (let day = 1; day <= days; day += 1) {
    await simulator.control('POST', 'clock', { advance_days: 1 })
    await simulator.control('POST', 'notices')
    const nowMs = START + day * DAY_MS
    const truth = (await simulator.control('GET', `truth?person=${person}&from=2026-03-07&minutes=true`)).body
    const pages = await partsOf(account, { fromMs: nowMs - 2 * DAY_MS, untilMs: nowMs, nowMs, zone: null })
    ring.push(...halves(pages).map((parts) => ({ provider, parts }) as const))
    const sent = receiver.notices.splice(0).map(({ text }) => ({ body: Buffer.from(text), atMs: nowMs }))
    watch.push(...halves(partsIn(sent, nowMs)).map((parts) => ({ provider: 'garmin', parts }) as const))
    phone.push({ upload: uploadOf(truth, nowMs - DAY_MS, nowMs) })
  }
  return [ring, watch, phone]
}

const halves = <T>(list: T[]): T[][] => [list.slice(0, list.length / 2), list.slice(list.length / 2)]

function partsIn(bodies: { body: Buffer; atMs: number }[], atMs: number): ParcelPart[] {
  const garmin = notifyingProviders.get('garmin')
  if (!garmin) throw new Error('Garmin does not notify')
  return openNotices(garmin, { bodies, subscriptionIds: [], wantsSamples: false }).flatMap((opened, place) => {
    if (opened === 'malformed') throw new Error('a notice cannot be read')
    return opened.flatMap((notice) =>
      notice.kind === 'data'
        ? [
            {
              ...{ stream: notice.stream, args: notice.args ?? null, atMs, zone: null },
              body: Buffer.from(notice.body ?? (bodies[place]?.body as Buffer)),
            },
          ]
        : [],
    )
  })
}

/** The steps of a phone that is left at home now and then, and the nights of its clock. */
function uploadOf(truth: Json, fromMs: number, untilMs: number): object {
  const records: SdkRecord[] = []
  for (const { start, steps: each } of truth.minutes)
    each.forEach((_: number, minute: number) => {
      const at = Date.parse(start) + minute * MINUTE_MS
      if (minute % 10 !== 0 || at < fromMs || at >= untilMs || Math.floor(minute / 120) % 3 === 1) return
      const sum = each.slice(minute, minute + 10).reduce((total: number, one: number) => total + one, 0)
      if (sum > 0)
        records.push(
          steps(at, sum, { endDate: iso(at + 10 * MINUTE_MS), id: `s-${at}`, source: PHONE, zoneOffset: '+01:00' }),
        )
    })
  const nights = truth.sleeps.filter(({ end }: Json) => Date.parse(end) >= fromMs && Date.parse(end) < untilMs)
  const sleep = nights.map(({ start, end }: Json) =>
    stage('sleeping', Date.parse(start) + 7 * MINUTE_MS, Date.parse(end) - 4 * MINUTE_MS, {
      ...{ id: `n-${start}`, source: PHONE, zoneOffset: '+01:00' },
    }),
  )
  return body(records, { data: { records, sleep, workouts: [] }, syncTimestamp: iso(untilMs) })
}

/** What readers get: every summary in all its forms, nights and samples that count, without what names rows. */
async function readings(app: TestApp, user: string): Promise<Record<string, unknown>> {
  const range = { start_date: '2026-03-06', end_date: '2026-03-12' }
  const found: Record<string, unknown> = {}
  const forms: [name: string, query: Record<string, string | boolean>][] = [
    ['activity', {}],
    ['activity', { merge: 'segments' }],
    ['activity', { merge: 'none' }],
    ['activity', { merge: 'segments', explain: true }],
    ['sleep', {}],
    ['recovery', {}],
  ]
  for (const [name, query] of forms) {
    const { status, body } = await summary(app, user, name, { ...range, ...query, limit: 20 })
    if (status !== 200) throw new Error(`${name}: ${JSON.stringify(body)}`)
    found[`${name} ${JSON.stringify(query)}`] = body.data
  }
  for (const path of ['events/sleep?include=stages', 'events/workouts?', 'health-scores?']) {
    const text = `${path}&start_date=2026-03-06&end_date=2026-03-12&limit=200`
    const { status, body } = await app.request('GET', `/api/v1/users/${user}/${text}`)
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`)
    // What is of one instant is in the order of rows.
    found[path] = body.data.map(textOf).sort()
  }
  return found
}

/** A text of what was read: ids are of rows, and differ. */
const textOf = (read: unknown) =>
  JSON.stringify(read, (key, value) => (/^id$|_id$|_at$/.test(key) && key !== 'recorded_at' ? undefined : value), 1)

/** One after the other from each source, chosen at random. */
function shuffledArrivals(sources: readonly (readonly Arrival[])[], random: () => number): Arrival[] {
  const left = sources.map((one) => [...one])
  const order: Arrival[] = []
  for (let rest = left.filter((one) => one.length > 0); rest.length > 0; rest = left.filter((one) => one.length > 0))
    order.push(rest[Math.floor(random() * rest.length)]?.shift() as Arrival)
  return order
}

/**
 * Lets the same data of several sources arrive in many orders, with readings and refreshed rollups in between, and compares
 * what is read at the end.
 */
export async function orderDoesNotMatter(t: Test, engine: Engine, arriving: Arriving): Promise<void> {
  const { ring, people, orders, seed } = arriving
  const random = seeded(seed)
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  for (const person of people) {
    const sources = await arrivalsOf(t, person, arriving)
    const first = await arrive(app, sources.flat(), () => 1)
    t.match(kindsIn(first, ring), [true, true, true], 'there is something of each source')
    let last = first
    for (let order = 1; order < orders && last === first; order += 1)
      last = await arrive(app, shuffledArrivals(sources, random), random)
    t.equal(last, first, person)
  }
}

const kindsIn = (text: string, ring: Ring) => [ring, 'garmin', 'apple'].map((name) => text.includes(`"${name}"`))

async function arrive(app: TestApp, order: readonly Arrival[], random: () => number): Promise<string> {
  const user = await createUser(app)
  const connections = new Map<string, CloudUser>()
  const clouds = new Set(order.flatMap((one) => ('provider' in one ? [one.provider] : [])))
  for (const provider of clouds) {
    const sql = 'insert into connection (user_id, provider) values ($1, $2) returning id'
    const connection = await app.db.one<{ id: string }>(sql, [user, provider])
    connections.set(provider, { userId: user, provider, connection: { ...connection, wasSent: false } })
  }
  for (const one of order) {
    if ('upload' in one) await importBody(app, user, one.upload)
    else await importParts(app, connections.get(one.provider) as CloudUser, one.parts)
    if (random() < 0.3) await readings(app, user)
    if (random() < 0.3) while (await refreshRollups(app.db));
  }
  return textOf(await readings(app, user))
}

async function importParts(app: TestApp, to: CloudUser, parts: ParcelPart[]): Promise<void> {
  const read = readParcel({ bytes: encodeParcel(parts), encoding: 'identity', provider: to.provider })
  if (!read.ok) throw new Error(read.code)
  await write(app, to, read.batch)
  // As the end of an import does.
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [to.userId])
}
