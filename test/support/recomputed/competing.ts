// Which sources compete for the night of a date (contract 12.4).
import { sum } from './activity.ts'
import { grouped, MINUTE } from './facts.ts'
import { startsByDay } from './sessions.ts'

/** A main session; epoch ms, minutes east of UTC, seconds. */
interface Main<Source> {
  source: Source
  start: number
  end: number
  zone: number | null
  asleep: number
  awake: number | null
}

/** The sources that recorded at least half of the night, which is the longest sleep of any of them. */
export function competing<Source>(mains: readonly Main<Source>[]): Set<Source> {
  const all = [...grouped(mains, ({ source }) => source).values()].flatMap(sleepsOf)
  const long = all.filter(({ asleep }) => asleep >= 3 * 3600)
  const sleeps = long.length > 0 ? long : all
  // By day it counts half.
  const weight = ({ lasts, byDay }: { lasts: number; byDay: boolean }) => (byDay ? lasts / 2 : lasts)
  sleeps.sort(
    (a, b) => weight(b) - weight(a) || Number(a.byDay) - Number(b.byDay) || a.start - b.start || a.end - b.end,
  )
  const [night] = sleeps
  if (!night) return new Set()
  const within = all.filter(({ start, end }) => start < night.end && night.start < end)
  const rivals = [...grouped(within, ({ source }) => source)].filter(([, own]) => {
    const isLong = sum(own.map(({ asleep }) => asleep)) >= 3 * 3600 || long.length === 0
    return isLong && sum(own.map(({ lasts }) => lasts)) >= night.lasts / 2
  })
  return new Set(rivals.map(([source]) => source))
}

/** The sleeps of one source: what less than four hours divide is one. */
function sleepsOf<Source>(mains: readonly Main<Source>[]) {
  const sleeps: Main<Source>[][] = []
  for (const one of [...mains].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = sleeps.at(-1)
    if (last && one.start - endOf(last) < 240 * MINUTE) last.push(one)
    else sleeps.push([one])
  }
  return sleeps.map((parts) => {
    const { source, start, zone } = parts[0] as Main<Source>
    const asleep = sum(parts.map((one) => one.asleep))
    const lasts = asleep + sum(parts.map((one) => one.awake ?? 0))
    return { source, start, end: endOf(parts), asleep, lasts, byDay: startsByDay(start, zone) }
  })
}

const endOf = (parts: readonly { end: number }[]) => Math.max(...parts.map(({ end }) => end))
