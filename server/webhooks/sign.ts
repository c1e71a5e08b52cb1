import { createHmac } from 'node:crypto'
import { signingKey } from './secrets.ts'

/**
 * The value of `hook-signature` (contract 10.6; Standard Webhooks 1.0): an entry
 * `v1,<base64>` per secret, the current one first, HMAC-SHA256 over `{id}.{timestamp}.{body}`; `timestamp` in epoch
 * seconds.
 */
export function signature(secrets: readonly string[], id: string, timestamp: number, body: Buffer): string {
  return secrets
    .map((secret) => {
      const mac = createHmac('sha256', signingKey(secret)).update(`${id}.${timestamp}.`).update(body)
      return `v1,${mac.digest('base64')}`
    })
    .join(' ')
}
