import { Type } from 'typebox'
import type { Config } from '../../config.ts'
import { errors } from '../../errors.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { route } from '../../http/route.ts'
import { Secret } from '../../http/schema.ts'
import { callerOf } from './hash-turns.ts'
import { hashNetwork, KNOWS_NETWORK } from './known-networks.ts'
import { rehash } from './rehash.ts'
import { openSession, TokenResponse, tokenExample, VALID_FROM } from './sessions.ts'
import { countAttempt, forgiveAttempt, type Limit } from './throttle.ts'

const LoginForm = Type.Object({
  username: Type.String({ 'x-alias': 'email', description: 'The email address; `email` means the same' }),
  password: Secret(),
  grant_type: Type.Optional(Type.String({ pattern: '^(password)?$' })),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Secret()),
})

const INCOMPLETE = 'Send username (the email address) and password, as a form or as JSON.'

const perAddress = (config: Config): Limit => ({
  name: 'login address',
  attempts: config.loginAttemptsPerMinute,
  windowSeconds: 60,
})
/** For all callers from networks the account has never been logged in to from. */
const perAccount = (config: Config): Limit => ({
  name: 'login account',
  attempts: config.loginAttemptsPerAccount,
  windowSeconds: 15 * 60,
})
/** For callers from a network it has been logged in to from: strangers cannot lock the owner out. */
const perKnownNetwork = (config: Config): Limit => ({ ...perAccount(config), name: 'login known network' })

/**
 * Exchanges email and password for tokens (contract 9.5). Attempts are limited per address, and per account, separately
 * for known networks. Neither the answer nor its time shows whether the account exists.
 */
export const login = route(
  {
    method: 'POST',
    path: '/api/v1/auth/login',
    operationId: 'login',
    summary: 'Log in with email and password',
    description:
      'OAuth 2.0 password flow: a form, or the same fields as JSON. An incomplete one gets the answer to wrong ' +
      'credentials, with a hint.',
    tag: 'Auth',
    guard: 'public',
    share: 'login',
    body: LoginForm,
    bodyKind: 'form or json',
    bodyExample: { username: 'ada@example.org', password: 'correct horse battery' },
    onInvalid: () => errors.badLogin(INCOMPLETE),
    response: TokenResponse,
    example: tokenExample,
    errors: {
      401: 'Incorrect email or password',
      415: 'Neither a form nor JSON',
      429: 'Too many attempts; Retry-After says when to try again',
      503: 'Too many logins at once',
    },
  },
  async ({ body, ctx }, deps) => {
    const { db, keys, config, passwords } = deps
    const account = body.username.trim().toLowerCase()
    const network = clientNetwork(ctx.ip)
    const networkHash = hashNetwork(keys, network)
    await countAttempt(deps, perAddress(config), network)
    const [developer] = await db.query<{ id: string; password_hash: string; valid_from: number; known: boolean }>(
      `select d.id, d.password_hash, ${VALID_FROM}, ${KNOWS_NETWORK} as known
       from developer d
       where lower(d.email) = lower($1)`,
      [account, networkHash],
    )
    const known = developer?.known === true
    const limit = known ? perKnownNetwork(config) : perAccount(config)
    const subject = `${developer?.id ?? account}${known ? ` ${network}` : ''}`
    await countAttempt(deps, limit, subject)
    const fits = await passwords.verify(body.password, developer?.password_hash, callerOf(ctx, known))
    const tokens = developer && fits && (await openSession(deps, { ...developer, networkHash }))
    if (!tokens) throw errors.badLogin()
    await forgiveAttempt(deps, limit, subject)
    // The client does not wait for it.
    void rehash(deps, developer, body.password)
    return tokens
  },
)
