import { counted } from './counted.ts'

/** One failed check of a request, in the shape of contract 1.8. */
export interface Issue {
  type: string
  loc: (string | number)[]
  msg: string
  input: unknown
  ctx?: Record<string, unknown>
}

/** Collects the failures of a request; an array will do. */
export interface Issues {
  push(issue: Issue): unknown
}

/** Replaces a secret in answers. */
export const HIDDEN = '[hidden]'

/** Our own credentials, signed tokens of anybody (contract 1.6), and of a URL the login and what may hold a token. */
const CREDENTIAL =
  /\b(sk-|rt-|inv-|secret_|whsec_)[\w+/=-]{16,}|\beyJ[\w-]+\.[\w-]+\.[\w-]*|(?<=:\/\/)[^/\s@]+(?=@)|(?<=:\/\/[^\s"?#]*[?#])[^\s"]+/g
/** Longer than any of them. */
const MAX_CREDENTIAL = 2_000

/** The part of a client's text that an error may repeat: `max` characters of it, and no credential. */
export function shortened(text: string, max = 300): string {
  const start = text.slice(0, max + MAX_CREDENTIAL).replaceAll(CREDENTIAL, HIDDEN)
  return start.length <= max ? start : `${start.slice(0, max).toWellFormed()}… (${counted(text.length, 'character')})`
}

interface AppErrorOptions {
  retryAtMs?: number
  headers?: Record<string, string>
  cause?: unknown
  hint?: string | undefined
}

/**
 * The only error a client sees: `status` and `detail` go on the wire unchanged. Any other thrown error is a defect and
 * becomes a logged 500 without internals.
 */
export class AppError extends Error {
  readonly code: string
  readonly status: number
  readonly detail: string | Issue[]
  readonly headers: Record<string, string>
  /** What to do instead, if the text itself is fixed (contract 1.6). */
  readonly hint: string | undefined
  /** For jobs: when it may succeed, epoch milliseconds; undefined: not by trying again. */
  readonly retryAtMs: number | undefined

  constructor(code: string, status: number, detail: string | Issue[], options: AppErrorOptions = {}) {
    super(typeof detail === 'string' ? detail : `${detail.length} validation failures`, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.status = status
    this.detail = detail
    this.headers = options.headers ?? {}
    this.hint = options.hint
    this.retryAtMs = options.retryAtMs
  }
}

/** A provider's answer that is an error of its own. */
interface ProviderRefusal {
  status: number
  text: string
  retryAfter?: string | undefined
}

const capitalised = (provider: string) => `${provider.charAt(0).toUpperCase()}${provider.slice(1)}`

/** For jobs and for clients: when to try again. */
const waiting = (retryAtMs: number) => ({
  retryAtMs,
  headers: { 'Retry-After': String(Math.max(1, Math.ceil((retryAtMs - Date.now()) / 1000))) },
})

const BEARER = { 'WWW-Authenticate': 'Bearer' }

/** Every error a client can get, with the exact texts of contract 1.6 to 1.8. */
export const errors = {
  internal: () => new AppError('internal', 500, 'Internal server error'),
  invalid: (issues: Issue[]) => new AppError('invalid', 422, issues),
  notFound: (entity: string, id: string) => new AppError('not_found', 404, `${entity} with ID: ${id} not found.`),
  // The text names the user (contract 3.8).
  neverConnected: (userId: string, provider: string) =>
    new AppError('not_found', 404, `Connection with ID: ${userId} not found.`, {
      hint: `The id is that of the user, who has never connected ${provider}.`,
    }),
  missing: (detail: string) => new AppError('not_found', 404, detail),
  badRequest: (detail: string) => new AppError('bad_request', 400, detail),
  forbidden: (detail: string) => new AppError('forbidden', 403, detail),
  conflict: (detail: string) => new AppError('conflict', 409, detail),
  noRoute: () => new AppError('no_route', 404, 'Not Found'),
  wrongMethod: (allow: string) =>
    new AppError('wrong_method', 405, 'Method Not Allowed', { headers: { Allow: allow } }),
  notAcceptable: (types: readonly string[]) =>
    new AppError('not_acceptable', 406, `Not acceptable. This path answers ${types.join(', ')}: name one in Accept.`),
  tooLarge: (limitBytes: number) =>
    new AppError(
      'too_large',
      413,
      `Request body is larger than ${counted(limitBytes, 'byte')}. Send less per request.`,
    ),
  wrongMediaType: (accepted: string) =>
    new AppError('wrong_media_type', 415, `Unsupported media type. Send the body as ${accepted}.`),
  wrongEncoding: () =>
    new AppError('wrong_encoding', 415, 'Unsupported content encoding. Use gzip, deflate or none.', {
      headers: { 'Accept-Encoding': 'gzip, deflate, identity' },
    }),
  overloaded: (detail: string, retryAfterSeconds: number) =>
    new AppError('overloaded', 503, detail, { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  // Nobody reads it; metrics show it, under nginx's status for it.
  clientLeft: () => new AppError('client_left', 499, 'The client closed the connection.'),
  noConsole: () =>
    new AppError('no_console', 503, 'The console could not be built; the log of the service says why. The API works.', {
      headers: { 'Retry-After': '60' },
    }),
  uploadTooSlow: () =>
    new AppError('body_too_slow', 503, 'The request body arrived too slowly; please retry.', {
      headers: { 'Retry-After': '5' },
    }),
  bodyTooSlow: () => new AppError('body_too_slow', 408, 'The request body arrived too slowly.'),
  notStored: (cause: unknown) =>
    new AppError('not_stored', 503, 'Failed to persist payload; please retry.', {
      headers: { 'Retry-After': '5' },
      cause,
    }),
  throttled: (retryAfterSeconds: number) =>
    new AppError('throttled', 429, `Too many attempts. Try again in ${counted(retryAfterSeconds, 'second')}.`, {
      headers: { 'Retry-After': String(retryAfterSeconds) },
    }),
  webhooksOff: () =>
    new AppError(
      'webhooks_off',
      503,
      'Outgoing webhooks are not enabled (set OUTGOING_WEBHOOKS_ENABLED=true in the backend environment).',
    ),
  feedOff: () =>
    new AppError(
      'feed_off',
      503,
      'Events are not recorded (set EVENT_FEED_ENABLED=true or OUTGOING_WEBHOOKS_ENABLED=true in the backend environment).',
    ),
  noCredential: (hint?: string) =>
    new AppError('no_credential', 401, 'Authentication required: provide JWT token or API key', { hint }),
  badApiKey: () => new AppError('bad_api_key', 401, 'Invalid or missing API key'),
  notDeveloper: (hint?: string) =>
    new AppError('not_developer', 401, 'Could not validate credentials', { headers: BEARER, hint }),
  sdkTokenRefused: () => new AppError('sdk_token_refused', 401, 'SDK tokens cannot access this endpoint'),
  noSdkCredential: (hint?: string) =>
    new AppError('no_sdk_credential', 401, 'Authentication required: provide SDK token or API key', { hint }),
  wrongUser: () => new AppError('wrong_user', 403, 'Token does not match user_id'),
  badLogin: (hint?: string) => new AppError('bad_login', 401, 'Incorrect email or password', { headers: BEARER, hint }),
  badCode: () =>
    new AppError('bad_code', 401, 'Invalid or expired code', {
      hint: 'A code works once and for 15 minutes. npm run console:code prints another one.',
    }),
  badApp: () => new AppError('bad_app', 401, 'Invalid app credentials'),
  badRefreshToken: () => new AppError('bad_refresh_token', 401, 'Invalid or revoked refresh token'),
  badLink: (code: 'bad_link' | 'link_expired' | 'link_used') =>
    new AppError(code, 401, 'Invalid or expired link token', {
      hint: 'A link works once and for 15 minutes. Ask for a new one.',
    }),
  noOAuth: (provider: string) => new AppError('no_oauth', 400, `Provider '${provider}' does not support OAuth`),
  notConfigured: (
    provider: string,
    hint = `Set ${provider.toUpperCase()}_CLIENT_ID and ${provider.toUpperCase()}_CLIENT_SECRET; npm run providers lists what is missing.`,
  ) => new AppError('not_configured', 400, `Provider '${provider}' is not configured`, { hint }),
  providerDisabled: (provider: string, hint?: string) =>
    new AppError('provider_disabled', 400, `Provider '${provider}' is disabled`, hint === undefined ? {} : { hint }),
  badState: () =>
    new AppError('bad_state', 400, 'Invalid or expired state parameter', {
      hint: 'A state works once and for 15 minutes. Begin again with GET /api/v1/oauth/{provider}/authorize or a new link.',
    }),
  otherBrowser: () =>
    new AppError('other_browser', 400, 'Invalid or expired state parameter', {
      hint: 'The link was opened in another browser. Ask for a new one, and stay in the browser that opens it.',
    }),
  wrongState: () => new AppError('wrong_state', 400, 'Provider mismatch in state'),
  exchangeRefused: (text: string) =>
    new AppError('exchange_refused', 400, `Failed to exchange authorization code: ${text}`),
  exchangeFailed: (text: string, cause?: unknown) =>
    new AppError('exchange_failed', 500, `Token exchange failed: ${text}`, { cause }),
  notConnected: (provider: string) => new AppError('not_connected', 401, `User not connected to ${provider}`),
  noRefreshToken: (provider: string) =>
    new AppError('no_refresh_token', 401, `Token expired and no refresh token available for ${provider}`),
  authorizationExpired: (provider: string) =>
    new AppError('authorization_expired', 401, `${capitalised(provider)} authorization expired. Please re-authorize.`),
  refreshRejected: (provider: string) =>
    new AppError('refresh_rejected', 401, `Refresh token rejected for ${provider}; reconnection required`),
  // The operator's, not the person's: the connection is active.
  refreshRefused: (provider: string, text: string, retryAtMs: number) =>
    new AppError('refresh_refused', 400, `Failed to refresh token: ${text}`, {
      ...waiting(retryAtMs),
      hint: `The provider refuses this service. Check ${provider.toUpperCase()}_CLIENT_ID and ${provider.toUpperCase()}_CLIENT_SECRET, and restart. The connection is active: nobody has to connect again.`,
    }),
  unreadableTokens: (retryAtMs: number) =>
    new AppError(
      'unreadable_tokens',
      503,
      'The tokens of this connection were stored with another SECRET_KEY and cannot be read.',
      {
        ...waiting(retryAtMs),
        hint: 'Start every process with that key, as SECRET_KEY or SECRET_KEY_PREVIOUS. The connection is active: nobody has to connect again.',
      },
    ),
  refreshFailed: (text: string, retryAtMs: number) =>
    new AppError('refresh_failed', 500, `Token refresh failed: ${text}`, waiting(retryAtMs)),
  accessDoubted: (provider: string, retryAtMs: number) =>
    new AppError(
      'access_doubted',
      503,
      `${capitalised(provider)} has refused the access of this connection. It is asked again before the connection ends.`,
      waiting(retryAtMs),
    ),
  tokenRefused: (provider: string) =>
    new AppError(
      'token_refused',
      502,
      `The access token of this connection was refused by ${capitalised(provider)}. The connection is active; a new token is tried within an hour.`,
    ),
  unsupported: (detail: string) => new AppError('unsupported', 501, detail),
  compressed: () =>
    new AppError('wrong_encoding', 415, 'Unsupported content encoding. Send it uncompressed.', {
      headers: { 'Accept-Encoding': 'identity' },
    }),
  unknownProvider: (provider: string) =>
    new AppError('unknown_provider', 404, `Unknown provider: '${shortened(provider)}'`),
  noNotices: (provider: string) =>
    new AppError('unsupported', 501, `Provider '${provider}' has not implemented a webhook handler yet.`),
  noChallenge: (provider: string) =>
    new AppError(
      'unsupported',
      501,
      `Provider '${provider}' does not support webhook subscription verification via GET.`,
    ),
  badSignature: () => new AppError('bad_signature', 401, 'Invalid webhook signature'),
  noSubscriptions: () => new AppError('unsupported', 501, 'Provider does not support webhook subscription management'),
  noSuchOperation: (provider: string, operation: string) =>
    new AppError('unsupported', 501, `Provider '${provider}' does not support ${operation}`),
  noWorkouts: (provider: string) =>
    new AppError('unsupported', 501, `Provider '${provider}' does not support workouts`),
  providerRefused: (name: string, { status, text, retryAfter }: ProviderRefusal) =>
    new AppError('provider_refused', status, `${name} API error: ${text}`, {
      headers: retryAfter === undefined ? {} : { 'Retry-After': retryAfter },
    }),
  providerFailed: (name: string, text: string, cause?: unknown) =>
    new AppError('provider_failed', 500, `Failed to fetch data from ${name}: ${text}`, { cause }),
  badDatetime: (value: string) =>
    new AppError(
      'bad_datetime',
      400,
      `Invalid datetime format: '${shortened(value)}'. Expected ISO 8601 format or Unix timestamp.`,
    ),
  badCursor: (value: string) =>
    new AppError('bad_cursor', 400, `Invalid cursor format: '${shortened(value)}'. Expected 'timestamp|id'.`),
}
