import { createHash } from 'node:crypto'

// Accounts take turns when their notices are opened (sql/routines/notices/receive_notices.sql). There are so many slots for
// them that two who have many notices seldom share one.

/** How many there are; a power of two. */
const SLOTS = 16_384

/** The slots of accounts, each once, in their order; what is about nobody has one, too. */
export function slotsOf(accounts: readonly string[]): number[] {
  const slots = (accounts.length === 0 ? [''] : accounts).map(slotOf)
  return [...new Set(slots)].sort((a, b) => a - b)
}

/** The slot of an account. */
export const slotOf = (account: string): number => createHash('sha1').update(account).digest().readUInt16BE(0) % SLOTS
