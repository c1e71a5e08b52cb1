// Every provider with a connector: a folder, and a line here. Its index exports `sdk` if a mobile SDK uploads for the
// provider, `cloud` if it has an API, and `notices` if that sends notices.
export * as apple from './apple/index.ts'
export * as garmin from './garmin/index.ts'
export * as health_connect from './health_connect/index.ts'
export * as oura from './oura/index.ts'
export * as polar from './polar/index.ts'
export * as samsung from './samsung/index.ts'
export * as strava from './strava/index.ts'
export * as suunto from './suunto/index.ts'
export * as whoop from './whoop/index.ts'
