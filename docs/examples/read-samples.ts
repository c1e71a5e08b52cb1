// Reads a page of samples with a client that knows every path and type:
//   npm install openapi-fetch openapi-typescript
//   npx openapi-typescript http://localhost:8000/openapi.json --default-non-nullable false --output pulsebase.ts
//   npx tsx read-samples.ts http://localhost:8000 sk-… <user id>
import createClient from 'openapi-fetch'
import type { components, paths } from './pulsebase.ts'

type Sample = components['schemas']['Sample']

const [baseUrl = '', key = '', user = ''] = process.argv.slice(2)
// Of the forms of an answer the JSON one.
const client = createClient<paths, 'application/json'>({ baseUrl, headers: { 'X-Service-API-Key': key } })

const {
  data: page,
  error,
  response,
} = await client.GET('/api/v1/users/{user_id}/timeseries', {
  params: {
    path: { user_id: user },
    query: { start_time: '2026-02-24', end_time: '2026-02-24', types: ['heart_rate'], limit: 2 },
  },
})
if (!page) throw new Error(`${response.status} ${JSON.stringify(error?.detail)}`)

const show = ({ timestamp, value, unit, source }: Sample) => `${timestamp} ${value} ${unit} ${source.provider}`
for (const sample of page.data) console.log(show(sample))
console.log(`${page.data.length} of ${page.pagination.total_count}`)
