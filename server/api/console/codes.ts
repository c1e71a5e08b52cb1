import { randomBytes } from 'node:crypto'
import type { Database, Transaction } from '../../db/database.ts'
import { hashConsoleToken } from '../../http/console-cookie.ts'

/** Stores a code that signs a developer in to the console, once and within 15 minutes, and returns it. */
export async function newConsoleCode(db: Database | Transaction, developerId: string): Promise<string> {
  const code = randomBytes(24).toString('base64url')
  await db.query('insert into console_code (code_hash, developer_id) values ($1, $2)', [
    hashConsoleToken(code),
    developerId,
  ])
  return code
}

/**
 * The address that signs in with a code. The code is in the fragment, which browsers do not send: no log and no other
 * page learns of it.
 */
export const consoleLink = (url: string, code: string) => `${url}/console#code=${code}`
