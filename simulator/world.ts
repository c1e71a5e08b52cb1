import { Budgets } from './budgets.ts'
import { Clock } from './clock.ts'
import { Faults } from './faults.ts'
import { kept } from './kept.ts'
import { Post } from './notices/post.ts'
import { Subscriptions } from './notices/subscriptions.ts'
import type { Client } from './oauth/client.ts'
import { SignIn } from './oauth/flow.ts'
import { Grants, type Secret } from './oauth/grants.ts'
import type { Played } from './played.ts'
import { allProviders } from './providers.ts'
import { secretOf } from './random.ts'
import { RequestLog } from './request-log.ts'
import { livePerson, type Person } from './truth/person.ts'
import { persona, type Span } from './truth/personas.ts'
import { DAY_MS } from './zones.ts'

export interface WorldOptions {
  readonly people: number
  /** Days with data before the one on which it starts. */
  readonly days: number
  readonly seed: number
  /** The clock of this machine, epoch ms; tests bring their own. */
  readonly now: () => number
}

/** Everything there is. */
export interface World {
  readonly seed: number
  readonly people: ReadonlyMap<string, Person>
  readonly played: ReadonlyMap<string, Played>
  /** By provider, as above. */
  readonly posts: ReadonlyMap<string, Post>
  readonly faults: Faults
  readonly log: RequestLog
  /** Every code, token and client secret that anybody was ever given. */
  readonly secrets: readonly Secret[]
  readonly clock: Clock
}

/** Makes the people and the providers. */
export function makeWorld({ people, days, seed, now }: WorldOptions): World {
  const lastDay = Math.floor(now() / DAY_MS)
  const span = { firstDay: lastDay - days, lastDay }
  const all = Array.from({ length: people }, (_, index) => personOf(seed, index, span))
  const byKey = new Map(all.map((person) => [person.key, person]))
  const secrets: Secret[] = []
  const faults = new Faults()
  const clock = new Clock(now)
  let notices = 0
  const played = allProviders().map((provider): Played => {
    const { name } = provider
    const client = clientOf(name)
    const grants = new Grants(name, seed, secrets)
    grants.remember('client', client.secret, now())
    for (const secret of Object.values(provider.variables ?? {})) grants.remember('signing', secret, now())
    grants.claims = (key) => provider.oauth.claims?.(byKey.get(key) as Person)
    const signIn = new SignIn(provider, client, byKey, grants)
    return { provider, client, grants, signIn, budgets: new Budgets(), subscriptions: new Subscriptions() }
  })
  const around = { people: byKey, faults, clock, number: () => ++notices }
  return {
    ...{ seed, people: byKey, played: new Map(played.map((one) => [one.provider.name, one])) },
    ...{ faults, log: new RequestLog(), secrets, clock },
    posts: new Map(played.map((one) => [one.provider.name, new Post({ played: one, ...around })])),
  }
}

/** By seed, index and span: simulators of one process that play the same people share the days that were made of them. */
const persons = new Map<string, Person>()

function personOf(seed: number, index: number, span: Span): Person {
  const name = `${seed}/${index}/${span.firstDay}/${span.lastDay}`
  return kept(persons, name, () => livePerson(persona(seed, index, span), span))
}

function clientOf(provider: string): Client {
  return { id: `pulsebase-simulated-${provider}`, secret: secretOf(`${provider} client`) }
}

/** The variables that point a service at the simulator at `url`, which ends without a slash. */
export function environment(url: string): Record<string, string> {
  const variables = allProviders().flatMap(({ name, oauth, apiPath, variables: more = {}, options }) => {
    const prefix = name.toUpperCase()
    const { id, secret } = clientOf(name)
    return [
      [`${prefix}_AUTHORIZE_URL`, `${url}/${name}${oauth.authorizePath}`],
      [`${prefix}_TOKEN_URL`, `${url}/${name}${oauth.tokenPath}`],
      [`${prefix}_API_URL`, `${url}/${name}${apiPath}`],
      [`${prefix}_CLIENT_ID`, id],
      [`${prefix}_CLIENT_SECRET`, secret],
      ...Object.entries({ ...more, ...options?.() }),
    ] as const
  })
  return Object.fromEntries([...variables, ['OAUTH_REDIRECT_ORIGINS', url]])
}
