import type { Queryable } from '../db/database.ts'
import { type AppError, errors } from '../errors.ts'
import type { OAuthParts } from './parts.ts'

// Pauses of grants that our own settings cause: the provider refuses our client, or no key opens the tokens. Each is noted
// with a fingerprint of what it depends on, and ends as soon as a process runs with other settings.

type Parts = Pick<OAuthParts, 'vault' | 'clients'>

/** How long a grant is left alone whose tokens no key opens; other settings end that earlier. */
export const UNREADABLE_MS = 3_600_000

/** The fingerprint of what refreshing the tokens of a provider depends on: client, addresses and keys. */
export function settingsKey({ vault, clients }: Parts, provider: string): string {
  const client = clients.get(provider)
  const { clientId, clientSecret } = client?.settings ?? {}
  const oauth = client?.oauth(null)
  return vault.fingerprint(JSON.stringify([clientId, clientSecret, oauth?.tokenUrl, oauth?.client, client?.apiUrl]))
}

/** What is noted of a pause with a grant. */
export interface Pause {
  readonly pause_error: string | null
  readonly pause_settings: string | null
}

/** Whether a pause was noted by a process with other settings: then it is over. */
export const isOver = (parts: Parts, provider: string, { pause_settings: noted }: Pause): boolean =>
  noted !== null && noted !== settingsKey(parts, provider)

/** Notes with a locked grant that no key opens its tokens. Returns the error of its callers. */
export async function pauseUnreadable(
  tx: Queryable,
  parts: Parts,
  grant: Pause & { readonly id: string; readonly provider: string },
): Promise<AppError> {
  const error = errors.unreadableTokens(Date.now() + UNREADABLE_MS)
  const settings = settingsKey(parts, grant.provider)
  if (grant.pause_settings !== settings || grant.pause_error !== error.detail) {
    await tx.query('update provider_grant set pause_error = $2, pause_settings = $3 where id = $1', [
      ...[grant.id, error.detail, settings],
    ])
  }
  return error
}

/** The error of a grant that the provider's refusal of our client keeps from being refreshed; undefined: none does. */
export async function refusedClient(
  { db, ...parts }: Parts & Pick<OAuthParts, 'db'>,
  grantId: string,
): Promise<AppError | undefined> {
  const [grant] = await db.query<Pause & { provider: string; due_ms: number | null }>(
    `select provider, pause_error, pause_settings,
            case when refresh_due_at > now() then date_part('epoch', refresh_due_at) * 1000 end as due_ms
     from provider_grant where id = $1`,
    [grantId],
  )
  if (!grant?.pause_error || grant.due_ms === null || isOver(parts, grant.provider, grant)) return undefined
  return errors.refreshRefused(grant.provider, grant.pause_error, grant.due_ms)
}

// A lane without anything to do stays so.
const END_SQL = `
  with paused as (
    select g.id
    from provider_grant g
    join unnest($1::text[], $2::text[]) s (provider, settings) on s.provider = g.provider
    where g.pause_settings is not null and g.pause_settings <> s.settings
    order by g.id
    for update of g
  ), ended as (
    update provider_grant g
    set pause_error = null, pause_settings = null, refresh_due_at = null,
        asked_at = case when g.asked_at is not null then least(g.asked_at, now()) end,
        live_at = case when g.live_at is not null then least(g.live_at, now()) end,
        history_at = case when g.history_at is not null then least(g.history_at, now()) end
    from paused p
    where g.id = p.id
    returning g.id
  )
  select count(*) as grants, case when count(*) > 0 then pg_notify('sync_task', '')::text end as notified from ended`

/** Ends the pauses that other settings than those of this process caused, and makes what waited due. */
export async function endPauses(parts: Parts & Pick<OAuthParts, 'db' | 'log'>): Promise<void> {
  const providers = [...parts.clients.keys()]
  const settings = providers.map((provider) => settingsKey(parts, provider))
  const { grants } = await parts.db.one<{ grants: number }>(END_SQL, [providers, settings])
  if (grants > 0)
    parts.log.info({ grants }, 'settings have changed: grants that they kept from being asked are due again')
}
