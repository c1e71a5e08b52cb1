import type { Dependencies } from '../../dependencies.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from './hash-turns.ts'

/** Nobody waits for it, so everybody who does goes first. */
const NOBODY: Caller = { network: '', known: false, gone: () => false }

/**
 * Replaces the hash of a password that was just verified, if it was made at another cost than new ones. Never fails: if
 * too many logins wait, or the password was changed meanwhile, the hash stays until the next login.
 */
export async function rehash(
  { db, gates, passwords, log }: Pick<Dependencies, 'db' | 'gates' | 'passwords' | 'log'>,
  developer: { id: string; password_hash: string },
  password: string,
): Promise<void> {
  if (!passwords.isOutdated(developer.password_hash)) return
  try {
    const passwordHash = await passwords.hash(password, NOBODY)
    // Past the request's own database, which gives up when the client has its answer.
    await gates.login.run('', () =>
      db.pool.query('update developer set password_hash = $3 where id = $1 and password_hash = $2', [
        developer.id,
        developer.password_hash,
        passwordHash,
      ]),
    )
  } catch (error) {
    if (!(error instanceof AppError)) log.warn({ err: error }, 'a password could not be hashed at the new cost')
  }
}
