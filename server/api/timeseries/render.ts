import { pack } from 'msgpackr'
import type { SourceMetadata } from '../../sources/source.ts'
import type { Stored } from '../../sources/user-view.ts'
import { isoInstant, zoneText } from '../../time.ts'
import type { Row } from './page.ts'

/** What stands around the rows (contract 1.4). */
export interface Envelope {
  nextCursor: string | null
  previousCursor: string | null
  hasMore: boolean
  totalCount: number
  resolution: string | null
  startMs: number
  endMs: number
}

/** True or false for raw samples of additive series, null for all others and for buckets. */
function dailyTotal(stored: Stored, bucketed: boolean): boolean | null {
  return bucketed || stored.series.aggregation !== 'sum' ? null : stored.isDailyTotal
}

const zoneJson = new Map<number | null, string>([[null, 'null']])

function zoneFragment(zoneMin: number | null): string {
  let text = zoneJson.get(zoneMin)
  if (!text) {
    text = `"${zoneText(zoneMin ?? 0)}"`
    zoneJson.set(zoneMin, text)
  }
  return text
}

/**
 * Writes a page as one text: the parts of a row that repeat are pasted, not serialised (a third faster than
 * JSON.stringify over row objects). It is ASCII, so that it is built and sent with one byte a character.
 */
export function envelopeJson(rows: readonly Row[], envelope: Envelope): Buffer {
  const bucketed = envelope.resolution !== null
  const parts: string[] = []
  const tails = new Map<Stored, { type: string; tail: string }>()
  for (const row of rows) {
    let fixed = tails.get(row.stored)
    if (!fixed) {
      const { series, source } = row.stored
      const daily = dailyTotal(row.stored, bucketed)
      const implausible = row.stored.isImplausible ? ',"implausible":true' : ''
      fixed = {
        type: `,"type":"${series.type}","value":`,
        tail: `,"unit":${JSON.stringify(series.unit)},"source":${source.json},"is_daily_total":${daily}${implausible}}`,
      }
      tails.set(row.stored, fixed)
    }
    parts.push(
      `{"timestamp":"${isoInstant(row.timeMs)}","zone_offset":${zoneFragment(row.zoneMin)}${fixed.type}${row.value}${fixed.tail}`,
    )
  }
  const { pagination, metadata } = around(rows, envelope)
  const text = `{"data":[${parts.join(',')}],"pagination":${JSON.stringify(pagination)},"metadata":${JSON.stringify(metadata)}}`
  return Buffer.from(text, 'latin1')
}

function around(rows: readonly Row[], envelope: Envelope) {
  return {
    pagination: {
      next_cursor: envelope.nextCursor,
      previous_cursor: envelope.previousCursor,
      has_more: envelope.hasMore,
      total_count: envelope.totalCount,
    },
    metadata: {
      resolution: envelope.resolution,
      sample_count: rows.length,
      start_time: isoInstant(envelope.startMs),
      end_time: isoInstant(envelope.endMs),
    },
  }
}

interface SeriesColumn {
  type: string
  unit: string
  is_daily_total: boolean | null
  implausible?: true
  data_source_id: string
  source: SourceMetadata
}

/**
 * The page as columns: epoch milliseconds, values, zone offsets in minutes, and for each row the index
 * into `series`, which says type, unit and source once.
 */
function columns(rows: readonly Row[], envelope: Envelope) {
  const bucketed = envelope.resolution !== null
  const indexes = new Map<Stored, number>()
  const series: SeriesColumn[] = []
  const count = rows.length
  const timestampMs = new Array<number>(count)
  const value = new Array<number>(count)
  const zoneOffsetMin = new Array<number | null>(count)
  const seriesIndex = new Array<number>(count)
  for (const [at, row] of rows.entries()) {
    let index = indexes.get(row.stored)
    if (index === undefined) {
      const { series: type, source } = row.stored
      index =
        series.push({
          type: type.type,
          unit: type.unit,
          is_daily_total: dailyTotal(row.stored, bucketed),
          ...(row.stored.isImplausible && { implausible: true as const }),
          data_source_id: source.uid,
          source: source.metadata,
        }) - 1
      indexes.set(row.stored, index)
    }
    timestampMs[at] = row.timeMs
    value[at] = row.value
    zoneOffsetMin[at] = row.zoneMin
    seriesIndex[at] = index
  }
  return {
    columns: { timestamp_ms: timestampMs, value, zone_offset_min: zoneOffsetMin, series: seriesIndex },
    series,
    ...around(rows, envelope),
  }
}

/** The columnar page as JSON. */
export const columnsJson = (rows: readonly Row[], envelope: Envelope): string => JSON.stringify(columns(rows, envelope))

/** The columnar page as msgpack. */
export const columnsMsgpack = (rows: readonly Row[], envelope: Envelope): Buffer => pack(columns(rows, envelope))

/** First line of every page as CSV. */
export const CSV_HEADER =
  'timestamp,zone_offset,type,value,unit,is_daily_total,provider,source,device,device_type,device_name,data_source_id,implausible'

// A field that a spreadsheet would run as a formula gets a quote in front (OWASP: CSV injection).
function csvField(text: string | null): string {
  if (text === null) return ''
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The page as CSV (RFC 4180) with a header line; the cursors are in the answer's headers. */
export function csv(rows: readonly Row[], envelope: Envelope): string {
  const bucketed = envelope.resolution !== null
  const tails = new Map<Stored, string>()
  const lines = [CSV_HEADER]
  for (const row of rows) {
    let tail = tails.get(row.stored)
    if (tail === undefined) {
      const { series, source } = row.stored
      const { provider, source: writer, device, device_type, device_name } = source.metadata
      const texts = [
        series.unit,
        String(dailyTotal(row.stored, bucketed) ?? ''),
        provider,
        writer,
        device,
        device_type,
        device_name,
        source.uid,
        row.stored.isImplausible ? 'true' : null,
      ]
      tail = texts.map(csvField).join(',')
      tails.set(row.stored, tail)
    }
    const zone = row.zoneMin === null ? '' : zoneText(row.zoneMin)
    lines.push(`${isoInstant(row.timeMs)},${zone},${row.stored.series.type},${row.value},${tail}`)
  }
  return `${lines.join('\r\n')}\r\n`
}
