// Subscriptions of single accounts: what is made and what is removed, whatever is there; and what is said of failures.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { changed, differences } from '../../../server/intake/notices/account-subscriptions.ts'
import type { OAuthClient } from '../../../server/provider-client/clients.ts'
import type { Received } from '../../../server/provider-client/http.ts'
import { cloudProviders, notifyingProviders } from '../../../server/providers/index.ts'
import type { AccountSubscribed } from '../../../server/providers/notices.ts'
import type { Request } from '../../../server/providers/provider.ts'
import { runs } from '../../support/thorough.ts'

const BASE = 'https://api.example.org/api/v1/providers/x/webhooks'
const ADDRESS = `${BASE}?token=now`
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const said = ({ of, url }: AccountSubscribed) => `${of} ${url}`

const addresses = [
  ADDRESS,
  `${BASE}?token=before`,
  'https://old.example.org/hooks?token=before',
  'https://else.example/x',
]

t.test(
  'after it, all that is wanted is there once, what is ours and not wanted is gone, the rest is as it was',
  async (t) => {
    const one = fc.record({ of: fc.constantFrom('1', '4', '16', '44'), url: fc.constantFrom(...addresses) })
    const property = fc.property(
      fc.uniqueArray(one, { selector: said }),
      fc.uniqueArray(fc.constantFrom('1', '4', '16')),
      fc.constantFrom(null, ...addresses.slice(1, 3)),
      (there, wanted, formerAddress) => {
        const former = formerAddress === null ? null : sha256(formerAddress)
        const { missing, stale } = differences(there, wanted, { address: ADDRESS, former })
        const gone = new Set(stale.map(said))
        const after = [...there.filter((each) => !gone.has(said(each))), ...missing.map((of) => ({ of, url: ADDRESS }))]
        const ours = new Set([ADDRESS, `${BASE}?token=before`, formerAddress])
        const expected = [...there.filter(({ url }) => !ours.has(url)), ...wanted.map((of) => ({ of, url: ADDRESS }))]
        return JSON.stringify(after.map(said).sort()) === JSON.stringify(expected.map(said).sort())
      },
    )
    fc.assert(property, { seed: 18, numRuns: runs(500, 20_000) })
    t.strictSame(
      differences([{ of: '1', url: ADDRESS }], ['1'], { address: ADDRESS, former: null }),
      { missing: [], stale: [] },
      'nothing to do where it is as it should be',
    )
  },
)

const provider = cloudProviders.get('withings')!
const calls = notifyingProviders.get('withings')!.accountSubscriptions!({
  ...{ settings: {} as never, own: { WEBHOOK_TOKEN: 'now' } },
})
const client = { provider, oauth: () => provider.oauth({ more: {} }) } as unknown as OAuthClient

/** Settles an account of a provider that answers so, by action. */
async function settled(answers: Record<string, unknown>, { isWanted = true, scope = null as string | null } = {}) {
  const asked: string[] = []
  const ask = async ({ form }: Request): Promise<Received> => {
    const { action = '', appli = '' } = form ?? {}
    asked.push(`${action} ${appli}`.trim())
    const json = answers[`${action} ${appli}`] ?? answers[action] ?? { status: 0, body: {} }
    return { status: 200, headers: {}, json, body: Buffer.from('') }
  }
  const wanted = { client, calls, address: calls.address(BASE), isWanted, secrets: ['now'] }
  const grant = { id: 'g', provider: 'withings', issuer: null, scope, address: null, attempts: 1 }
  const failure = await changed({ ask, wanted, grant, excerpt: (text) => text })
  return { asked: asked.join(', '), failure }
}

t.test('what is asked, and what is said of what fails', async (t) => {
  const profiles = (...list: [appli: number, url: string][]) => ({
    list: { status: 0, body: { profiles: list.map(([appli, callbackurl]) => ({ appli, callbackurl })) } },
  })
  const every = 'list, subscribe 1, subscribe 2, subscribe 4, subscribe 16, subscribe 44, subscribe 46, subscribe 58'
  t.strictSame(await settled(profiles()), { asked: every, failure: undefined })
  const there = profiles([16, ADDRESS], [46, ADDRESS], [1, `${BASE}?token=before`], [1, 'https://else.example/x'])
  t.strictSame(await settled(there, { scope: 'user.activity,user.info' }), {
    ...{ asked: 'list, subscribe 44, revoke 1', failure: undefined },
  })
  t.strictSame(await settled(there, { isWanted: false }), {
    ...{ asked: 'list, revoke 16, revoke 46, revoke 1', failure: undefined },
  })
  const refused = { ...profiles(), 'subscribe 4': { status: 293, error: `Callback URL ${ADDRESS} is unreachable` } }
  t.strictSame(
    await settled({ ...refused, 'subscribe 58': { status: 2555, error: 'Unauthorized' } }),
    { asked: every, failure: `status 293: Callback URL ${BASE}?token=[cut] is unreachable` },
    'without the secret; what the plan does not have is no failure',
  )
  t.strictSame(await settled({ list: { status: 401, error: 'invalid token' } }), {
    ...{ asked: 'list', failure: 'status 401: invalid token' },
  })
  t.strictSame(await settled({ ...there, revoke: { status: 294 } }, { isWanted: false }), {
    ...{ asked: 'list, revoke 16, revoke 46, revoke 1', failure: undefined },
  })
})
