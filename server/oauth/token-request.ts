import { excerpt } from '../provider-client/call.ts'
import type { OAuthClient } from '../provider-client/clients.ts'
import { type Http, NoAnswer, type Received } from '../provider-client/http.ts'
import type { Form, OAuth, Refusal, Tokens } from '../providers/provider.ts'
import { retryAfterSeconds } from '../webhooks/schedule.ts'

/** What a token endpoint says: tokens, a refusal, or neither at this time. */
export type TokenAnswer =
  | { readonly kind: 'tokens'; readonly tokens: Tokens }
  | { readonly kind: 'refusal'; readonly refusal: Refusal; readonly text: string }
  | { readonly kind: 'later'; readonly text: string; readonly afterSeconds: number | null }

interface TokenRequest {
  readonly http: Http
  readonly client: OAuthClient
  readonly oauth: OAuth
  /** `grant_type` and its fields. */
  readonly form: Form
  readonly asked: (provider: string, status: number) => void
}

/**
 * Asks a token endpoint (RFC 6749, 3.2), on a connection of its own, so that an end of the connection means that the
 * answer was lost. The reading is lenient: an answer with a new refresh token must not be refused for a missing
 * `token_type`, a number in quotes or an identity token of no interest, since the old token is dead by then.
 * @throws NoAnswer
 */
export async function requestTokens({ http, client, oauth, form, asked }: TokenRequest): Promise<TokenAnswer> {
  const { clientId, clientSecret } = client.settings
  const basic = oauth.client === 'basic'
  const headers: Form = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...(basic && { authorization: basicCredentials(clientId, clientSecret) }),
  }
  const fields = { ...form, ...(!basic && { client_id: clientId, client_secret: clientSecret }) }
  const body = new URLSearchParams(fields).toString()
  try {
    const answer = await http.send({
      ...{ method: 'POST', url: new URL(oauth.tokenUrl), headers, body, ownConnection: true },
    })
    asked(client.id, answer.status)
    return readAnswer(answer, [clientSecret, form.code ?? null, form.refresh_token ?? null, form.code_verifier ?? null])
  } catch (error) {
    if (error instanceof NoAnswer) asked(client.id, 0)
    throw error
  }
}

/** Client id and secret are form-encoded first (RFC 6749, 2.3.1). */
function basicCredentials(id: string, secret: string): string {
  const encoded = [id, secret].map((part) => new URLSearchParams({ '': part }).toString().slice(1))
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`
}

function readAnswer(answer: Received, secrets: readonly (string | null)[]): TokenAnswer {
  const { status, headers, json } = answer
  const fields = isObject(json) ? json : {}
  const access = nonEmpty(fields.access_token)
  if (status >= 200 && status < 300 && access !== null) {
    const seconds = Number(fields.expires_in)
    const tokens = {
      access,
      accessSeconds: fields.expires_in !== null && seconds > 0 ? Math.min(Math.floor(seconds), MAX_SECONDS) : null,
      refresh: nonEmpty(fields.refresh_token),
      scope: scopeOf(fields.scope),
      answer: json,
    }
    return { kind: 'tokens', tokens }
  }
  const error = nonEmpty(fields.error)
  const description = nonEmpty(fields.error_description)
  const said = [error, description].filter((part) => part !== null).join(': ')
  const text = excerpt(said || `the answer has status ${status} and no tokens`, secrets, TEXT_CHARACTERS)
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const asked = headers['retry-after']
    const afterSeconds = (asked && retryAfterSeconds(asked, headers.date, Date.now())) || null
    return { kind: 'later', text, afterSeconds }
  }
  return { kind: 'refusal', refusal: { status, error, description }, text }
}

/** Of what a provider says; more is not repeated. */
const TEXT_CHARACTERS = 300
/** A century; beyond it the database's dates would end. */
const MAX_SECONDS = 3_153_600_000

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
const nonEmpty = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)

/** Some list the names. */
const scopeOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string').join(' ') : nonEmpty(value)
