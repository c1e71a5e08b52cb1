import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { NO_ZONE, type SampleColumns } from '../batch/columns.ts'

// Binary COPY format of the PostgreSQL manual ("COPY", binary format): signature, flags, header extension length.
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const ROW_BYTES = 2 + 12 + 12 + 8 + 6 + 6 + 8 + 8 + 5
/** The instant from which PostgreSQL counts microseconds. */
export const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1)

/** The columns of `encodeSamples`. */
export const SAMPLE_COLUMNS = 'ts, value, source_id, series_id, zone_offset_min, lasts_s'

/**
 * Encodes samples as rows of SAMPLE_COLUMNS for a binary COPY. `placed` adds the position of each sample, counted from 0
 * through all of them, and whether its zone is that of another record.
 * `sourceIds[columns.source]` is the database key of the source. All integers are big-endian.
 */
export function encodeSamples(batches: readonly SampleColumns[], sourceIds: readonly number[], placed = false): Buffer {
  const count = batches.reduce((sum, columns) => sum + columns.timeMs.length, 0)
  const buffer = Buffer.allocUnsafe(HEADER.length + count * ROW_BYTES + 2)
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  let at = HEADER.copy(buffer)
  let place = 0
  for (const columns of batches) {
    const sourceId = sourceIds[columns.source]
    if (sourceId === undefined) throw new Error('samples of a source that was not stored')
    for (let index = 0; index < columns.timeMs.length; index += 1) {
      const micros = ((columns.timeMs[index] as number) - POSTGRES_EPOCH_MS) * 1000
      const high = Math.floor(micros / 4_294_967_296)
      const zone = columns.zoneMin[index] as number
      view.setInt16(at, placed ? 8 : 6)
      view.setInt32(at + 2, 8)
      view.setInt32(at + 6, high)
      view.setUint32(at + 10, micros - high * 4_294_967_296)
      view.setInt32(at + 14, 8)
      view.setFloat64(at + 18, columns.value[index] as number)
      view.setInt32(at + 26, 4)
      view.setInt32(at + 30, sourceId)
      view.setInt32(at + 34, 2)
      view.setInt16(at + 38, columns.seriesId)
      if (zone === NO_ZONE) {
        view.setInt32(at + 40, -1)
        at += 44
      } else {
        view.setInt32(at + 40, 2)
        view.setInt16(at + 44, zone)
        at += 46
      }
      const lastsS = columns.lastsS?.[index] || 0
      view.setInt32(at, lastsS === 0 ? -1 : 4)
      if (lastsS !== 0) view.setInt32(at + 4, lastsS)
      at += lastsS === 0 ? 4 : 8
      if (placed) {
        view.setInt32(at, 4)
        view.setInt32(at + 4, place)
        view.setInt32(at + 8, 1)
        view.setInt8(at + 12, columns.zoneTaken?.[index] ?? 0)
        at += 13
        place += 1
      }
    }
  }
  view.setInt16(at, -1)
  return buffer.subarray(0, at + 2)
}

/** Sends an encoded COPY into a table of the open transaction. Throws what PostgreSQL reports. */
export async function copyInto(client: PoolClient, table: string, encoded: Buffer): Promise<void> {
  const stream = client.query(copyFrom(`copy ${table} from stdin (format binary)`))
  await pipeline(Readable.from([encoded], { objectMode: false }), stream)
}
