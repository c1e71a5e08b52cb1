import { Type } from 'typebox'
import type { Config } from '../../config.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { verifyPassword } from './passwords.ts'
import { openSession, TokenResponse, tokenExample } from './sessions.ts'
import { clientNetwork, countAttempt, forgiveAttempt, type Limit } from './throttle.ts'

const LoginForm = Type.Object({
  username: Type.String({ description: 'The email address' }),
  password: Type.String(),
  grant_type: Type.Optional(Type.String({ pattern: '^(password)?$' })),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String()),
})

const perAddress = (config: Config): Limit => ({
  name: 'login address',
  attempts: config.loginAttemptsPerMinute,
  windowSeconds: 60,
})
const perAccount = (config: Config): Limit => ({
  name: 'login account',
  attempts: config.loginAttemptsPerAccount,
  windowSeconds: 15 * 60,
})

/**
 * Exchanges email and password for tokens (contract 9.5). Attempts are limited per address and per account; whether
 * the account exists shows neither in the answer nor in its time.
 */
export const login = route(
  {
    method: 'POST',
    path: '/api/v1/auth/login',
    operationId: 'login',
    summary: 'Log in with email and password',
    description: 'OAuth 2.0 password flow. An incomplete form is answered like wrong credentials.',
    tag: 'Auth',
    guard: 'public',
    share: 'login',
    body: LoginForm,
    bodyKind: 'form',
    bodyExample: { username: 'ada@example.org', password: 'correct horse battery' },
    onInvalid: errors.badLogin,
    response: TokenResponse,
    example: tokenExample,
    errors: { 401: 'Incorrect email or password', 429: 'Too many attempts; Retry-After says when to try again' },
  },
  async ({ body, ctx }, deps) => {
    const { db, config } = deps
    const account = body.username.trim().toLowerCase()
    await countAttempt(db, perAddress(config), clientNetwork(ctx.ip))
    await countAttempt(db, perAccount(config), account)
    const [developer] = await db.query<{ id: string; password_hash: string }>(
      'select id, password_hash from developer where lower(email) = lower($1)',
      [account],
    )
    const fits = await verifyPassword(body.password, developer?.password_hash)
    const tokens = developer && fits && (await openSession(deps, developer.id, developer.password_hash))
    if (!tokens) throw errors.badLogin()
    await forgiveAttempt(db, perAccount(config), account)
    ctx.set('Cache-Control', 'no-store')
    return tokens
  },
)
