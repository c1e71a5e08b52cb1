import { pack } from 'msgpackr'
import { csvField } from '../../http/csv.ts'
import type { SourceMetadata } from '../../sources/source.ts'
import type { Stored } from '../../sources/user-view.ts'
import { isoInstant, zoneText } from '../../time.ts'
import { EXTREMES } from './extremes.ts'
import type { Row } from './page.ts'
import { inSlices } from './slices.ts'

/** The page without its rows (contract 1.4). */
export interface Envelope {
  nextCursor: string | null
  previousCursor: string | null
  hasMore: boolean
  totalCount: number
  resolution: string | null
  startMs: number
  endMs: number
  /** Whether its buckets have their extremes. */
  extremes: boolean
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
 * Writes a page as one text: the repeating parts of a row are pasted, not serialised (a third faster than
 * JSON.stringify over row objects). It is ASCII, so it is built and sent with one byte per character.
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
      `{"timestamp":"${isoInstant(row.timeMs)}","zone_offset":${zoneFragment(row.zoneMin)}${fixed.type}${row.value}${envelope.extremes ? extremesJson(row) : ''}${fixed.tail}`,
    )
  }
  const { pagination, metadata } = around(rows, envelope)
  const text = `{"data":[${parts.join(',')}],"pagination":${JSON.stringify(pagination)},"metadata":${JSON.stringify(metadata)}}`
  return Buffer.from(text, 'latin1')
}

function extremesJson({ extremes }: Row): string {
  return extremes ? `,"min":${extremes.min},"max":${extremes.max},"count":${extremes.count}` : ''
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

/** Names of the columns: epoch ms, values, zone offsets in minutes, and the index into `series` of each row. */
const COLUMNS = ['timestamp_ms', 'value', 'zone_offset_min', 'series'] as const

type Column = (typeof COLUMNS)[number] | (typeof EXTREMES)[number]

const columnNames = ({ extremes }: Envelope): readonly Column[] => (extremes ? [...COLUMNS, ...EXTREMES] : COLUMNS)

/**
 * The page as columns, each in the pieces that `encode` makes of some thousand values, and the rest: `series` lists
 * type, unit and source once.
 */
async function columnsOf(
  rows: readonly Row[],
  envelope: Envelope,
  encode: (values: readonly (number | null)[]) => Buffer,
) {
  const bucketed = envelope.resolution !== null
  const indexes = new Map<Stored, number>()
  const series: SeriesColumn[] = []
  const indexOf = (stored: Stored) => {
    const known = indexes.get(stored)
    if (known !== undefined) return known
    indexes.set(stored, series.length)
    const { type, unit } = stored.series
    const { uid: data_source_id, metadata: source } = stored.source
    const isImplausible = stored.isImplausible && { implausible: true as const }
    const is_daily_total = dailyTotal(stored, bucketed)
    return series.push({ type, unit, is_daily_total, ...isImplausible, data_source_id, source }) - 1
  }
  const columns: Record<Column, Buffer[]> = {
    ...{ timestamp_ms: [], value: [], zone_offset_min: [], series: [] },
    ...{ min: [], max: [], count: [] },
  }
  await inSlices(rows, (slice) => {
    columns.timestamp_ms.push(encode(slice.map(({ timeMs }) => timeMs)))
    columns.value.push(encode(slice.map(({ value }) => value)))
    columns.zone_offset_min.push(encode(slice.map(({ zoneMin }) => zoneMin)))
    columns.series.push(encode(slice.map(({ stored }) => indexOf(stored))))
    if (envelope.extremes)
      for (const name of EXTREMES) columns[name].push(encode(slice.map(({ extremes }) => extremes?.[name] ?? null)))
  })
  return { columns, beside: { series, ...around(rows, envelope) } }
}

/** The columnar page as JSON. */
export async function columnsJson(rows: readonly Row[], envelope: Envelope): Promise<Buffer> {
  const { columns, beside } = await columnsOf(rows, envelope, (values) =>
    Buffer.from(JSON.stringify(values).slice(1, -1), 'latin1'),
  )
  const comma = Buffer.from(',')
  const parts = columnNames(envelope).flatMap((name, index) => [
    Buffer.from(`${index === 0 ? '{"columns":{' : ','}"${name}":[`),
    ...columns[name].flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece])),
    Buffer.from(']'),
  ])
  return Buffer.concat([...parts, Buffer.from(`},${JSON.stringify(beside).slice(1)}`)])
}

/** The columnar page as msgpack. */
export async function columnsMsgpack(rows: readonly Row[], envelope: Envelope): Promise<Buffer> {
  // Without its header: of a small array one byte, of one with up to 65,535 elements three.
  const { columns, beside } = await columnsOf(rows, envelope, (values) =>
    pack(values).subarray(values.length < 16 ? 1 : 3),
  )
  const names = columnNames(envelope)
  const parts = [fixmap(4), pack('columns'), fixmap(names.length)]
  for (const name of names) parts.push(pack(name), array32(rows.length), ...columns[name])
  for (const [name, value] of Object.entries(beside)) parts.push(pack(name), pack(value))
  return Buffer.concat(parts)
}

// https://github.com/msgpack/msgpack/blob/master/spec.md
const fixmap = (entries: number) => Buffer.from([0x80 | entries])

function array32(length: number): Buffer {
  const header = Buffer.from([0xdd, 0, 0, 0, 0])
  header.writeUInt32BE(length, 1)
  return header
}

/** First line of every page as CSV. */
export const CSV_HEADER =
  'timestamp,zone_offset,type,value,unit,is_daily_total,provider,source,device,device_type,device_name,data_source_id,implausible'

/** The page as CSV (RFC 4180) with a header line; the cursors are in the answer's headers. */
export async function csv(rows: readonly Row[], envelope: Envelope): Promise<Buffer> {
  const bucketed = envelope.resolution !== null
  const tails = new Map<Stored, string>()
  const header = envelope.extremes ? `${CSV_HEADER},${EXTREMES}` : CSV_HEADER
  const parts = [Buffer.from(`${header}\r\n`)]
  await inSlices(rows, (slice) => {
    let lines = ''
    for (const { stored, timeMs, value, zoneMin, extremes } of slice) {
      let tail = tails.get(stored)
      if (tail === undefined) {
        tail = csvTail(stored, bucketed)
        tails.set(stored, tail)
      }
      const zone = zoneMin === null ? '' : zoneText(zoneMin)
      lines += `${isoInstant(timeMs)},${zone},${stored.series.type},${value},${tail}${extremes ? `,${extremes.min},${extremes.max},${extremes.count}` : ''}\r\n`
    }
    parts.push(Buffer.from(lines))
  })
  return Buffer.concat(parts)
}

/** What all rows of a series share, after the value. */
function csvTail(stored: Stored, bucketed: boolean): string {
  const { series, source } = stored
  const { provider, source: writer, device, device_type, device_name } = source.metadata
  const texts = [
    series.unit,
    String(dailyTotal(stored, bucketed) ?? ''),
    provider,
    writer,
    device,
    device_type,
    device_name,
    source.uid,
    stored.isImplausible ? 'true' : null,
  ]
  return texts.map(csvField).join(',')
}
