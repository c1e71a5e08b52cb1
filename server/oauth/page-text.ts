import { createHmac } from 'node:crypto'
import type { Keys } from '../http/tokens.ts'
import { isSame } from '../providers/signing.ts'

// The page of a failed connection shows a text of its own address. Anybody can write addresses, so only texts that this
// service signed are shown.

type TextKey = Pick<Keys, 'pageText'>

/** The proof that a text is ours: HMAC-SHA256, base64url. */
export const signText = ({ pageText }: TextKey, text: string): string =>
  createHmac('sha256', pageText).update(text).digest('base64url')

/** Whether a text has our proof. */
export const isOurText = (keys: TextKey, text: string, proof: string): boolean => isSame(proof, signText(keys, text))
