import type { Tokens } from '../providers/provider.ts'
import type { Sealed, Vault } from '../vault.ts'

/** Tokens as a grant stores them. */
export interface SealedTokens {
  readonly keyId: number
  readonly access: Buffer
  readonly refresh: Buffer | null
}

/** Sealed tokens of a grant, as the database returns them. */
export interface StoredTokens {
  readonly id: string
  readonly version: number
  readonly key_id: number | null
  readonly access: Buffer | null
  readonly refresh: Buffer | null
}

const place = (grantId: string, column: 'access' | 'refresh', version: number) => ({
  ...{ table: 'provider_grant', row: grantId, column, version },
})

/** Seals the tokens of a grant for the version of its row that they are stored with. */
export function sealTokens(
  vault: Vault,
  grantId: string,
  version: number,
  { access, refresh }: Pick<Tokens, 'access' | 'refresh'>,
): SealedTokens {
  const sealed = (column: 'access' | 'refresh', token: string) => vault.seal(place(grantId, column, version), token)
  return {
    keyId: vault.keyId,
    access: sealed('access', access).sealed,
    refresh: refresh === null ? null : sealed('refresh', refresh).sealed,
  }
}

/** A token of a grant; null when it has none. @throws CannotOpen */
export function openToken(vault: Vault, grant: StoredTokens, column: 'access' | 'refresh'): string | null {
  const sealed = grant[column]
  if (sealed === null || grant.key_id === null) return null
  const value: Sealed = { keyId: grant.key_id, sealed }
  return vault.open(place(grant.id, column, grant.version), value)
}
