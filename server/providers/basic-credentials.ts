import type { ProviderSettings } from './provider.ts'

/** An Authorization header that names our application: id and secret, form-encoded first (RFC 6749, 2.3.1). */
export function basicCredentials({
  clientId,
  clientSecret,
}: Pick<ProviderSettings, 'clientId' | 'clientSecret'>): string {
  const encoded = [clientId, clientSecret].map((part) => new URLSearchParams({ '': part }).toString().slice(1))
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`
}
