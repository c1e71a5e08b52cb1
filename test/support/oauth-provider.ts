// A small OAuth provider of the tests' own (RFC 6749, RFC 7636), with its connector and with faults.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { ProviderName } from '../../server/catalogue/providers.ts'
import type { ProviderConfig } from '../../server/config.ts'
import type { OAuth, Provider } from '../../server/providers/provider.ts'

/** A request as it was received. */
export interface Asked {
  method: string
  path: string
  authorization: string
  form: Record<string, string>
}

/** Answers a request in place of the provider; returns false to leave it to the provider. */
export type Fault = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>

interface Grant {
  account: string
  scope: string | undefined
  /** Of a code: its challenge and address. */
  challenge?: string | undefined
  redirectUri?: string | undefined
}

/** What a person does on the consent page. */
export interface Consent {
  account?: string
  /** What they allow; everything by default. */
  scope?: string
  /** Added to the callback. */
  more?: Record<string, string>
}

/** A running provider. */
export interface OAuthProvider {
  origin: string
  /** The connector, as a folder exports it. */
  connector: Provider
  /** What an operator configures. */
  config: ProviderConfig
  asked: Asked[]
  /** Every code, token and secret that it ever issued. */
  issued: Set<string>
  fault: Fault | undefined
  /** How its tokens behave; seconds null: it does not say. */
  tokens: {
    rotates: boolean
    seconds: number | null
    refreshes: boolean
    scopeInAnswer: boolean
    id: string | undefined
  }
  /** The person consents: returns path and query of our callback, with the code. */
  consent(authorizationUrl: string, consent?: Consent): string
  /** Ends the grants of an account, as its person can on the provider's pages. */
  revoke(account: string): void
  tokenRequests(): Asked[]
  /** Whether an access token works. */
  accepts(token: string): boolean
}

/** How the connector differs from the usual. */
export type Variant = Partial<Omit<OAuth, 'identify' | 'leave'>> & { leaves?: boolean }

/** The connector of a provider at an origin. */
export function connectorOf(id: ProviderName, origin: string, { leaves = true, ...variant }: Variant = {}): Provider {
  const oauth: OAuth = {
    ...{ authorizeUrl: `${origin}/authorize`, tokenUrl: `${origin}/token`, client: 'body', pkce: true },
    ...{
      scopes: ['x:read', 'x:sleep'],
      separator: ' ',
      scopePrefix: 'x:',
      needs: [{ anyOf: ['read'], words: 'your readings' }],
    },
    refresh: { rotates: true },
    async identify(_, call) {
      const { status, json } = await call({ path: '/me' })
      const { id, name } = (json ?? {}) as { id?: string; name?: string }
      if (status !== 200 || id === undefined) throw new Error(`it answered ${status}`)
      return { id: id === '' ? null : id, username: name ?? null, zone: null }
    },
    ...(leaves && { leave: (_, call) => call({ method: 'DELETE', path: '/me' }) }),
    ...variant,
  }
  const brings = { series: [], workouts: [], nights: [], scores: [] }
  return { id, api: { url: origin, budgets: [] }, oauth: () => oauth, map() {}, brings }
}

/** Starts a provider on a free port of 127.0.0.1; it ends with the test. */
export async function startProvider(t: Test, id: ProviderName, variant: Variant = {}): Promise<OAuthProvider> {
  const secret = (name: string) => `${name}.${randomBytes(18).toString('base64url')}~+/`
  const clientSecret = secret('client')
  const codes = new Map<string, Grant>()
  const access = new Map<string, Grant>()
  const refresh = new Map<string, Grant>()
  const issue = (name: string, to: Map<string, Grant>, grant: Grant) => {
    const token = secret(name)
    provider.issued.add(token)
    to.set(token, grant)
    return token
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connector = connectorOf(id, origin, variant)
  const { client, pkce } = connector.oauth({ more: {} })
  const provider: OAuthProvider = {
    ...{ origin, connector, asked: [], issued: new Set([clientSecret]), fault: undefined },
    config: { clientId: `client of ${id}`, clientSecret },
    tokens: { rotates: true, seconds: 3600, refreshes: true, scopeInAnswer: true, id: undefined },
    consent(authorizationUrl, { account = 'ada', scope, more = {} } = {}) {
      const { searchParams: asked } = new URL(authorizationUrl)
      const fields = Object.fromEntries(asked)
      if (fields.client_id !== provider.config.clientId || fields.response_type !== 'code')
        throw new Error('bad client')
      const redirectUri = fields.redirect_uri ?? ''
      const challenge = pkce ? fields.code_challenge : undefined
      const code = issue('code', codes, { account, scope: scope ?? fields.scope, challenge, redirectUri })
      const callback = new URL(redirectUri)
      for (const [name, value] of Object.entries({ code, state: fields.state ?? '', ...more }))
        callback.searchParams.set(name, value)
      return `${callback.pathname}${callback.search}`
    },
    revoke(account) {
      for (const tokens of [access, refresh])
        for (const [token, grant] of tokens) if (grant.account === account) tokens.delete(token)
    },
    tokenRequests: () => provider.asked.filter(({ path }) => path === '/token'),
    accepts: (token) => access.has(token),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of request) body += chunk
    const asked = {
      ...{ method: request.method ?? '', path: request.url ?? '', authorization: request.headers.authorization ?? '' },
      form: Object.fromEntries(new URLSearchParams(body)),
    }
    provider.asked.push(asked)
    if (await provider.fault?.(asked, response)) return
    const [status, json] = asked.path === '/token' ? tokenAnswer(asked) : accountAnswer(asked)
    response.writeHead(status, { 'content-type': 'application/json' }).end(json && JSON.stringify(json))
  }

  function tokenAnswer({ form, authorization }: Asked): [number, object] {
    if (!isClient(form, authorization)) return [401, { error: 'invalid_client' }]
    const known = form.grant_type === 'authorization_code' ? codes : refresh
    const sent = form.code ?? form.refresh_token ?? ''
    const grant = known.get(sent)
    const verified =
      grant?.challenge === undefined ||
      grant.challenge ===
        createHash('sha256')
          .update(form.code_verifier ?? '')
          .digest('base64url')
    if (!grant || !verified || (form.code && form.redirect_uri !== grant.redirectUri))
      return [400, { error: 'invalid_grant', error_description: `of ${sent}` }]
    // Of a code only who granted what, so that tokens of one consent share it.
    const granted = form.code ? { account: grant.account, scope: grant.scope } : grant
    const { rotates, seconds, refreshes, scopeInAnswer } = provider.tokens
    const replaced = form.code !== undefined || rotates
    if (replaced) known.delete(sent)
    if (rotates) for (const [token, one] of access) if (one === grant) access.delete(token)
    return [
      200,
      {
        access_token: issue('access', access, granted),
        token_type: 'bearer',
        ...(seconds !== null && { expires_in: seconds }),
        ...(refreshes && replaced && { refresh_token: issue('refresh', refresh, granted) }),
        ...(scopeInAnswer && { scope: granted.scope }),
      },
    ]
  }

  function isClient(form: Record<string, string>, authorization: string): boolean {
    const { clientId = '' } = provider.config
    if (client === 'body') return form.client_id === clientId && form.client_secret === clientSecret
    const encoded = [clientId, clientSecret].map((part) => encodeURIComponent(part).replaceAll('%20', '+')).join(':')
    return authorization === `Basic ${Buffer.from(encoded).toString('base64')}`
  }

  function accountAnswer({ method, authorization }: Asked): [number, object | undefined] {
    const grant = access.get(authorization.replace('Bearer ', ''))
    if (!grant) return [401, { error: 'invalid_token' }]
    if (method !== 'DELETE') return [200, { id: provider.tokens.id ?? grant.account, name: `Name of ${grant.account}` }]
    provider.revoke(grant.account)
    return [204, undefined]
  }

  return provider
}
