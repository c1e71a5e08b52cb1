import type { OAuthParts } from './parts.ts'
import type { AccessTokens } from './refresh.ts'

/** Grants of a provider looked for at once, and refreshed at once by one process. */
const GRANTS = 100
const AT_ONCE = 4

const DAY_SECONDS = 86_400

// Access tokens in their last ten minutes or last fifth of life: nobody has to wait for a new one, and a lost answer leaves
// time for another attempt. Also refusals to be confirmed, and refresh tokens that would expire unused.
const DUE_SQL = `
  select g.id, g.version
  from provider_grant g
  where g.provider = $1
    and g.state = 'live'
    and g.refresh is not null
    and g.key_id = any ($3)
    and coalesce(g.refresh_due_at <= now(), true)
    and coalesce(g.refresh_held_until <= now(), true)
    and (g.access_until < now() + greatest(interval '10 minutes', (g.access_until - g.refreshed_at) / 5)
      or g.refusals > 0
      or g.refreshed_at < now() - make_interval(secs => $2))
  order by g.access_until
  limit ${GRANTS}`

interface Due {
  id: string
  version: number
}

/** Refreshes grants before somebody needs them. */
export interface RefreshAhead {
  /**
   * Begins with what is due, of each provider whose grants are not being refreshed already. Each goes on by itself, and
   * nobody waits for a token endpoint that does not answer.
   */
  begin(): void
  /** Resolves when nothing that was begun is under way. */
  idle(): Promise<void>
}

/** Opens the refreshing of grants ahead of time, in this process; it ends when refreshing does (`AccessTokens.stop`). */
export function openRefreshAhead(parts: OAuthParts, tokens: AccessTokens): RefreshAhead {
  const running = new Map<string, Promise<void>>()
  const refreshOf = (provider: string, idleDays: number | undefined) =>
    refreshDue(parts, tokens, provider, idleDays)
      .catch((err: unknown) => parts.log.warn({ err, provider }, 'cannot look for grants to refresh'))
      .finally(() => running.delete(provider))
  return {
    begin() {
      for (const [provider, client] of parts.clients) {
        const { refresh } = client.oauth(null)
        if (refresh && !running.has(provider)) running.set(provider, refreshOf(provider, refresh.idleDays))
      }
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}

/** Goes on while there is more and some of it can be refreshed; what cannot is due again later. */
async function refreshDue(
  parts: OAuthParts,
  tokens: AccessTokens,
  provider: string,
  idleDays: number | undefined,
): Promise<void> {
  const idleSeconds = idleDays === undefined ? null : idleDays * DAY_SECONDS
  for (let more = true; more && !tokens.stopping(); ) {
    const due = await parts.db.query<Due>(DUE_SQL, [provider, idleSeconds, parts.vault.keyIds])
    const queue = [...due]
    const refreshed = await Promise.all(
      Array.from({ length: AT_ONCE }, () => refreshAll(parts, tokens, provider, queue)),
    )
    more = due.length === GRANTS && refreshed.some((count) => count > 0)
  }
}

/** One of several workers on a queue; returns how many it refreshed. Failures were counted and logged where they happened. */
async function refreshAll({ log }: OAuthParts, tokens: AccessTokens, provider: string, queue: Due[]): Promise<number> {
  let refreshed = 0
  for (let grant = queue.shift(); grant && !tokens.stopping(); grant = queue.shift()) {
    const { id, version } = grant
    try {
      await tokens.renew(id, version)
      refreshed += 1
    } catch (err) {
      log.debug({ err, provider, grant: id }, 'a grant was not refreshed ahead of time')
    }
  }
  return refreshed
}
