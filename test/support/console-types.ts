// npm run pretypecheck: the types of the console's client, from the description of the API as it is now.
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import generate, { astToString } from 'openapi-typescript'
import { routes } from '../../server/api/index.ts'
import { openApiDocument } from '../../server/http/openapi.ts'

const FILE = fileURLToPath(new URL('../../console/api/schema.d.ts', import.meta.url))

const served = { apiBaseUrl: 'http://localhost:8000', apiKeyHeaders: ['X-Service-API-Key'] }
const document = JSON.stringify(openApiDocument(routes, served))
const types = await generate(document, { defaultNonNullable: false })
await writeFile(FILE, `// Generated from the description of the API: not committed.\n${astToString(types)}`)
