import type { SleepStageName } from '../../batch/columns.ts'
import { groupBy } from '../../batch/group-by.ts'
import { isShortByDay } from './day.ts'
import { SESSION_GAP_MS } from './sessions.ts'
import type { CleanStage, Totals } from './totals.ts'

// Which nights and naps of a provider make up which session (contract 12.8). Pure, with the same result whatever their order.

/** What a provider says of a night or nap in sum; whole seconds, null = it does not say. */
export type GivenTotals = { [Total in keyof Totals]: number | null }

/** A night or nap as a provider gives it; epoch ms, minutes east of UTC or null. */
export interface NightPart extends GivenTotals {
  sourceId: number
  externalId: string
  rank: number
  /** The provider's time of the last change; null = it does not say. */
  version: number | null
  /** When it was answered. */
  atMs: number
  startMs: number
  endMs: number
  zoneMin: number | null
  isNap: boolean | null
  /** Ascending, without overlaps; null = not known. */
  stages: CleanStage[] | null
}

/** A session made of parts. */
export interface NightSession extends GivenTotals {
  sourceId: number
  startMs: number
  endMs: number
  zoneMin: number | null
  /** Whether the provider calls it a nap; null = it does not say. */
  saidNap: boolean | null
  stages: CleanStage[] | null
  /** Those it is made of, and those that it replaces. */
  parts: NightPart[]
}

/**
 * The sessions that the parts of a user make up, those of each source by themselves. Of two parts that overlap by more than
 * half the one with the higher rank counts, then the one that was changed later: a provider may give an edited night a new
 * id. Parts are one session when they overlap, or when the gap between them is at most SESSION_GAP_MS and neither is a nap.
 */
export function nightSessions(parts: readonly NightPart[]): NightSession[] {
  return [...groupBy(parts, ({ sourceId }) => sourceId).values()].flatMap((ofSource) => {
    const { standing, replacedBy } = standingParts(ofSource.filter(({ startMs, endMs }) => endMs > startMs))
    const others = groupBy([...replacedBy], ([, standing]) => standing)
    return joinedParts(standing).map((joined) => {
      const replaced = joined.parts.flatMap((part) => (others.get(part) ?? []).map(([one]) => one))
      return { ...sessionOf(joined), parts: [...joined.parts, ...replaced] }
    })
  })
}

/** The time of the last change, as far as it is known. */
export const changedMs = ({ version, atMs }: { version: number | null; atMs: number | null }): number =>
  version ?? atMs ?? Number.NEGATIVE_INFINITY

const byPrecedence = (a: NightPart, b: NightPart) =>
  b.rank - a.rank || changedMs(b) - changedMs(a) || (a.externalId < b.externalId ? 1 : -1)

/** The parts that count, and which of these each of the others is replaced by. */
function standingParts(parts: readonly NightPart[]) {
  const standing: NightPart[] = []
  const replacedBy = new Map<NightPart, NightPart>()
  const places = new Map<string, NightPart[]>()
  for (const part of parts.toSorted(byPrecedence)) {
    const better = nearby(part).flatMap((place) => places.get(place) ?? [])
    const other = better.find((one) => shareMost(one, part))
    if (other) replacedBy.set(part, other)
    else {
      standing.push(part)
      const [own = ''] = nearby(part)
      places.set(own, [...(places.get(own) ?? []), part])
    }
  }
  return { standing, replacedBy }
}

const lengthOf = ({ startMs, endMs }: NightPart) => endMs - startMs

/** Whether two parts share more than half of each. */
function shareMost(one: NightPart, other: NightPart): boolean {
  const sharedMs = Math.min(one.endMs, other.endMs) - Math.max(one.startMs, other.startMs)
  return 2 * sharedMs > Math.max(lengthOf(one), lengthOf(other))
}

/**
 * Where to look for parts that share more than half with one, its own place first: of half to double its length, with their
 * middle less than such a length away. Standing parts of one place are few, since none shares more than half with another.
 */
function nearby(part: NightPart): string[] {
  const size = Math.floor(Math.log2(lengthOf(part)))
  const middleMs = (part.startMs + part.endMs) / 2
  return [size, size - 1, size + 1].flatMap((exponent) => {
    const place = Math.floor(middleMs / 2 ** exponent)
    const reach = 2 ** Math.max(0, size - exponent)
    const around = Array.from({ length: 2 * reach + 1 }, (_, at) => place - reach + at)
    return [place, ...around.filter((one) => one !== place)].map((one) => `${exponent} ${one}`)
  })
}

/** Parts that are one session, ascending by start. */
interface Joined {
  parts: NightPart[]
  endMs: number
  /** Whether two of them overlap. */
  overlapping: boolean
}

function joinedParts(parts: readonly NightPart[]): Joined[] {
  const groups: Joined[] = []
  for (const part of parts.toSorted(byTime)) {
    const last = groups.at(-1)
    if (last && part.startMs < last.endMs) {
      last.parts.push(part)
      last.endMs = Math.max(last.endMs, part.endMs)
      last.overlapping = true
    } else groups.push({ parts: [part], endMs: part.endMs, overlapping: false })
  }
  const joined: (Joined & { withNap: boolean })[] = []
  for (const group of groups) {
    const last = joined.at(-1)
    const withNap = group.parts.some(isNap)
    const gapMs = (group.parts[0] as NightPart).startMs - (last?.endMs ?? Number.NEGATIVE_INFINITY)
    if (last && gapMs <= SESSION_GAP_MS && !last.withNap && !withNap) {
      for (const part of group.parts) last.parts.push(part)
      last.endMs = group.endMs
      last.overlapping ||= group.overlapping
    } else joined.push({ ...group, withNap })
  }
  return joined
}

const byTime = (a: NightPart, b: NightPart) =>
  a.startMs - b.startMs || a.endMs - b.endMs || (a.externalId < b.externalId ? -1 : 1)

const isNap = ({ isNap, asleepS, ...part }: NightPart) =>
  isNap ?? isShortByDay({ ...part, asleepS: asleepS ?? (part.endMs - part.startMs) / 1000 })

function sessionOf(joined: Joined): Omit<NightSession, 'parts'> {
  const { parts, endMs } = joined
  const [first] = parts as [NightPart]
  const naps = new Set(parts.map((part) => part.isNap))
  const known = parts.flatMap(({ stages }) => stages ?? [])
  const stages = known.length > 0 ? withoutOverlaps(known) : null
  return {
    ...{ sourceId: first.sourceId, startMs: first.startMs, endMs },
    zoneMin: parts.find(({ zoneMin }) => zoneMin !== null)?.zoneMin ?? null,
    saidNap: naps.has(false) ? false : naps.has(null) ? null : true,
    stages,
    ...(parts.length === 1 ? givenTotals(first) : joinedTotals(joined, stages)),
  }
}

function givenTotals({ asleepS, inBedS, awakeS, lightS, deepS, remS, efficiencyPercent }: NightPart): GivenTotals {
  const efficiency = efficiencyPercent ?? percentOf(asleepS, inBedS)
  return { asleepS, inBedS, awakeS, lightS, deepS, remS, efficiencyPercent: efficiency }
}

const hundredths = (value: number) => Math.round(value * 100) / 100

const percentOf = (part: number | null, whole: number | null) =>
  part !== null && whole ? Math.min(100, hundredths((part / whole) * 100)) : null

const TIMES = ['asleepS', 'inBedS', 'awakeS', 'lightS', 'deepS', 'remS'] as const

/**
 * Sums of several parts. Where they overlap, stages count once, if all parts have them; without stages nothing is longer than
 * the session.
 */
function joinedTotals({ parts, endMs, overlapping }: Joined, stages: readonly CleanStage[] | null): GivenTotals {
  const spanS = Math.ceil((endMs - (parts[0] as NightPart).startMs) / 1000)
  const sums = TIMES.map((time) => {
    const said = parts.map((part) => part[time]).filter((seconds) => seconds !== null)
    return [time, said.length > 0 ? Math.min(spanS, sumOf(said)) : null]
  })
  const totals = Object.fromEntries(sums) as Record<(typeof TIMES)[number], number | null>
  const rated = parts.filter(({ efficiencyPercent }) => efficiencyPercent !== null)
  const weightOf = (part: NightPart) => part.inBedS ?? lengthOf(part) / 1000
  const weight = sumOf(rated.map(weightOf))
  const rating = sumOf(rated.map((part) => (part.efficiencyPercent as number) * weightOf(part)))
  const counted = stages && overlapping && parts.every((part) => part.stages?.length) ? staged(stages) : {}
  const efficiencyPercent = weight > 0 ? hundredths(rating / weight) : percentOf(totals.asleepS, totals.inBedS)
  return { ...totals, ...counted, efficiencyPercent }
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

/** Whole seconds of each stage. */
function staged(stages: readonly CleanStage[]) {
  const ms: Record<SleepStageName, number> = { in_bed: 0, awake: 0, sleeping: 0, light: 0, deep: 0, rem: 0 }
  for (const [stage, startMs, endMs] of stages) ms[stage] += endMs - startMs
  const seconds = (sum: number) => Math.floor(sum / 1000)
  return {
    asleepS: seconds(ms.sleeping + ms.light + ms.deep + ms.rem),
    ...{ awakeS: seconds(ms.awake), lightS: seconds(ms.light), deepS: seconds(ms.deep), remS: seconds(ms.rem) },
  }
}

/** The stages ascending; of two that overlap the later one begins where the earlier one ends. */
function withoutOverlaps(stages: readonly CleanStage[]): CleanStage[] {
  const clean: CleanStage[] = []
  for (const [stage, startMs, endMs] of stages.toSorted(
    (a, b) => a[1] - b[1] || a[2] - b[2] || (a[0] < b[0] ? -1 : 1),
  )) {
    const fromMs = Math.max(startMs, clean.at(-1)?.[2] ?? startMs)
    if (fromMs < endMs) clean.push([stage, fromMs, endMs])
  }
  return clean
}
