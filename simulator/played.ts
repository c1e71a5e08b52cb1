import type { Budgets } from './budgets.ts'
import type { Subscriptions } from './notices/subscriptions.ts'
import type { Client } from './oauth/client.ts'
import type { SignIn } from './oauth/flow.ts'
import type { Grants } from './oauth/grants.ts'
import type { Provider } from './provider.ts'

/** A provider with what it keeps in memory. */
export interface Played {
  readonly provider: Provider
  readonly client: Client
  readonly grants: Grants
  readonly signIn: SignIn
  readonly budgets: Budgets
  readonly subscriptions: Subscriptions
}
