import { oura } from './oura/index.ts'
import type { Provider } from './provider.ts'
import { whoop } from './whoop/index.ts'

/** The simulated providers, created anew for each simulator, since their settings can change. */
export function allProviders(): Provider[] {
  return [oura, whoop].map((provider) => ({
    ...provider,
    settings: { ...provider.settings, own: { ...provider.settings.own } },
  }))
}
