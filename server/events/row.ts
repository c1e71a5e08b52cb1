import { zoneText } from '../time.ts'

/** The columns that the rows of every kind of event share. */
export interface EventRow {
  id: string
  start_at: string
  end_at: string
  source_id: number
  zone_offset_min: number | null
}

/** `zone_offset` of a row (contract 1.2). */
export const zoneOf = ({ zone_offset_min }: Pick<EventRow, 'zone_offset_min'>): string | null =>
  zone_offset_min === null ? null : zoneText(zone_offset_min)
