import type { Schemas } from '../api/client.ts'
import { ago } from '../ui/person.ts'
import { count, reasonName, words } from '../ui/words.ts'
import { dayOfMonth, daysBetween } from './days.ts'
import { isNameOf } from './names.ts'
import { daysLater, longDate, midnight, today } from './time.ts'

type Row = Schemas['CoverageDay']

/** What arrived of some days, and what is stored, ready to be looked up. */
export interface Coverage {
  /** Rows by local date. */
  days: Map<string, Row[]>
  arrivals: Map<string, Schemas['CoverageArrival'][]>
  /** The types of which something is there, by local date. */
  there: Map<string, Set<string>>
  answer: Schemas['UserCoverage']
  /** The last date that was asked for. */
  last: string
}

/** What a day is, in one word. */
export type DayKind = 'all' | 'some' | 'touched' | 'silent'

/** Why nothing of a day is there: the finding, in a sentence, and where to go on. */
export interface Finding {
  kind:
    | 'future'
    | 'never'
    | 'before'
    | 'after'
    | 'archived'
    | 'expired'
    | 'rejected'
    | 'deleted'
    | 'waiting'
    | 'ignored'
    | 'failed'
    | 'others'
    | 'touched'
    | 'silent'
  text: string
}

function byDay<T extends { day: string }>(rows: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>()
  for (const row of rows) found.set(row.day, [...(found.get(row.day) ?? []), row])
  return found
}

/** An answer, by its days. */
export function coverageOf(answer: Schemas['UserCoverage'], last: string): Coverage {
  const days = byDay(answer.days)
  const there: Coverage['there'] = new Map()
  for (const [day, rows] of days) {
    there.set(day, new Set(rows.filter(({ stored }) => stored > 0).map(({ type }) => type)))
  }
  return { days, arrivals: byDay(answer.arrivals), there, answer, last }
}

/** Stages are counted by their own time, but a night on the day of waking: those of an evening are of the day after. */
const isEvening = (days: Coverage['days'], { day, type }: Row): boolean =>
  type === 'sleep' && (days.get(daysLater(day, 1)) ?? []).some((one) => one.type === 'sleep' && one.stored > 0)

/** Two answers, of days that follow each other, as one. */
export const joined = (earlier: Coverage, later: Coverage): Coverage =>
  coverageOf(
    {
      ...later.answer,
      days: [...earlier.answer.days, ...later.answer.days],
      arrivals: [...earlier.answer.arrivals, ...later.answer.arrivals],
    },
    later.last,
  )

const NONE: ReadonlySet<string> = new Set()

/** The types of which something is there on a date. */
export const typesOn = ({ there }: Coverage, date: string): ReadonlySet<string> => there.get(date) ?? NONE

/** Days that say what is usual, and for how many a type is missed that comes no more. */
export const USUAL_DAYS = 30
/** Of these days, how many have what is usual. What is done on five days a week is not missed on the others. */
const USUAL_SHARE = 0.8

/**
 * The types that are missed on a date without them, as far as days are known: those of four fifths of the 30 days that end
 * with the last one that has them, which is one of the 30 days before the date.
 */
export function usualTypes(coverage: Coverage, date: string): string[] {
  const found = new Map<string, { last: number; days: number }>()
  for (let back = 1; back < 2 * USUAL_DAYS; back += 1) {
    for (const type of typesOn(coverage, daysLater(date, -back))) {
      const known = found.get(type) ?? { last: back, days: 0 }
      if (back < known.last + USUAL_DAYS) known.days += 1
      found.set(type, known)
    }
  }
  const isUsual = ({ last, days }: { last: number; days: number }) =>
    last <= USUAL_DAYS && days >= USUAL_DAYS * USUAL_SHARE
  return [...found].filter(([, known]) => isUsual(known)).map(([type]) => type)
}

/** What a day is: what is usual is there, some of it, nothing though something came, or nothing at all. */
export function kindOf(coverage: Coverage, date: string): DayKind {
  const there = typesOn(coverage, date)
  if (there.size > 0) return usualTypes(coverage, date).every((type) => there.has(type)) ? 'all' : 'some'
  const received = total(coverage.days.get(date) ?? [], 'received')
  return received > 0 || coverage.arrivals.has(date) ? 'touched' : 'silent'
}

/** What came of a date of which nothing is there, in a few words. */
export function emptyText(coverage: Coverage, date: string): string {
  const rows = coverage.days.get(date) ?? []
  const [received, rejected] = [total(rows, 'received'), total(rows, 'rejected')]
  if (received > 0) {
    if (rejected >= received) return `${count(received)} came, none could be stored`
    const some = rejected > 0 ? `, ${count(rejected)} could not be stored` : ''
    return `${count(received)} came, nothing of it is there any longer${some}`
  }
  const [uploads, queued, failed, ignored] = (['uploads', 'queued', 'failed', 'ignored'] as const).map((name) =>
    sumOf(coverage, date, name),
  )
  if (queued) return `${uploadsOf(queued)} waiting to be imported`
  if (failed) return `${uploadsOf(failed)} could not be imported`
  if (ignored) return 'uploads came, but only with types that are not stored'
  return uploads ? 'uploads came, but nothing had been measured' : 'nothing came'
}

const total = (rows: readonly Row[], name: 'received' | 'rejected'): number =>
  rows.reduce((sum, row) => sum + row[name], 0)

/** Whether single samples of a date are no longer kept. */
export const isArchived = ({ answer: { samples_kept_from: from } }: Coverage, date: string): boolean =>
  from != null && daysLater(date, 1) <= from.slice(0, 10)

const PHONES = ['apple', 'samsung', 'health_connect']

interface Asked {
  user: Schemas['UserDetail']
  date: string
  /** Of one type; absent: of everything. */
  type?: string
}

/** What is left of days whose samples are no longer kept. */
export const ARCHIVED = 'Archived: hours and days are there, single samples are not.'

/** Why nothing of a date is there: the first that holds. */
export function whyEmpty(coverage: Coverage, asked: Asked): Finding {
  return (
    outside(coverage, asked) ??
    unkept(coverage, asked) ??
    lost(coverage, asked) ??
    waiting(coverage, asked) ??
    ignored(coverage, asked) ??
    failed(coverage, asked) ??
    elsewhere(coverage, asked)
  )
}

/** Days before the first and after the last of a person. */
function outside({ answer: { providers = [] }, arrivals }: Coverage, { user, date }: Asked): Finding | undefined {
  if (date > today()) return { kind: 'future', text: 'This day has not come yet.' }
  const firsts = providers.flatMap(({ first_day }) => first_day ?? []).sort()
  const last = providers
    .map(({ last_upload_at }) => last_upload_at)
    .sort()
    .at(-1)
  if (!last) return { kind: 'never', text: 'This person has never sent anything.' }
  if (firsts[0] && date < firsts[0])
    return { kind: 'before', text: `Nothing was sent of days before ${longDate(firsts[0])}.` }
  // Its day is the person's, where its arrival is known.
  const own = [...arrivals.values()]
    .flat()
    .find(({ last_upload_at }) => Date.parse(last_upload_at) === Date.parse(last))
  const lastDay = own?.day ?? last.slice(0, 10)
  if (date <= lastDay || [...arrivals.keys()].some((day) => day >= date)) return undefined
  const ended = (user.connections ?? [])
    .filter(({ status }) => status !== 'active')
    .map(({ provider }) => words(provider))
  const end = ended.length > 0 ? ` The connection with ${ended.join(' and ')} has ended.` : ''
  return {
    kind: 'after',
    text: `The last upload came on ${longDate(lastDay)}${own ? '' : ' (UTC)'}, ${ago(last)}.${end}`,
  }
}

/** What is older than what is kept. */
function unkept(coverage: Coverage, { date, type }: Asked): Finding | undefined {
  const { data_kept_from: kept } = coverage.answer
  const there = typesOn(coverage, date)
  if ((type === undefined ? there.size > 0 : there.has(type)) && isArchived(coverage, date)) {
    return { kind: 'archived', text: ARCHIVED }
  }
  if (!kept || date >= kept.slice(0, 10) || there.size > 0) return undefined
  return { kind: 'expired', text: `Too long ago: nothing from before ${longDate(kept.slice(0, 10))} (UTC) is kept.` }
}

/** What came, but is not there. */
function lost(coverage: Coverage, { date, type }: Asked): Finding | undefined {
  const rows = (coverage.days.get(date) ?? []).filter((row) => type === undefined || row.type === type)
  if (rows.some((row) => row.stored > 0 || isEvening(coverage.days, row))) return undefined
  const [received, rejected] = [total(rows, 'received'), total(rows, 'rejected')]
  if (received === 0) return undefined
  const reasons = rows
    .flatMap((row) => row.reasons)
    .map(({ reason, items }) => `${reasonName(reason)} (${count(items)})`)
  const why = reasons.join(', ')
  if (rejected >= received) return { kind: 'rejected', text: `${count(received)} came, none could be stored: ${why}.` }
  const some = rejected > 0 ? ` ${count(rejected)} could not be stored: ${why}.` : ''
  return { kind: 'deleted', text: `${count(received)} came and were deleted later, by the phone or here.${some}` }
}

const uploadsOf = (number: number): string => `${count(number)} ${number === 1 ? 'upload' : 'uploads'}`

const sumOf = ({ arrivals }: Coverage, date: string, name: 'uploads' | 'queued' | 'failed' | 'ignored'): number =>
  (arrivals.get(date) ?? []).reduce((sum, one) => sum + one[name], 0)

/** Uploads of the day, or of the next one, that are not imported yet: what is missing may be among them. */
function waiting(coverage: Coverage, { date }: Asked): Finding | undefined {
  const [own, next] = [sumOf(coverage, date, 'queued'), sumOf(coverage, daysLater(date, 1), 'queued')]
  const queued = own || next
  if (queued === 0) return undefined
  const wait = queued === 1 ? 'waits' : 'wait'
  return {
    kind: 'waiting',
    text: `${uploadsOf(queued)} of ${own > 0 ? 'this day' : 'the day after'} ${wait} to be imported.`,
  }
}

/** Uploads of the day of which nothing is stored: what is missing may have been among them. */
function failed(coverage: Coverage, { date }: Asked): Finding | undefined {
  const number = sumOf(coverage, date, 'failed')
  if (number === 0) return undefined
  return { kind: 'failed', text: `${uploadsOf(number)} of this day could not be imported.` }
}

/** What an upload of the day, or of the next one, had under a name that is not stored; of a type, what means that. */
function ignored(coverage: Coverage, { date, type }: Asked): Finding | undefined {
  // A name that means something else does not explain why this is missing while the rest is there.
  if (type === undefined && typesOn(coverage, date).size > 0) return undefined
  const uploads = [date, daysLater(date, 1)].flatMap((day) => coverage.arrivals.get(day) ?? [])
  const isMeant = (one: Schemas['CoverageUnstored']) =>
    type === undefined || [one.likely, one.type].some((name) => name != null && isNameOf(name, type))
  const found = uploads.flatMap(({ provider, unstored }) =>
    unstored.filter((one) => one.reason === 'ignored_type' && isMeant(one)).map((one) => ({ provider, ...one })),
  )
  const [first] = found.sort((a, b) => Number(b.likely !== undefined) - Number(a.likely !== undefined))
  if (!first) return undefined
  const { provider, items, type: sent, likely, known_to } = first
  const meant = likely
    ? `${words(provider)} calls it ${likely}`
    : known_to?.length
      ? `that is a name of ${known_to.map(words).join(', ')}`
      : 'Pulsebase does not know it'
  const of = `${count(items)} ${items === 1 ? 'item was' : 'items were'} not stored, of the type ${sent ?? 'without a name'}`
  return { kind: 'ignored', text: `${of}: ${meant}.` }
}

/** What else the day has, and else the days around it without anything. */
function elsewhere(coverage: Coverage, { date, type }: Asked): Finding {
  const others = typesOn(coverage, date).size
  const isPhone = coverage.answer.providers?.some(({ provider }) => PHONES.includes(provider))
  const sender = isPhone
    ? 'the phone'
    : (coverage.answer.providers ?? []).map(({ provider }) => words(provider)).join(' and ')
  const from = sender.charAt(0).toUpperCase() + sender.slice(1)
  if (others > 0) {
    const named = `${others} other ${others === 1 ? 'type' : 'types'}`
    const check = type ? 'the permission for this one is missing' : 'the permission for the rest is missing'
    return { kind: 'others', text: `${from} sent ${named} for this day: the device was not worn, or ${check}.` }
  }
  const uploads = sumOf(coverage, date, 'uploads')
  if (uploads > 0) {
    const what = sumOf(coverage, date, 'ignored') > 0 ? 'sent nothing that is stored' : 'had measured nothing'
    return { kind: 'touched', text: `${from} was in touch (${uploadsOf(uploads)}) but ${what}.` }
  }
  const isSilent = (day: string) =>
    day <= coverage.last && kindOf(coverage, day) === 'silent' && !coverage.days.has(day)
  let [first, last] = [date, date]
  while (daysBetween(first, date) < 31 && isSilent(daysLater(first, -1))) first = daysLater(first, -1)
  while (last < today() && isSilent(daysLater(last, 1))) last = daysLater(last, 1)
  const day = (one: string) => dayOfMonth(midnight(one))
  const when = first === last ? `on ${day(date)}` : `between ${day(first)} and ${day(last)}`
  return { kind: 'silent', text: `Nothing came from ${sender} ${when}.` }
}
