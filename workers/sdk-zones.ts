import type { BatchEvents, EventItem } from '../server/batch/columns.ts'
import { NO_ZONE } from '../server/batch/columns.ts'
import { NEAR_MS, nearestRun, ZoneMarks, type ZoneRun } from '../server/batch/zones.ts'
import type { Reading } from './sdk-reading.ts'

// A record without a zone offset takes that of the nearest record of the upload that has one, when it lies within a day (contract
// 12.2). What is left without one is for the database to say (server/store/zones.ts).

/** Everything of an upload that has a time and may have a zone offset, but for deletions. */
const itemsOf = ({ sleep, workouts, meals, nutrients, cycles, activities }: BatchEvents): EventItem[] => [
  ...[sleep, workouts, meals, nutrients, cycles, activities].flat(),
]

/** Gives what has no zone offset that of its neighbours. Returns the runs of zones that the upload itself knows. */
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
