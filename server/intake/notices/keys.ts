import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { providerByName } from '../../catalogue/providers.ts'
import type { Queryable } from '../../db/database.ts'
import type { Logger } from '../../log.ts'
import type { OAuthClients } from '../../provider-client/clients.ts'
import type { Keys, Notices } from '../../providers/notices.ts'
import { CannotOpen, type Vault } from '../../vault.ts'

/** The name of what a provider gave us to verify with, among its secrets. */
const GIVEN = 'given'

/**
 * How long secrets are known before they are read again; and how often, at most, because a notice was refused: whoever
 * sends many that are costs ten looks a second, and has each answer after one of them.
 */
const KNOWN_MS = 10_000
const AGAIN_MS = 100

/** What is known of a provider when it notifies. */
export interface Known {
  /** Undefined: the provider is not configured, so nothing can be verified. */
  readonly keys: Keys | undefined
  readonly isEnabled: boolean
}

interface SecretRow {
  name: string
  key_id: number
  sealed: Buffer
  version: number
  is_confirmed: boolean
}

/** What secrets are kept with. */
export interface SecretMeans {
  readonly vault: Vault
  readonly clients: OAuthClients
  readonly log: Logger
}

const SECRETS_SQL = `
  select name, key_id, sealed, version, confirmed_at is not null as is_confirmed
  from provider_secret
  where provider = $1`

const placeOf = (provider: string, name: string, version: number) => ({
  ...{ table: 'provider_secret', row: `${provider} ${name}`, column: 'sealed', version },
})

/** Reads what can prove that a notice comes from its provider. */
export async function readKeys(db: Queryable, means: SecretMeans, provider: string, notices: Notices): Promise<Known> {
  const [setting] = await db.query<{ is_enabled: boolean | null }>(
    'select is_enabled from provider_setting where provider = $1',
    [provider],
  )
  const isEnabled = setting?.is_enabled ?? providerByName.get(provider)?.enabledByDefault ?? false
  const settings = means.clients.get(provider)?.settings
  if (!settings) return { keys: undefined, isEnabled }
  const kept = await openSecrets(db, means, provider)
  const own = Object.fromEntries(
    (notices.secrets ?? []).flatMap((name) => {
      const value = settings.more[name] ?? kept.get(name)?.value
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const { clientId, clientSecret, previousClientSecret } = settings
  const keys: Keys = {
    clientId,
    client: [clientSecret, ...(previousClientSecret ? [previousClientSecret] : [])],
    own,
    given: kept.get(GIVEN)?.value ?? null,
    confirmed: [...kept].flatMap(([name, { isConfirmed }]) => (isConfirmed ? [name] : [])),
    more: settings.more,
  }
  return { keys, isEnabled }
}

/** Secrets by name; one that no key opens is as if it were not there. */
async function openSecrets(db: Queryable, { vault, log }: SecretMeans, provider: string) {
  const opened = new Map<string, { value: string; isConfirmed: boolean }>()
  for (const row of await db.query<SecretRow>(SECRETS_SQL, [provider])) {
    try {
      const place = placeOf(provider, row.name, row.version)
      const value = vault.open(place, { keyId: row.key_id, sealed: row.sealed })
      opened.set(row.name, { value, isConfirmed: row.is_confirmed })
    } catch (error) {
      if (!(error instanceof CannotOpen)) throw error
      log.error({ err: error, provider }, 'a secret for notices cannot be read')
    }
  }
  return opened
}

const KEEP_SQL = `
  insert into provider_secret as s (provider, name, key_id, sealed, version)
  values ($1, $2, $3, $4, $5)
  on conflict (provider, name) do update
  set key_id = excluded.key_id, sealed = excluded.sealed, version = excluded.version, made_at = now(), confirmed_at = null`

async function keep(
  db: Queryable,
  { vault }: SecretMeans,
  { provider, name, value }: { provider: string; name: string; value: string },
): Promise<void> {
  // A version that was not used before: the former value would not open in place of the new one.
  const version = Date.now()
  const { keyId, sealed } = vault.seal(placeOf(provider, name, version), value)
  await db.query(KEEP_SQL, [provider, name, keyId, sealed, version])
}

/** Keeps what a provider gave us to verify its notices with. */
export const keepGiven = (db: Queryable, means: SecretMeans, provider: string, value: string): Promise<void> =>
  keep(db, means, { provider, name: GIVEN, value })

/** Forgets it: the subscription it was for is gone. */
export async function forgetGiven(db: Queryable, provider: string): Promise<void> {
  await db.query('delete from provider_secret where provider = $1 and name = $2', [provider, GIVEN])
}

/** Makes those of our secrets for a provider that are neither set nor made yet; returns all of them, by name. */
export async function ownSecrets(
  db: Queryable,
  means: SecretMeans,
  provider: string,
  notices: Notices,
): Promise<Readonly<Record<string, string>>> {
  const { keys } = await readKeys(db, means, provider, notices)
  if (!keys) return {}
  const own: Record<string, string> = { ...keys.own }
  for (const name of notices.secrets ?? []) {
    if (own[name] !== undefined) continue
    const value = randomBytes(24).toString('base64url')
    await keep(db, means, { provider, name, value })
    own[name] = value
  }
  return own
}

/** Notes that a provider sends back one of our secrets; one that an operator has set is kept for that. */
export async function confirmSecret(
  db: Queryable,
  means: SecretMeans,
  secret: { provider: string; name: string; value: string },
): Promise<void> {
  const confirm = () =>
    db.query(
      `update provider_secret set confirmed_at = coalesce(confirmed_at, now())
       where provider = $1 and name = $2
       returning name`,
      [secret.provider, secret.name],
    )
  if ((await confirm()).length > 0) return
  await keep(db, means, secret)
  await confirm()
}

/** The job that seals secrets again which SECRET_KEY_PREVIOUS opens. What no key opens stays as it is. */
export async function resealKeys({
  db,
  vault,
  log,
}: Pick<SecretMeans, 'vault' | 'log'> & { db: Queryable }): Promise<void> {
  const former = vault.keyIds.filter((id) => id !== vault.keyId)
  const rows = await db.query<SecretRow & { provider: string }>(
    `select provider, name, key_id, sealed, version, confirmed_at is not null as is_confirmed
     from provider_secret
     where key_id = any ($1)`,
    [former],
  )
  for (const { provider, name, key_id: keyId, sealed, version } of rows) {
    const place = placeOf(provider, name, version)
    try {
      const again = vault.seal(place, vault.open(place, { keyId, sealed }))
      await db.query(
        `update provider_secret set key_id = $4, sealed = $5 where provider = $1 and name = $2 and version = $3`,
        [provider, name, version, again.keyId, again.sealed],
      )
    } catch (error) {
      if (!(error instanceof CannotOpen)) throw error
      log.error({ err: error, provider }, 'a secret for notices cannot be sealed again')
    }
  }
}

/** Remembers, for a while, what is known of providers. */
export class KeyRing {
  readonly #read: (provider: string) => Promise<Known>
  readonly #known = new Map<string, { readonly atMs: number; readonly known: Promise<Known> }>()
  readonly #again = new Map<string, Promise<Known>>()

  constructor(read: (provider: string) => Promise<Known>) {
    this.#read = read
  }

  /** What is known of a provider, some seconds ago at most. */
  get(provider: string): Promise<Known> {
    const last = this.#known.get(provider)
    return last && performance.now() - last.atMs < KNOWN_MS ? last.known : this.#readNow(provider)
  }

  /** The same as it is now; callers who come soon after a look share the next one, so they wait for it. */
  again(provider: string): Promise<Known> {
    const waited = this.#again.get(provider)
    if (waited) return waited
    const sinceMs = performance.now() - (this.#known.get(provider)?.atMs ?? Number.NEGATIVE_INFINITY)
    const again = delay(Math.max(0, AGAIN_MS - sinceMs)).then(() => {
      this.#again.delete(provider)
      return this.#readNow(provider)
    })
    this.#again.set(provider, again)
    return again
  }

  /** Has it read again: it was changed here. */
  forget(provider: string): void {
    this.#known.delete(provider)
  }

  #readNow(provider: string): Promise<Known> {
    const known = this.#read(provider)
    this.#known.set(provider, { atMs: performance.now(), known })
    known.catch(() => this.#known.delete(provider))
    return known
  }
}
