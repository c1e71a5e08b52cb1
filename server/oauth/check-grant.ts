import type { Task } from 'graphile-worker'
import { AppError } from '../errors.ts'
import type { OAuthParts } from './parts.ts'
import type { AccessTokens } from './refresh.ts'

/** Attempts to confirm a refusal before it is left to the next pull. */
const ATTEMPTS = 6

/** Takes the one refresh per hour that a grant has for refused tokens: forged notices cost no more than that. */
const CHECK_SQL = `
  update provider_grant set renewed_at = now()
  where id = $1 and state = 'live' and ($2 or coalesce(renewed_at, '-infinity') < now() - interval '1 hour')
  returning version, provider`

/**
 * The job that finds out whether a person has withdrawn access, after an unproven notice said so. It refreshes the token;
 * a confirmed refusal ends the grant (refresh-outcomes.ts). One at a time of a provider, which may not answer.
 */
export const checkGrantTask =
  ({ db }: Pick<OAuthParts, 'db'>, tokens: AccessTokens): Task =>
  async (payload, { addJob, job }) => {
    const { grant_id: grantId, attempt } = payload as { grant_id: string; attempt: number }
    const [grant] = await db.query<{ version: number; provider: string }>(CHECK_SQL, [grantId, attempt > 1])
    if (!grant) return
    try {
      await tokens.renew(grantId, grant.version)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.retryAtMs === undefined || attempt >= ATTEMPTS || job.key === null) return
      const runAt = new Date(error.retryAtMs + 1_000)
      await addJob(
        'check_grant',
        { grant_id: grantId, attempt: attempt + 1 },
        { jobKey: job.key, queueName: `check_grant:${grant.provider}`, runAt, maxAttempts: 3 },
      )
    }
  }
