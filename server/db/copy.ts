import type { Duplex } from 'node:stream'
import type { PoolClient, Submittable } from 'pg'
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
export function copyInto(client: PoolClient, table: string, encoded: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | undefined) => (error ? reject(error) : resolve())
    client.query(new CopyStatement(`copy ${table} from stdin (format binary)`, encoded, done))
  })
}

/** Of a longer COPY as much goes into one message, all of which the server holds in memory. */
const MESSAGE_BYTES = 256 * 1024
const COPY_DATA = 0x64
const COPY_DONE = Buffer.from('c\0\0\0\x04', 'latin1')

/** What the driver's connection writes. */
interface Connection {
  stream: Duplex
  query(text: string): void
}

/**
 * A COPY for the driver to submit, in one go: a server that refuses the statement passes over the rows behind it
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY), so there is no need to wait until it asks for
 * them.
 */
class CopyStatement implements Submittable {
  /** Read by those who listen to statements. */
  readonly text: string
  readonly #encoded: Buffer
  readonly #done: (error: Error | undefined) => void

  constructor(text: string, encoded: Buffer, done: (error: Error | undefined) => void) {
    this.text = text
    this.#encoded = encoded
    this.#done = done
  }

  submit(connection: unknown): void {
    const { stream } = connection as Connection
    stream.cork()
    ;(connection as Connection).query(this.text)
    for (let at = 0; at < this.#encoded.length; at += MESSAGE_BYTES) {
      const piece = this.#encoded.subarray(at, at + MESSAGE_BYTES)
      const head = Buffer.allocUnsafe(5)
      head[0] = COPY_DATA
      head.writeUInt32BE(piece.length + 4, 1)
      stream.write(head)
      stream.write(piece)
    }
    stream.write(COPY_DONE)
    stream.uncork()
  }

  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#done(error)
  }

  handleReadyForQuery(): void {
    this.#done(undefined)
  }
}
