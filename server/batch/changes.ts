import type { SampleColumns } from './columns.ts'

/** Samples of a stream that a batch inserted or changed, as in `SampleColumns`. */
export interface ChangedSamples extends Pick<SampleColumns, 'seriesId' | 'timeMs' | 'value' | 'zoneMin'> {
  /** Key in the database. */
  sourceId: number
}

/** A kind of event that is stored. */
export type EventKind = AnnouncedKind | 'health_score'

/** A kind of event that developers get events about; scores are not among them (contract 10.1). */
export type AnnouncedKind = 'sleep' | 'workout' | 'meal' | 'menstrual_cycle' | 'activity'

/** Rows of one kind that developers get events about: the ids of new ones, and of changed sleep. */
export interface AnnouncedRows {
  type: AnnouncedKind
  announced: string[]
}

/** A sample that was removed; `timeMs` in epoch milliseconds. */
export interface Removed {
  sourceId: number
  seriesId: number
  timeMs: number
}

/** Removes from the changes of a batch the samples that it then deleted. */
export function withoutRemoved(changes: readonly ChangedSamples[], removed: readonly Removed[]): ChangedSamples[] {
  const streams = new Map<string, Set<number>>()
  for (const { sourceId, seriesId, timeMs } of removed) {
    const key = `${sourceId} ${seriesId}`
    streams.set(key, (streams.get(key) ?? new Set()).add(timeMs))
  }
  return changes.flatMap((columns) => {
    const gone = streams.get(`${columns.sourceId} ${columns.seriesId}`)
    if (!gone) return [columns]
    const kept = [...columns.timeMs.keys()].filter((at) => !gone.has(columns.timeMs[at] as number))
    return kept.length > 0 ? [samplesAt(columns, kept)] : []
  })
}

/** The samples at some places of a stream. */
export function samplesAt(columns: ChangedSamples, places: readonly number[]): ChangedSamples {
  const { sourceId, seriesId, timeMs, value, zoneMin } = columns
  return {
    sourceId,
    seriesId,
    timeMs: Float64Array.from(places, (at) => timeMs[at] as number),
    value: Float64Array.from(places, (at) => value[at] as number),
    zoneMin: Int16Array.from(places, (at) => zoneMin[at] as number),
  }
}
