import { gated } from '../../db/database.ts'
import type { Dependencies } from '../../dependencies.ts'
import { type AppError, errors } from '../../errors.ts'
import { Reply } from '../../http/reply.ts'
import { openAccount } from '../../intake/pulls/account.ts'
import { BudgetClosed } from '../../intake/pulls/budget.ts'
import { verdictOf } from '../../intake/pulls/verdicts.ts'
import type { OAuthClient } from '../../provider-client/clients.ts'
import { NoAnswer, type Received } from '../../provider-client/http.ts'
import type { Provider, Request } from '../../providers/provider.ts'
import { requireConnected } from './connected.ts'
import { requireOnDemand } from './families.ts'

/** Characters of a provider's answer that an error repeats. */
const TEXT = 300

/** Of a provider that takes no more requests and does not say how long. */
const FIRST_WAIT_SECONDS = 15

/** What the routes that pass an answer on may answer besides. */
export const askErrors = {
  400: 'The provider is not configured or disabled, or a range that cannot be read',
  401: 'Not connected, or access has ended: the person connects again',
  403: 'The provider refuses this; any other error of the provider has its own status, too',
  404: 'Unknown user, or the provider has no such workout',
  429: 'The provider takes no more requests now',
  500: 'The provider cannot be reached',
  502: 'The provider refuses the access token of a connection that is active',
  501: 'The provider lists no workouts',
}

type Workouts = NonNullable<Provider['workouts']>

/**
 * Asks a provider about workouts, with the access of a user's connection, and passes its answer on.
 * @throws AppError those of `requireConnected`; unsupported, provider_refused, provider_failed, throttled
 */
export async function askProvider(
  deps: Dependencies,
  params: { provider: string; user_id: string },
  requestOf: (workouts: Workouts) => Request | undefined,
): Promise<Reply> {
  const { provider, user_id: userId } = params
  const reading = { db: gated(deps.db, deps.gates.read, userId), oauth: deps.oauth }
  const { grantId, issuer, client } = await requireConnected(reading, params, () =>
    requireOnDemand(provider, 'workouts'),
  )
  const { workouts, api } = client.provider
  const request = workouts && requestOf(workouts)
  if (!request) throw errors.noWorkouts(provider)
  const account = openAccount({ parts: deps.oauth, tokens: deps.tokens }, { id: grantId, provider, issuer })
  const answer = await account.ask(request).catch((error: unknown) => {
    throw failure(client, error)
  })
  // The connection is active: whether it ends is for the refresh to say.
  if (verdictOf(api, answer) === 'auth') throw errors.tokenRefused(provider)
  const isData = answer.status >= 200 && answer.status <= 299 && answer.json !== undefined
  const problem = api.problem?.(answer)
  if (!isData || problem !== undefined) {
    throw refusal(client, answer, account.excerpt(problem ?? answer.body.toString('utf8')).slice(0, TEXT))
  }
  return new Reply(200, 'application/json', answer.body)
}

function failure({ name }: OAuthClient, error: unknown): unknown {
  if (error instanceof BudgetClosed)
    return errors.throttled(Math.max(1, Math.ceil((error.untilMs - Date.now()) / 1000)))
  return error instanceof NoAnswer ? errors.providerFailed(name, error.message) : error
}

/** With the provider's own status, where it is one of an error. */
function refusal({ name, provider }: OAuthClient, answer: Received, text: string): AppError {
  const { status, headers } = answer
  if (status < 400 || status > 599) {
    return errors.providerFailed(name, answer.json === undefined ? `its answer is not JSON (status ${status})` : text)
  }
  const resets = provider.api.readBudget?.(answer).flatMap(({ resetSeconds }) => resetSeconds ?? []) ?? []
  const [said] = /^\d{1,6}$/.exec(headers['retry-after'] ?? '') ?? []
  const retryAfter = said ?? (status === 429 ? String(Math.ceil(Math.max(FIRST_WAIT_SECONDS, ...resets))) : undefined)
  return errors.providerRefused(name, { status, text: text || `status ${status}`, retryAfter })
}
