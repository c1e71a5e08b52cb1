import { pack } from 'msgpackr'
import { csvField } from '../../http/csv.ts'
import type { SourceMetadata } from '../../sources/source.ts'
import type { Stored } from '../../sources/user-view.ts'
import { isoInstant, zoneText } from '../../time.ts'
import { EXTREMES } from './extremes.ts'
import type { Rows } from './page.ts'
import { inSlices } from './slices.ts'

/** The page without its rows (contract 1.4). */
export interface Envelope {
  /** What the places of rows refer to. */
  stored: readonly Stored[]
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

/** JSON of a row between its time, its zone offset and its value, and after them. */
interface Fixed {
  beforeValue: string
  afterValue: string
}

function fixedOf(stored: Stored, bucketed: boolean): Fixed {
  const { series, source } = stored
  const implausible = stored.isImplausible ? ',"implausible":true' : ''
  return {
    beforeValue: `,"type":"${series.type}","value":`,
    afterValue: `,"unit":${JSON.stringify(series.unit)},"source":${source.json},"is_daily_total":${dailyTotal(stored, bucketed)}${implausible}}`,
  }
}

/** Rows of a piece of a page: longer texts are expensive to put together. */
const ROWS_OF_A_PIECE = 150

/**
 * Writes a page as one text of ASCII: what repeats is pasted, not serialised. Adding to the text takes half the time of
 * joining a list of rows; a large page is bytes made of several such texts, which takes half the time again.
 */
export function envelopeJson(rows: Rows, envelope: Envelope): string | Buffer {
  const pieces: Buffer[] = []
  const bucketed = envelope.resolution !== null
  const { times, values, places, zones, extremes } = rows
  const fixed: Fixed[] = []
  let [lastZone, zone] = [null as number | null, 'null']
  let text = '{"data":['
  for (let row = 0; row < times.length; row += 1) {
    const place = places[row] as number
    fixed[place] ??= fixedOf(envelope.stored[place] as Stored, bucketed)
    const { beforeValue, afterValue } = fixed[place]
    const zoneMin = zones[row] as number | null
    if (zoneMin !== lastZone) {
      lastZone = zoneMin
      zone = zoneMin === null ? 'null' : `"${zoneText(zoneMin)}"`
    }
    text += row === 0 ? '{"timestamp":"' : ',{"timestamp":"'
    text += `${isoInstant(times[row] as number)}","zone_offset":${zone}${beforeValue}${values[row]}`
    if (extremes) text += `,"min":${extremes.min[row]},"max":${extremes.max[row]},"count":${extremes.count[row]}`
    text += afterValue
    if (row % ROWS_OF_A_PIECE === ROWS_OF_A_PIECE - 1) {
      pieces.push(Buffer.from(text, 'latin1'))
      text = ''
    }
  }
  const { pagination, metadata } = around(rows, envelope)
  text += `],"pagination":${JSON.stringify(pagination)},"metadata":${JSON.stringify(metadata)}}`
  return pieces.length === 0 ? text : Buffer.concat([...pieces, Buffer.from(text, 'latin1')])
}

function around({ times }: Rows, envelope: Envelope) {
  return {
    pagination: {
      next_cursor: envelope.nextCursor,
      previous_cursor: envelope.previousCursor,
      has_more: envelope.hasMore,
      total_count: envelope.totalCount,
    },
    metadata: {
      resolution: envelope.resolution,
      sample_count: times.length,
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
async function columnsOf(rows: Rows, envelope: Envelope, encode: (values: readonly (number | null)[]) => Buffer) {
  const { series, indexes } = seriesOf(rows, envelope)
  const { times, values, zones, extremes } = rows
  const all = { timestamp_ms: times, value: values, zone_offset_min: zones, series: indexes, ...extremes }
  const names = columnNames(envelope)
  const columns = names.map((name) => ({ name, values: all[name] ?? [], pieces: [] as Buffer[] }))
  await inSlices(times.length, (start, end) => {
    for (const { values, pieces } of columns) pieces.push(encode(values.slice(start, end)))
  })
  return { columns, beside: { series, ...around(rows, envelope) } }
}

/** The series of a page in the order of their first rows, and the index of each row in that list. */
function seriesOf({ places }: Rows, { stored, resolution }: Envelope) {
  const indexOf: number[] = []
  const series: SeriesColumn[] = []
  const indexes = places.map((place) => {
    indexOf[place] ??= series.push(seriesColumn(stored[place] as Stored, resolution !== null)) - 1
    return indexOf[place]
  })
  return { series, indexes }
}

function seriesColumn(stored: Stored, bucketed: boolean): SeriesColumn {
  const { type, unit } = stored.series
  const { uid: data_source_id, metadata: source } = stored.source
  const isImplausible = stored.isImplausible && { implausible: true as const }
  return { type, unit, is_daily_total: dailyTotal(stored, bucketed), ...isImplausible, data_source_id, source }
}

/** The columnar page as JSON. */
export async function columnsJson(rows: Rows, envelope: Envelope): Promise<Buffer> {
  const { columns, beside } = await columnsOf(rows, envelope, (values) =>
    Buffer.from(JSON.stringify(values).slice(1, -1), 'latin1'),
  )
  const comma = Buffer.from(',')
  const parts = columns.flatMap(({ name, pieces }, index) => [
    Buffer.from(`${index === 0 ? '{"columns":{' : ','}"${name}":[`),
    ...pieces.flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece])),
    Buffer.from(']'),
  ])
  return Buffer.concat([...parts, Buffer.from(`},${JSON.stringify(beside).slice(1)}`)])
}

/** The columnar page as msgpack. */
export async function columnsMsgpack(rows: Rows, envelope: Envelope): Promise<Buffer> {
  // Without its header: of a small array one byte, of one with up to 65,535 elements three.
  const { columns, beside } = await columnsOf(rows, envelope, (values) =>
    pack(values).subarray(values.length < 16 ? 1 : 3),
  )
  const parts = [fixmap(4), pack('columns'), fixmap(columns.length)]
  for (const { name, pieces } of columns) parts.push(pack(name), array32(rows.times.length), ...pieces)
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
export async function csv({ times, values, places, zones, extremes }: Rows, envelope: Envelope): Promise<Buffer> {
  const bucketed = envelope.resolution !== null
  const tails: string[] = []
  const header = envelope.extremes ? `${CSV_HEADER},${EXTREMES}` : CSV_HEADER
  const parts = [Buffer.from(`${header}\r\n`)]
  await inSlices(times.length, (start, end) => {
    let lines = ''
    for (let row = start; row < end; row += 1) {
      const place = places[row] as number
      const stored = envelope.stored[place] as Stored
      tails[place] ??= csvTail(stored, bucketed)
      const zoneMin = zones[row] as number | null
      const zone = zoneMin === null ? '' : zoneText(zoneMin)
      lines += `${isoInstant(times[row] as number)},${zone},${stored.series.type},${values[row]},${tails[place]}`
      lines += extremes ? `,${extremes.min[row]},${extremes.max[row]},${extremes.count[row]}\r\n` : '\r\n'
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
