import type { Context } from 'koa'
import type { Dependencies } from '../dependencies.ts'
import { errors } from '../errors.ts'
import { checkUuid } from './formats.ts'
import { type AccessToken, verifyAccessToken } from './tokens.ts'

/** Who may call a route (contract 1.6). `app or developer` is for the route to decide: the application is in its body. */
export type Guard = 'key' | 'developer' | 'sdk' | 'sdk or key' | 'app or developer' | 'public'

/** Who calls. */
export type Auth =
  | { kind: 'developer'; developerId: string }
  | { kind: 'key'; keyId: string }
  | { kind: 'sdk'; userId: string }
  | { kind: 'public' }

type SdkToken = Extract<AccessToken, { scope: 'sdk' }>

/** Header that released SDKs send their API key in; accepted below `/sdk` and where they sign out. */
const SDK_KEY_HEADER = 'x-open-wearables-api-key'

/**
 * Lets a request through its guard or throws the 401 or 403 of contract 1.6, with its exact text and precedence:
 * a bearer token is tried first, and one that does not validate is ignored when an API key is present.
 */
export async function authenticate(guard: Guard, ctx: Context, deps: Dependencies): Promise<Auth> {
  if (guard === 'public' || guard === 'app or developer') return { kind: 'public' }
  const token = await bearerToken(ctx, deps)
  if (guard === 'developer') {
    if (token?.scope === 'sdk') throw errors.sdkTokenRefused()
    const developer = await knownDeveloper(token, deps)
    if (!developer) throw errors.notDeveloper()
    return developer
  }
  const key = apiKey(guard, ctx, deps)
  if (guard === 'sdk') {
    if (token?.scope === 'sdk') return sdkUser(token, ctx, deps)
    if (!key) throw errors.noSdkCredential()
    return knownKey(key, deps)
  }
  if (guard === 'sdk or key' && token?.scope === 'sdk') return sdkUser(token, ctx, deps)
  const developer = await knownDeveloper(token, deps)
  if (developer) return developer
  if (key) return knownKey(key, deps)
  throw errors.noCredential()
}

async function bearerToken(ctx: Context, deps: Dependencies): Promise<AccessToken | undefined> {
  const [scheme = '', token] = ctx.get('authorization').split(' ')
  return scheme.toLowerCase() === 'bearer' && token ? verifyAccessToken(deps.keys, token) : undefined
}

/** A deleted developer's token, or one from before the last change of password, counts as invalid. */
async function knownDeveloper(token: AccessToken | undefined, deps: Dependencies): Promise<Auth | undefined> {
  if (token?.scope !== 'developer') return undefined
  const [row] = await deps.gates.guard.run('', () =>
    deps.db.query<{ id: string }>('select id from developer where id = $1 and tokens_valid_from <= to_timestamp($2)', [
      token.developerId,
      token.issuedAt,
    ]),
  )
  return row ? { kind: 'developer', developerId: row.id } : undefined
}

function apiKey(guard: Guard, ctx: Context, deps: Dependencies): string | undefined {
  const fromSdk = guard === 'sdk or key' || ctx.path.startsWith('/api/v1/sdk/')
  const names = fromSdk ? [...deps.config.apiKeyHeaders, SDK_KEY_HEADER] : deps.config.apiKeyHeaders
  for (const name of names) {
    const value = ctx.get(name).trim()
    if (value) return value
  }
  return undefined
}

async function knownKey(key: string, deps: Dependencies): Promise<Auth> {
  const keyId = await deps.apiKeys.find(key)
  if (!keyId) throw errors.badApiKey()
  return { kind: 'key', keyId }
}

/** The phone of a deleted user, or application, has to sign out, which it does on 401 (sdk-payload 5.1). */
async function sdkUser({ userId, appId }: SdkToken, ctx: Context, deps: Dependencies): Promise<Auth> {
  const pathUser = checkUuid(String(ctx.params.user_id), [], [])
  // What is no UUID at all is told so by the validation.
  if (pathUser && pathUser !== userId) throw errors.wrongUser()
  const application = appId?.startsWith('app_') ? appId : null
  const [row] = await deps.gates.guard.run('', () =>
    deps.db.query(
      `select 1 from app_user
       where id = $1 and ($2::text is null or exists (select from application where app_id = $2))`,
      [userId, application],
    ),
  )
  if (!row) throw errors.noSdkCredential()
  return { kind: 'sdk', userId }
}
