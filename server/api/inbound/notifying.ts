import { Type } from 'typebox'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { Reply } from '../../http/reply.ts'
import type { Reply as Answer, Notices } from '../../providers/notices.ts'
import { settableProviders } from '../oauth/provider.ts'

/** Any text: what is not a provider is 404 here (contract 8.1). */
export const NotifyingPath = Type.Object({ provider: Type.String() })

/** How a provider notifies. @throws AppError unknown_provider, unsupported */
export function requireNotices({ notices }: Pick<Dependencies, 'notices'>, provider: string): Notices {
  if (!settableProviders.has(provider)) throw errors.unknownProvider(provider)
  const found = notices.noticesOf(provider)
  if (!found) throw errors.noNotices(provider)
  return found
}

/** An answer of a folder as one of ours. */
export const asReply = ({ status, json }: Answer): Reply =>
  new Reply(status, 'application/json', status === 204 ? null : JSON.stringify(json))

/** The first value of each parameter of a query. */
export const formOf = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries([...query].reverse().slice(-100))
