// Every provider with a connector: a folder, and a line here. Its index exports `sdk` if a mobile SDK uploads for the
// provider, and `cloud` if it has an API.
export * as apple from './apple/index.ts'
export * as health_connect from './health_connect/index.ts'
export * as oura from './oura/index.ts'
export * as samsung from './samsung/index.ts'
export * as whoop from './whoop/index.ts'
