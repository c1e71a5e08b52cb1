import { fitbit } from './fitbit/index.ts'
import { garmin } from './garmin/index.ts'
import { googleHealth } from './google_health/index.ts'
import { oura } from './oura/index.ts'
import { polar } from './polar/index.ts'
import type { Provider } from './provider.ts'
import { sensorbio } from './sensorbio/index.ts'
import { strava } from './strava/index.ts'
import { suunto } from './suunto/index.ts'
import { ultrahuman } from './ultrahuman/index.ts'
import { whoop } from './whoop/index.ts'
import { withings } from './withings/index.ts'

/** The simulated providers, created anew for each simulator, since their settings can change. */
export function allProviders(): Provider[] {
  return [
    oura,
    whoop,
    strava,
    polar(),
    garmin(),
    suunto,
    withings(),
    googleHealth(),
    ultrahuman,
    sensorbio,
    fitbit,
  ].map((provider) => ({
    ...provider,
    settings: { ...provider.settings, own: { ...provider.settings.own } },
  }))
}
