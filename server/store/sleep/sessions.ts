import { type SleepStageName, sleepStages } from '../../batch/columns.ts'
import { groupBy } from '../../batch/group-by.ts'
import { isShortByDay } from './day.ts'
import {
  type CleanStage,
  cleanStages,
  firstEndingAfter,
  isSleep,
  type Range,
  type Totals,
  totalsOf,
  union,
  withTimeInBed,
} from './totals.ts'

// How stages of sleep form sessions: pure functions, whose results do not depend on the order of the stages.

const HOUR_MS = 3_600_000

/** The longest gap within a session (sdk-types 7.2), inclusive. */
export const SESSION_GAP_MS = 2 * HOUR_MS

/** The longest gap between a nap and other sleep that joins them into one session (sdk-types 7.4). */
const NAP_GAP_MS = 15 * 60_000

/** One interval of sleep; epoch ms, minutes east of UTC or null. */
export interface Stage {
  sourceId: number
  /** The platform's own session; '' if the gaps between stages define the sessions. */
  session: string
  stage: SleepStageName
  startMs: number
  endMs: number
  zoneMin: number | null
  externalId: string | null
  /** Further ids under which it was received, in that order. */
  otherIds?: readonly string[] | null
  score: number | null
  /** For a received stage: whether its upload contains its whole session. */
  whole?: boolean
}

/** A session as the table `sleep` holds it; epoch ms. */
export interface Session extends Totals {
  sourceId: number
  session: string
  startMs: number
  endMs: number
  zoneMin: number | null
  stages: CleanStage[]
  score: number | null
}

/** Orders stages by time; no two of one source and session are equal. */
export function byTime(a: Stage, b: Stage): number {
  return a.startMs - b.startMs || a.endMs - b.endMs || sleepStages.indexOf(a.stage) - sleepStages.indexOf(b.stage)
}

/** Distinguishes sessions defined by the platform, and sources whose sessions are defined by gaps. */
export const sessionKey = ({ sourceId, session }: Pick<Stage, 'sourceId' | 'session'>): string =>
  `${sourceId} ${session}`

/** Stages of any source without a gap of more than SESSION_GAP_MS between them, ascending. */
export interface Chain {
  startMs: number
  endMs: number
  stages: Stage[]
}

/**
 * The chains of stages. Chains are independent: each session lies within one, and so do the overlapping sessions of
 * several sources.
 */
export function chainsOf(stages: readonly Stage[]): Chain[] {
  return grouped([...stages].sort(byTime), SESSION_GAP_MS).map((group) => ({
    startMs: (group[0] as Stage).startMs,
    endMs: group.reduce((endMs, stage) => Math.max(endMs, stage.endMs), 0),
    stages: group,
  }))
}

/**
 * Groups stages, which ascend by start, with a new group after each gap larger than `gapMs`; only a stage that `opens` a
 * group starts one.
 */
function grouped(stages: readonly Stage[], gapMs: number, opens = (_stage: Stage) => true): Stage[][] {
  const groups: Stage[][] = []
  let endMs = Number.NEGATIVE_INFINITY
  for (const stage of stages) {
    if (stage.startMs - endMs <= gapMs) (groups.at(-1) as Stage[]).push(stage)
    else if (opens(stage)) groups.push([stage])
    else continue
    endMs = Math.max(endMs, stage.endMs)
  }
  return groups
}

/**
 * The sessions that the stages of one user and provider form: the platform's own, and for each source those defined by
 * gaps (sdk-types 7.2 to 7.4). A source that knows only time in bed, such as a phone beside a watch, adds it to the
 * sessions of other sources that it overlaps, and has a separate session only if it overlaps none.
 */
export function sessionsOf(stages: readonly Stage[]): Session[] {
  const sessions: Session[] = []
  const slept: Stage[][] = []
  const inBed: Stage[][] = []
  for (const group of groupBy([...stages].sort(byTime), sessionKey).values()) {
    if ((group[0] as Stage).session !== '') sessions.push(givenSession(group))
    else for (const one of splitByGaps(group)) (one.some(({ stage }) => isSleep(stage)) ? slept : inBed).push(one)
  }
  return [...sessions, ...withOthersInBed(slept, inBed)]
}

/** The sessions of a source by its gaps; none starts with lying awake. */
function splitByGaps(stages: readonly Stage[]): Stage[][] {
  return groupsByGaps(stages)
    .map((group) => group.slice(firstOpening(group)))
    .filter((group) => group.length > 0)
}

/**
 * Groups the stages of a source by its gaps: a nap stays separate from other sleep unless the gap is short. The longest
 * part is never a nap. It is chosen among the parts that could be joined, not among the whole day as for `is_nap`:
 * otherwise a nap in the evening would belong to the night until older sleep is uploaded.
 */
function groupsByGaps(stages: readonly Stage[]): Stage[][] {
  return grouped(stages, SESSION_GAP_MS, opensSession).flatMap((chain) => {
    const parts = grouped(chain, NAP_GAP_MS)
    const sleeps = parts.map((part) => gapSession(part, []))
    const longest = sleeps.reduce((most, { asleepS }) => Math.max(most, asleepS), 0)
    const main = sleeps.findIndex(({ asleepS }) => asleepS === longest)
    const naps = sleeps.map((sleep, place) => place !== main && sleep.asleepS > 0 && isShortByDay(sleep))
    const joined: Stage[][] = []
    for (const [place, part] of parts.entries()) {
      if (place === 0 || naps[place] || naps[place - 1]) joined.push([...part])
      else for (const stage of part) (joined.at(-1) as Stage[]).push(stage)
    }
    return joined
  })
}

const opensSession = ({ stage }: Stage) => stage !== 'awake'

function firstOpening(stages: readonly Stage[]): number {
  const place = stages.findIndex(opensSession)
  return place < 0 ? stages.length : place
}

/** A session defined by the platform: all its intervals count as time in bed (sdk-types 7.4). `stages` ascend. */
function givenSession(stages: readonly Stage[]): Session {
  const clean = cleanStages(stages)
  const ranges = stages.map(rangeOf)
  return {
    ...fieldsOfStages(stages),
    startMs: (stages[0] as Stage).startMs,
    endMs: stages.reduce((lastMs, { endMs }) => Math.max(lastMs, endMs), 0),
    stages: withTimeInBed(clean, stages.filter(isInBed).map(rangeOf)),
    ...totalsOf(clean, ranges),
  }
}

/** A session defined by gaps: it lasts as long as its stages, without time in bed around them (7.3 H). */
function gapSession(stages: readonly Stage[], othersInBed: readonly Range[]): Session {
  const clean = cleanStages(stages)
  return {
    ...fieldsOfStages(stages),
    startMs: clean[0]?.[1] ?? (stages[0] as Stage).startMs,
    endMs: clean.at(-1)?.[2] ?? (stages[0] as Stage).endMs,
    stages: clean,
    ...totalsOf(clean, [...stages.filter(isInBed).map(rangeOf), ...othersInBed]),
  }
}

const isInBed = ({ stage }: Stage) => stage === 'in_bed'
const rangeOf = ({ startMs, endMs }: Stage): Range => [startMs, endMs]

/** The first zone and the last score among ascending stages. */
function fieldsOfStages(stages: readonly Stage[]) {
  const { sourceId, session } = stages[0] as Stage
  const zoneMin = stages.find((stage) => stage.zoneMin !== null)?.zoneMin ?? null
  const score = stages.findLast((stage) => stage.score !== null)?.score ?? null
  return { sourceId, session, zoneMin, score }
}

/**
 * The sessions with sleep, including time in bed that other sources report, and the time in bed that overlaps none of
 * them.
 */
function withOthersInBed(slept: readonly Stage[][], inBed: readonly Stage[][]): Session[] {
  const sleeps = slept.map((stages) => ({ stages, plain: gapSession(stages, []), others: [] as Range[] }))
  const sources = [...groupBy(sleeps, ({ plain }) => plain.sourceId)].map(([id, list]) => ({
    id,
    list,
    windows: list.map(({ plain }): Range => [plain.startMs, plain.endMs]),
  }))
  const alone = inBed.filter((stages) => {
    const { sourceId, startMs, endMs } = gapSession(stages, [])
    const ranges = union(stages.filter(isInBed).map(rangeOf))
    let overlaps = false
    for (const { id, list, windows } of sources) {
      if (id === sourceId) continue
      const first = firstEndingAfter(windows, startMs)
      let next = 0
      for (let place = first; place < list.length && (windows[place] as Range)[0] < endMs; place += 1) {
        overlaps = true
        // Time in bed that spans several sessions is divided at the start of each, so it counts once.
        const fromMs = place === first ? startMs : (windows[place] as Range)[0]
        const untilMs = Math.min(windows[place + 1]?.[0] ?? endMs, endMs)
        for (; next < ranges.length; next += 1) {
          const [rangeStartMs, rangeEndMs] = ranges[next] as Range
          if (rangeStartMs < untilMs)
            list[place]?.others.push([Math.max(rangeStartMs, fromMs), Math.min(rangeEndMs, untilMs)])
          if (rangeEndMs > untilMs) break
        }
      }
    }
    return !overlaps
  })
  return [
    ...sleeps.map(({ stages, plain, others }) => (others.length > 0 ? gapSession(stages, others) : plain)),
    ...alone.map((stages) => gapSession(stages, [])),
  ]
}

/**
 * The stages that form a stored session, without which it is not rebuilt: its own, the lying awake before it, which belongs
 * to no session, and the time in bed of other sources that was added only to this session.
 */
export function stagesOfSession(
  { sourceId, session, startMs, endMs }: Pick<Session, 'sourceId' | 'session' | 'startMs' | 'endMs'>,
  stages: readonly Stage[],
): Stage[] {
  if (session !== '') return stages.filter((stage) => sessionKey(stage) === sessionKey({ sourceId, session }))
  const ofSources = groupBy(stages.filter((stage) => stage.session === '').sort(byTime), (stage) => stage.sourceId)
  const groups = [...ofSources.values()].flatMap(groupsByGaps).flatMap((group) => {
    const opened = group.slice(firstOpening(group))
    if (opened.length === 0) return []
    const { sourceId: id, startMs, endMs } = gapSession(opened, [])
    return [{ group, id, startMs, endMs, slept: opened.some(({ stage }) => isSleep(stage)) }]
  })
  const own = groups.find((one) => one.id === sourceId && one.startMs <= endMs && one.endMs >= startMs)
  if (!own?.slept) return own?.group ?? []
  const addedToThis = groups.filter((one) => {
    const sessions = groups.filter(
      (other) => other.slept && other.id !== one.id && other.startMs < one.endMs && other.endMs > one.startMs,
    )
    return !one.slept && sessions.length === 1 && sessions[0] === own
  })
  const inSessions = new Set(groups.flatMap(({ group }) => group))
  const awakeBefore = stages.filter(
    (stage) =>
      sessionKey(stage) === sessionKey({ sourceId, session }) &&
      !inSessions.has(stage) &&
      stage.startMs < startMs &&
      stage.endMs >= startMs - SESSION_GAP_MS,
  )
  return [...awakeBefore, ...[own, ...addedToThis].flatMap(({ group }) => group)]
}
