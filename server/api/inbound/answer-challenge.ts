import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { asReply, formOf, NotifyingPath, requireNotices } from './notifying.ts'

/** Answers a provider that makes sure that the address for its notices is ours (contract 8.1). */
export const answerChallenge = route(
  {
    method: 'GET',
    path: '/api/v1/providers/{provider}/webhooks',
    operationId: 'answerChallenge',
    summary: "Answer a provider's challenge",
    description:
      'Sent by a provider while it is subscribed to, with the token that it was given: `verification_token` and `challenge` (oura), or `hub.mode`, `hub.verify_token` and `hub.challenge` (strava); withings sends nothing. HEAD answers 200.',
    tag: 'Provider webhooks',
    guard: 'public',
    params: NotifyingPath,
    openQuery: true,
    share: 'own',
    response: Type.Record(Type.String(), Type.String()),
    example: { challenge: '4f1c9a' },
    errors: {
      400: 'Not a challenge',
      401: 'Wrong token, or the provider is not configured',
      403: 'Wrong token',
      404: 'Unknown provider',
      501: 'The provider sends no challenges',
    },
  },
  async ({ params: { provider }, ctx }, deps) => {
    const notices = requireNotices(deps, provider)
    return asReply(await deps.notices.challenge(provider, notices, formOf(ctx.URL.searchParams)))
  },
)
