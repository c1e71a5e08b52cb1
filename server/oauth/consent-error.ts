import type { OAuthClient } from '../provider-client/clients.ts'
import type { OAuthParts } from './parts.ts'

/** Errors that are counted by name: RFC 6749, 4.1.2.1, and those that providers add. */
const KNOWN = new Set([
  ...['invalid_request', 'unauthorized_client', 'access_denied', 'unsupported_response_type', 'invalid_scope'],
  ...['server_error', 'temporarily_unavailable', 'request_forbidden', 'invalid_client', 'redirect_uri_mismatch'],
])

/** Characters of an error that the log shows. */
const ERROR_CHARACTERS = 64

/** Logs and counts that a provider sent an error instead of a consent; its description may name the person. */
export function noteConsentError(
  { log, metrics }: Pick<OAuthParts, 'log' | 'metrics'>,
  provider: string,
  sent: string,
): void {
  const error = sent.slice(0, ERROR_CHARACTERS).replaceAll(/[^\w.-]/g, '?')
  log.warn({ provider, error }, 'a provider sent an error instead of a consent')
  metrics.consentsRefused.labels(provider, KNOWN.has(sent) ? sent : 'other').inc()
}

/** What to tell the person of an error by which the provider admits no more people; undefined: it is another one. */
export function limitText({ name, oauth }: OAuthClient, error: string): string | undefined {
  if (!oauth(null).limitErrors?.includes(error)) return undefined
  const why = `this service may not connect your account at ${name}; perhaps it has as many people as it is allowed`
  return `${error}: ${why}. Nothing was connected. Please tell whoever runs the service.`
}
