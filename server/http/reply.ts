import type { Readable } from 'node:stream'

/** An answer other than plain JSON with the route's status. */
export class Reply {
  readonly status: number
  readonly type: string
  readonly body: string | Buffer | Readable | null
  readonly headers: Record<string, string>
  constructor(
    status: number,
    type: string,
    body: string | Buffer | Readable | null,
    headers: Record<string, string> = {},
  ) {
    this.status = status
    this.type = type
    this.body = body
    this.headers = headers
  }
}
