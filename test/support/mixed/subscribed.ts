// A service that every provider notifies.
import type { Service } from '../service.ts'
import type { Playing } from '../simulator.ts'

/** Those that take the address as a request, and those where people enter it; Withings is asked for each account. */
const BY_REQUEST = ['oura', 'strava', 'polar', 'google_health']
const BY_HAND = ['whoop', 'garmin', 'suunto']

/** Has the providers send their notices to a service. */
export async function subscribeAll({ service, simulator }: { service: Service; simulator: Playing }): Promise<void> {
  const authorization = `Bearer ${await login(service)}`
  for (const provider of BY_REQUEST) {
    const address = encodeURIComponent(addressOf(service, provider))
    const path = `/api/v1/providers/${provider}/webhooks/subscriptions?callback_url=${address}`
    const { status, body } = await service.request('POST', path, { headers: { authorization }, auth: 'none' })
    if (status !== 200) throw new Error(`${provider}: ${status} ${JSON.stringify(body)}`)
  }
  for (const provider of BY_HAND) {
    const url = addressOf(service, provider)
    const { status, body } = await simulator.control('POST', 'subscriptions', { provider, url, with_secret: true })
    if (status !== 200) throw new Error(`${provider}: ${status} ${JSON.stringify(body)}`)
  }
}

const addressOf = ({ url }: Service, provider: string) => `${url}/api/v1/providers/${provider}/webhooks`

async function login(service: Service): Promise<string> {
  const form = new URLSearchParams({ username: 'admin@localhost', password: 'correct horse battery staple' })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const sent = { body: form.toString(), headers, auth: 'none' } as const
  return (await service.request('POST', '/api/v1/auth/login', sent)).body.access_token
}
