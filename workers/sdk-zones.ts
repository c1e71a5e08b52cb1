import type { BatchEvents, EventItem } from '../server/batch/columns.ts'
import { NO_ZONE } from '../server/batch/columns.ts'
import { NEAR_MS, nearestRun, ZoneMarks, type ZoneRun } from '../server/batch/zones.ts'
import type { Reading } from './sdk-reading.ts'

// A record without a zone offset takes that of the nearest record of the upload that has one, if that is within a day
// (contract 12.2). For the others, the database decides (server/store/zones.ts).

/** All events of an upload: they have a time and may have a zone offset. */
const itemsOf = ({ sleep, workouts, meals, nutrients, cycles, activities }: BatchEvents): EventItem[] => [
  ...[sleep, workouts, meals, nutrients, cycles, activities].flat(),
]

/** Gives records without a zone offset that of their neighbours. Returns the runs of zones that the upload contains. */
export function settleZones({ streams, derived, events, totals }: Reading): ZoneRun[] {
  const marks = new ZoneMarks()
  const items = itemsOf(events)
  const all = [...streams.all(), ...derived.all()]
  let missing = false
  for (const { timeMs, zoneMin } of all) {
    for (let at = 0; at < timeMs.length; at += 1) {
      if (zoneMin[at] === NO_ZONE) missing = true
      else marks.add(timeMs[at] as number, zoneMin[at] as number)
    }
  }
  for (const { startMs, zoneMin } of [...items, ...totals]) {
    if (zoneMin === null) missing = true
    else marks.add(startMs, zoneMin)
  }
  const runs = marks.runs()
  if (!missing || runs.length === 0) return runs
  const zoneAt = (ms: number) => {
    const found = nearestRun(runs, ms)
    return found && found.apartMs <= NEAR_MS ? found.zoneMin : null
  }
  for (const stream of all) {
    for (const [at, zoneMin] of stream.zoneMin.entries())
      if (zoneMin === NO_ZONE) stream.takeZone(at, zoneAt(stream.timeMs[at] as number))
  }
  for (const item of items) item.zoneMin ??= zoneAt(item.startMs)
  for (const total of totals) total.zoneMin ??= zoneAt(total.startMs)
  return runs
}
