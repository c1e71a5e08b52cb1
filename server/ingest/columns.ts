/** What identifies a source within a user and provider (design: data model), and what is known about it. */
export interface SourceIdentity {
  deviceModel: string
  source: string
  softwareVersion: string | null
  deviceType: string
}

/**
 * The samples of one series from one source, ascending by time, no instant twice.
 * `timeMs`: epoch milliseconds; `value` in the unit of the series; `zoneMin`: minutes east of UTC or NO_ZONE.
 */
export interface SampleColumns {
  /** Index into the batch's sources. */
  source: number
  /** Series id, or that plus DAILY_TOTAL_OFFSET for daily totals. */
  seriesId: number
  timeMs: Float64Array
  value: Float64Array
  zoneMin: Int16Array
}

/** Stands for an unknown zone offset in `zoneMin`. */
export const NO_ZONE = -32_768

/** Why one item was not imported; never carries a measured value. */
export interface Rejection {
  collection: string
  index: number | null
  id: string | null
  loc: (string | number)[]
  type: string
  msg: string
}

/** An upload turned into columns, with an account of every item it had. */
export interface Batch {
  sources: SourceIdentity[]
  samples: SampleColumns[]
  /** Items in all collections. */
  received: number
  /** Items whose key another item of the same upload repeated; the last one counts. */
  duplicates: number
  /** Records of a type that is not stored. */
  ignored: number
  rejected: number
  /** The first REJECTIONS_KEPT of them. */
  rejections: Rejection[]
  /** Items of other importers, by collection; they stay in the stored body. */
  deferred: Record<string, number>
}

/** How many rejections of an upload are listed; all are counted. */
export const REJECTIONS_KEPT = 100
