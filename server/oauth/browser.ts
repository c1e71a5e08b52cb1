import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import type { Config } from '../config.ts'
import { STATE_SECONDS } from './state.ts'

// A browser that follows a link gets a cookie that it has to bring back: a consent that somebody else began cannot be
// completed in it, nor one that it began elsewhere.

type Served = Pick<Config, 'apiBaseUrl'>

/** `__Host-` needs https, and then nobody but this host can set it (RFC 6265bis, 4.1.3.2). */
const nameOf = ({ apiBaseUrl }: Served) => `${apiBaseUrl.startsWith('https:') ? '__Host-' : ''}pulsebase_oauth`

/** What the browser's cookie holds; undefined: it has none of ours. */
export function browserOf(ctx: Context, served: Served): string | undefined {
  const value = ctx.cookies.get(nameOf(served))
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}

/** Gives the browser a cookie, or the one that it has for longer: several links may be open. Returns what it holds. */
export function markBrowser(ctx: Context, served: Served): string {
  const value = browserOf(ctx, served) ?? randomBytes(32).toString('base64url')
  const secure = served.apiBaseUrl.startsWith('https:') ? '; Secure' : ''
  ctx.set('Set-Cookie', `${nameOf(served)}=${value}; Path=/; Max-Age=${STATE_SECONDS}; HttpOnly; SameSite=Lax${secure}`)
  return value
}
