import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { askErrors, askProvider } from './ask.ts'
import { ProviderUserPath } from './connected.ts'
import { askedFields, optionsOf, usualWindow, windowOf } from './window.ts'

/** The workouts of a user as a provider lists them; nothing is stored (contract 7.4). */
export const listProviderWorkouts = route(
  {
    method: 'GET',
    path: '/api/v1/providers/{provider}/users/{user_id}/workouts',
    operationId: 'listProviderWorkouts',
    summary: 'Workouts as the provider lists them',
    description:
      'The provider is asked now, and its answer is passed on as it is: its first page of the last 30 days, unless a ' +
      'range is given. Nothing is stored; /events/workouts has what was.',
    tag: 'Sync',
    guard: 'key',
    share: 'own',
    params: ProviderUserPath,
    query: Type.Object(askedFields),
    response: Type.Unknown({ description: 'What the provider answers' }),
    example: { data: [{ id: 'b6e0…', activity: 'walking' }], next_token: null },
    errors: askErrors,
  },
  async ({ params, query }, deps) => {
    const now = Date.now()
    const window = windowOf(query, now) ?? usualWindow(now)
    const asked = { window, limit: query.limit, options: optionsOf(query) }
    return askProvider(deps, params, (workouts) => workouts.list(asked))
  },
)
