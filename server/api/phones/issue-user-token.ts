import type { Context } from 'koa'
import { Type } from 'typebox'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { signInToken } from '../../http/console-cookie.ts'
import { authenticate } from '../../http/guards.ts'
import { route } from '../../http/route.ts'
import { Nullable, Secret, UserPath } from '../../http/schema.ts'
import { hashAppSecret } from '../applications/application.ts'
import { developerOf } from '../auth/developer.ts'
import { openPhoneSession, type Phone, TokenResponse, tokenExample } from '../auth/sessions.ts'
import { countAttempt } from '../auth/throttle.ts'
import { requireUser } from '../users/exists.ts'

const Credentials = Type.Object({
  app_id: Type.Optional(Nullable(Type.String())),
  app_secret: Type.Optional(Nullable(Secret())),
})

/** Issues the tokens of a user's phone to the backend of its app, or to a developer (contract 9.6). */
export const issueUserToken = route(
  {
    method: 'POST',
    path: '/api/v1/users/{user_id}/token',
    operationId: 'issueUserToken',
    summary: 'Issue tokens for the phone of a user',
    description:
      'Requires the credentials of an application in the body, or the token of a developer. ' +
      'The tokens work only for this user, and only for uploading and signing out.',
    tag: 'Phones',
    guard: 'app or developer',
    share: 'login',
    params: UserPath,
    body: Credentials,
    bodyOptional: true,
    bodyExample: {
      app_id: 'app_0123456789abcdef0123456789abcdef',
      app_secret: 'secret_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
    },
    response: TokenResponse,
    example: tokenExample,
    errors: {
      400: 'Neither app credentials nor a developer',
      401: 'Invalid app credentials, or no developer',
      429: 'Too many wrong credentials; Retry-After says when to try again',
    },
  },
  async ({ params, body, ctx }, deps) => {
    const { app_id: appId, app_secret: appSecret } = body
    const issuer =
      appId && appSecret ? await knownApplication(appId, appSecret, ctx, deps) : await knownDeveloper(ctx, deps)
    const tokens = await deps.db.transaction((tx) =>
      openPhoneSession(tx, deps.keys, { user_id: params.user_id, ...issuer }),
    )
    if (!tokens) {
      await requireUser(deps.db, params.user_id)
      // Deleted at this moment.
      throw errors.badApp()
    }
    return tokens
  },
)

type Issuer = Omit<Phone, 'user_id'>

/**
 * Only wrong credentials are counted: a backend signs in all of its users from one address, and a secret cannot be
 * guessed between two of them.
 */
async function knownApplication(
  appId: string,
  appSecret: string,
  { ip }: Context,
  deps: Dependencies,
): Promise<Issuer> {
  const [application] = await deps.db.query<{ id: string }>(
    'select id from application where app_id = $1 and secret_hash = $2',
    [appId, hashAppSecret(appSecret)],
  )
  if (application) return { app_id: appId, application_id: application.id, let_in_by: null }
  const limit = { name: 'app address', attempts: deps.config.loginAttemptsPerMinute, windowSeconds: 60 }
  await countAttempt(deps, limit, clientNetwork(ip))
  throw errors.badApp()
}

async function knownDeveloper(ctx: Context, deps: Dependencies): Promise<Issuer> {
  if (!ctx.get('authorization') && !signInToken(ctx, deps)) {
    throw errors.badRequest(
      'Either app credentials (app_id, app_secret) or admin authentication (Bearer token) is required',
    )
  }
  const developerId = developerOf(await authenticate('developer', ctx, deps))
  return { app_id: `admin:${developerId}`, application_id: null, let_in_by: developerId }
}
