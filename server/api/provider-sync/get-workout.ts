import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { askErrors, askProvider } from './ask.ts'
import { ProviderUserPath } from './connected.ts'
import { askedFields, optionsOf, usualWindow } from './window.ts'

/** One workout of a user as a provider has it; nothing is stored (contract 7.4). */
export const getProviderWorkout = route(
  {
    method: 'GET',
    path: '/api/v1/providers/{provider}/users/{user_id}/workouts/{workout_id}',
    operationId: 'getProviderWorkout',
    summary: 'A workout as the provider has it',
    description: 'The provider is asked now, and its answer is passed on as it is. Nothing is stored.',
    tag: 'Sync',
    guard: 'key',
    share: 'own',
    params: Type.Object({
      ...ProviderUserPath.properties,
      // It becomes a part of the path of a request: not one that leads elsewhere.
      workout_id: Type.String({ pattern: '^[\\w-][\\w.:~-]{0,199}$', description: 'Id at the provider' }),
    }),
    query: Type.Object({ samples: askedFields.samples, zones: askedFields.zones, route: askedFields.route }),
    response: Type.Unknown({ description: 'What the provider answers' }),
    example: { id: 'b6e0…', activity: 'walking' },
    errors: askErrors,
  },
  async ({ params, query }, deps) => {
    const asked = { window: usualWindow(Date.now()), limit: 1, options: optionsOf(query) }
    return askProvider(deps, params, (workouts) => workouts.one?.(params.workout_id, asked))
  },
)
