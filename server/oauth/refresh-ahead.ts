import type { OAuthParts } from './parts.ts'
import type { AccessTokens } from './refresh.ts'

/** Grants looked for at once, and refreshed at once of one provider. */
const GRANTS = 500
const OF_ONE_PROVIDER = 4

const DAY_SECONDS = 86_400

// Access tokens in their last ten minutes or last fifth of life: nobody has to wait for a new one, and a lost answer leaves
// time for another attempt. Also refusals to be confirmed, and refresh tokens that would expire unused.
const DUE_SQL = `
  select g.id, g.version, g.provider
  from provider_grant g
  join unnest($1::text[], $2::float8[]) as c (provider, idle_seconds) on c.provider = g.provider
  where g.state = 'live'
    and g.refresh is not null
    and g.key_id = any ($3)
    and coalesce(g.refresh_due_at <= now(), true)
    and coalesce(g.refresh_held_until <= now(), true)
    and (g.access_until < now() + greatest(interval '10 minutes', (g.access_until - g.refreshed_at) / 5)
      or g.refusals > 0
      or g.refreshed_at < now() - make_interval(secs => c.idle_seconds))
  order by g.access_until
  limit ${GRANTS}`

interface Due {
  id: string
  version: number
  provider: string
}

/** The job that refreshes grants before somebody needs them. Returns whether there are more. */
export async function refreshAhead(parts: OAuthParts, tokens: AccessTokens): Promise<boolean> {
  const idle = [...parts.clients].map(([provider, client]) => {
    const { refresh } = client.oauth(null)
    return [provider, refresh?.idleDays === undefined ? null : refresh.idleDays * DAY_SECONDS] as const
  })
  const due = await parts.db.query<Due>(DUE_SQL, [
    ...[idle.map(([provider]) => provider), idle.map(([, seconds]) => seconds)],
    parts.vault.keyIds,
  ])
  const queues = new Map<string, Due[]>()
  for (const grant of due) queues.set(grant.provider, [...(queues.get(grant.provider) ?? []), grant])
  const workers = [...queues.values()].flatMap((queue) =>
    Array.from({ length: OF_ONE_PROVIDER }, () => refreshAll(parts, tokens, queue)),
  )
  await Promise.all(workers)
  return due.length === GRANTS
}

/** One of several workers on a queue. Failures were counted and logged where they happened. */
async function refreshAll({ log }: OAuthParts, tokens: AccessTokens, queue: Due[]): Promise<void> {
  for (let grant = queue.shift(); grant; grant = queue.shift()) {
    const { id, version, provider } = grant
    await tokens.renew(id, version).catch((error: unknown) => {
      log.debug({ err: error, provider, grant: id }, 'a grant was not refreshed ahead of time')
    })
  }
}
