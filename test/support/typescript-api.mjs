// openapi-typescript writes its output with TypeScript's API, which version 7 does not have: it gets that of version 5.
import { register } from 'node:module'

const resolve = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context)`
register(`data:text/javascript,${encodeURIComponent(resolve)}`, import.meta.url)
