import { providerByName } from '../catalogue/providers.ts'
import type { Config } from '../config.ts'
import { callbackUri, noticesUri } from '../provider-client/clients.ts'
import type { Notices } from '../providers/notices.ts'
import type { Form, Provider } from '../providers/provider.ts'

/** What an operator has to know of each provider with a connector: what to register there, and what is not yet set. */
export function providerReport(
  providers: ReadonlyMap<string, Provider>,
  notifying: ReadonlyMap<string, Notices>,
  config: Pick<Config, 'providers' | 'apiBaseUrl'>,
): string {
  const described = [...providers].map(([id, provider]) => describe(provider, notifying.get(id), config))
  const useless = Object.keys(config.providers).filter(
    (id) => providerByName.get(id)?.hasCloudApi && !providers.has(id),
  )
  const without = useless.map(
    (id) =>
      `${providerByName.get(id)?.name} (${id})\n  configured        in vain: this version has no connector for it`,
  )
  return [...described, ...without].join('\n\n') || 'This version has no connector for a cloud provider.'
}

function describe(
  provider: Provider,
  notices: Notices | undefined,
  { providers, apiBaseUrl }: Parameters<typeof providerReport>[2],
) {
  const { id } = provider
  const { clientId, clientSecret, defaultScope, more = {} } = providers[id] ?? {}
  const { scopes, separator } = provider.oauth({ more })
  const prefix = id.toUpperCase()
  const missing = [...(clientId ? [] : [`${prefix}_CLIENT_ID`]), ...(clientSecret ? [] : [`${prefix}_CLIENT_SECRET`])]
  const further = [...(provider.settings ?? []), ...(notices?.secrets ?? [])].map((name) => `${prefix}_${name}`)
  return [
    `${providerByName.get(id)?.name ?? id} (${id})`,
    `  redirect address  ${callbackUri(apiBaseUrl, id)}`,
    ...(notices ? [`  notifications     ${noticesUri(apiBaseUrl, id)}${toEnter(notices, prefix, more)}`] : []),
    `  asks for          ${(defaultScope ?? scopes.join(separator)) || 'nothing by name'}`,
    `  configured        ${missing.length === 0 ? 'yes' : `no: set ${missing.join(' and ')}`}`,
    ...(further.length > 0 ? [`  may be set        ${further.join(', ')}`] : []),
  ].join('\n')
}

/** What an operator has to know of an address that is entered at the provider by hand. */
function toEnter({ subscriptions, secrets = [], addressSecret }: Notices, prefix: string, more: Form): string {
  if (subscriptions) return ''
  const unset = secrets.filter((name) => more[name] === undefined).map((name) => `${prefix}_${name}`)
  const end = addressSecret === undefined ? '' : `?k=<${prefix}_${addressSecret}>`
  return `${end}, to be entered there${unset.length > 0 ? `, once ${unset.join(' and ')} is set` : ''}`
}
