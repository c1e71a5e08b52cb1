import { hkdfSync, randomBytes } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import { uuidProblem } from './formats.ts'

/** Lifetime of an access token in seconds (contract 1.6: 60 minutes). */
export const ACCESS_TOKEN_SECONDS = 3600

/** The claims of a verified access token. `issuedAt` is in epoch seconds. */
export type AccessToken =
  | { scope: 'developer'; developerId: string; issuedAt: number }
  | { scope: 'sdk'; userId: string; appId: string | null; sessionId: string | null; issuedAt: number }

/** Keys derived from SECRET_KEY, one for each purpose, so that no token of one kind verifies as another. */
export interface Keys {
  developer: Uint8Array
  sdk: Uint8Array
  cursor: Uint8Array
  invitation: Uint8Array
  /** For counters of clients' attempts, and for the networks they are remembered by. */
  throttle: Uint8Array
  /** For links that connect a provider. */
  linkToken: Uint8Array
  /** Derives code verifiers from states. */
  oauthVerifier: Uint8Array
  /** For texts that pages show (oauth/page-text.ts). */
  pageText: Uint8Array
}

/** Derives the keys with HKDF-SHA256 (RFC 5869). */
export function deriveKeys(secretKey: string): Keys {
  const derive = (purpose: string) => new Uint8Array(hkdfSync('sha256', secretKey, '', `pulsebase ${purpose}`, 32))
  return {
    developer: derive('developer token'),
    sdk: derive('sdk token'),
    cursor: derive('cursor'),
    invitation: derive('invitation code'),
    throttle: derive('throttle'),
    linkToken: derive('link token'),
    oauthVerifier: derive('oauth verifier'),
    pageText: derive('page text'),
  }
}

/**
 * Signs an access token (HS256) that lives for an hour; `subject` is the developer's or the user's id, `issuedAt` is in
 * epoch seconds, by default now.
 */
export function signAccessToken(
  keys: Keys,
  scope: AccessToken['scope'],
  subject: string,
  options: { appId?: string; sessionId?: string; lifetimeSeconds?: number; issuedAt?: number } = {},
): Promise<string> {
  const { appId, sessionId, issuedAt: now = Math.floor(Date.now() / 1000) } = options
  return new SignJWT({ scope, ...(appId && { app_id: appId }), ...(sessionId && { sid: sessionId }) })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(subject)
    .setJti(randomBytes(9).toString('base64url'))
    .setIssuedAt(now)
    .setExpirationTime(now + (options.lifetimeSeconds ?? ACCESS_TOKEN_SECONDS))
    .sign(keys[scope])
}

const text = (claim: unknown) => (typeof claim === 'string' ? claim : null)

/** Verifies a bearer token of either kind; undefined when it is expired, forged, foreign or not a token at all. */
export async function verifyAccessToken(keys: Keys, token: string): Promise<AccessToken | undefined> {
  for (const scope of ['developer', 'sdk'] as const) {
    try {
      const { payload } = await jwtVerify(token, keys[scope], { algorithms: ['HS256'] })
      if (payload.scope !== scope || payload.exp === undefined || !payload.sub || uuidProblem(payload.sub)) continue
      const issuedAt = payload.iat ?? 0
      if (scope === 'developer') return { scope, developerId: payload.sub, issuedAt }
      return { scope, userId: payload.sub, appId: text(payload.app_id), sessionId: text(payload.sid), issuedAt }
    } catch {
      // Not of this kind: the other key may match.
    }
  }
  return undefined
}
