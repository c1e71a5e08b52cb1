import type { Batch } from '../../batch/columns.ts'
import type { Transaction } from '../../db/database.ts'
import type { SdkProvider } from '../../providers/index.ts'
import type { Threads } from '../threads.ts'

/** An upload whose body is stored. */
export interface StoredUpload {
  id: string
  provider: SdkProvider
  sha256: Buffer
  received_at: string
}

/** Reads the stored body of an upload with the mapping of today. @throws Error when it cannot be read any more */
export async function readStored(
  tx: Transaction,
  threads: Threads,
  userId: string,
  { id, provider, sha256, received_at }: StoredUpload,
): Promise<Batch> {
  const { body } = await tx.one<{ body: Buffer }>('select body from upload_body where user_id = $1 and sha256 = $2', [
    userId,
    sha256,
  ])
  const result = await threads.readUpload({
    bytes: body,
    encoding: 'br',
    queryProvider: null,
    provider,
    nowMs: Date.parse(received_at),
  })
  if (!result.ok) throw new Error(`stored upload ${id} cannot be read again: ${result.code}`)
  return result.batch
}
