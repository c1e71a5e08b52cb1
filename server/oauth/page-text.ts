import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Keys } from '../http/tokens.ts'

// The page of a failed connection shows a text of its own address. Anybody can write addresses, so only texts that this
// service signed are shown.

type TextKey = Pick<Keys, 'pageText'>

/** The proof that a text is ours: HMAC-SHA256, base64url. */
export const signText = ({ pageText }: TextKey, text: string): string =>
  createHmac('sha256', pageText).update(text).digest('base64url')

/** Whether a text has our proof. */
export function isOurText(keys: TextKey, text: string, proof: string): boolean {
  const [expected, given] = [Buffer.from(signText(keys, text)), Buffer.from(proof)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}
