// What granting access brings: tokens, or why there are none, and whose account it is.

/** What a token endpoint grants. */
export interface Tokens {
  readonly access: string
  /** How long it is valid; null when the provider does not say. */
  readonly accessSeconds: number | null
  /** Null: none was given. */
  readonly refresh: string | null
  /** As the provider writes it; null when it does not say. */
  readonly scope: string | null
  /** The whole answer: some providers name the account in it. */
  readonly answer: unknown
}

/** What a token endpoint says instead (RFC 6749, 5.2). */
export interface Refusal {
  readonly status: number
  /** `invalid_grant` and so on; null when the answer has no such field. */
  readonly error: string | null
  readonly description: string | null
}

/** A person's account at a provider. */
export interface Identity {
  /** Null: not known. */
  readonly id: string | null
  /** For people to recognise it by. */
  readonly username: string | null
  /** Time zone of the profile: an IANA name, or an offset such as +02:00. */
  readonly zone: string | null
  /**
   * What was granted, where the account says that and the tokens do not; null: it is not known, so everything. Absent: as
   * the tokens say.
   */
  readonly scope?: string | null
}

/** An account with our own name for it, the id of its grant. */
export interface Account extends Identity {
  readonly ref: string
}
