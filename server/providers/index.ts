import { type ProviderName, providerNames } from '../catalogue/providers.ts'
import * as folders from './folders.ts'
import type { Notices } from './notices.ts'
import type { Provider } from './provider.ts'
import type { SdkAbility } from './sdk.ts'

type Folders = typeof folders

/** Provider an SDK uploads for (contract 2.1, clientSdk). */
export type SdkProvider = {
  [Name in keyof Folders]: Folders[Name] extends { readonly sdk: SdkAbility } ? Name : never
}[keyof Folders]

/** The exports of the index of a provider's folder. */
interface Folder {
  readonly sdk?: SdkAbility
  readonly cloud?: Provider
  readonly notices?: Notices
}

// In the order of the catalogue.
const named = providerNames.flatMap((name): (readonly [ProviderName, Folder])[] => {
  const folder = (folders as Partial<Record<ProviderName, Folder>>)[name]
  return folder ? [[name, folder]] : []
})

/** Providers whose data this version can receive. */
export const connectedProviders: ReadonlySet<string> = new Set(named.map(([name]) => name))

/** SDK abilities by provider. */
export const sdkProviders: ReadonlyMap<SdkProvider, SdkAbility> = new Map(
  named.flatMap(([name, { sdk }]) => (sdk ? [[name as SdkProvider, sdk]] : [])),
)

/** Cloud providers by slug: those that people can connect. */
export const cloudProviders: ReadonlyMap<string, Provider> = new Map(
  named.flatMap(([name, { cloud }]) => (cloud ? [[name, cloud]] : [])),
)

/** How cloud providers notify, by slug: those that do. */
export const notifyingProviders: ReadonlyMap<string, Notices> = new Map(
  named.flatMap(([name, { notices }]) => (notices ? [[name, notices]] : [])),
)

/** Older names that SDK builds in the field still send, accepted forever (D-22). */
export const sdkProviderAliases: ReadonlyMap<string, SdkProvider> = new Map([['google', 'health_connect']])

/** Provider an SDK names in query or body, in any case; undefined when no SDK uploads for it (sdk-payload 4.1). */
export function resolveSdkProvider(text: string): SdkProvider | undefined {
  const name = text.trim().toLowerCase()
  const provider = sdkProviderAliases.get(name) ?? name
  return isSdkProvider(provider) ? provider : undefined
}

function isSdkProvider(name: string): name is SdkProvider {
  return (sdkProviders as ReadonlyMap<string, SdkAbility>).has(name)
}
