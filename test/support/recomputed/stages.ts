// Which stages of sleep are stored after some uploads (docs/events.md, "How stages become sessions").
import type { Item, Source, Stage } from './facts.ts'

interface Night {
  stages: Map<string, Stage>
  /** Whether all that is stored came in one upload that was complete. */
  whole: boolean
}

/** What is stored by session of the platform; under the source where the platform has none. */
export type PlatformNights = Map<string, Night>

export interface SleepItem extends Stage {
  taken: boolean
}

const STAGES: Record<string, string> = { asleep: 'sleeping', core: 'light' }
const KNOWN = ['in_bed', 'sleeping', 'awake', 'light', 'deep', 'rem']

/** An item of `data.sleep`; a stage that says nothing is kept here, since it counts for whether a session is complete. */
export function readSleepItem(item: Item, source: Source, zone: { minutes: number | null; taken: boolean }): SleepItem {
  const name = String(item.stage).toLowerCase()
  return {
    source,
    session: source.provider === 'apple' ? null : ((item.parentId ?? item.id) as string),
    id: item.id as string,
    stage: STAGES[name] ?? name,
    start: Date.parse(item.startDate as string),
    end: Date.parse(item.endDate as string),
    zone: zone.minutes,
    taken: zone.taken,
  }
}

/** Adds the items of one upload. */
export function sleepOf(nights: PlatformNights, items: readonly SleepItem[]): void {
  const groups = new Map<string, SleepItem[]>()
  for (const item of items) {
    const key = `${item.source.seen} ${item.session ?? ''}`
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  for (const [key, group] of groups) {
    const stored = nights.get(key)
    const whole = group[0]?.session !== null && isWhole(group)
    const kept = stored && !(stored.whole && whole) ? without(stored.stages, group) : new Map<string, Stage>()
    const added = new Set<string>()
    for (const { taken, ...stage } of group.filter((one) => KNOWN.includes(one.stage))) {
      const same = keyOf(stage)
      const before = stored?.stages.get(same)
      added.add(same)
      kept.set(same, { ...stage, zone: taken && before ? (before.zone ?? stage.zone) : stage.zone })
    }
    nights.set(key, { stages: kept, whole: whole && kept.size === added.size })
  }
}

const keyOf = ({ start, end, stage }: Stage) => `${start} ${end} ${stage}`

/** Numbered from 0 without a gap, each part for itself, or one item that stands for all of it. */
function isWhole(group: readonly SleepItem[]): boolean {
  const session = group[0]?.session as string
  if (group.length === 1 && group[0]?.id === session) return true
  const parts = new Map<string, number[]>()
  for (const { id } of group) {
    const found = /^-s(?:(\d+)-)?(\d+)$/.exec(id.startsWith(session) ? id.slice(session.length) : '')
    if (!found) return false
    parts.set(found[1] ?? '', [...(parts.get(found[1] ?? '') ?? []), Number(found[2])])
  }
  const complete = (numbers: number[]) => [...new Set(numbers)].sort((a, b) => a - b).every((one, n) => one === n)
  const names = [...parts.keys()].filter((name) => name !== '').map(Number)
  return [...parts.values()].every(complete) && complete(names)
}

/** What stays beside stages that come to a session which grows. */
function without(stored: Map<string, Stage>, group: readonly SleepItem[]): Map<string, Stage> {
  const here = new Set(group.map(keyOf))
  const old = [...stored.values()]
  const moved = group.filter((item) => old.some((one) => one.id === item.id && keyOf(one) !== keyOf(item)))
  const staged = group.some((item) => item.session !== null && item.id !== item.session)
  const kept = old.filter((one) => {
    if (here.has(keyOf(one))) return true
    if (staged && one.id === one.session) return false
    return !moved.some((item) => item.id === one.id || (item.start < one.end && one.start < item.end))
  })
  return new Map(kept.map((one) => [keyOf(one), one]))
}
