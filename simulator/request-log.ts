/** A request as it was answered. Tokens, codes and secrets are not in it. */
export interface Entry {
  readonly number: number
  readonly at: string
  readonly provider: string | null
  readonly method: string
  readonly path: string
  readonly query: Record<string, string>
  /** Of requests to a token endpoint. */
  readonly grant_type: string | null
  readonly person: string | null
  /** Id of the consent whose token came along. */
  readonly grant: string | null
  /** Kinds of faults that struck. */
  readonly faults: readonly string[]
  /** Null: the connection was cut before. */
  readonly status: number | null
  readonly bytes: number
}

/** What is kept; older requests are forgotten. */
const KEPT = 200_000
const SECRET = new Set([
  ...['code', 'access_token', 'refresh_token', 'client_secret', 'token', 'signature', 'nonce', 'assertion'],
  ...['callbackurl', 'new_callbackurl'],
])

/** The requests to all providers, oldest first. */
export class RequestLog {
  #entries: Entry[] = []
  #last = 0

  add({ query, ...entry }: Omit<Entry, 'number' | 'query'> & { query: URLSearchParams }): void {
    const shown = Object.fromEntries([...query].map(([name, value]) => [name, SECRET.has(name) ? '…' : value]))
    this.#entries.push({ number: ++this.#last, ...entry, query: shown })
    if (this.#entries.length > KEPT * 1.1) this.#entries.splice(0, this.#entries.length - KEPT)
  }

  /** Requests after a number, of one provider or of all. */
  list(after: number, provider: string | null): Entry[] {
    return this.#entries.filter((one) => one.number > after && (provider === null || one.provider === provider))
  }

  clear(): void {
    this.#entries = []
  }
}
