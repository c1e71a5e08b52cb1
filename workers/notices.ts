import { notifyingProviders } from '../server/providers/index.ts'
import type { Notice, Notices } from '../server/providers/notices.ts'
import { isStorableJson } from '../server/text.ts'
import { parseExactJson } from './exact-json.ts'
import { PARCEL_LIMIT_BYTES } from './parcel.ts'

/** Notices of one provider that are to be opened. */
export interface NoticesTask {
  readonly provider: string
  /** Ids of our subscriptions there. */
  readonly subscriptionIds: readonly string[]
  readonly wantsSamples: boolean
  readonly bodies: readonly { readonly body: Uint8Array; readonly atMs: number }[]
}

/** What a body says; `malformed`: it cannot be read. */
export type Opened = readonly Notice[] | 'malformed'

/** Longest id of an account, in characters, and most notices of one body. */
const MAX_ACCOUNT = 200
const MAX_NOTICES = 10_000

/** Of the data of one person: a parcel holds it, with what goes with it. */
const MAX_CARRIED_BYTES = PARCEL_LIMIT_BYTES - 1024 * 1024

/** Thread entry: `openNotices` by the connector of the provider. */
export default function openNoticesInThread(task: NoticesTask): Opened[] {
  const notices = notifyingProviders.get(task.provider)
  return notices ? openNotices(notices, task) : task.bodies.map(() => 'malformed')
}

/** What each body says. Whatever is in it, and whatever the connector makes of it, the others are opened. */
export function openNotices(
  { open }: Pick<Notices, 'open'>,
  { bodies, ...known }: Omit<NoticesTask, 'provider'>,
): Opened[] {
  return bodies.map(({ body, atMs }) => {
    try {
      const parsed = parseExactJson(body)
      if (parsed === 'too_deep') return 'malformed'
      const json = typeof parsed === 'string' ? undefined : parsed.value
      const notices = open({ body, json, atMs, ...known })
      const isSound = (notice: Notice) => isStorable(notice) && weighs(notice) <= MAX_CARRIED_BYTES
      return notices === 'malformed' || notices.length > MAX_NOTICES || !notices.every(isSound) ? 'malformed' : notices
    } catch {
      return 'malformed'
    }
  })
}

/** Bytes of a piece that was written anew: `1E20` is five times as long then. */
const weighs = (notice: Notice): number => ('body' in notice ? (notice.body?.length ?? 0) : 0)

/** Cleaned, an id might be that of another account: what has characters that cannot be stored is no id. */
function isStorable({ account, ...notice }: Notice): boolean {
  if (typeof account !== 'string' || account === '' || account.length > MAX_ACCOUNT) return false
  const { body: _, ...said } = 'body' in notice ? notice : { ...notice, body: undefined }
  return isStorableJson(JSON.stringify([account, said]))
}
