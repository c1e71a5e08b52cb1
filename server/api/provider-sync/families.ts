import { providerByName } from '../../catalogue/providers.ts'
import { type AppError, errors } from '../../errors.ts'
import type { Provider as Connector, Stream } from '../../providers/provider.ts'

/** What a sync may ask for (contract 7.1). */
export const dataTypes = ['workouts', '247', 'all'] as const

/** One of them. */
export type DataType = (typeof dataTypes)[number]

/** Accepts only providers that can be asked at any time. @throws AppError bad_request, unsupported, no_oauth */
export function requireOnDemand(provider: string, dataType: DataType): void {
  const known = providerByName.get(provider)
  if (known?.restPull) return
  if (known?.sentinel) throw errors.noOAuth(provider)
  if (known?.hasCloudApi) {
    throw errors.badRequest(`Provider '${provider}' does not support on-demand sync. Use /sync/historical.`)
  }
  throw unsupported(provider, dataType)
}

/** The streams of a connector that a sync asks for. @throws AppError unsupported */
export function streamsOf({ id, streams = [] }: Connector, dataType: DataType): readonly Stream[] {
  const asked = dataType === 'all' ? streams : streams.filter(({ family }) => family === dataType)
  if (asked.length === 0) throw unsupported(id, dataType)
  return asked
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
