import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

// What folders verify notices with. Comparisons take the same time whatever is compared.

/** How far the time of a notice may be from ours, unless its provider is known to send old ones; seconds. */
export const TOLERANCE_SECONDS = 300

/** Numbers above are milliseconds (in seconds: the year 5138). */
const MILLISECONDS_FROM = 1e11

/** Whether two texts are the same; false when either is absent or empty. */
export function isSame(one: string | undefined | null, other: string | undefined | null): boolean {
  if (!one || !other) return false
  return timingSafeEqual(digest(one), digest(other))
}

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Whether one of these secrets signed the pieces, one after the other: HMAC-SHA256 (RFC 2104). */
export function isSignedBy(
  secrets: readonly (string | null | undefined)[],
  pieces: readonly (string | Uint8Array)[],
  signature: Uint8Array | undefined,
): boolean {
  if (signature?.length !== 32) return false
  let found = false
  for (const secret of secrets) {
    if (!secret) continue
    const hmac = createHmac('sha256', secret)
    for (const piece of pieces) hmac.update(piece)
    // All of them are tried, so that the time does not reveal which.
    if (timingSafeEqual(hmac.digest(), signature)) found = true
  }
  return found
}

/** The signature of a text, HMAC-SHA256 in hexadecimal digits, that a request of ours has to have. */
export const hmacHex = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex')

/** The 32 bytes that 64 hexadecimal digits say, in either case; undefined for anything else. */
export function fromHex(text: string | undefined): Uint8Array | undefined {
  return text !== undefined && /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : undefined
}

/** The 32 bytes that 44 characters of base64 say (RFC 4648, 4, with its padding); undefined for anything else. */
export function fromBase64(text: string | undefined): Uint8Array | undefined {
  if (text?.length !== 44) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 32 && bytes.toString('base64') === text ? bytes : undefined
}

/** Whether a time, in seconds or milliseconds since 1970 as decimal digits, is that near to now. */
export function isRecent(
  time: string | undefined,
  nowSeconds: number,
  toleranceSeconds: number = TOLERANCE_SECONDS,
): boolean {
  if (time === undefined || !/^\d{1,15}$/.test(time)) return false
  const number = Number(time)
  const seconds = number > MILLISECONDS_FROM ? number / 1000 : number
  return Math.abs(seconds - nowSeconds) <= toleranceSeconds
}
