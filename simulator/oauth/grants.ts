import { createHmac, randomBytes } from 'node:crypto'
import { secretOf } from '../random.ts'

/** A person's consent for the application. */
export interface Grant {
  readonly id: string
  readonly person: string
  /** What may be read; people can change their mind. */
  scopes: readonly string[]
  /** Counts the pairs of tokens; only those of the newest are good. */
  generation: number
  /** Until when the refresh token of the generation before is good, too. */
  graceUntilMs: number
  /** Access tokens of this generation, and of those before, are over, whatever they said. */
  expired: number
  /** The access token that was issued last. */
  newest: { value: string; expiresMs: number } | null
  ended: boolean
  /** Whether it can be refreshed, as far as the person has a say in it. */
  offline: boolean
  /** Whether a simulator before this one has issued it. */
  readonly inherited: boolean
}

/** Contents of a token. */
interface Token {
  readonly kind: 'access' | 'refresh'
  readonly grant: Grant
  readonly generation: number
  readonly expiresMs: number
}

/** A secret that somebody was given. */
export interface Secret {
  readonly kind: 'code' | 'access' | 'refresh' | 'client' | 'signing'
  readonly provider: string
  readonly value: string
  readonly issued_at: string
}

/**
 * The consents of one provider. Tokens are signed and hold what has to be known about them: a simulator that was
 * started again accepts those of the one before. To a client they are opaque.
 */
export class Grants {
  readonly #provider: string
  readonly #secrets: Secret[]
  readonly #key: string
  readonly #grants = new Map<string, Grant>()
  /** Called for each consent that ends. */
  ended: (grant: Grant) => void = () => {}
  /** What access tokens of a person say to who decodes them, where they are JWTs; undefined where they are opaque. */
  claims: (person: string) => Record<string, unknown> | undefined = () => undefined

  constructor(provider: string, seed: number, secrets: Secret[]) {
    this.#provider = provider
    this.#secrets = secrets
    this.#key = secretOf(`${provider} tokens ${seed}`)
  }

  /** All that are not ended. */
  live(): Grant[] {
    return [...this.#grants.values()].filter(({ ended }) => !ended)
  }

  /** How many people have given consent. */
  members(): number {
    return new Set(this.live().map(({ person }) => person)).size
  }

  add(person: string, scopes: readonly string[], onePair = false): Grant {
    const id = randomBytes(9).toString('base64url')
    if (onePair) for (const old of this.live()) if (old.person === person) old.ended = true
    const grant = newGrant({ id, person, scopes, generation: 1, inherited: false })
    this.#grants.set(id, grant)
    return grant
  }

  /** Ends a consent for good. */
  end(grant: Grant): void {
    if (grant.ended) return
    grant.ended = true
    this.ended(grant)
  }

  /** A token of the grant's newest generation. */
  issue(kind: Token['kind'], grant: Grant, nowMs: number, seconds: number): string {
    const { id, person, scopes, generation } = grant
    const nonce = randomBytes(6).toString('base64url')
    const expiresMs = nowMs + seconds * 1000
    const content = [kind, id, person, generation, nowMs, expiresMs, scopes.join(' '), nonce]
    const claims = kind === 'access' ? this.claims(person) : undefined
    const exp = Math.floor(expiresMs / 1000)
    const body = claims ? `${JWT}.${encoded({ ...claims, exp, content })}` : encoded(content)
    const value = `${body}.${this.#sign(body)}`
    this.remember(kind, value, nowMs)
    if (kind === 'access') grant.newest = { value, expiresMs }
    return value
  }

  /** Adds a secret to the list of all that were ever issued. */
  remember(kind: Secret['kind'], value: string, nowMs: number): void {
    this.#secrets.push({ kind, provider: this.#provider, value, issued_at: new Date(nowMs).toISOString() })
  }

  /** What a token says, good or not; undefined when it is none of ours. */
  read(value: string): Token | undefined {
    const parts = value.split('.')
    const signature = parts.pop() ?? ''
    if (signature !== this.#sign(parts.join('.'))) return undefined
    const said = JSON.parse(Buffer.from(parts.at(-1) ?? '', 'base64url').toString())
    const [kind, id, person, generation, , expiresMs, scopes] = (parts.length > 1 ? said.content : said) as Content
    let grant = this.#grants.get(id)
    if (!grant) {
      const named = scopes === '' ? [] : scopes.split(' ')
      grant = newGrant({ id, person, scopes: named, generation, inherited: true })
      this.#grants.set(id, grant)
    }
    return { kind, grant, generation, expiresMs }
  }

  /** The grant for which an access token is good now. */
  access(value: string, nowMs: number, endsOnRefresh: boolean): Grant | undefined {
    const token = this.read(value)
    if (token?.kind !== 'access' || token.grant.ended || token.expiresMs <= nowMs) return undefined
    if (token.generation <= token.grant.expired) return undefined
    return endsOnRefresh && token.generation !== token.grant.generation ? undefined : token.grant
  }

  /** Notes that an access token was used: with the newest, the refresh token before is over. */
  used(value: string): void {
    const token = this.read(value)
    if (token && token.generation === token.grant.generation) token.grant.graceUntilMs = 0
  }

  /** What becomes of a refresh token: its grant in a new generation, or why not. Grace without end: it stays good. */
  rotate(value: string, nowMs: number, graceSeconds: number): Grant | 'reused' | 'unknown' {
    const token = this.read(value)
    if (token?.kind !== 'refresh' || token.grant.ended || token.expiresMs <= nowMs) return 'unknown'
    const { grant, generation } = token
    const stays = graceSeconds === Number.POSITIVE_INFINITY
    const inGrace = stays || (generation === grant.generation - 1 && nowMs < grant.graceUntilMs)
    if (generation !== grant.generation && !inGrace) return 'reused'
    grant.generation++
    grant.graceUntilMs = nowMs + graceSeconds * 1000
    return grant
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url')
  }
}

type Content = readonly [Token['kind'], string, string, number, number, number, string]

const JWT = encoded({ alg: 'HS256', typ: 'JWT' })

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function newGrant(grant: Pick<Grant, 'id' | 'person' | 'scopes' | 'generation' | 'inherited'>): Grant {
  return { ...grant, graceUntilMs: 0, expired: 0, newest: null, ended: false, offline: true }
}
