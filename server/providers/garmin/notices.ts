import { createHash } from 'node:crypto'
import { valuesOf } from '../accounts.ts'
import { valueAt } from '../answers.ts'
import type { Covers, InboundRequest, Keys, Notice, Notices, OpenedBody, State } from '../notices.ts'
import { isSame } from '../signing.ts'
import { summariesAt } from './streams.ts'
import { typeNamed } from './types.ts'

/** In the address that an operator enters at Garmin: whoever does not know it cannot notify. */
const KEY = 'WEBHOOK_PATH_SECRET'

/** How Garmin notifies: lists by summary type, of several people, with the data or with an address to ask. */
export const notices: Notices = {
  limitBytes: 32 * 1024 * 1024,
  secrets: [KEY],
  addressSecret: KEY,
  verify,
  accounts: valuesOf('userId'),
  open,
}

/** Garmin signs nothing. Its header names our application, which is no secret; so the address has to be one. */
function verify({ headers, query }: InboundRequest, { clientId, own }: Keys): 'signed' | 'refused' {
  const isOurs = isSame(headers['garmin-client-id'], clientId)
  return isSame(query.k, own[KEY]) && isOurs ? 'signed' : 'refused'
}

/** Ids of people at Garmin. */
const ACCOUNT = /^[\w-]{1,100}$/

type Summary = Readonly<Record<string, unknown>>

/** Summaries of one type and one person, as they are stored. */
interface Carried {
  readonly account: string
  readonly stream: string
  readonly items: Summary[]
}

/** What a body says. One summary that cannot be read, or that is of nobody, costs no other. */
function open({ json, wantsSamples }: OpenedBody): readonly Notice[] | 'malformed' {
  const lists = Object.entries(isSummary(json) ? json : {}).filter(([, list]) => Array.isArray(list))
  const carried = new Map<string, Carried>()
  const asked = new Map<string, Notice>()
  const told: Notice[] = []
  let [known, unreadable] = [0, lists.length === 0 ? 1 : 0]
  for (const [field, list] of lists as [string, unknown[]][]) {
    for (const item of list) {
      const account = accountOf(item)
      if (account === undefined) unreadable += 1
      else {
        known += 1
        const summary = item as Summary
        const stream = typeNamed(field)
        if (stream === undefined) told.push(...standingOf(field, account, summary))
        else if (typeof summary.callbackURL === 'string') addFetch(asked, { account, stream }, summary.callbackURL)
        else carry(carried, { account, stream }, kept(summary, wantsSamples))
      }
    }
  }
  if (known === 0 && unreadable > 0) return 'malformed'
  const data = [...carried.values()].map((one) => carriedNotice(one, wantsSamples))
  // What is behind the end of somebody's access is about nobody.
  return [...data, ...asked.values(), ...told.toSorted(byTime)]
}

const isSummary = (value: unknown): value is Summary =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function accountOf(item: unknown): string | undefined {
  const account = isSummary(item) ? valueAt(item, 'userId') : undefined
  return typeof account === 'string' && ACCOUNT.test(account) ? account : undefined
}

/** Without tokens of an older sign-in; what was recorded in a workout weighs much, so only if somebody wants it. */
function kept(summary: Summary, wantsSamples: boolean): Summary {
  const { userAccessToken: _, ...rest } = summary
  if (wantsSamples || !('samples' in rest)) return rest
  const { samples: __, laps: ___, ...without } = rest as Summary & { laps?: unknown }
  return without
}

function carry(carried: Map<string, Carried>, of: Omit<Carried, 'items'>, item: Summary): void {
  const key = `${of.account} ${of.stream}`
  const group = carried.get(key) ?? { ...of, items: [] }
  carried.set(key, group)
  group.items.push(item)
}

function carriedNotice({ account, stream, items }: Carried, samples: boolean): Notice {
  const covers = coveredBy(items)
  const stateOf = states[stream]
  return {
    ...{ account, kind: 'data', stream, body: Buffer.from(JSON.stringify(items)) },
    ...(samples && stream === 'activityDetails' && { args: { samples } }),
    ...(covers && { covers }),
    ...(stateOf && { states: items.map(stateOf) }),
  }
}

/**
 * What Garmin sends again while it grows, or after a correction; it repeats what we have not taken, which may then come
 * behind what is newer. Of a day the longer state is the newer one; what a person corrected is newer than what the watch said.
 */
const states: Readonly<Record<string, (item: Summary) => State | null>> = {
  dailies: ({ calendarDate: date, durationInSeconds }) => {
    const seconds = Number(durationInSeconds)
    const isKnown = typeof date === 'string' && /^\d{4}-\d\d-\d\d$/.test(date) && seconds >= 0 && seconds <= MAX_DAY_S
    return isKnown ? { key: `dailies:${date}`, order: seconds } : null
  },
  activities: (item) => activityState(item, 0),
  manuallyUpdatedActivities: (item) => activityState(item, 1),
}

/** A day of somebody who travels west may have 50 hours; nothing longer keeps others out. */
const MAX_DAY_S = 180_000

function activityState({ activityId, summaryId }: Summary, order: number): State | null {
  const id = String(activityId ?? summaryId ?? '')
  return ACCOUNT.test(id) ? { key: `activity:${id}`, order } : null
}

/** When summaries begin; undefined: one does not say. */
function coveredBy(items: readonly Summary[]): Covers | undefined {
  let [fromMs, untilMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const item of items) {
    const ms = startOf(item)
    if (!(ms > 0 && ms < MAX_MS)) return undefined
    fromMs = Math.min(fromMs, ms)
    untilMs = Math.max(untilMs, ms)
  }
  return { items: items.length, fromMs, untilMs }
}

function startOf({ summary, samples, ...item }: Summary): number {
  const inner = isSummary(summary) ? summary : {}
  const seconds = item.startTimeInSeconds ?? item.measurementTimeInSeconds ?? inner.startTimeInSeconds
  if (seconds !== undefined) return Math.round(Number(seconds) * 1000)
  return Date.parse(String(item.calendarDate ?? item.periodStartDate ?? item.periodStartDateStr))
}

/** The same summaries may be announced again, under another token. */
function addFetch(asked: Map<string, Notice>, { account, stream }: Omit<Carried, 'items'>, address: string): void {
  const url = summariesAt(address)
  if (url === undefined) return
  const named = new URL(url)
  if (named.searchParams.size > 1) named.searchParams.delete('token')
  const key = createHash('sha256').update(named.href).digest('base64url')
  const wish = { kind: 'object', object: stream, key, args: { url } } as const
  asked.set(`${account} ${stream} ${key}`, { account, kind: 'fetch', wish })
}

/** What a notice says of a person's consent. */
function standingOf(field: string, account: string, summary: Summary): Notice[] {
  if (field === 'deregistrations') return [{ account, kind: 'deauthorise' }]
  if (field !== 'userPermissionsChange') return []
  const { permissions, changeTimeInSeconds: seconds } = summary
  const atMs = Math.round(Number(seconds ?? Number.NaN) * 1000)
  if (!Array.isArray(permissions) || !(atMs > 0 && atMs < MAX_MS)) return []
  return [{ account, kind: 'scope', scope: scopeOf(permissions), atMs }]
}

/** Times beyond cannot be stored; the year 5138. */
const MAX_MS = 1e14

/** Permissions as they are kept, in one order. */
export const scopeOf = (permissions: readonly unknown[]): string =>
  [...new Set(permissions.filter((one): one is string => typeof one === 'string' && /^\w{1,60}$/.test(one)))]
    .sort()
    .join(' ')

const rank = ({ kind }: Notice) => (kind === 'deauthorise' ? 1 : 0)

const byTime = (a: Notice, b: Notice) =>
  rank(a) - rank(b) || (a.kind === 'scope' && b.kind === 'scope' ? a.atMs - b.atMs : 0)
