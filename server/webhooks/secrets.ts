import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

// AES-256-GCM (NIST SP 800-38D) with a fresh nonce of 96 bits; the stored form is nonce, tag, ciphertext.
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Random bytes of a signing secret (contract 10: 24 to 32). */
const SECRET_BYTES = 32
const PREFIX = 'whsec_'

/** A new signing secret: `whsec_` and the base64 of its bytes (Standard Webhooks). */
export const newSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`

/** The signing bytes of a secret in its shown form. */
export const signingKey = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64')

/** Encrypts a signing secret for storage; `endpoint` is the public id of its endpoint, to which the result is bound. */
export function sealSecret(key: Uint8Array, endpoint: string, secret: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(endpoint))
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Whether this key opens a result of `sealSecret`: not if SECRET_KEY was changed. */
export function canOpen(key: Uint8Array, endpoint: string, sealed: Uint8Array): boolean {
  try {
    return openSecret(key, endpoint, sealed) !== ''
  } catch {
    return false
  }
}

/**
 * Decrypts a result of `sealSecret`.
 * @throws Error when it was sealed with another SECRET_KEY, for another endpoint, or was changed
 */
export function openSecret(key: Uint8Array, endpoint: string, sealed: Uint8Array): string {
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(endpoint))
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new Error(`the secret of ${endpoint} cannot be read: SECRET_KEY is not the one it was stored with`, { cause })
  }
}
