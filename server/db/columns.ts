// Results as columns, read from the bytes that the server sends: the driver makes a text and an object of everything.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import pg from 'pg'

type Decode = (view: DataView, at: number, length: number) => unknown

const text: Decode = (view, at, length) => Buffer.from(view.buffer, view.byteOffset + at, length).toString()

/** Types that columns may have, in their binary form. */
const DECODERS = new Map<number, Decode>([
  [16, (view, at) => view.getInt8(at) === 1], // bool
  [20, (view, at) => view.getInt32(at) * 4_294_967_296 + view.getUint32(at + 4)], // int8, far below 2^53
  [21, (view, at) => view.getInt16(at)], // int2
  [23, (view, at) => view.getInt32(at)], // int4
  [25, text],
  [701, (view, at) => view.getFloat64(at)], // float8
])

const DATA_ROW = 0x44
/** Its type and its length, which counts itself. */
const HEADER_BYTES = 5

/** The end of the message that begins at `at`; at least of its header, if that is incomplete. */
const endOf = (view: DataView, at: number) =>
  at + (at + HEADER_BYTES <= view.byteLength ? 1 + view.getInt32(at + 1) : HEADER_BYTES)

/** Splits what a server sends into messages, and hands rows to the statement that wants them, the rest to the driver. */
class Messages {
  /** Takes the rows, if the driver does not. */
  statement: ColumnsStatement | undefined
  /** What the columns of a statement are, by its name: prepared once. */
  readonly prepared = new Map<string, readonly Decode[]>()
  /** An incomplete message, and how many bytes it lacks at least. */
  #parts: Buffer[] = []
  #missing = 0

  /** The stream as the driver is to see it. */
  forDriver(stream: Duplex): EventEmitter {
    const driver = new EventEmitter()
    stream.on('data', (chunk: Buffer) => this.#read(chunk, driver))
    stream.on('end', () => driver.emit('end'))
    return driver
  }

  #read(chunk: Buffer, driver: EventEmitter): void {
    const bytes = this.#whole(chunk)
    if (!bytes) return
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let [driverFrom, at] = [0, 0]
    for (let end = endOf(view, at); end <= bytes.length; end = endOf(view, at)) {
      if (bytes[at] === DATA_ROW && this.statement) {
        // What comes before may be the description of the rows.
        if (driverFrom < at) driver.emit('data', bytes.subarray(driverFrom, at))
        this.statement.takeRow(view, at + HEADER_BYTES)
        driverFrom = end
      }
      at = end
    }
    if (at < bytes.length) {
      this.#parts = [bytes.subarray(at)]
      this.#missing = endOf(view, at) - bytes.length
    }
    if (driverFrom < at) driver.emit('data', bytes.subarray(driverFrom, at))
  }

  /** All bytes since the last whole message; undefined while the next one is incomplete. */
  #whole(chunk: Buffer): Buffer | undefined {
    if (this.#missing === 0) return chunk
    this.#parts.push(chunk)
    this.#missing = Math.max(0, this.#missing - chunk.length)
    if (this.#missing > 0) return undefined
    const all = Buffer.concat(this.#parts)
    this.#parts = []
    return all
  }
}

/** A connection of the driver that can also return columns. */
export class ColumnsClient extends pg.Client {
  readonly messages = new Messages()

  constructor(config?: pg.ClientConfig) {
    super(config)
    // The driver calls it once the stream is connected, and encrypted if it is to be.
    const { connection } = this as unknown as { connection: { attachListeners(stream: EventEmitter): void } }
    const attach = connection.attachListeners.bind(connection)
    connection.attachListeners = (stream) => attach(this.messages.forDriver(stream as Duplex))
  }
}

/** What the driver's connection writes; with the types of the driver's own statements. */
interface Writer {
  stream: Duplex
  parse(message: { name: string; text: string }): void
  describe(message: { type: 'S'; name: string }): void
  bind(message: { statement: string; values: unknown[]; binary: true }): void
  execute(message?: undefined): void
  sync(): void
}

const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils

/** A statement for the driver to submit (as those of pg-cursor and pg-copy-streams), with its rows in binary. */
class ColumnsStatement implements pg.Submittable {
  /** Read by the driver, and by those who listen to statements. */
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
  readonly #prepared: unknown[]
  readonly #messages: Messages
  readonly #done: (error: Error | undefined, columns: unknown[][]) => void
  #columns: unknown[][] = []
  #decoders: readonly Decode[] = []
  #failure: Error | undefined

  constructor(
    { name, text, values }: { name: string; text: string; values: readonly unknown[] },
    messages: Messages,
    done: (error: Error | undefined, columns: unknown[][]) => void,
  ) {
    this.name = name
    this.text = text
    this.values = values
    this.#prepared = values.map(prepareValue)
    this.#messages = messages
    this.#done = done
  }

  submit(connection: unknown): void {
    const { name, text } = this
    const writer = connection as Writer
    const decoders = this.#messages.prepared.get(name)
    this.#messages.statement = this
    writer.stream.cork()
    if (decoders) this.#expect(decoders)
    else {
      writer.parse({ name, text })
      writer.describe({ type: 'S', name })
    }
    writer.bind({ statement: name, values: this.#prepared, binary: true })
    writer.execute()
    writer.sync()
    writer.stream.uncork()
  }

  #expect(decoders: readonly Decode[]): void {
    this.#decoders = decoders
    this.#columns = decoders.map(() => [])
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    const decoders: Decode[] = []
    for (const { name, dataTypeID } of fields) {
      const decode = DECODERS.get(dataTypeID)
      if (decode) decoders.push(decode)
      else this.#failure ??= new Error(`column ${name} has type ${dataTypeID}, which columns cannot have: ${this.text}`)
    }
    if (!this.#failure) {
      this.#messages.prepared.set(this.name, decoders)
      this.#expect(decoders)
    }
  }

  takeRow(view: DataView, start: number): void {
    const decoders = this.#decoders
    // Behind the number of fields.
    let at = start + 2
    for (let index = 0; index < decoders.length; index += 1) {
      const length = view.getInt32(at)
      at += 4
      const column = this.#columns[index] as unknown[]
      if (length < 0) column.push(null)
      else {
        column.push((decoders[index] as Decode)(view, at, length))
        at += length
      }
    }
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleError(error: Error): void {
    this.#messages.statement = undefined
    this.#done(error, [])
  }

  handleReadyForQuery(): void {
    this.#messages.statement = undefined
    this.#done(this.#failure, this.#columns)
  }
}

/** Runs a statement on a connection; see `Queryable.columns`. */
export function queryColumns(
  client: pg.ClientBase,
  statement: { name: string; text: string; values: readonly unknown[] },
): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | undefined, columns: unknown[][]) => (error ? reject(error) : resolve(columns))
    client.query(new ColumnsStatement(statement, (client as unknown as ColumnsClient).messages, done))
  })
}

/** The same on a connection of a pool. */
export function poolColumns(
  pool: pg.Pool,
  statement: { name: string; text: string; values: readonly unknown[] },
): Promise<unknown[][]> {
  return new Promise((resolve, reject) => {
    pool.connect((unavailable, client, release) => {
      if (!client) return reject(unavailable)
      queryColumns(client, statement).then(
        (columns) => {
          release()
          resolve(columns)
        },
        // As the pool does with statements of its own: the connection is not used again.
        (error) => {
          release(error)
          reject(error)
        },
      )
    })
  })
}
