import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** Signs notices as Tink does: 0x01, the number of the key, an ECDSA signature (P-256, SHA-256) in DER. */
export class Signer {
  readonly #key: KeyObject
  readonly #public: KeyObject
  readonly #id: number

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    this.#public = publicKey
    this.#id = 1_234_567_890
  }

  /** The signature of a body, base64. */
  sign(text: string): string {
    const head = Buffer.alloc(5)
    head.writeUInt8(1)
    head.writeUInt32BE(this.#id, 1)
    return Buffer.concat([head, sign('sha256', Buffer.from(text), this.#key)]).toString('base64')
  }

  /** The public keys as a Tink keyset: x is field 3 and y field 4, each with a zero before it. */
  keyset(): Record<string, unknown> {
    const { x = '', y = '' } = this.#public.export({ format: 'jwk' })
    const number = (field: number, text: string) => {
      const bytes = Buffer.concat([Buffer.alloc(1), Buffer.from(text, 'base64url')])
      return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes])
    }
    // Version 0; parameters: SHA-256, curve P-256, DER.
    const params = Buffer.from([0x12, 0x06, 0x08, 0x03, 0x10, 0x02, 0x18, 0x02])
    const value = Buffer.concat([params, number(3, x), number(4, y)]).toString('base64')
    const typeUrl = 'type.googleapis.com/google.crypto.tink.EcdsaPublicKey'
    const keyData = { typeUrl, value, keyMaterialType: 'ASYMMETRIC_PUBLIC' }
    const key = { keyData, status: 'ENABLED', keyId: this.#id, outputPrefixType: 'TINK' }
    return { primaryKeyId: this.#id, key: [key] }
  }
}
