import type { Context } from 'koa'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { callerOf } from './hash-turns.ts'
import { hashNetwork, KNOWS_NETWORK } from './known-networks.ts'
import { rehash } from './rehash.ts'
import { VALID_FROM, type Verified } from './sessions.ts'
import { countAttempt, forgiveAttempt, perAccount, perAddress, perKnownNetwork } from './throttle.ts'

/** What somebody sends to log in. */
interface Login {
  ctx: Context
  email: string | undefined
  password: string | undefined
}

/**
 * Verifies email and password, and returns what `open` makes of the developer (contract 9.5); undefined from it counts
 * as a wrong password. Attempts are limited per address, and per account, separately for known networks. Neither the
 * answer nor its time shows whether the account exists. @throws AppError bad_login, throttled, overloaded
 */
export async function verifyLogin<T>(
  deps: Dependencies,
  { ctx, email, password }: Login,
  open: (developer: Verified) => Promise<T | undefined>,
): Promise<T> {
  const { db, keys, config, passwords } = deps
  if (email === undefined || password === undefined) throw errors.badLogin('Send email and password.')
  const account = email.trim().toLowerCase()
  const network = clientNetwork(ctx.ip)
  const networkHash = hashNetwork(keys, network)
  await countAttempt(deps, perAddress(config), network)
  const [developer] = await db.query<{ id: string; password_hash: string; valid_from: number; known: boolean }>(
    `select d.id, d.password_hash, ${VALID_FROM}, ${KNOWS_NETWORK} as known
     from developer d
     where lower(d.email) = lower($1)`,
    [account, networkHash],
  )
  const known = developer?.known === true
  const limit = known ? perKnownNetwork(config) : perAccount(config)
  const subject = `${developer?.id ?? account}${known ? ` ${network}` : ''}`
  await countAttempt(deps, limit, subject)
  const fits = await passwords.verify(password, developer?.password_hash, callerOf(ctx, known))
  const opened = developer && fits ? await open({ ...developer, networkHash }) : undefined
  if (!developer || opened === undefined) throw errors.badLogin()
  await forgiveAttempt(deps, limit, subject)
  // The client does not wait for it.
  void rehash(deps, developer, password)
  return opened
}
