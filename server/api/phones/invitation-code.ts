import { createHmac, randomInt } from 'node:crypto'
import type { Keys } from '../../http/tokens.ts'

// Letters and digits that cannot be confused (contract 9.7).
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** The pattern of a code in requests (contract 9.7). */
export const CODE_PATTERN = '^[A-Z2-9]{8}$'

/** A new code: 8 random characters, 40 bits. */
export const newInvitationCode = () => Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

/**
 * The stored form of a code: its HMAC-SHA256. All 2^40 plain hashes can be computed within minutes; since the key is
 * not in the database, a reader of the database still knows no code.
 */
export const hashInvitationCode = (keys: Keys, code: string) =>
  createHmac('sha256', keys.invitation).update(code).digest()
