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

type Scopes = Pick<OAuth, 'scopes' | 'separator' | 'scopePrefix' | 'needs'>

/** Why scopes in place of the connector's own can never lead to a connection; undefined: they may. */
export function scopeProblem(oauth: Scopes, given: string): string | undefined {
  const { separator, scopes, needs = [] } = oauth
  if (given.split(separator).some((name) => /[\s,]/.test(name))) {
    return `must have ${separator === ' ' ? 'single spaces' : `"${separator}" without spaces`} between scopes, such as ${scopes.join(separator)}`
  }
  const asked = grantedScopes(given, oauth)
  const missing = needs.find(({ anyOf }) => !anyOf.some((name) => asked?.has(name)))
  if (!missing) return undefined
  return `must contain ${missing.anyOf.join(' or ')}, without which nobody can connect, such as ${scopes.join(separator)}`
}

/** The scopes that no connector reads anything with. */
export function unusedScopes(oauth: Scopes, given: string): string[] {
  const needed = (oauth.needs ?? []).flatMap(({ anyOf }) => anyOf)
  const used = new Set([...(grantedScopes(oauth.scopes.join(' '), oauth) ?? []), ...needed])
  return [...(grantedScopes(given, oauth) ?? [])].filter((name) => !used.has(name))
}
