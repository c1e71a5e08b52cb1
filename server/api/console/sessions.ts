import { randomBytes } from 'node:crypto'
import { type Static, Type } from 'typebox'
import type { Database, Transaction } from '../../db/database.ts'
import { hashConsoleToken, SIGN_IN_LIVES } from '../../http/console-cookie.ts'
import { Instant } from '../../http/schema.ts'
import { DEVELOPER_COLUMNS, Developer, developerExample } from '../auth/developer.ts'
import { rememberNetwork } from '../auth/known-networks.ts'
import { lockDeveloper, type Verified } from '../auth/sessions.ts'

/** The sign-in of a browser. */
export const ConsoleSession = Type.Object(
  {
    developer: Developer,
    signed_in_at: Instant(),
    ends_at: Instant({ description: 'When it ends unless it is used: after 7 days, and at most 30 after it began' }),
  },
  { title: 'ConsoleSession' },
)

/** A `ConsoleSession` for the API description. */
export const consoleSessionExample = {
  developer: developerExample,
  signed_in_at: '2026-11-20T08:30:00.000000Z',
  ends_at: '2026-11-27T08:30:00.000000Z',
}

const SESSION_SQL = `
  select
    s.created_at as signed_in_at,
    least(s.used_at + interval '7 days', s.created_at + interval '30 days') as ends_at,
    ${DEVELOPER_COLUMNS.split(', ')
      .map((column) => `d.${column}`)
      .join(', ')}
  from console_session s
  join developer d on d.id = s.developer_id
  where s.token_hash = $1 and ${SIGN_IN_LIVES}`

type Row = Static<typeof Developer> & Pick<Static<typeof ConsoleSession>, 'signed_in_at' | 'ends_at'>

/** The sign-in with this hash; undefined when it has ended. */
export async function consoleSession(db: Database | Transaction, signIn: Buffer) {
  const [row] = await db.query<Row>(SESSION_SQL, [signIn])
  if (!row) return undefined
  const { signed_in_at, ends_at, ...developer } = row
  return { developer, signed_in_at, ends_at }
}

/** A new sign-in and the cookie for it. */
interface Opened {
  token: string
  session: Static<typeof ConsoleSession>
}

async function open(tx: Transaction, developerId: string, networkHash: Buffer): Promise<Opened | undefined> {
  await rememberNetwork(tx, developerId, networkHash)
  const token = randomBytes(32).toString('base64url')
  const signIn = hashConsoleToken(token)
  await tx.query('insert into console_session (token_hash, developer_id) values ($1, $2)', [signIn, developerId])
  const session = await consoleSession(tx, signIn)
  return session && { token, session }
}

/** Signs in after a password was verified; undefined when it was changed meanwhile. */
export async function openWithPassword(db: Database, { id, valid_from, networkHash }: Verified) {
  return db.transaction(async (tx) => {
    const developer = await lockDeveloper(tx, id)
    return developer?.valid_from === valid_from ? open(tx, id, networkHash) : undefined
  })
}

/** Signs in with a code, which is used up; undefined when it is unknown, used or too old. */
export async function openWithCode(db: Database, code: string, networkHash: Buffer) {
  const params = [hashConsoleToken(code)]
  return db.transaction(async (tx) => {
    const [found] = await tx.query<{ developer_id: string }>(
      'select developer_id from console_code where code_hash = $1',
      params,
    )
    // A change of the password, too, locks the developer before it deletes codes.
    if (!found || !(await lockDeveloper(tx, found.developer_id))) return undefined
    const used = await tx.query(
      'delete from console_code where code_hash = $1 and expires_at > clock_timestamp() returning code_hash',
      params,
    )
    return used.length > 0 ? open(tx, found.developer_id, networkHash) : undefined
  })
}

/** Ends a sign-in, or all of its developer. */
export async function endSignIns(db: Database, signIn: Buffer, everywhere: boolean): Promise<void> {
  await db.query(
    everywhere
      ? `delete from console_session
         where developer_id = (select developer_id from console_session where token_hash = $1)`
      : 'delete from console_session where token_hash = $1',
    [signIn],
  )
}
