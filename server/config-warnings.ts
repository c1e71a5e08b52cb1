import { providers } from './catalogue/providers.ts'
import { loadConfig, type ProviderConfig } from './config.ts'
import { cloudProviders } from './providers/index.ts'
import type { Provider } from './providers/provider.ts'
import { unusedScopes } from './providers/scopes.ts'

/** What is probably a mistake in the settings, though nothing forbids it: a sentence for each. */
export function configWarnings(env: Record<string, string | undefined>): string[] {
  const known = new Set<string>()
  loadConfig(new Proxy({}, { get: (_, name) => void known.add(String(name)) }))
  const given = Object.keys(env).filter((name) => env[name]?.trim())
  const unknown = unknownSettings(given, known).map(
    ({ name, meant }) => `${name} is no setting and has no effect${meant ? `; did you mean ${meant}?` : ''}`,
  )
  return [
    ...unknown,
    ...given.filter((name) => known.has(name)).flatMap(formerName),
    ...Object.entries(loadConfig(env).providers).flatMap(([id, config]) =>
      providerWarnings(cloudProviders.get(id), id, config),
    ),
  ]
}

function providerWarnings(provider: Provider | undefined, id: string, config: ProviderConfig): string[] {
  const { clientId, clientSecret, defaultScope, more = {} } = config
  const prefix = id.toUpperCase()
  if (!provider)
    return [`Settings that begin with ${prefix}_ have no effect: ${id} has no sign-in, phones upload its data`]
  const half =
    Boolean(clientId) === Boolean(clientSecret)
      ? []
      : [`Nobody can connect ${id} until ${prefix}_${clientId ? 'CLIENT_SECRET' : 'CLIENT_ID'} is set, too`]
  const unused = defaultScope ? unusedScopes(provider.oauth({ more }), defaultScope) : []
  if (unused.length === 0) return half
  return [...half, `${prefix}_DEFAULT_SCOPE asks for ${unused.join(', ')}, which nothing is read with`]
}

/** A variable with a former prefix of a connector. */
function formerName(name: string): string[] {
  return [...cloudProviders].flatMap(([id, { formerPrefix }]) => {
    const prefix = id.toUpperCase()
    if (formerPrefix === undefined || !name.startsWith(`${formerPrefix}_`) || name.startsWith(`${prefix}_`)) return []
    return [`${name} is a former name: set ${prefix}_${name.slice(formerPrefix.length + 1)} instead`]
  })
}

const PREFIXES = providers.filter(({ hasCloudApi }) => hasCloudApi).map(({ provider }) => `${provider.toUpperCase()}_`)

/** Letters that a name may be away from another to be a slip of it. */
const SLIP = 2

/**
 * The variables that look like a setting of a cloud provider, but are none of the `known` ones, each with the one that was
 * probably meant; undefined: it resembles none.
 */
function unknownSettings(
  names: readonly string[],
  known: ReadonlySet<string>,
): { name: string; meant: string | undefined }[] {
  const settings = [...known].filter((name) => PREFIXES.some((prefix) => name.startsWith(prefix)))
  return names.flatMap((name) => {
    if (known.has(name)) return []
    const upper = name.toUpperCase()
    const prefix = PREFIXES.find((one) => upper.startsWith(one))
    const [nearest] = settings
      .map((setting) => ({ setting, away: distance(upper, setting) }))
      .filter(({ setting, away }) => away <= SLIP || (prefix && setting.startsWith(prefix) && away <= name.length / 3))
      .sort((a, b) => a.away - b.away)
    return prefix || nearest ? [{ name, meant: nearest?.setting }] : []
  })
}

/** Letters to insert, remove or replace until one text is the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, place) => place)
  for (let i = 1; i <= from.length; i += 1) {
    const before = row
    row = [i]
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (before[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      row.push(Math.min(replaced, (before[j] as number) + 1, (row[j - 1] as number) + 1))
    }
  }
  return row[to.length] as number
}
