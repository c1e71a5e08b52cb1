import { randomBytes } from 'node:crypto'
import type { Config } from '../../config.ts'
import type { Database, Transaction } from '../../db/database.ts'
import { apiKeyPrefix, hashApiKey, newApiKey } from '../../http/api-keys.ts'
import { newConsoleCode } from '../console/codes.ts'
import type { Passwords } from './passwords.ts'

/** What the start created, with the secrets nobody can read again; absent for what already existed. */
export interface Bootstrap {
  /** The password only if it was generated: whoever set ADMIN_PASSWORD knows it. */
  admin?: { email: string; password?: string }
  /** Signs the first developer in to the console, once; only where there is one. */
  consoleCode?: string
  apiKey?: string
  /** Present with `apiKey`; false when it is BOOTSTRAP_API_KEY. */
  apiKeyGenerated?: boolean
}

/**
 * Creates the first developer if there is none, and the first API key if there is none (contract 11). Of several
 * processes that start at once only one creates them; the others wait for it and create nothing.
 */
export async function bootstrapAccounts(db: Database, config: Config, passwords: Passwords): Promise<Bootstrap> {
  return db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('bootstrap accounts', 0))`)
    const exists = await tx.one<{ developer: boolean; api_key: boolean }>(
      'select exists (select from developer) as developer, exists (select from api_key) as api_key',
    )
    const admin = exists.developer ? undefined : await createDeveloper(tx, config, passwords)
    return {
      ...(admin && { admin: admin.login }),
      ...(admin && config.consoleEnabled && { consoleCode: await newConsoleCode(tx, admin.id) }),
      ...(!exists.api_key && { apiKey: await createApiKey(tx, config), apiKeyGenerated: !config.bootstrapApiKey }),
    }
  })
}

async function createDeveloper(
  tx: Transaction,
  config: Config,
  passwords: Passwords,
): Promise<{ id: string; login: NonNullable<Bootstrap['admin']> }> {
  const password = config.adminPassword ?? randomBytes(18).toString('base64url')
  const { id } = await tx.one<{ id: string }>(
    'insert into developer (email, password_hash) values ($1, $2) returning id',
    [config.adminEmail, await passwords.hash(password)],
  )
  return { id, login: { email: config.adminEmail, ...(!config.adminPassword && { password }) } }
}

async function createApiKey(tx: Transaction, config: Config): Promise<string> {
  const key = config.bootstrapApiKey ?? newApiKey()
  await tx.query(
    `insert into api_key (name, key_prefix, key_hash, created_by)
     values ('Default', $1, $2, (select id from developer order by created_at, id limit 1))`,
    [apiKeyPrefix(key), hashApiKey(key)],
  )
  return key
}
