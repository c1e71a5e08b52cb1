import type { Json } from '../../providers/part.ts'
import type { Provider, Stream, StreamState, Wish } from '../../providers/provider.ts'
import { isStorableJson } from '../../text.ts'
import { isoInstant } from '../../time.ts'

// Wishes: what to request soon because a notice or an answer named it. sql/routines/pulls/queue_wishes.sql queues them.

/** Longest key, in characters, and largest arguments, in bytes of JSON. */
const MAX_KEY = 200
const MAX_ARGS_BYTES = 4_096

/** How far back a notice may ask for a span; everything before is history. */
const MAX_SPAN_MS = 31 * 86_400_000

/** A wish as the routine reads it; instants as ISO text, `every` and `after` in seconds. */
export interface WishRow {
  readonly kind: 'object' | 'notice'
  readonly key: string
  readonly stream: string
  readonly object?: string
  readonly args?: Json
  /** Options of the sync that led to this wish. */
  readonly options?: Readonly<Record<string, Json>>
  readonly lo?: string
  readonly hi?: string
  readonly every?: number
  readonly after?: number
  readonly last?: true
}

/** How a wish differs from the usual. */
interface Urgency extends Pick<WishRow, 'options'> {
  /** Not before so many seconds. */
  readonly after?: number
  /** A notice has already said that it was deleted, so a single 404 is enough. */
  readonly last?: true
}

/**
 * The row of a wish. Undefined if it cannot be requested: the provider has no such thing, its scope was not granted, or
 * its key or arguments cannot be stored.
 */
export function wishRow(
  provider: Pick<Provider, 'streams' | 'objects'>,
  scope: StreamState['scope'],
  wish: Wish,
  more: Urgency = {},
): WishRow | undefined {
  const kind = wish.kind === 'object' ? objectOf(provider, wish.object) : undefined
  const name = wish.kind === 'object' ? kind?.stream : wish.stream
  const stream = provider.streams?.find((one) => one.name === name)
  if (!stream || !(stream.scope === undefined || scope === null || scope.has(stream.scope))) return undefined
  const row = { ...(wish.kind === 'object' ? objectRow(wish, stream) : spanRow(wish)), ...more }
  const json = JSON.stringify(row)
  const isStorable = isStorableJson(json) && Buffer.byteLength(json) <= MAX_ARGS_BYTES && row.key.length <= MAX_KEY
  return isStorable ? row : undefined
}

/** The kind of a thing that can be asked for. */
export const objectOf = ({ objects = {} }: Pick<Provider, 'objects'>, name: string) =>
  Object.hasOwn(objects, name) ? objects[name] : undefined

const objectRow = ({ object, key, args }: Wish & { kind: 'object' }, { name: stream }: Stream): WishRow => ({
  ...{ kind: 'object', key: `${object}:${key}`, stream, object, args },
})

function spanRow({ stream, window: { fromMs, untilMs }, everySeconds }: Wish & { kind: 'span' }): WishRow {
  const lo = isoInstant(Math.max(fromMs, untilMs - MAX_SPAN_MS))
  const every = everySeconds === undefined ? {} : { every: everySeconds }
  return { kind: 'notice', key: stream, stream, lo, hi: isoInstant(untilMs), ...every }
}
