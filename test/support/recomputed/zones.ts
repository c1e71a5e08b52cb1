// Which offset an item has that was sent without one (docs/uploads.md): that of the nearest item that has one.
import type { Item } from './facts.ts'

/** An item that says its own offset: epoch ms and minutes east of UTC. */
export interface Zoned {
  ms: number
  minutes: number
}

const DAY = 86_400_000

/** Offsets of the items of one upload; `known` is what the uploads before said, and gets what this one says. */
export function zonesOf(
  items: readonly Item[],
  known: Zoned[],
): (item: Item) => { minutes: number | null; taken: boolean } {
  const here = items.flatMap((item) => {
    const minutes = ownZone(item)
    return minutes === null ? [] : [{ ms: Date.parse(item.startDate as string), minutes }]
  })
  const before = [...known]
  known.push(...here)
  return (item) => {
    const own = ownZone(item)
    if (own !== null) return { minutes: own, taken: false }
    const ms = Date.parse(item.startDate as string)
    const near = nearest(here, ms)
    const stored = nearest(before, ms)
    const away = (one: Zoned | undefined) => (one ? Math.abs(one.ms - ms) : Infinity)
    const chosen = away(near) <= DAY || away(near) <= away(stored) ? near : stored
    return { minutes: chosen?.minutes ?? null, taken: true }
  }
}

/** The nearest; of two equally near ones the earlier, at one instant the smaller offset. */
function nearest(zoned: readonly Zoned[], ms: number): Zoned | undefined {
  let best: Zoned | undefined
  for (const one of zoned) {
    const [now, then] = [Math.abs(one.ms - ms), best ? Math.abs(best.ms - ms) : Infinity]
    const earlier = best && (one.ms - best.ms || one.minutes - best.minutes) < 0
    if (now < then || (now === then && earlier)) best = one
  }
  return best
}

/** `+02:00` or the zone's name in the metadata, which tests send as an offset of the same form. */
function ownZone(item: Item): number | null {
  const text = item.zoneOffset as string | null
  const parts = /^([+-])(\d\d):(\d\d)$/.exec(text ?? '')
  if (!parts) return null
  return (parts[1] === '-' ? -1 : 1) * (Number(parts[2]) * 60 + Number(parts[3]))
}
