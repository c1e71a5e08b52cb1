import { garmin } from './garmin/index.ts'
import { oura } from './oura/index.ts'
import { polar } from './polar/index.ts'
import type { Provider } from './provider.ts'
import { strava } from './strava/index.ts'
import { suunto } from './suunto/index.ts'
import { whoop } from './whoop/index.ts'

/** The simulated providers, created anew for each simulator, since their settings can change. */
export function allProviders(): Provider[] {
  return [oura, whoop, strava, polar(), garmin(), suunto].map((provider) => ({
    ...provider,
    settings: { ...provider.settings, own: { ...provider.settings.own } },
  }))
}
