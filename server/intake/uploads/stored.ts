import type { Batch } from '../../batch/columns.ts'
import type { Queryable } from '../../db/database.ts'
import type { SdkProvider } from '../../providers/index.ts'
import type { Threads } from '../../threads.ts'

/** An upload whose body is stored. */
export interface StoredUpload {
  id: string
  provider: SdkProvider
  sha256: Buffer
  received_at: string
}

/**
 * Reads the stored body of an upload by the current rules; undefined when it was removed with the upload.
 * @throws Error when it is no longer readable
 */
export async function readStored(
  db: Queryable,
  threads: Threads,
  userId: string,
  { id, provider, sha256, received_at }: StoredUpload,
): Promise<Batch | undefined> {
  const [stored] = await db.query<{ body: Buffer }>('select body from upload_body where user_id = $1 and sha256 = $2', [
    userId,
    sha256,
  ])
  if (!stored) return undefined
  const result = await threads.readUpload({
    bytes: stored.body,
    encoding: 'br',
    queryProvider: null,
    provider,
    nowMs: Date.parse(received_at),
  })
  if (!result.ok) throw new Error(`stored upload ${id} cannot be read again: ${result.code}`)
  return result.batch
}
