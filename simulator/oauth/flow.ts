import { createHash, randomBytes } from 'node:crypto'
import { escaped, json, page, type Reply, redirect } from '../http.ts'
import type { Provider } from '../provider.ts'
import type { Person } from '../truth/person.ts'
import { type Client, isBasic } from './client.ts'
import { consentPage } from './consent.ts'
import type { Grant, Grants } from './grants.ts'
import type { Given, OAuthRequest, Refusal } from './rules.ts'

interface Code {
  readonly person: string
  readonly scopes: readonly string[]
  readonly redirectUri: string
  readonly challenge: string | null
  readonly offline: boolean
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
    const special = this.#special(request)
    const replaced = oauth.instead?.(path, special)
    if (replaced) return replaced
    if (path === oauth.authorizePath || path === oauth.mobilePath) {
      if (method === 'GET') return this.#authorize(request, request.query)
      if (method === 'POST') return this.#authorize(request, new URLSearchParams(request.body))
      return json(405, { error: 'method_not_allowed' }, { allow: 'GET, POST' })
    }
    if (path === oauth.tokenPath || oauth.alsoToken?.(path, settings)) {
      return method === 'POST' ? this.#token(request) : json(405, { error: 'method_not_allowed' }, { allow: 'POST' })
    }
    return oauth.other(path, special)
  }

  /** What addresses that a provider has for itself need to know. */
  #special(request: SignInRequest): OAuthRequest {
    const { method, query, address, nowMs } = request
    const form = new URLSearchParams(request.body)
    const endAll = (grants: readonly Grant[]) => {
      for (const grant of grants) this.#grants.end(grant)
      return grants.length > 0
    }
    const accountOf = ({ person }: Grant) => this.#provider.accountOf(this.#people.get(person) as Person)
    const found = (token: string) => [this.#grants.read(token)].flatMap((token) => token?.grant ?? [])
    return {
      ...{ method, form, query, address, nowMs, settings: this.#provider.settings, application: this.#client },
      client: this.#clientIn(request, form),
      bearer: /^bearer (.+)$/i.exec(request.authorization)?.[1] ?? '',
      spend: (code) => this.#codes.delete(code),
      end: (token) => endAll(found(token)),
      endAccount: (account) => endAll(this.#grants.live().filter((grant) => accountOf(grant) === account)),
      remember: (token) => this.#grants.remember('access', token, nowMs),
    }
  }

  #authorize(request: SignInRequest, query: URLSearchParams): Reply {
    const { oauth, title } = this.#provider
    const wrong = this.#clientProblem(query)
    if (wrong) return page(400, 'Not possible', `<p>${escaped(wrong)}</p>`)
    const scopes = this.#scopes(oauth.offersAll ? '' : (query.get('scope') ?? ''))
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
    const reads = scopes.map((scope) => ({
      ...{ scope, reads: oauth.scopes[scope.slice(oauth.scopePrefix.length)] ?? '' },
      ticked: oauth.unticked?.includes(scope) !== true,
    }))
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
    if (this.#provider.oauth.wantsChallenge && !query.has('code_challenge')) return 'invalid_request'
    if ((query.get('state') ?? '').length < this.#provider.oauth.minStateLength) return 'invalid_state'
    const plain = query.has('code_challenge') && query.get('code_challenge_method') !== 'S256'
    return plain ? 'invalid_request' : undefined
  }

  #scopes(asked: string): string[] | 'unknown' {
    const { scopes, scopePrefix, separator, refusesUnknownScopes, blankMeansAll } = this.#provider.oauth
    const known = Object.keys(scopes).map((scope) => scopePrefix + scope)
    const names = asked.split(separator).filter((name) => name !== '')
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
    if (oauth.memberLimitError !== null && this.#isOneTooMany(person.key))
      return back(query, { error: oauth.memberLimitError, error_description: 'Too many members' })
    const value = randomBytes(24).toString('base64url')
    const expiresMs = request.nowMs + settings.code_seconds * 1000
    const challenge = query.get('code_challenge')
    this.#codes.set(value, {
      person: person.key,
      scopes,
      redirectUri: query.get('redirect_uri') ?? '',
      challenge,
      offline: query.get('access_type') === 'offline' && query.get('prompt') === 'consent',
      expiresMs,
    })
    this.#grants.remember('code', value, request.nowMs)
    return back(query, { code: value, ...(oauth.callbackScope && { scope: scopes.join(oauth.separator) }) })
  }

  #isOneTooMany(person: string): boolean {
    const limit = this.#provider.settings.member_limit
    const members = new Set(this.#grants.live().map((grant) => grant.person))
    return limit !== null && !members.has(person) && members.size >= limit
  }

  #token(request: SignInRequest): Reply {
    const { oauth } = this.#provider
    const form = new URLSearchParams(request.body)
    const granted = this.#granted(request, form)
    const headers = { 'cache-control': 'no-store' }
    if ('error' in granted) {
      const { status = 400, error, description } = granted
      return oauth.refused?.(granted) ?? json(status, { error, error_description: description }, headers)
    }
    const { refresh } = oauth
    const first = form.get('grant_type') === 'authorization_code'
    const lasts = typeof refresh === 'boolean' ? refresh : granted.scopes.includes(refresh.scope)
    const refreshSeconds = oauth.refreshSeconds ?? 10 * 365 * 86_400
    const access = this.#accessOf(granted, request.nowMs)
    const given = {
      access: access.value,
      refresh:
        lasts && granted.offline && (first || !oauth.keepsRefresh)
          ? this.#grants.issue('refresh', granted, request.nowMs, refreshSeconds)
          : undefined,
      expiresInSeconds: access.seconds,
      scope: granted.scopes.join(oauth.separator),
      nowMs: request.nowMs,
      person: this.#people.get(granted.person) as Person,
      first,
    }
    return json(200, oauth.shape?.(given, this.#provider.settings) ?? usual(given), headers)
  }

  /** A new access token, or the one there is where a provider keeps it. */
  #accessOf(grant: Grant, nowMs: number): { value: string; seconds: number } {
    const { oauth, settings } = this.#provider
    const { newest } = grant
    const left = newest && this.#grants.access(newest.value, nowMs, false) ? (newest.expiresMs - nowMs) / 1000 : 0
    if (newest && left > (oauth.keepsAccessSeconds ?? Number.POSITIVE_INFINITY))
      return { value: newest.value, seconds: Math.floor(left) }
    const seconds = settings.access_seconds
    return { value: this.#grants.issue('access', grant, nowMs, seconds), seconds }
  }

  #granted(request: SignInRequest, form: URLSearchParams): Grant | Refusal {
    if (!request.contentType.startsWith('application/x-www-form-urlencoded'))
      return { error: 'invalid_request', description: 'The body must be application/x-www-form-urlencoded' }
    const code = this.#codes.get(form.get('code') ?? '')
    // One attempt, whatever becomes of it.
    this.#codes.delete(form.get('code') ?? '')
    if (!this.#knows(request, form)) return { status: 401, error: 'invalid_client', description: 'Unknown client' }
    const type = form.get('grant_type')
    if (type === 'refresh_token' && this.#provider.oauth.refresh !== false)
      return this.#refreshed(form.get('refresh_token') ?? '', request.nowMs)
    if (type !== 'authorization_code') return { error: 'unsupported_grant_type', description: `Not known: ${type}` }
    if (!code || code.expiresMs <= request.nowMs)
      return { error: 'invalid_grant', description: 'The code is unknown, expired or already used' }
    if (this.#provider.oauth.repeatsRedirect && form.get('redirect_uri') !== code.redirectUri)
      return { error: 'invalid_grant', description: 'The redirect_uri is not that of the authorization' }
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (code.challenge !== null && verifier !== code.challenge)
      return { error: 'invalid_grant', description: 'The code_verifier does not match' }
    if (this.#provider.oauth.memberLimitError === null && this.#isOneTooMany(code.person))
      return { status: 403, error: 'access_denied', description: 'Limit of connected people exceeded' }
    const grant = this.#grants.add(code.person, code.scopes, this.#provider.oauth.onePair)
    grant.offline = code.offline || this.#provider.oauth.refreshWantsOffline !== true
    return grant
  }

  #refreshed(token: string, nowMs: number): Grant | Refusal {
    const { oauth, settings } = this.#provider
    const graceSeconds = oauth.keepsRefresh ? Number.POSITIVE_INFINITY : settings.grace_seconds
    const grant = this.#grants.rotate(token, nowMs, graceSeconds)
    if (grant === 'reused')
      return { error: oauth.reusedRefreshError, description: 'The token was already used or revoked' }
    if (grant === 'unknown') return { error: 'invalid_grant', description: 'The token was already used or revoked' }
    return grant
  }

  #knows(request: SignInRequest, form: URLSearchParams): boolean {
    const { client } = this.#provider.oauth
    const found = this.#clientIn(request, form)
    return found !== null && (client === 'both' || client === found)
  }

  #clientIn({ authorization }: SignInRequest, form: URLSearchParams): 'form' | 'basic' | null {
    const { id, secret } = this.#client
    if (form.get('client_id') === id && form.get('client_secret') === secret) return 'form'
    return isBasic(authorization, this.#client) ? 'basic' : null
  }
}

function usual({ access, refresh, expiresInSeconds, scope }: Given): Record<string, unknown> {
  return {
    access_token: access,
    ...(refresh !== undefined && { refresh_token: refresh }),
    ...{ expires_in: expiresInSeconds, scope, token_type: 'bearer' },
  }
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
