import { randomUUID } from 'node:crypto'
import { errors as jose, jwtVerify, SignJWT } from 'jose'
import type { Queryable } from '../db/database.ts'
import { errors } from '../errors.ts'
import { uuidProblem } from '../http/formats.ts'
import type { Keys } from '../http/tokens.ts'
import { STATE_SECONDS } from './state.ts'

/** What a link allows: one user to connect one provider, once. */
export interface Link {
  readonly userId: string
  readonly provider: string
  /** Where the browser goes in the end; null: to our own page. */
  readonly redirectUri: string | null
}

type LinkKeys = Pick<Keys, 'linkToken'>

/** Signs a link token (JWT, HS256), valid for 15 minutes; returns it with the instant when it ends. */
export async function signLinkToken(keys: LinkKeys, link: Link): Promise<{ token: string; expiresAt: Date }> {
  const now = Math.floor(Date.now() / 1000)
  const until = now + STATE_SECONDS
  const claims = { provider: link.provider, ...(link.redirectUri !== null && { redirect_uri: link.redirectUri }) }
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(link.userId)
    .setJti(randomUUID())
    .setIssuedAt(now)
    .setExpirationTime(until)
    .sign(keys.linkToken)
  return { token, expiresAt: new Date(until * 1000) }
}

/**
 * The link of a token, with the token's own id.
 * @throws AppError link_expired; bad_link when it is forged or something else
 */
export async function readLinkToken(keys: LinkKeys, token: string): Promise<Link & { id: string }> {
  try {
    const { payload } = await jwtVerify(token, keys.linkToken, { algorithms: ['HS256'], requiredClaims: ['exp'] })
    const { sub, jti, provider, redirect_uri: redirectUri } = payload
    if (!sub || uuidProblem(sub) || !jti || uuidProblem(jti) || typeof provider !== 'string') throw new Error('no link')
    return { id: jti, userId: sub, provider, redirectUri: typeof redirectUri === 'string' ? redirectUri : null }
  } catch (error) {
    throw errors.badLink(error instanceof jose.JWTExpired ? 'link_expired' : 'bad_link')
  }
}

/** Notes that a link token was used; false when it was before. */
export async function useLinkToken(db: Queryable, id: string): Promise<boolean> {
  const used = await db.query(
    `insert into used_link_token (id, expires_at)
     values ($1, now() + make_interval(secs => $2))
     on conflict (id) do nothing
     returning id`,
    [id, STATE_SECONDS],
  )
  return used.length > 0
}
