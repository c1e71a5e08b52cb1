import { providerByName } from '../../catalogue/providers.ts'
import { type AppError, errors } from '../../errors.ts'
import { grantedStreams, type RefusedStream, refusedStreams } from '../../intake/pulls/tasks.ts'
import type { Stream } from '../../providers/provider.ts'
import type { Connected } from './connected.ts'

/** What a sync may ask for (contract 7.1). */
export const dataTypes = ['workouts', '247', 'all'] as const

/** One of them. */
export type DataType = (typeof dataTypes)[number]

/** Accepts only providers that can be asked at any time. @throws AppError bad_request, unsupported, no_oauth */
export function requireOnDemand(provider: string, dataType: DataType): void {
  const known = providerByName.get(provider)
  if (known?.restPull) return
  if (known?.sentinel) throw errors.noOAuth(provider)
  if (known?.hasCloudApi)
    throw errors.badRequest(`Provider '${provider}' does not support on-demand sync. Use /sync/historical.`)
  throw unsupported(provider, dataType)
}

/**
 * The streams that a sync asks for through a connection, and those that were not granted.
 * @throws AppError unsupported, forbidden
 */
export function streamsOf(
  { client, scope, issuer }: Connected,
  dataType: DataType,
): { granted: readonly Stream[]; refused: readonly RefusedStream[] } {
  const { id, streams = [] } = client.provider
  const asked = (one: Stream) => dataType === 'all' || one.family === dataType
  if (!streams.some(asked)) throw unsupported(id, dataType)
  const granted = grantedStreams(client, { scope, issuer }).filter(asked)
  if (granted.length === 0) throw errors.forbidden(`User has not granted access to this data of ${id}`)
  const names = new Set(streams.filter(asked).map(({ name }) => name))
  const refused = refusedStreams(client, { scope, issuer }).filter(({ stream }) => names.has(stream))
  return { granted, refused }
}

function unsupported(provider: string, dataType: DataType): AppError {
  switch (dataType) {
    case 'workouts':
      return errors.noWorkouts(provider)
    case '247':
      return errors.unsupported(`Provider '${provider}' does not support 247 data (sleep/recovery/activity)`)
    case 'all':
      return errors.unsupported(`Provider '${provider}' does not support any requested data types`)
  }
}
