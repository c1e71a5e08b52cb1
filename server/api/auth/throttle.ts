import { createHmac } from 'node:crypto'
import type { Config } from '../../config.ts'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import type { Keys } from '../../http/tokens.ts'

/** How often something may be tried in one window, which starts with its first attempt. */
export interface Limit {
  name: string
  attempts: number
  windowSeconds: number
}

/** Logins of one address. */
export const perAddress = (config: Config): Limit => ({
  name: 'login address',
  attempts: config.loginAttemptsPerMinute,
  windowSeconds: 60,
})
/** Wrong logins to one account, for all callers from networks it has never been logged in to from. */
export const perAccount = (config: Config): Limit => ({
  name: 'login account',
  attempts: config.loginAttemptsPerAccount,
  windowSeconds: 15 * 60,
})
/** The same for callers from a network it has been logged in to from: strangers cannot lock the owner out. */
export const perKnownNetwork = (config: Config): Limit => ({ ...perAccount(config), name: 'login known network' })

/**
 * The subject that an attempt is counted under. Subjects share 65,536 counters for each limit, so no flood of names and
 * addresses makes the table larger than that. Only a holder of our key can find out which two share one.
 */
export function counterOf(keys: Keys, limit: Limit, subject: string): Buffer {
  const hash = createHmac('sha256', keys.throttle).update(`${limit.name}\n${subject}`).digest()
  return Buffer.from(`${limit.name} ${hash.readUInt16BE()}`)
}

// Each new attempt clears a few past windows.
const COUNT_SQL = `
  with cleared as (
    delete from throttle
    where key in (
      select key from throttle
      where expires_at <= now() and key <> $1
      order by expires_at
      limit 10
      for update skip locked
    )
  )
  insert into throttle as t (key, attempts, expires_at)
  values ($1, 1, now() + make_interval(secs => $2))
  on conflict (key) do update
  set attempts = case when t.expires_at <= now() then 1 else t.attempts + 1 end,
      expires_at = case when t.expires_at <= now() then excluded.expires_at else t.expires_at end
  returning t.attempts, ceil(date_part('epoch', t.expires_at - now()))::int4 as seconds_left`

type Counted = Pick<Dependencies, 'db' | 'keys'>

/**
 * Counts an attempt before it is made, so that parallel ones cannot exceed the limit together.
 * @throws AppError throttled
 */
export async function countAttempt({ db, keys }: Counted, limit: Limit, subject: string): Promise<void> {
  const params = [counterOf(keys, limit, subject), limit.windowSeconds]
  const { attempts, seconds_left } = await db.one<{ attempts: number; seconds_left: number }>(COUNT_SQL, params)
  if (attempts > limit.attempts) throw errors.throttled(Math.max(1, seconds_left))
}

/** Takes back a counted attempt that turned out not to be a guess. */
export async function forgiveAttempt({ db, keys }: Counted, limit: Limit, subject: string): Promise<void> {
  const key = counterOf(keys, limit, subject)
  await db.query('update throttle set attempts = attempts - 1 where key = $1 and attempts > 0', [key])
}
