import { Type } from 'typebox'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { CONSOLE_HEADER, cookieOf, fromConsole, hashConsoleToken, signInToken } from '../../http/console-cookie.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { Secret } from '../../http/schema.ts'
import { hashNetwork } from '../auth/known-networks.ts'
import { countAttempt, perAddress } from '../auth/throttle.ts'
import { verifyLogin } from '../auth/verify-login.ts'
import { ConsoleSession, consoleSessionExample, endSignIns, openWithCode, openWithPassword } from './sessions.ts'

/** Signs a browser in to the console, with a password or a code that works once (contract 11). */
export const signIn = route(
  {
    method: 'POST',
    path: '/api/v1/console/session',
    operationId: 'signInToConsole',
    summary: 'Sign a browser in to the console',
    description:
      'Sets a cookie that scripts cannot read. It counts, for every route that takes a login, only together with the ' +
      `header \`${CONSOLE_HEADER}: 1\`, which this request needs as well. Programs log in with POST /api/v1/auth/login.`,
    tag: 'Console',
    guard: 'public',
    share: 'login',
    body: Type.Object({
      email: Type.Optional(Type.String()),
      password: Type.Optional(Secret()),
      code: Type.Optional(
        Secret({ description: 'Of the first start, or of `npm run console:code`: in place of both' }),
      ),
    }),
    bodyExample: { email: 'ada@example.org', password: 'correct horse battery' },
    status: 201,
    response: ConsoleSession,
    example: consoleSessionExample,
    headers: { 'Set-Cookie': 'The cookie: HttpOnly, SameSite=Strict, and Secure where API_BASE_URL is https' },
    errors: {
      401: 'Incorrect email or password, or a code that is used or too old',
      403: `Without the header ${CONSOLE_HEADER}`,
      429: 'Too many attempts; Retry-After says when to try again',
      503: 'Too many logins at once',
    },
  },
  async ({ body: { email, password, code }, ctx }, deps) => {
    if (!fromConsole(ctx)) throw errors.forbidden('This request needs the header X-Pulsebase-Console: 1')
    const opened =
      code === undefined
        ? await verifyLogin(deps, { ctx, email, password }, (verified) => openWithPassword(deps.db, verified))
        : await withCode(deps, code, clientNetwork(ctx.ip))
    // The browser has another cookie now.
    const former = signInToken(ctx, deps)
    if (former) await endSignIns(deps.db, hashConsoleToken(former), false)
    const headers = { 'Set-Cookie': cookieOf(deps.config, opened.token) }
    return new Reply(201, 'application/json', JSON.stringify(opened.session), headers)
  },
)

async function withCode(deps: Dependencies, code: string, network: string) {
  await countAttempt(deps, perAddress(deps.config), network)
  const opened = await openWithCode(deps.db, code, hashNetwork(deps.keys, network))
  if (!opened) throw errors.badCode()
  return opened
}
