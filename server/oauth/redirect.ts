import type { Config } from '../config.ts'
import { errors } from '../errors.ts'

/** Hosts of this machine, where plain http is seen by nobody. */
const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Accepts an address that a browser may be sent to once its person has connected a provider; it is used exactly as it
 * was given. @throws AppError bad_request naming what is wrong
 */
export function checkRedirect(uri: string, { oauthRedirectOrigins }: Pick<Config, 'oauthRedirectOrigins'>): void {
  const problem = redirectProblem(uri, oauthRedirectOrigins)
  if (problem) throw errors.badRequest(`Invalid redirect_uri: it ${problem}.`)
}

function redirectProblem(uri: string, origins: readonly string[]): string | undefined {
  // What a header cannot carry, and what parsers of addresses disagree about.
  if (!/^[\x21-\x7e]+$/.test(uri) || uri.includes('\\')) return 'must be percent-encoded ASCII'
  const url = /^https?:\/\//i.test(uri) && URL.canParse(uri) ? new URL(uri) : undefined
  if (!url) return 'must be an absolute https address'
  if (url.username || url.password) return 'must not contain a user name or password'
  if (uri.includes('#')) return 'must not contain a fragment'
  if (url.protocol !== 'https:' && !LOCAL.test(url.hostname)) return 'must use https'
  if (origins.length > 0 && !origins.includes(url.origin)) return 'is not at one of OAUTH_REDIRECT_ORIGINS'
  return undefined
}
