import type { ParcelResult } from '../../../workers/parcel.ts'
import type { UploadResult } from '../../../workers/sdk-upload.ts'
import type { Batch } from '../../batch/columns.ts'
import type { Scope } from '../../catalogue/scopes.ts'
import type { Queryable } from '../../db/database.ts'
import type { SdkProvider } from '../../providers/index.ts'
import type { Threads } from '../../threads.ts'

/** An upload whose body is stored. */
export interface StoredUpload {
  id: string
  provider: string
  /** How it came: from a phone's SDK; or a parcel of a provider, pulled, or because of a notice. */
  channel: 'sdk' | 'pull' | 'webhook'
  sync_type: Scope
  /** For whose connection a parcel came; null: it is gone. */
  connection_id: string | null
  sha256: Buffer
  received_at: string
}

/** How an upload came, for `commitBatch`. */
export const cameBy = ({ channel, connection_id: id, sync_type: scope }: StoredUpload) => ({
  scope,
  ...(channel !== 'sdk' && { connection: { id, wasSent: channel === 'webhook' && scope === 'live' } }),
})

/**
 * Reads the stored body of an upload by the current rules; undefined when it was removed with the upload.
 * @throws Error when it is no longer readable
 */
export async function readStored(
  db: Queryable,
  threads: Threads,
  userId: string,
  upload: StoredUpload,
): Promise<Batch | undefined> {
  const { id, sha256 } = upload
  const [stored] = await db.query<{ body: Buffer }>('select body from upload_body where user_id = $1 and sha256 = $2', [
    userId,
    sha256,
  ])
  if (!stored) return undefined
  return batchOf(id, await read(threads, upload, stored.body))
}

/** Reads what notices brought, as it was just put together; takes ownership of `bytes`. @throws Error when it is not readable */
export const readJoined = async (threads: Threads, { id, provider }: StoredUpload, bytes: Uint8Array): Promise<Batch> =>
  batchOf(id, await threads.readParcel({ bytes, encoding: 'identity', provider }))

function batchOf(id: string, result: UploadResult | ParcelResult): Batch {
  if (!result.ok) throw new Error(`stored upload ${id} cannot be read again: ${result.code}`)
  return result.batch
}

function read(threads: Threads, { provider, channel, received_at }: StoredUpload, bytes: Buffer) {
  if (channel !== 'sdk') return threads.readParcel({ bytes, encoding: 'br', provider })
  const nowMs = Date.parse(received_at)
  return threads.readUpload({ bytes, encoding: 'br', queryProvider: null, provider: provider as SdkProvider, nowMs })
}
