import * as apple from './apple/index.ts'
import * as healthConnect from './health_connect/index.ts'
import * as samsung from './samsung/index.ts'
import type { SdkAbility } from './sdk.ts'

/** Provider an SDK uploads for (contract 2.1, clientSdk). */
export type SdkProvider = 'apple' | 'samsung' | 'health_connect'

/** SDK abilities by provider; adding one is a folder and a line here. */
export const sdkProviders: ReadonlyMap<SdkProvider, SdkAbility> = new Map([
  ['apple', apple.sdk],
  ['samsung', samsung.sdk],
  ['health_connect', healthConnect.sdk],
])

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
