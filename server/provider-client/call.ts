import type { Call, Form, OAuth, Request } from '../providers/provider.ts'
import { storable } from '../text.ts'
import type { OAuthClient } from './clients.ts'
import { type Http, type HttpRequest, NoAnswer, type Received } from './http.ts'

/** A request to an address that is neither of the provider's API nor of its sign-in: it is not sent. */
export class ForbiddenAddress extends Error {
  constructor() {
    super('the address is not one of the provider')
    this.name = 'ForbiddenAddress'
  }
}

/** For whom and with what a provider is asked. */
export interface CallOptions {
  readonly http: Http
  readonly client: OAuthClient
  readonly oauth: Pick<OAuth, 'tokenUrl'>
  /** The access token of the account; null: only requests `as` others are possible. */
  readonly token: string | null
  /** That of the application, where the provider wants one (`Api.application`). */
  readonly applicationToken?: string
  /** Waits for a permit, or throws when there is none now. */
  readonly permit?: (request: Request) => Promise<void>
  /** Told of every answer: its status, or 0 for none. */
  readonly asked?: (provider: string, status: number) => void
}

/** A `Call` whose answers have their bodies. */
export interface AccountCall extends Call {
  (request: Request): Promise<Received>
}

/**
 * Makes requests to a provider, with an account's token. The call rejects with NoAnswer, with ForbiddenAddress, and
 * with what `permit` throws.
 */
export function callOf(options: CallOptions): AccountCall {
  const { http, client, oauth, permit, asked } = options
  const call = async (request: Request): Promise<Received> => {
    const prepared = httpRequest(request, options)
    await permit?.(request)
    try {
      const answer = await http.send(prepared)
      asked?.(client.id, answer.status)
      return answer
    } catch (error) {
      if (error instanceof NoAnswer) asked?.(client.id, 0)
      throw error
    }
  }
  const nowSeconds = Math.floor(Date.now() / 1000)
  return Object.assign(call, { settings: client.settings, tokenUrl: oauth.tokenUrl, nowSeconds })
}

function httpRequest(request: Request, { client, oauth, token, applicationToken }: CallOptions): HttpRequest {
  const { method = 'GET', as = 'account', query = {}, headers = {}, json } = request
  const { clientId, clientSecret } = client.settings
  const isNamed = as === 'application' && applicationToken === undefined
  const ofApplication: Form = isNamed ? { client_id: clientId, client_secret: clientSecret } : {}
  const place = as === 'account' ? (request.token ?? { in: 'header' as const, name: '' }) : undefined
  if (place && token === null) throw new Error('the request needs the token of an account')
  const ofAccount = (where: string): Form => (place?.in === where && token !== null ? { [place.name]: token } : {})
  const form = { ...request.form, ...ofApplication, ...ofAccount('form') }
  const url = addressOf(request.path, client.apiUrl, oauth.tokenUrl)
  for (const [name, value] of Object.entries({ ...query, ...ofAccount('query') })) url.searchParams.set(name, value)
  const ofApi = url.origin === new URL(client.apiUrl).origin ? client.provider.api.headers?.(client.settings) : {}
  const sent = { accept: 'application/json', 'accept-encoding': 'gzip, br', ...ofApi, ...headers }
  const bearer = place?.in === 'header' ? token : as === 'application' ? applicationToken : undefined
  if (bearer) Object.assign(sent, { authorization: `Bearer ${bearer}` })
  const how = client.provider.api.http2 ? { http2: true } : {}
  if (json !== undefined) {
    return { ...how, method, url, headers: { ...sent, 'content-type': 'application/json' }, body: JSON.stringify(json) }
  }
  if (Object.keys(form).length === 0 && !request.form) return { ...how, method, url, headers: sent }
  const type = 'application/x-www-form-urlencoded'
  return { ...how, method, url, headers: { ...sent, 'content-type': type }, body: new URLSearchParams(form).toString() }
}

/**
 * The address of a path below the API, or of an absolute one at its origin or that of the token URL: tokens go nowhere
 * else, whatever a provider's answer names as its next page. @throws ForbiddenAddress
 */
function addressOf(path: string, apiUrl: string, tokenUrl: string): URL {
  const text = path.startsWith('/') ? `${apiUrl}${path}` : path
  const url = URL.canParse(text) ? new URL(text) : undefined
  const known = [apiUrl, tokenUrl].some((one) => new URL(one).origin === url?.origin)
  if (!url || !known || url.username !== '' || url.password !== '') throw new ForbiddenAddress()
  return url
}

/** Bytes of an answer that are kept to explain a failure. */
const EXCERPT_CHARACTERS = 2_000
/** What stands in place of a secret. */
const CUT = '[cut]'

/**
 * The beginning of an answer, or of any text, as it can be stored and without the secrets that were sent, in any spelling a
 * URL has for them.
 */
export function excerpt(text: string, secrets: readonly (string | null)[], characters = EXCERPT_CHARACTERS): string {
  const known = secrets.filter((secret): secret is string => secret !== null && secret !== '')
  const longest = Math.max(0, ...known.map((secret) => encodeURIComponent(secret).length))
  let clean = text.slice(0, characters + longest)
  for (const secret of known) {
    for (const spelling of new Set([secret, encodeURIComponent(secret)])) clean = clean.replaceAll(spelling, CUT)
  }
  return storable(clean.slice(0, characters))
}
