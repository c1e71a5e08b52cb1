import { randomBytes } from 'node:crypto'
import type { Sealed, Vault } from '../vault.ts'

/** Random bytes of a signing secret (contract 10: 24 to 32). */
const SECRET_BYTES = 32
const PREFIX = 'whsec_'

/** A new signing secret: `whsec_` and the base64 of its bytes (Standard Webhooks). */
export const newSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`

/** The signing bytes of a secret in its shown form. */
export const signingKey = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64')

// A former secret was the secret before, so both are sealed for the same place.
const placeOf = (endpoint: string) => ({ table: 'endpoint', row: endpoint, column: 'secret', version: 0 })

/** Seals a signing secret for storage, bound to the public id of its endpoint. */
export const sealSecret = (vault: Vault, endpoint: string, secret: string): Sealed =>
  vault.seal(placeOf(endpoint), secret)

/** Opens a result of `sealSecret`. @throws CannotOpen */
export const openSecret = (vault: Vault, endpoint: string, sealed: Sealed): string =>
  vault.open(placeOf(endpoint), sealed)

/** The secret; undefined when no key opens it: SECRET_KEY was changed. */
export function readSecret(vault: Vault, endpoint: string, sealed: Sealed): string | undefined {
  try {
    return openSecret(vault, endpoint, sealed)
  } catch {
    return undefined
  }
}
