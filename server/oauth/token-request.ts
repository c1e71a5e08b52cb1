import { excerpt } from '../provider-client/call.ts'
import type { OAuthClient } from '../provider-client/clients.ts'
import { type Http, NoAnswer } from '../provider-client/http.ts'
import { basicCredentials } from '../providers/basic-credentials.ts'
import type { Answer, Form, OAuth, Refusal, Tokens } from '../providers/provider.ts'
import { storable } from '../text.ts'
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
 * Asks a token endpoint (RFC 6749, 3.2). The request has a connection of its own: if that ends early, the answer was lost.
 * Answers are read leniently. The old refresh token is dead once a new one was issued, so the new one must not be lost to
 * a missing `token_type`, a number in quotes or an unused identity token.
 * @throws NoAnswer
 */
export async function requestTokens({ http, client, oauth, form, asked }: TokenRequest): Promise<TokenAnswer> {
  const { clientId, clientSecret } = client.settings
  const basic = oauth.client === 'basic'
  const headers: Form = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...(basic && { authorization: basicCredentials(client.settings) }),
  }
  const { envelope } = oauth
  const credentials = basic ? {} : { client_id: clientId, client_secret: clientSecret }
  const fields = { ...envelope?.form, ...form, ...credentials }
  const body = new URLSearchParams(fields).toString()
  try {
    const answer = await http.send({
      ...{ method: 'POST', url: new URL(oauth.tokenUrl), headers, body, ownConnection: true },
      ...(client.provider.api.http2 && { http2: true }),
    })
    asked(client.id, answer.status)
    const opened = envelope ? envelope.open(answer) : answer
    const secrets = [clientSecret, form.code ?? null, form.refresh_token ?? null, form.code_verifier ?? null]
    return readAnswer(opened, oauth, secrets)
  } catch (error) {
    if (error instanceof NoAnswer) asked(client.id, 0)
    throw error
  }
}

function readAnswer(answer: Answer, { errorIn }: OAuth, secrets: readonly (string | null)[]): TokenAnswer {
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
  const error = nonEmpty(fields.error) ?? errorIn?.(json) ?? (status === 410 ? 'gone' : null)
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

/** Characters of a provider's text that errors repeat. */
const TEXT_CHARACTERS = 300
/** A century: much longer ends beyond the dates of the database. */
const MAX_SECONDS = 3_153_600_000

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
const nonEmpty = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)

/** Some providers send a list of names. */
const scopeOf = (value: unknown) => {
  const names = Array.isArray(value) ? value.filter((name) => typeof name === 'string').join(' ') : nonEmpty(value)
  return names && storable(names)
}
