import { createHash, createHmac, randomBytes } from 'node:crypto'
import { type Queryable, violatedConstraint } from '../db/database.ts'
import { errors } from '../errors.ts'
import type { Keys } from '../http/tokens.ts'

/** How long a person may take to consent, in seconds (contract 6.4). */
export const STATE_SECONDS = 900

/** A requested consent: of which user, to which provider, and where the browser goes afterwards. */
export interface Asked {
  readonly userId: string
  readonly provider: string
  readonly redirectUri: string | null
  /** What the browser's cookie holds; null: none was set. */
  readonly browser: string | null
}

const hashOf = (text: string) => createHash('sha256').update(text).digest()

/**
 * Stores a requested consent and returns its state: 32 random bytes, base64url, valid once and for 15 minutes.
 * Only their hash is stored.
 * @throws AppError not_found when there is no such user
 */
export async function createState(db: Queryable, asked: Asked): Promise<string> {
  const state = randomBytes(32).toString('base64url')
  const { userId, provider, redirectUri, browser } = asked
  try {
    await db.query(
      `insert into oauth_state (state_hash, user_id, provider, redirect_uri, browser_hash)
       values ($1, $2, $3, $4, $5)`,
      [hashOf(state), userId, provider, redirectUri, browser && hashOf(browser)],
    )
  } catch (error) {
    if (violatedConstraint(error) === 'oauth_state_user_id_fkey') throw errors.notFound('User', userId)
    throw error
  }
  return state
}

/** A state that was found, and removed. */
export interface TakenState {
  readonly userId: string
  readonly provider: string
  readonly redirectUri: string | null
  /** Whether the browser is the one that asked, or none was remembered. */
  readonly sameBrowser: boolean
}

/** Removes a state and returns what it was created for; undefined when it is unknown, used or expired. */
export async function takeState(
  db: Queryable,
  state: string,
  browser: string | undefined,
): Promise<TakenState | undefined> {
  const [taken] = await db.query<TakenState & { valid: boolean }>(
    `delete from oauth_state
     where state_hash = $1
     returning user_id as "userId", provider, redirect_uri as "redirectUri", expires_at > now() as valid,
               browser_hash is null or browser_hash = coalesce($2, ''::bytea) as "sameBrowser"`,
    [hashOf(state), browser === undefined ? null : hashOf(browser)],
  )
  return taken?.valid ? taken : undefined
}

/**
 * The code verifier of a state (RFC 7636, 4.1). It is derived with a secret key, so it need not be stored, and
 * nobody who sees the state in the browser can compute it.
 */
export const verifierOf = ({ oauthVerifier }: Pick<Keys, 'oauthVerifier'>, state: string): string =>
  createHmac('sha256', oauthVerifier).update(state).digest('base64url')

/** The code challenge of a verifier, method S256 (RFC 7636, 4.2). */
export const challengeOf = (verifier: string): string => hashOf(verifier).toString('base64url')
