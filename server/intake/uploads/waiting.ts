import type { Queryable } from '../../db/database.ts'
import { joinParcels } from '../pulls/parcel.ts'
import type { StoredUpload } from './stored.ts'

// An upload of notices takes more of them while it waits (sql/routines/notices/waiting_upload.sql): what a provider sends
// piece by piece would be as many imports.

/**
 * Ends that, before its import: it becomes one body with all that was added, which is returned; undefined when nothing was.
 * A process that dies in between left it whole.
 */
export async function closeUpload(db: Queryable, upload: StoredUpload): Promise<Uint8Array | undefined> {
  const bodies = await db.query<{ body: Buffer }>('select body from close_upload($1)', [upload.id])
  if (bodies.length === 0) return undefined
  const { bytes, packed } = await joinParcels(bodies.map(({ body }) => body))
  await db.query('select join_upload($1, $2, $3, $4)', [upload.id, packed.sha256, packed.body, packed.bytes])
  upload.sha256 = packed.sha256
  return bytes
}
