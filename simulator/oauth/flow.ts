import { createHash, randomBytes } from 'node:crypto'
import { escaped, json, page, type Reply, redirect } from '../http.ts'
import type { Provider } from '../provider.ts'
import type { Person } from '../truth/person.ts'
import { consentPage } from './consent.ts'
import type { Grant, Grants } from './grants.ts'

/** The application that the service is, at one provider. */
export interface Client {
  readonly id: string
  readonly secret: string
}

interface Code {
  readonly person: string
  readonly scopes: readonly string[]
  readonly redirectUri: string
  readonly challenge: string | null
  readonly expiresMs: number
}

/** A request to a provider's sign-in, by its path below the provider's segment. */
export interface SignInRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly contentType: string
  readonly authorization: string
  readonly body: string
  readonly address: string
  readonly nowMs: number
}

/** Why the token endpoint refuses. */
type Refusal = { error: string; description: string; status?: number }

/** Sign-in at one provider: consent, codes, tokens. */
export class SignIn {
  readonly #provider: Provider
  readonly #client: Client
  readonly #people: ReadonlyMap<string, Person>
  readonly #grants: Grants
  readonly #codes = new Map<string, Code>()

  constructor(provider: Provider, client: Client, people: ReadonlyMap<string, Person>, grants: Grants) {
    this.#provider = provider
    this.#client = client
    this.#people = people
    this.#grants = grants
  }

  /** Answers a request; undefined when the path has nothing to do with signing in. */
  answer(request: SignInRequest): Reply | undefined {
    const { oauth, settings } = this.#provider
    const { method, path } = request
    if (path === oauth.authorizePath) {
      if (method === 'GET') return this.#authorize(request, request.query)
      if (method === 'POST') return this.#authorize(request, new URLSearchParams(request.body))
      return json(405, { error: 'method_not_allowed' }, { allow: 'GET, POST' })
    }
    if (path === oauth.tokenPath || oauth.alsoToken?.(path, settings)) {
      return method === 'POST' ? this.#token(request) : json(405, { error: 'method_not_allowed' }, { allow: 'POST' })
    }
    const form = new URLSearchParams(request.body)
    return oauth.other(path, {
      ...{ method, form, query: request.query, address: request.address, settings },
      clientIsKnown: this.#knows(request, form),
      spend: (code) => this.#codes.delete(code),
      end: (token) => {
        const found = this.#grants.read(token)
        if (found) found.grant.ended = true
      },
    })
  }

  #authorize(request: SignInRequest, query: URLSearchParams): Reply {
    const { oauth, title } = this.#provider
    const wrong = this.#clientProblem(query)
    if (wrong) return page(400, 'Not possible', `<p>${escaped(wrong)}</p>`)
    const scopes = this.#scopes(query.get('scope') ?? '')
    const problem = scopes === 'unknown' ? 'invalid_scope' : this.#problem(query)
    if (problem || scopes === 'unknown')
      return back(query, { error: problem ?? '', error_description: 'Request refused' })
    if (request.method === 'POST') {
      const decided = query.get('decision') === 'allow' ? this.#people.get(query.get('person') ?? '') : 'denied'
      const granted = scopes.filter((scope) => query.getAll('granted').includes(scope))
      return this.#decide(request, query, decided, granted)
    }
    if (query.has('auto')) {
      const left = new Set((query.get('without') ?? '').split(/[ ,]+/).map((scope) => oauth.scopePrefix + scope))
      const granted = scopes.filter((scope) => !left.has(scope))
      return this.#decide(request, query, query.has('deny') ? 'denied' : this.#chosen(query.get('auto') ?? ''), granted)
    }
    const people = [...this.#people.values()]
    const reads = scopes.map((scope) => ({ scope, reads: oauth.scopes[scope.slice(oauth.scopePrefix.length)] ?? '' }))
    return consentPage({ title, action: request.address + oauth.authorizePath, people, scopes: reads, query })
  }

  /** `ana`, or `3` for the third; `person` for the first. */
  #chosen(auto: string): Person | undefined {
    if (auto === 'person' || auto === '') return [...this.#people.values()][0]
    return this.#people.get(auto) ?? (/^\d+$/.test(auto) ? [...this.#people.values()][Number(auto) - 1] : undefined)
  }

  /** What must not be answered by going back: the address may be somebody else's. */
  #clientProblem(query: URLSearchParams): string | undefined {
    const { redirect_uris: registered } = this.#provider.settings
    const uri = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== this.#client.id) return 'There is no application with this client_id.'
    if (registered ? registered.includes(uri) : isLocal(uri)) return undefined
    return `The redirect_uri is not registered for this application: ${uri}`
  }

  #problem(query: URLSearchParams): string | undefined {
    if (query.get('response_type') !== 'code') return 'unsupported_response_type'
    if ((query.get('state') ?? '').length < this.#provider.oauth.minStateLength) return 'invalid_state'
    const plain = query.has('code_challenge') && query.get('code_challenge_method') !== 'S256'
    return plain ? 'invalid_request' : undefined
  }

  #scopes(asked: string): string[] | 'unknown' {
    const { scopes, scopePrefix, refusesUnknownScopes, blankMeansAll } = this.#provider.oauth
    const known = Object.keys(scopes).map((scope) => scopePrefix + scope)
    const names = asked.split(' ').filter((name) => name !== '')
    if (names.length === 0 && blankMeansAll) return known
    if (refusesUnknownScopes && names.some((name) => !known.includes(name))) return 'unknown'
    return known.filter((scope) => names.includes(scope))
  }

  #decide(
    request: SignInRequest,
    query: URLSearchParams,
    person: Person | 'denied' | undefined,
    scopes: string[],
  ): Reply {
    const { oauth, settings } = this.#provider
    if (person === 'denied') return back(query, { error: 'access_denied', error_description: 'The person denied it' })
    if (!person) return page(400, 'Not possible', '<p>There is no such person.</p>')
    const members = new Set(this.#grants.live().map((grant) => grant.person))
    if (settings.member_limit !== null && !members.has(person.key) && members.size >= settings.member_limit) {
      return back(query, { error: oauth.memberLimitError, error_description: 'Too many members' })
    }
    const value = randomBytes(24).toString('base64url')
    const expiresMs = request.nowMs + settings.code_seconds * 1000
    const challenge = query.get('code_challenge')
    this.#codes.set(value, {
      person: person.key,
      scopes,
      redirectUri: query.get('redirect_uri') ?? '',
      challenge,
      expiresMs,
    })
    this.#grants.remember('code', value, request.nowMs)
    return back(query, { code: value, ...(oauth.callbackScope && { scope: scopes.join(' ') }) })
  }

  #token(request: SignInRequest): Reply {
    const form = new URLSearchParams(request.body)
    const given = this.#granted(request, form)
    const headers = { 'cache-control': 'no-store' }
    if ('error' in given) {
      const { status = 400, error, description } = given
      return json(status, { error, error_description: description }, headers)
    }
    const { oauth, settings } = this.#provider
    const seconds = settings.access_seconds
    const lasts = oauth.offlineScope === null || given.scopes.includes(oauth.offlineScope)
    const answer = {
      access_token: this.#grants.issue('access', given, request.nowMs, seconds),
      ...(lasts && { refresh_token: this.#grants.issue('refresh', given, request.nowMs, 10 * 365 * 86_400) }),
      ...{ expires_in: seconds, scope: given.scopes.join(' '), token_type: 'bearer' },
    }
    return json(200, answer, headers)
  }

  #granted(request: SignInRequest, form: URLSearchParams): Grant | Refusal {
    if (!request.contentType.startsWith('application/x-www-form-urlencoded'))
      return { error: 'invalid_request', description: 'The body must be application/x-www-form-urlencoded' }
    const code = this.#codes.get(form.get('code') ?? '')
    // One attempt, whatever becomes of it.
    this.#codes.delete(form.get('code') ?? '')
    if (!this.#knows(request, form)) return { status: 401, error: 'invalid_client', description: 'Unknown client' }
    const type = form.get('grant_type')
    if (type === 'refresh_token') return this.#refreshed(form.get('refresh_token') ?? '', request.nowMs)
    if (type !== 'authorization_code') return { error: 'unsupported_grant_type', description: `Not known: ${type}` }
    if (!code || code.expiresMs <= request.nowMs)
      return { error: 'invalid_grant', description: 'The code is unknown, expired or already used' }
    if (form.get('redirect_uri') !== code.redirectUri)
      return { error: 'invalid_grant', description: 'The redirect_uri is not that of the authorization' }
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (code.challenge !== null && verifier !== code.challenge)
      return { error: 'invalid_grant', description: 'The code_verifier does not match' }
    return this.#grants.add(code.person, code.scopes)
  }

  #refreshed(token: string, nowMs: number): Grant | Refusal {
    const { oauth, settings } = this.#provider
    const grant = this.#grants.rotate(token, nowMs, settings.grace_seconds)
    if (grant === 'reused')
      return { error: oauth.reusedRefreshError, description: 'The token was already used or revoked' }
    if (grant === 'unknown') return { error: 'invalid_grant', description: 'The token was already used or revoked' }
    return grant
  }

  #knows({ authorization }: SignInRequest, form: URLSearchParams): boolean {
    const { id, secret } = this.#client
    if (form.get('client_id') === id && form.get('client_secret') === secret) return true
    if (!this.#provider.oauth.basic || !/^basic /i.test(authorization)) return false
    const [name = '', password = ''] = Buffer.from(authorization.slice(6), 'base64').toString().split(':')
    return decoded(name) === id && decoded(password) === secret
  }
}

/** Text that was encoded as in a form. */
function decoded(text: string): string | null {
  return new URLSearchParams(`text=${text}`).get('text')
}

/** An address on this machine: what an application that is being made uses. */
function isLocal(uri: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, hostname, hash } = new URL(uri)
  return /^https?:$/.test(protocol) && ['localhost', '127.0.0.1', '[::1]'].includes(hostname) && hash === ''
}

/** Back to the application, with its state. */
function back(query: URLSearchParams, found: Record<string, string>): Reply {
  const url = new URL(query.get('redirect_uri') ?? '')
  for (const [name, value] of Object.entries(found)) url.searchParams.set(name, value)
  for (const name of ['state', 'iss']) if (query.has(name)) url.searchParams.set(name, query.get(name) ?? '')
  return redirect(url.href)
}
