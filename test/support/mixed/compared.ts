// What is stored of the people against what is true of them, and against what the receiver was told.

import type { Database } from '../../../server/db/database.ts'
import { sessionEvents } from '../../../server/webhooks/session-events.ts'
import { OTHERS } from '../../intake/pulls/whole-way.ts'
import { differences, type Span, storedLines } from '../truth.ts'
import { linesOf } from '../truth-of-all.ts'
import { ROWS, sampleLines } from './gone.ts'
import { DAY_MS, type Member, type Provider, type World } from './world.ts'

/** How long before the first pull of Strava its activities are asked for one by one: `overlapHours`. */
const ALONE_MS = 2 * DAY_MS
/** Polar's lists begin so long before they are asked for; the first day may not be whole. */
const POLAR_DAYS = 26

/** Lines that were true once, where nobody tells that they are not any more. */
export type Remembered = Set<string>

const spanOf = ({ size, consentMs }: World, provider: Provider, nowMs: number): Span => {
  const consentDay = Math.floor(consentMs / DAY_MS) * DAY_MS
  const pastMs = consentDay + (2 - size.past) * DAY_MS
  const polarMs = Math.ceil((consentMs - POLAR_DAYS * DAY_MS) / DAY_MS) * DAY_MS
  const fromMs = { polar: Math.max(pastMs, polarMs), garmin: consentMs + DAY_MS }[provider as string] ?? pastMs
  return { fromMs, untilMs: nowMs + DAY_MS, nowMs, aloneMs: consentMs - ALONE_MS, asItWas: true }
}

async function truthOf({ simulator }: World, person: string, fromMs: number) {
  const from = new Date(fromMs).toISOString().slice(0, 10)
  return (await simulator.control('GET', `truth?person=${person}&from=${from}&minutes=true`)).body
}

const named = ({ person }: Member, provider: string, line: string) => `${person} ${provider}: ${line}`

/** Notes what is true of the last days, of those who do not tell of deletions. */
export async function remember(world: World, remembered: Remembered, nowMs: number): Promise<void> {
  for (const member of world.members) {
    const theirs = member.providers.filter((one) => OTHERS.includes(one))
    if (theirs.length === 0) continue
    const truth = await truthOf(world, member.person, nowMs - 4 * DAY_MS)
    for (const provider of theirs) {
      const span = { ...spanOf(world, provider, nowMs), fromMs: nowMs - 2 * DAY_MS }
      const { required, allowed } = linesOf[provider](truth, span)
      for (const line of [...required, ...allowed]) remembered.add(named(member, provider, `not true: ${line}`))
    }
  }
}

/** What is stored and not true, and what is true and not stored. */
export async function untrue(world: World, remembered: Remembered, nowMs: number): Promise<string[]> {
  const wrong: string[] = []
  for (const member of world.members) {
    const { person, user, providers } = member
    const truth = await truthOf(world, person, spanOf(world, 'oura', nowMs).fromMs - 2 * DAY_MS)
    for (const provider of providers) {
      const span = spanOf(world, provider, nowMs)
      const stored = await storedLines(appOf(world), user, provider, span)
      if (stored.size < (provider === 'strava' ? 1 : 30))
        wrong.push(named(member, provider, `only ${stored.size} lines`))
      const found = differences(stored, linesOf[provider](truth, span)).map((line) => named(member, provider, line))
      const wasThere = OTHERS.includes(provider) ? deletedNights(truth) : () => false
      wrong.push(...found.filter((line) => !remembered.has(line) && !wasThere(line)))
    }
    const lines = world.phones.linesOf(person)
    const phone = await storedLines(appOf(world), user, 'apple', spanOf(world, 'oura', nowMs))
    if (lines.required.size < 30) wrong.push(named(member, 'apple', `only ${lines.required.size} lines`))
    wrong.push(...differences(phone, lines).map((line) => named(member, 'apple', line)))
  }
  return wrong
}

/** Whether a line is a night that was deleted, of those who do not tell of that: it may have been there for hours only. */
function deletedNights(truth: { deleted: string[] }): (line: string) => boolean {
  const dates = new Set(truth.deleted.map((key) => key.slice(key.indexOf('/') + 1)))
  return (line) => {
    const [, end] = /: not true: sleep \d+ (\d+) /.exec(line) ?? []
    const atMs = Number(end) * 1000
    return [-DAY_MS / 2, 0, DAY_MS / 2].some(
      (shift) => end !== undefined && dates.has(new Date(atMs + shift).toISOString().slice(0, 10)),
    )
  }
}

const appOf = ({ service, db }: World) => ({ request: service.request, db })

/** How what was told differs from what is there: no word of what is not there, none missing of what is. */
export async function untold({ db, inbox }: World): Promise<string[]> {
  const wrong: string[] = []
  const there = await sampleLines(db, 'sample')
  const gone = await sampleLines(db, 'gone_sample')
  for (const line of there) if (!inbox.samples.has(line)) wrong.push(`not told: ${line}`)
  for (const line of inbox.samples) if (!there.has(line) && !gone.has(line)) wrong.push(`never there: ${line}`)
  for (const kind of ROWS) wrong.push(...(await rowsUntold(db, inbox.events, kind)))
  wrong.push(...(await undelivered(db, inbox.events)), ...inbox.changed.map((id) => `with two bodies: ${id}`))
  return wrong
}

/** Of a night each change is told, of the others that they were made. */
async function rowsUntold(
  db: Database,
  events: ReadonlyMap<string, string>,
  kind: (typeof ROWS)[number],
): Promise<string[]> {
  const told = new Map<string, string[]>()
  for (const { uid } of await db.query<{ uid: string }>('select uid from event where type = $1 order by id', [
    `${kind}.created`,
  ])) {
    const { data } = JSON.parse(events.get(idOf(uid)) ?? '{"data":{}}')
    told.set(data.id, [...(told.get(data.id) ?? []), JSON.stringify(data)])
  }
  const idsOf = async (sql: string) => (await db.query<{ id: string }>(sql, [])).map(({ id }) => id)
  const ids = await idsOf(`select id from ${kind}`)
  const gone = new Set(await idsOf(`select id from gone_row where kind = '${kind}'`))
  const wrong: string[] = []
  const present = await db.transaction((tx) => sessionEvents(tx, kind, ids, 'live'))
  if (present.length !== ids.length) wrong.push(`${kind}: ${present.length} of ${ids.length} have events`)
  for (const { data } of present) {
    const text = Buffer.from(data).toString()
    const { id } = JSON.parse(text)
    const words = told.get(id) ?? []
    if (words.length === 0) wrong.push(`not told: ${kind} ${text}`)
    else if (kind === 'sleep' && words.at(-1) !== text) wrong.push(`told otherwise: ${kind} ${text} ${words.at(-1)}`)
    else if (kind !== 'sleep' && words.length > 1) wrong.push(`told ${words.length} times: ${kind} ${text}`)
  }
  const all = new Set(ids)
  for (const id of told.keys()) if (!all.has(id) && !gone.has(id)) wrong.push(`never there: ${kind} ${id}`)
  return wrong
}

const idOf = (uid: string) => `msg_${uid.replaceAll('-', '')}`

/** Events that were recorded and not received, or the other way round, and connections that were told to be otherwise. */
async function undelivered(db: Database, events: ReadonlyMap<string, string>): Promise<string[]> {
  const recorded = await db.query<{ uid: string; type: string }>('select uid, type from event order by id')
  const ids = new Set(recorded.map(({ uid }) => idOf(uid)))
  const last = new Map<string, string>()
  for (const { uid, type } of recorded) {
    if (!type.startsWith('connection.')) continue
    const { data } = JSON.parse(events.get(idOf(uid)) ?? '{"data":{}}')
    last.set(`${data.user_id} ${data.provider}`, type === 'connection.created' ? 'active' : 'ended')
  }
  const connections = await db.query<{ key: string; state: string }>(
    `select concat_ws(' ', user_id, provider) as key, case status when 'active' then status else 'ended' end as state
     from connection`,
  )
  return [
    ...recorded.flatMap(({ uid, type }) => (events.has(idOf(uid)) ? [] : [`not received: ${type} ${uid}`])),
    ...[...events.keys()].flatMap((id) => (ids.has(id) ? [] : [`received, not recorded: ${id}`])),
    ...connections.flatMap(({ key, state }) =>
      last.get(key) === state ? [] : [`connection ${key}: ${state}, told ${last.get(key)}`],
    ),
  ]
}
