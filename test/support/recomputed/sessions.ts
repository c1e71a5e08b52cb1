// How stages of sleep become sessions, and what these add up to (docs/events.md, sdk-types 7).
import { localDay, sum } from './activity.ts'
import { DAY, grouped, MINUTE, type Source, type Stage } from './facts.ts'

const HOUR = 60 * MINUTE

/** A session; times in epoch ms, durations in seconds. */
export interface Session {
  source: Source
  platform: string | null
  start: number
  end: number
  zone: number | null
  asleep: number
  inBed: number
  light: number | null
  deep: number | null
  rem: number | null
  awake: number | null
  /** Times awake of five minutes and more between the first and the last sleep. */
  interruptions: number
  isNap: boolean
  isCovered: boolean
}

type Span = [start: number, end: number]

/** All sessions of a person. */
export function sessionsOf(stages: readonly Stage[]): Session[] {
  const given = grouped(
    stages.filter(({ session }) => session !== null),
    ({ source, session }) => `${source.seen} ${session}`,
  )
  const platform = [...given.values()].map((group) => sessionOf(byStart(group), spansOf(group)))
  const sessions = [...platform, ...fromGaps(stages.filter(({ session }) => session === null))]
  for (const own of grouped(sessions, ({ source }) => source).values()) {
    const counting: Session[] = []
    for (const one of [...own].sort(better)) {
      one.isCovered = counting.some((other) => overlap(other, one) && Math.abs(other.end - one.end) < DAY)
      if (!one.isCovered) counting.push(one)
    }
  }
  const dates = grouped(sessions, dateOf)
  for (const group of dates.values()) {
    const [longest] = group.filter(({ isCovered }) => !isCovered).sort(longer)
    for (const one of group) one.isNap = longest !== undefined && one !== longest && isNap(one, longest)
  }
  return sessions
}

/** The local day on which a session ended. */
export const dateOf = ({ end, zone }: Pick<Session, 'end' | 'zone'>): number => localDay(end, zone)

const longer = (a: Session, b: Session) => b.asleep - a.asleep || a.start - b.start || a.end - b.end
const overlap = (a: Session, b: Session) => a.start < b.end && b.start < a.end
const spansOf = (stages: readonly Stage[]) => stages.map(({ start, end }): Span => [start, end])
const byStart = (stages: readonly Stage[]) => [...stages].sort((a, b) => a.start - b.start || a.end - b.end)

function isNap(one: Session, longest: Session): boolean {
  return startsByDay(one.start, one.zone) && one.asleep < 3 * 3600 && !overlap(one, longest)
}

/** Whether something began from 9:00 to before 20:00 on the local clock. */
export function startsByDay(ms: number, zone: number | null): boolean {
  const clock = (ms + (zone ?? 0) * MINUTE) % DAY
  return clock >= 9 * HOUR && clock < 20 * HOUR
}

/** Orders sessions of one source that may overlap, the one that counts first: stages count twice. */
function better(a: Session, b: Session): number {
  const lasts = ({ asleep, awake, light }: Session) => (asleep + (awake ?? 0)) * (light === null ? 1 : 2)
  const names = String(a.platform) < String(b.platform) ? -1 : 1
  return lasts(b) - lasts(a) || b.asleep - a.asleep || a.start - b.start || a.end - b.end || names
}

/** Sessions of a provider without sessions: gaps divide the stages of each source. */
function fromGaps(stages: readonly Stage[]): Session[] {
  const parts = [...grouped(stages, ({ source }) => source).values()].flatMap((own) => divided(byStart(own)))
  const isSleep = (part: Stage[]) => part.some(({ stage }) => stage !== 'in_bed')
  const asleep = parts.filter(isSleep).map((part) => ({ part, inBed: inBedOf(part) }))
  const alone: Stage[][] = []
  for (const part of parts.filter((one) => !isSleep(one))) {
    const [start, end] = extent(part)
    const met = asleep.filter((one) => {
      const [from, until] = extent(one.part)
      return from < end && start < until && one.part[0]?.source.provider === part[0]?.source.provider
    })
    if (met.length === 0) alone.push(part)
    for (const own of grouped(met, (one) => one.part[0]?.source).values()) {
      own.sort((a, b) => extent(a.part)[0] - extent(b.part)[0])
      own.forEach((one, place) => {
        const next = own[place + 1]
        const from = place === 0 ? -Infinity : extent(one.part)[0]
        one.inBed.push(...clipped(spansOf(part), from, next ? extent(next.part)[0] : Infinity))
      })
    }
  }
  return [
    ...asleep.map(({ part, inBed }) => sessionOf(part, inBed)),
    ...alone.map((part) => sessionOf(part, inBedOf(part))),
  ]
}

const extent = (stages: readonly Stage[]): Span => [
  Math.min(...stages.map(({ start }) => start)),
  Math.max(...stages.map(({ end }) => end)),
]

const inBedOf = (stages: readonly Stage[]) => spansOf(stages.filter(({ stage }) => stage === 'in_bed'))

const clipped = (spans: readonly Span[], from: number, until: number): Span[] =>
  spans.map(([start, end]): Span => [Math.max(start, from), Math.min(end, until)]).filter(([start, end]) => start < end)

/** Parts of one source with at most two hours between them, from which naps stay apart. */
function divided(stages: readonly Stage[]): Stage[][] {
  return after(stages, 120 * MINUTE).flatMap((chain) => {
    const pieces = apart(chain)
    const lengths = pieces.map((piece) => sessionOf(piece, inBedOf(piece)))
    const longest = [...lengths].sort(longer)[0]
    const napping = (place: number) => {
      const one = lengths[place] as Session
      return one !== longest && one.asleep < 3 * 3600 && startsByDay(one.start, one.zone)
    }
    const parts: Stage[][] = []
    let growing = false
    pieces.forEach((piece, place) => {
      if (growing && !napping(place)) parts.at(-1)?.push(...piece)
      else parts.push([...piece])
      growing = !napping(place)
    })
    return parts
  })
}

/** Divides stages where more than `gap` ms lie between one and all before it; lying awake begins nothing. */
function after(stages: readonly Stage[], gap: number): Stage[][] {
  const chains: Stage[][] = []
  let until = -Infinity
  for (const stage of stages) {
    if (stage.start - until > gap) {
      if (stage.stage === 'awake') continue
      chains.push([])
    }
    chains.at(-1)?.push(stage)
    until = Math.max(until, stage.end)
  }
  return chains
}

/** Divides a chain where more than 15 minutes lie in between; lying awake stays with what was before. */
function apart(chain: readonly Stage[]): Stage[][] {
  const pieces: Stage[][] = [[]]
  let until = Infinity
  for (const stage of chain) {
    if (stage.start - until > 15 * MINUTE && stage.stage !== 'awake') pieces.push([])
    pieces.at(-1)?.push(stage)
    until = Math.max(until === Infinity ? 0 : until, stage.end)
  }
  return pieces
}

/** What one session adds up to; `stages` ascending by start, `inBed` all time in bed. */
function sessionOf(stages: readonly Stage[], inBed: readonly Span[]): Session {
  const asleepAtAll = stages.some(({ stage }) => stage !== 'in_bed' && stage !== 'awake')
  const named = stages.map((one) => (one.stage === 'in_bed' && !asleepAtAll ? { ...one, stage: 'sleeping' } : one))
  const detailed = uncut(named.filter(({ stage }) => stage !== 'in_bed' && stage !== 'sleeping'))
  const rest = uncut(named.filter(({ stage }) => stage === 'sleeping')).flatMap((one) =>
    outside(
      [one.start, one.end],
      detailed.map(({ start, end }) => [start, end]),
    ).map(([start, end]) => ({ ...one, start, end })),
  )
  const left = byStart([...detailed, ...rest, ...named.filter(({ stage }) => stage === 'in_bed')])
  const seconds = (name: string) =>
    Math.floor(sum([...detailed, ...rest].filter(({ stage }) => stage === name).map((s) => s.end - s.start)) / 1000)
  const [light, deep, rem, awake, sleeping] = ['light', 'deep', 'rem', 'awake', 'sleeping'].map(seconds) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const hasDetail = detailed.some(({ stage }) => stage !== 'awake')
  const asleep = sleeping + light + deep + rem
  const sleepSpans = spansOf([...detailed, ...rest].filter(({ stage }) => stage !== 'awake'))
  const [first, last] = [Math.min(...sleepSpans.map(([at]) => at)), Math.max(...sleepSpans.map(([, at]) => at))]
  const [start, end] = extent(left)
  return {
    source: (stages[0] as Stage).source,
    platform: (stages[0] as Stage).session,
    start,
    end,
    zone: stages.find(({ zone }) => zone !== null)?.zone ?? null,
    asleep,
    inBed: Math.max(Math.floor(unionOf(inBed) / 1000), asleep + awake),
    light: hasDetail ? light : null,
    deep: hasDetail ? deep : null,
    rem: hasDetail ? rem : null,
    awake: hasDetail || awake > 0 ? awake : null,
    interruptions: detailed.filter(
      (s) => s.stage === 'awake' && s.end - s.start >= 5 * MINUTE && s.start >= first && s.end <= last,
    ).length,
    isNap: false,
    isCovered: false,
  }
}

/** Stages ascending by start without overlaps: the earlier one wins, the later begins where it ends. */
function uncut(stages: readonly Stage[]): Stage[] {
  const kept: Stage[] = []
  let until = -Infinity
  for (const stage of stages) {
    if (stage.end <= until) continue
    kept.push({ ...stage, start: Math.max(stage.start, until) })
    until = stage.end
  }
  return kept
}

/** What of a span lies outside of others. */
function outside(span: Span, others: readonly Span[]): Span[] {
  let left: Span[] = [span]
  for (const [start, end] of others)
    left = left.flatMap(([from, until]): Span[] =>
      [[from, Math.min(until, start)] as Span, [Math.max(from, end), until] as Span].filter(
        ([a, b]) => a < b && (b <= start || a >= end),
      ),
    )
  return left
}

function unionOf(spans: readonly Span[]): number {
  let [total, until] = [0, -Infinity]
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    total += Math.max(0, end - Math.max(start, until))
    until = Math.max(until, end)
  }
  return total
}
