import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import type { Config } from '../config.ts'
import type { Dependencies } from '../dependencies.ts'

/**
 * The header without which the cookie of the console counts for nothing, for reading as well. A page of another origin
 * cannot send it: browsers ask first, and the answer to that never allows this header.
 */
export const CONSOLE_HEADER = 'X-Pulsebase-Console'

/** The instants of a sign-in `s` that has not ended: it ends after 7 days without use, or 30. */
export const SIGN_IN_LIVES = `s.used_at > now() - interval '7 days' and s.created_at > now() - interval '30 days'`

const usesTls = ({ apiBaseUrl }: Pick<Config, 'apiBaseUrl'>) => apiBaseUrl.startsWith('https:')

/** The name of the cookie; where others reach us through TLS, one that no other host can set. */
export const cookieName = (config: Pick<Config, 'apiBaseUrl'>) => (usesTls(config) ? '__Host-pulsebase' : 'pulsebase')

/** The `Set-Cookie` of a sign-in, for as long as one may last; without a token it removes the cookie. */
export function cookieOf(config: Pick<Config, 'apiBaseUrl'>, token?: string): string {
  const seconds = token === undefined ? 0 : 30 * 86_400
  const value = `${cookieName(config)}=${token ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
  return usesTls(config) ? `${value}; Secure` : value
}

/** SHA-256 of a cookie or a code: what is stored. Both are random, so no salt is needed. */
export const hashConsoleToken = (token: string) => createHash('sha256').update(token).digest()

/** Whether a request comes from the console. */
export const fromConsole = (ctx: Context) => ctx.get(CONSOLE_HEADER) === '1'

/** The cookie of a request, whether it counts or not. */
export const consoleCookie = (ctx: Context, config: Pick<Config, 'apiBaseUrl'>) => ctx.cookies.get(cookieName(config))

/** The cookie of a request of the console; undefined without its header, or where the console is off. */
export function signInToken(ctx: Context, { config, console }: Pick<Dependencies, 'config' | 'console'>) {
  return console && fromConsole(ctx) ? consoleCookie(ctx, config) : undefined
}

/** The developer whose sign-in a request carries, and the hash of its cookie; undefined when that has ended. */
export async function signedIn(ctx: Context, deps: Dependencies) {
  const token = signInToken(ctx, deps)
  if (!token) return undefined
  const signIn = hashConsoleToken(token)
  const query = <T extends object>(sql: string) => deps.gates.guard.run('', () => deps.db.query<T>(sql, [signIn]))
  const [row] = await query<{ developer_id: string; stale: boolean }>(
    `select developer_id, used_at < now() - interval '1 hour' as stale
     from console_session s
     where token_hash = $1 and ${SIGN_IN_LIVES}`,
  )
  if (row?.stale) await query('update console_session set used_at = now() where token_hash = $1')
  return row && { kind: 'developer' as const, developerId: row.developer_id, signIn }
}
