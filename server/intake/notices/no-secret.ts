import type { Keys, Notices } from '../../providers/notices.ts'

/** How often a log says that notices of a provider are refused for want of a secret: anybody may send some. */
const AGAIN_MS = 3_600_000

/** What an operator has to do before notices of a provider can be verified; undefined: its secret is known. */
export function remedyFor(provider: string, notices: Notices, keys: Keys | undefined): string | undefined {
  // It is not configured, so nobody expects any.
  if (!keys) return undefined
  if (notices.givesSigningSecret && keys.given === null) {
    const path = `/api/v1/providers/${provider}/webhooks/subscriptions`
    return `its signing secret, said once when a subscription is created, is not known here: DELETE and POST it at ${path}`
  }
  if (notices.subscriptions || notices.accountSubscriptions) return undefined
  const unset = (notices.secrets ?? []).filter((name) => keys.own[name] === undefined)
  return unset.length > 0 ? `set ${unset.map((name) => `${provider.toUpperCase()}_${name}`).join(' and ')}` : undefined
}

/** Whether it is time to say that again; remembers when it was. */
export function openReminder(): (provider: string) => boolean {
  const said = new Map<string, number>()
  return (provider) => {
    const now = performance.now()
    if (now - (said.get(provider) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return false
    said.set(provider, now)
    return true
  }
}
