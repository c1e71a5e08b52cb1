import { CannotOpen } from '../vault.ts'
import { openToken, type StoredTokens, sealTokens } from './grants.ts'
import type { OAuthParts } from './parts.ts'

/** Grants sealed again in one transaction. */
const GRANTS = 500

/**
 * The job that seals tokens with SECRET_KEY that only SECRET_KEY_PREVIOUS opens. Returns whether there may be more. Tokens
 * that no key opens stay as they are.
 */
export async function reseal({ db, vault, log }: Pick<OAuthParts, 'db' | 'vault' | 'log'>): Promise<boolean> {
  const former = vault.keyIds.filter((id) => id !== vault.keyId)
  if (former.length === 0) return false
  return db.transaction(async (tx) => {
    // A refresh under way seals its grant with the new key anyway.
    const grants = await tx.query<StoredTokens>(
      `select id, version, key_id, access, refresh
       from provider_grant
       where key_id = any ($1)
       order by id
       limit ${GRANTS}
       for update skip locked`,
      [former],
    )
    const sealed = grants.flatMap((grant) => {
      try {
        const access = openToken(vault, grant, 'access')
        if (access === null) return []
        return [
          {
            id: grant.id,
            ...sealTokens(vault, grant.id, grant.version, { access, refresh: openToken(vault, grant, 'refresh') }),
          },
        ]
      } catch (error) {
        if (!(error instanceof CannotOpen)) throw error
        log.error({ err: error, grant: grant.id }, 'a token cannot be sealed again')
        return []
      }
    })
    await tx.query(
      `update provider_grant g
       set key_id = $2, access = s.access, refresh = s.refresh
       from unnest($1::uuid[], $3::bytea[], $4::bytea[]) as s (id, access, refresh)
       where g.id = s.id`,
      [
        sealed.map(({ id }) => id),
        vault.keyId,
        sealed.map(({ access }) => access),
        sealed.map(({ refresh }) => refresh),
      ],
    )
    log.info({ grants: sealed.length }, 'tokens are sealed with the present SECRET_KEY')
    // If only damaged ones are left, looking again would never end.
    return sealed.length > 0 && grants.length === GRANTS
  })
}
