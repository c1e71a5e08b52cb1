import type { Task } from 'graphile-worker'
import { AppError } from '../errors.ts'
import type { OAuthParts } from './parts.ts'
import type { AccessTokens } from './refresh.ts'

/** Attempts to confirm a refusal before it is left to the next pull. */
const ATTEMPTS = 6

/**
 * Takes the one refresh per hour that a grant has for refused tokens: forged notices cost no more than that. Null: it was
 * taken; the next one may be `next_ms`. No row: a refresh since the notice has shown that access goes on.
 */
const CHECK_SQL = `
  with due as (
    select id, version, provider,
           case when not $2 and renewed_at > now() - interval '1 hour' then renewed_at + interval '1 hour' end as next
    from provider_grant
    where id = $1 and state = 'live' and ($2 or doubted_at > coalesce(refreshed_at, '-infinity'))
    for update
  ), taken as (
    update provider_grant g set renewed_at = now() from due d where g.id = d.id and d.next is null
  )
  select version, provider, date_part('epoch', next) * 1000 as next_ms from due`

/**
 * The job that finds out whether a person has withdrawn access, after an unproven notice said so. It refreshes the token,
 * as soon as the grant may be refreshed for that; a confirmed refusal ends the grant (refresh-outcomes.ts). One at a time of a
 * provider, which may not answer.
 */
export const checkGrantTask =
  ({ db }: Pick<OAuthParts, 'db'>, tokens: AccessTokens): Task =>
  async (payload, { addJob, job }) => {
    const { grant_id: grantId, attempt } = payload as { grant_id: string; attempt: number }
    type Grant = { version: number; provider: string; next_ms: number | null }
    const [grant] = await db.query<Grant>(CHECK_SQL, [grantId, attempt > 1])
    if (!grant) return
    const again = async (atMs: number, next: number) => {
      if (job.key === null) return
      const spec = { jobKey: job.key, queueName: `check_grant:${grant.provider}`, maxAttempts: 3 }
      await addJob('check_grant', { grant_id: grantId, attempt: next }, { ...spec, runAt: new Date(atMs + 1_000) })
    }
    if (grant.next_ms !== null) return again(grant.next_ms, attempt)
    try {
      await tokens.renew(grantId, grant.version)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.retryAtMs !== undefined && attempt < ATTEMPTS) await again(error.retryAtMs, attempt + 1)
    }
  }
