import { providerByName } from '../catalogue/providers.ts'
import type { Config } from '../config.ts'
import { callbackUri, insteadOf, noticesUri } from '../provider-client/clients.ts'
import { limitSettings } from '../providers/limits.ts'
import type { Notices } from '../providers/notices.ts'
import type { Form, Provider } from '../providers/provider.ts'

/** What an operator has to know of each provider with a connector: what to register there, and what is not yet set. */
export function providerReport(
  providers: ReadonlyMap<string, Provider>,
  notifying: ReadonlyMap<string, Notices>,
  config: Pick<Config, 'providers' | 'apiBaseUrl'>,
): string {
  return [...providers].map(([id, provider]) => describe(provider, notifying.get(id), config)).join('\n\n')
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
  const instead = insteadOf(id)
  const names = [...(provider.settings ?? []), ...limitSettings(provider), ...(notices?.secrets ?? [])]
  const further = names.map((name) => `${prefix}_${name}`)
  return [
    `${providerByName.get(id)?.name ?? id} (${id})`,
    `  redirect address  ${callbackUri(apiBaseUrl, id)}`,
    ...(notices ? [`  notifications     ${noticesUri(apiBaseUrl, id)}${toEnter(notices, prefix, more)}`] : []),
    ...(notices?.givesSigningSecret ? [`  signing secret    ${SAID_ONCE}`] : []),
    `  asks for          ${(defaultScope ?? scopes.join(separator)) || 'nothing by name'}`,
    `  configured        ${missing.length === 0 ? 'yes' : `no: set ${missing.join(' and ')}`}`,
    ...(further.length > 0 ? [`  may be set        ${further.join(', ')}`] : []),
    ...(instead === undefined ? [] : [`  note              ${instead}`]),
  ].join('\n')
}

const SAID_ONCE =
  'said once, when Pulsebase subscribes: delete a subscription that something else has made, and create it again'

/** What an operator has to know of an address that is entered at the provider by hand. */
function toEnter({ secrets = [], addressSecret, ...told }: Notices, prefix: string, more: Form): string {
  if (told.subscriptions || told.accountSubscriptions) return ''
  const unset = secrets.filter((name) => more[name] === undefined).map((name) => `${prefix}_${name}`)
  const end = addressSecret === undefined ? '' : `/<${prefix}_${addressSecret}>`
  return `${end}, to be entered there${unset.length > 0 ? `, once ${unset.join(' and ')} is set` : ''}`
}
