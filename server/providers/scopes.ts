import type { OAuth } from './provider.ts'

/**
 * The names in a granted scope, without the provider's prefix; null when the provider did not say what it granted, which
 * means all that was asked for (RFC 6749, 5.1).
 */
export function grantedScopes(
  scope: string | null,
  { scopePrefix = '' }: Pick<OAuth, 'scopePrefix'>,
): ReadonlySet<string> | null {
  if (scope === null) return null
  const names = scope.split(/[\s,]+/).filter((name) => name !== '')
  return new Set(names.map((name) => (name.startsWith(scopePrefix) ? name.slice(scopePrefix.length) : name)))
}
