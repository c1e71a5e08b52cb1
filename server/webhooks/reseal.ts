import type { Database } from '../db/database.ts'
import type { Logger } from '../log.ts'
import type { Vault } from '../vault.ts'
import { openSecret, sealSecret } from './secrets.ts'

interface Row {
  id: number
  uid: string
  secret: Buffer
  key_id: number | null
  former_secret: Buffer | null
  former_key_id: number | null
}

/**
 * Seals the secrets of endpoints again that another key than the present one has sealed. What no key opens stays as it
 * is: its developer rotates it.
 */
export async function resealSecrets({ db, vault, log }: { db: Database; vault: Vault; log: Logger }): Promise<void> {
  await db.transaction(async (tx) => {
    // There are a thousand endpoints at most.
    const rows = await tx.query<Row>(
      `select id, uid, secret, key_id, former_secret, former_key_id
       from endpoint
       where key_id is distinct from $1 or former_secret is not null and former_key_id is distinct from $1
       order by id
       for no key update skip locked`,
      [vault.keyId],
    )
    const again = ({ uid }: Row, keyId: number | null, sealed: Buffer) => {
      if (keyId === vault.keyId) return { keyId, sealed }
      try {
        return sealSecret(vault, uid, openSecret(vault, uid, { keyId, sealed }))
      } catch {
        return { keyId, sealed }
      }
    }
    const changed = rows.flatMap((row) => {
      const secret = again(row, row.key_id, row.secret)
      const former = row.former_secret && again(row, row.former_key_id, row.former_secret)
      const opened = secret.sealed !== row.secret || (former?.sealed ?? null) !== row.former_secret
      return opened ? [{ id: row.id, secret, former }] : []
    })
    if (changed.length === 0) return
    await tx.query(
      `update endpoint n
       set secret = s.secret, key_id = s.key_id, former_secret = s.former, former_key_id = s.former_key
       from unnest($1::int4[], $2::bytea[], $3::int4[], $4::bytea[], $5::int4[])
         as s (id, secret, key_id, former, former_key)
       where n.id = s.id`,
      [
        changed.map(({ id }) => id),
        ...[changed.map(({ secret }) => secret.sealed), changed.map(({ secret }) => secret.keyId)],
        ...[changed.map(({ former }) => former?.sealed ?? null), changed.map(({ former }) => former?.keyId ?? null)],
      ],
    )
    log.info({ endpoints: changed.length }, 'secrets of endpoints are sealed with the present SECRET_KEY')
  })
}
