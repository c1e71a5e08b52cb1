import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Secret } from '../../http/schema.ts'
import { openSession, TokenResponse, tokenExample } from './sessions.ts'
import { verifyLogin } from './verify-login.ts'

const LoginForm = Type.Object({
  username: Type.String({ 'x-alias': 'email', description: 'The email address; `email` means the same' }),
  password: Secret(),
  grant_type: Type.Optional(Type.String({ pattern: '^(password)?$' })),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Secret()),
})

const INCOMPLETE = 'Send username (the email address) and password, as a form or as JSON.'

/** Exchanges email and password for tokens (contract 9.5). */
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
  async ({ body: { username: email, password }, ctx }, deps) =>
    verifyLogin(deps, { ctx, email, password }, (verified) => openSession(deps, verified)),
)
