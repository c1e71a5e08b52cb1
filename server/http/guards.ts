import type { Context } from 'koa'
import type { Dependencies } from '../dependencies.ts'
import { errors } from '../errors.ts'
import { consoleCookie, fromConsole, signedIn } from './console-cookie.ts'
import { type AccessToken, verifyAccessToken } from './tokens.ts'

/**
 * Who may call a route; contract 1.6 lists the routes that a phone (`sdk`) may call. The route itself decides about
 * `app or developer`: the application is in its body; and about a link token, once the query has been read.
 */
export type Guard = 'key' | 'developer' | 'sdk' | 'sdk or key' | 'app or developer' | 'key or link token' | 'public'

/** Who calls. */
export type Auth =
  /** `signIn`: with the cookie of the console that has this hash, not with a token. */
  | { kind: 'developer'; developerId: string; signIn?: Buffer }
  | { kind: 'key'; keyId: string }
  | { kind: 'sdk'; userId: string }
  | { kind: 'link' }
  | { kind: 'public' }

type SdkToken = Extract<AccessToken, { scope: 'sdk' }>

/** Header that released SDKs send their API key in; accepted below `/sdk` and where they sign out. */
export const SDK_KEY_HEADER = 'x-open-wearables-api-key'

/**
 * Lets a request through its guard or throws the 401 of contract 1.6, with its exact text and precedence: a bearer
 * token is tried first, then the cookie of the console; an invalid one is ignored if there is an API key.
 * `requireOwner` decides whose data a phone may see, once the path has been read.
 */
export async function authenticate(guard: Guard, ctx: Context, deps: Dependencies): Promise<Auth> {
  if (guard === 'public' || guard === 'app or developer') return { kind: 'public' }
  if (guard === 'key or link token' && ctx.query.link_token !== undefined) return { kind: 'link' }
  const token = ctx.req.headers.authorization ? await bearerToken(ctx, deps) : undefined
  if (guard === 'developer') {
    if (token?.scope === 'sdk') throw errors.sdkTokenRefused()
    const developer = (await knownDeveloper(token, deps)) ?? (await signedIn(ctx, deps))
    if (!developer) throw errors.notDeveloper(hintFor(guard, ctx, deps))
    return developer
  }
  const key = apiKey(guard, ctx, deps)
  const ofPhone = guard === 'sdk' || guard === 'sdk or key' ? token : undefined
  const phone = ofPhone?.scope === 'sdk' ? await sdkUser(ofPhone, deps) : undefined
  if (phone) return phone
  if (guard === 'sdk') {
    if (!key) throw errors.noSdkCredential(hintFor(guard, ctx, deps))
    return knownKey(key, deps)
  }
  const developer = (await knownDeveloper(token, deps)) ?? (await signedIn(ctx, deps))
  if (developer) return developer
  if (key) return knownKey(key, deps)
  if (ofPhone?.scope === 'sdk') throw errors.noSdkCredential()
  throw errors.noCredential(hintFor(guard, ctx, deps))
}

/**
 * Lets a phone through to its own user only. `params` is the path after validation, which is what the handler uses; an
 * unreadable id belongs to nobody. @throws AppError wrong_user
 */
export function requireOwner(auth: Auth, params: unknown): void {
  if (auth.kind !== 'sdk') return
  const { user_id: userId } = params as { user_id?: string }
  if (userId !== auth.userId) throw errors.wrongUser()
}

/** Headers in which other services take a key. */
const USUAL_KEY_HEADERS = ['X-API-Key', 'api-key', 'apikey']

/** Returns what to send instead of a credential in the wrong place or of the wrong kind; otherwise undefined. */
function hintFor(guard: Guard, ctx: Context, { config, console }: Dependencies): string | undefined {
  const { apiKeyHeaders } = config
  const authorization = ctx.get('authorization')
  const misplaced = /^(\w+ +)?sk-/i.test(authorization)
    ? 'Authorization'
    : USUAL_KEY_HEADERS.find((name) => ctx.get(name))
  const inItsPlace = apiKeyHeaders.some((name) => ctx.get(name).trim())
  if (guard === 'developer' && (misplaced || inItsPlace)) {
    return 'This route requires a login; an API key is not enough. Log in with POST /api/v1/auth/login and send Authorization: Bearer <access_token>.'
  }
  if (guard !== 'sdk' && console && consoleCookie(ctx, config) && !fromConsole(ctx)) {
    return 'The cookie of the console counts only with the header X-Pulsebase-Console: 1.'
  }
  return misplaced && `Send the API key in the header ${apiKeyHeaders[0]}, not in ${misplaced}.`
}

/**
 * The token of the header, in any case of the word Bearer. That of a phone also without the word: released SDKs send a
 * renewed token bare (iOS before 0.10, Android before 0.7), and sign their person out when it is refused.
 */
async function bearerToken(ctx: Context, deps: Dependencies): Promise<AccessToken | undefined> {
  const [, scheme, text] = /^(bearer +)?(\S+)$/i.exec(ctx.get('authorization').trim()) ?? []
  const token = text === undefined ? undefined : await verifyAccessToken(deps.keys, text)
  return scheme !== undefined || token?.scope === 'sdk' ? token : undefined
}

/** The token of a deleted developer, or one from before the last change of password, is invalid. */
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

/**
 * Undefined once the session of a phone has ended: it signed out itself, a developer has signed it out, or its user or
 * whoever let it in was deleted. It then has to sign out, which it does on 401 (sdk-payload 5.1).
 */
async function sdkUser({ userId, appId, sessionId }: SdkToken, deps: Dependencies): Promise<Auth | undefined> {
  const application = appId?.startsWith('app_') ? appId : null
  const [row] = await deps.gates.guard.run('', () =>
    deps.db.query(
      `select 1 from app_user
       where id = $1
         and ($2::text is null or exists (select from application where app_id = $2))
         and ($3::uuid is null or exists (select from refresh_token where family_id = $3 and revoked_at is null))`,
      [userId, application, sessionId],
    ),
  )
  return row ? { kind: 'sdk', userId } : undefined
}
