/** Number of items by type and UTC day: series types for samples, else the type of the event. */
export type DayCounts = Record<string, Record<string, number>>

/** Number of rejected items by type, UTC day and reason. */
export type RejectedDays = Record<string, Record<string, Record<string, number>>>

/** Rejected items by the person's own day. */
export interface RejectedLocally {
  /** Those whose records have a zone offset, by local day. */
  days: RejectedDays
  /** The others by quarter hour, counted since 1970: the zone of the nearest record is known when the batch is written. */
  quarters: RejectedDays
}

/** The zone offset at an instant (epoch ms) according to the nearest record, in minutes east of UTC; null if there is none. */
export type ZoneAt = (ms: number) => number | null

/** Number of items by type and the person's own day, and of the rejected ones among them. */
export interface LocalDays {
  days: DayCounts
  rejected: RejectedDays
  /** For items that are rejected later. */
  zoneAt: ZoneAt
}
