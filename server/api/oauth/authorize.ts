import { type Static, Type } from 'typebox'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { wantsPage } from '../../http/page.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { Provider, Secret, Uuid } from '../../http/schema.ts'
import { markBrowser } from '../../oauth/browser.ts'
import { authorize } from '../../oauth/flow.ts'
import { type Link, readLinkToken, useLinkToken } from '../../oauth/link-token.ts'
import { checkRedirect } from '../../oauth/redirect.ts'
import { requireUser } from '../users/exists.ts'
import { connectable } from './connectable.ts'
import { failurePage } from './failure-page.ts'

/** Path of what belongs to one provider. */
export const ProviderPath = Type.Object({ provider: Provider() })

/** A redirect address as clients give it. */
export const RedirectUri = () =>
  Type.Optional(
    Type.String({
      maxLength: 2_000,
      description: 'Where the browser is sent, unchanged, once the provider is connected',
    }),
  )

const Query = Type.Object({
  user_id: Type.Optional(Uuid({ description: 'Required without link_token' })),
  redirect_uri: RedirectUri(),
  link_token: Type.Optional(Secret({ description: 'In place of a credential: of POST /users/{user_id}/link-tokens' })),
})

/** Begins the connection of a user to a provider (contract 6.4). */
export const authorizeProvider = route(
  {
    method: 'GET',
    path: '/api/v1/oauth/{provider}/authorize',
    operationId: 'authorizeProvider',
    summary: 'Begin the connection of a user to a provider',
    description:
      'Send the person to authorization_url within 15 minutes. A browser that follows a link with a link_token is ' +
      'sent there at once, and gets errors as a page.',
    tag: 'Providers',
    guard: 'key or link token',
    params: ProviderPath,
    query: Query,
    share: 'write',
    response: Type.Object({ authorization_url: Type.String(), state: Type.String() }, { title: 'Authorization' }),
    example: {
      authorization_url: 'https://provider.example/oauth/authorize?response_type=code&client_id=…&state=Zk1x…',
      state: 'Zk1xM0dPZ1F0bG5sV0ZtZ0hXc2pQd0h5c1ZrbG9xZ0E',
    },
    redirects: 'A browser with a link: on to the provider',
    failurePage,
    errors: { 400: 'The provider cannot be connected, or a redirect_uri that is not allowed', 404: 'Unknown user' },
  },
  async ({ params, query, auth, ctx }, deps) => {
    const link = auth.kind === 'link' ? await linkOf(query.link_token, params.provider, deps) : undefined
    const { userId, redirectUri } = link ?? asked(query)
    const client = await connectable(deps, params.provider)
    await requireUser(deps.db, userId)
    if (redirectUri !== null) checkRedirect(redirectUri, deps.config)
    // A mail scanner looks whether the address exists: the link is the person's.
    if (link && ctx.method === 'HEAD') return new Reply(200, 'text/plain', '')
    const isBrowser = link !== undefined && wantsPage(ctx)
    const browser = isBrowser ? markBrowser(ctx, deps.config) : null
    const { url, state } = await deps.db.transaction(async (tx) => {
      if (link && !(await useLinkToken(tx, link.id))) throw errors.badLink('link_used')
      return authorize({ db: tx, keys: deps.keys }, client, { userId, provider: client.id, redirectUri, browser })
    })
    // The provider's page must not learn of the link that led there.
    if (isBrowser) return new Reply(303, 'text/plain', '', { Location: url, 'Referrer-Policy': 'no-referrer' })
    return { authorization_url: url, state }
  },
)

/** @throws AppError bad_link, link_expired */
async function linkOf(token: string | undefined, provider: string, { keys }: Pick<Dependencies, 'keys'>) {
  const link = token === undefined ? undefined : await readLinkToken(keys, token)
  if (link?.provider !== provider) throw errors.badLink('bad_link')
  return link
}

/** @throws AppError invalid */
function asked(query: Static<typeof Query>): Pick<Link, 'userId' | 'redirectUri'> {
  const { user_id: userId, redirect_uri: redirectUri = null } = query
  if (userId !== undefined) return { userId, redirectUri }
  throw errors.invalid([{ type: 'missing', loc: ['query', 'user_id'], msg: 'Field required', input: null }])
}
