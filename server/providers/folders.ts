// Every provider with a connector: a folder, and a line here. An index exports `sdk` where a mobile SDK uploads for the
// provider, and `cloud` where it has an API.
export * as apple from './apple/index.ts'
export * as health_connect from './health_connect/index.ts'
export * as samsung from './samsung/index.ts'
