import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Queryable } from '../../db/database.ts'
import { errors } from '../../errors.ts'

/** Longer than a request to a provider takes. */
const HOLD_SECONDS = 45

/** How long another change of the same provider's subscriptions is waited for. */
const WAIT_MS = 10_000
const LOOK_MS = 100

const TAKE_SQL = `
  insert into subscription_lease as l (provider, holder, held_until)
  values ($1, $2, now() + make_interval(secs => ${HOLD_SECONDS}))
  on conflict (provider) do update
  set holder = excluded.holder, held_until = excluded.held_until
  where l.holder = excluded.holder or l.held_until < now()
  returning provider`

/** Keeps the lease for another request. @throws AppError overloaded when it was lost */
export type KeepLease = () => Promise<void>

/**
 * Does `work` while nobody else changes the subscriptions at a provider; no transaction is open meanwhile.
 * @throws AppError overloaded
 */
export async function whileAlone<T>(
  db: Queryable,
  provider: string,
  work: (keep: KeepLease) => Promise<T>,
): Promise<T> {
  const holder = randomUUID()
  const take = async () => (await db.query(TAKE_SQL, [provider, holder])).length > 0
  const deadline = Date.now() + WAIT_MS
  while (!(await take())) {
    if (Date.now() > deadline) throw busy(provider)
    await delay(LOOK_MS)
  }
  try {
    return await work(async () => {
      if (!(await take())) throw busy(provider)
    })
  } finally {
    await db.query('delete from subscription_lease where provider = $1 and holder = $2', [provider, holder])
  }
}

const busy = (provider: string) =>
  errors.overloaded(`The subscriptions at '${provider}' are being changed already; please retry.`, 10)
