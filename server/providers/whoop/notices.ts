import { valuesOf } from '../accounts.ts'
import { textAt, valueAt } from '../answers.ts'
import type { InboundRequest, Keys, Notice, Notices, OpenedBody } from '../notices.ts'
import type { Wish } from '../provider.ts'
import { fromBase64, isRecent, isSignedBy } from '../signing.ts'
import { isId, type Named } from './streams.ts'

/** How WHOOP notifies: addresses are entered on the page of the application, so there are no subscriptions here. */
export const notices: Notices = {
  limitBytes: 64 * 1024,
  verify({ body, headers, nowSeconds }: InboundRequest, keys: Keys) {
    const time = headers['x-whoop-signature-timestamp']
    if (time === undefined || !isRecent(time, nowSeconds)) return 'refused'
    return isSignedBy(keys.client, [time, body], fromBase64(headers['x-whoop-signature'])) ? 'signed' : 'refused'
  },
  // Of recoveries.
  tells: ['recovery_score', 'resting_heart_rate', 'heart_rate_variability_rmssd'],
  accounts: valuesOf('user_id'),
  open,
}

const kinds: ReadonlySet<string> = new Set(['workout', 'sleep', 'recovery'])

function open({ json, atMs }: OpenedBody): readonly Notice[] | 'malformed' {
  const user = valueAt(json, 'user_id')
  const account = Number.isSafeInteger(user) || typeof user === 'string' ? String(user) : ''
  const id = textAt(json, 'id')
  const [kind, what] = (textAt(json, 'type') ?? '').split('.')
  if (account === '' || id === undefined || kind === undefined || what === undefined) return 'malformed'
  // Of the former API, or of a kind that we do not know.
  if (!kinds.has(kind) || !isId(id)) return []
  const args = { id, atMs } satisfies Named
  const wish: Wish = { kind: 'object', object: kind, key: `${kind}:${id}`, args }
  if (what === 'updated') return [{ account, kind: 'fetch', wish }]
  if (what !== 'deleted') return []
  const externalId = kind === 'recovery' ? `whoop:recovery:${id}` : id
  return [{ account, kind: 'delete', stream: kind, externalId, wish }]
}
