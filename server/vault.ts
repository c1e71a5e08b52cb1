import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

// AES-256-GCM (NIST SP 800-38D) with a fresh nonce of 96 bits; the stored form is nonce, tag, ciphertext.
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Where a sealed value is stored: elsewhere, or with another version, it does not open. */
export interface Place {
  readonly table: string
  /** The id of its row. */
  readonly row: string
  readonly column: string
  readonly version: number
}

/** A sealed value with the id of its key; null: of a time when keys had none, and only endpoints had secrets. */
export interface Sealed {
  readonly keyId: number | null
  readonly sealed: Buffer
}

/** No key of this process opens a value: SECRET_KEY is not the one it was sealed with, or the value was changed. */
export class CannotOpen extends Error {
  constructor({ table, row, column }: Place, cause?: unknown) {
    super(`${table}.${column} of ${row} cannot be read: SECRET_KEY is not the one it was stored with`, { cause })
    this.name = 'CannotOpen'
  }
}

/** Seals and opens what is secret in the database, with keys derived from SECRET_KEY and SECRET_KEY_PREVIOUS. */
export interface Vault {
  /** Id of the key that seals. */
  readonly keyId: number
  /** Ids of all keys that open. */
  readonly keyIds: readonly number[]
  seal(place: Place, text: string): Sealed
  /** @throws CannotOpen */
  open(place: Place, value: Sealed): string
  /** A keyed hash of settings, other with other keys, that says nothing of them: hexadecimal. */
  fingerprint(text: string): string
}

interface Key {
  readonly id: number
  readonly bytes: Uint8Array
  /** For fingerprints. */
  readonly marks: Uint8Array
  /** What sealed the secrets of endpoints before keys had ids. */
  readonly former: Uint8Array
}

/** Derives the keys of the vault with HKDF-SHA256 (RFC 5869); the id of a key is derived too, so it needs no list. */
export function openVault(secretKey: string, previousSecretKey?: string): Vault {
  const current = keyOf(secretKey)
  const keys = [current, ...(previousSecretKey === undefined ? [] : [keyOf(previousSecretKey)])]
  const keyIds = [...new Set(keys.map(({ id }) => id))]
  return {
    keyId: current.id,
    keyIds,
    fingerprint: (text) =>
      createHmac('sha256', current.marks)
        .update(JSON.stringify([keyIds, text]))
        .digest('hex'),
    seal: (place, text) => ({ keyId: current.id, sealed: seal(current, place, text) }),
    open(place, { keyId, sealed }) {
      const tried =
        keyId === null
          ? keys.map(({ former }) => ({ bytes: former, data: Buffer.from(place.row) }))
          : keys.filter(({ id }) => id === keyId).map(({ bytes }) => ({ bytes, data: boundTo(place) }))
      let cause: unknown
      for (const { bytes, data } of tried) {
        try {
          return open(bytes, data, sealed)
        } catch (error) {
          cause = error
        }
      }
      throw new CannotOpen(place, cause)
    },
  }
}

function keyOf(secretKey: string): Key {
  const derive = (purpose: string, bytes: number) => Buffer.from(hkdfSync('sha256', secretKey, '', purpose, bytes))
  return {
    id: derive('pulsebase provider token id', 4).readInt32BE(),
    bytes: derive('pulsebase provider token', KEY_BYTES),
    marks: derive('pulsebase settings fingerprint', KEY_BYTES),
    former: derive('pulsebase webhook secret', KEY_BYTES),
  }
}

// JSON keeps the parts apart, whatever they hold.
const boundTo = ({ table, row, column, version }: Place) => Buffer.from(JSON.stringify([table, row, column, version]))

function seal(key: Key, place: Place, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key.bytes, nonce).setAAD(boundTo(place))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

function open(key: Uint8Array, data: Buffer, sealed: Uint8Array): string {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(data)
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
}
