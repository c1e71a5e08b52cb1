import { randomUUID } from 'node:crypto'
import { type Envelope, UPLOAD_LIMIT_BYTES, type UploadResult } from '../../../workers/sdk-upload.ts'
import { type Changes, changing } from '../../db/changes.ts'
import { type Database, gated, violatedConstraint } from '../../db/database.ts'
import { AppError, errors, shortened } from '../../errors.ts'
import type { Gates, Limits } from '../../limits.ts'
import type { Metrics } from '../../metrics.ts'
import { resolveSdkProvider, type SdkProvider, sdkProviders } from '../../providers/index.ts'
import type { Threads } from '../../threads.ts'
import { type IncomingBody, type ReadBody, readBody } from './body.ts'
import type { Handover } from './handover.ts'

/** One upload as it arrives. */
export interface IncomingUpload extends IncomingBody {
  /** The client's X-Request-Id: the same one with the same body within 24 hours is the same upload. */
  requestId: string | null
}

/** What the 202 reports. */
export interface AcceptedUpload {
  batchId: string
  runKey: string
  provider: SdkProvider
}

/** Takes uploads in. */
export interface Uploads {
  /**
   * Stores an upload durably and queues its import, in one transaction.
   * @throws AppError not_found, too_large, bad_request, body_too_slow, overloaded, not_stored, client_left
   */
  accept(upload: IncomingUpload): Promise<AcceptedUpload>
}

interface Known {
  user_exists: boolean
  replayed_id: string | null
  replayed_run: string | null
  replayed_provider: SdkProvider | null
  provider: SdkProvider | null
  sdk_version: string | null
  sync_session_id: string | null
  sync_type: Envelope['syncType'] | null
  received: number | null
}

const KNOWN_SQL = `
  select
    exists (select 1 from app_user where id = $1) as user_exists,
    replay.id as replayed_id, replay.run_key as replayed_run, replay.provider as replayed_provider,
    same.provider, same.sdk_version, same.sync_session_id, same.sync_type, same.received
  from (values (1)) one
  left join lateral (
    select id, run_key, provider from upload
    where user_id = $1 and request_id = $3 and sha256 = $2 and received_at > now() - interval '24 hours'
      and channel = 'sdk'
    limit 1
  ) replay on true
  left join lateral (
    select provider, sdk_version, sync_session_id, sync_type, received from upload
    where user_id = $1 and sha256 = $2 and status <> 'queued' and channel = 'sdk'
    order by seq desc
    limit 1
  ) same on true`

interface Means {
  db: Database
  gates: Gates
  limits: Limits
  metrics: Metrics
  threads: Threads
  handover: Handover
}

/** Builds the acceptance of uploads; see `Uploads`. */
export function acceptUploads(means: Means): Uploads {
  const { uploadsAccepted, uploadsRefused } = means.metrics
  return {
    async accept(upload) {
      try {
        const accepted = await acceptUpload(means, upload)
        uploadsAccepted.labels(accepted.provider).inc()
        return accepted
      } catch (thrown) {
        const error = thrown instanceof AppError ? thrown : errors.notStored(thrown)
        uploadsRefused.labels(error.code).inc()
        throw error
      }
    },
  }
}

async function acceptUpload(means: Means, upload: IncomingUpload): Promise<AcceptedUpload> {
  const body = await readBody(upload, means.gates, means.limits)
  try {
    return await acceptBody(means, upload, body)
  } finally {
    body.forget()
  }
}

async function acceptBody(means: Means, upload: IncomingUpload, body: ReadBody): Promise<AcceptedUpload> {
  const { userId } = upload
  const { sha256 } = body
  const reading = gated(means.db, means.gates.upload, userId)
  const known = await reading.one<Known>(KNOWN_SQL, [userId, sha256, upload.requestId])
  if (!known.user_exists) throw errors.notFound('User', userId)
  if (known.replayed_id && known.replayed_run && known.replayed_provider)
    return { batchId: known.replayed_id, runKey: known.replayed_run, provider: known.replayed_provider }
  const on = changing(means.db, means, { share: 'upload', key: userId, user: userId })
  const again = known.provider && (await storeAgain(on, upload, sha256, known))
  if (again) return again
  const { envelope, batch, stored, decodedBytes } = await parsed(means, upload, body)
  // Before it is stored: a worker may take it in that very moment.
  means.handover.put(userId, sha256, batch)
  const content = { envelope, received: batch.received, body: Buffer.from(stored.buffer), decodedBytes }
  return store(on, upload, sha256, content)
}

/** Has a thread read the body. @throws AppError too_large, bad_request, invalid, overloaded */
async function parsed({ gates, threads }: Means, upload: IncomingUpload, { pieces, isSmall }: ReadBody) {
  const { userId, encoding, queryProvider } = upload
  const parse = () => threads.readUpload({ bytes: pieces, encoding, queryProvider, provider: null, nowMs: Date.now() })
  // Of large ones there are few, and they have threads of their own.
  const result = await (isSmall ? gates.parses.run(userId, parse) : parse())
  if (!result.ok) throw refusal(result)
  return result
}

/** The 400 and 413 of an upload; everything else about its content is answered 202 (contract 9.1). */
function refusal(result: Extract<UploadResult, { ok: false }>): AppError {
  switch (result.code) {
    case 'too_large':
      return errors.tooLarge(UPLOAD_LIMIT_BYTES)
    case 'damaged':
      return errors.badRequest('The compressed request body is damaged or incomplete.')
    case 'not_json':
      return errors.badRequest('The request body is not valid JSON.')
    case 'too_deep':
      return errors.badRequest('The request body is nested too deeply or has too many parts.')
    case 'not_object':
      return errors.badRequest('The request body must be a JSON object.')
    case 'no_provider':
      // Decision D-22: absent in query and body.
      return errors.invalid([{ type: 'missing', loc: ['body', 'provider'], msg: 'Field required', input: null }])
    case 'provider':
      return unsupportedProvider(result.provider)
  }
}

/** 400 of contract 1.7 for a provider no SDK uploads for. */
export function unsupportedProvider(provider: string): AppError {
  return errors.badRequest(`Unsupported provider: ${shortened(provider)}. Supported: ${SUPPORTED}`)
}

const SUPPORTED = [...sdkProviders.keys()].sort().join(', ')

/**
 * The run of an export, by its session (sdk-payload 5.2). With the user: a phone chooses the id of its session, and a key
 * alone has to name one run. Runs that were stored as `sdk_{syncSessionId}` keep their keys.
 */
export const sessionRunKey = (userId: string, syncSessionId: string) => `sdk_${syncSessionId}_${userId}`

/** All batches of one historical export share a run; a live batch is a run of its own (sdk-payload 5.2). */
function runKeyOf({ syncType, syncSessionId }: Envelope, userId: string, batchId: string): string {
  return syncType === 'historical' && syncSessionId ? sessionRunKey(userId, syncSessionId) : batchId
}

/** The same bytes were imported before: only the fact is stored. Undefined when their time to be kept has just ended. */
async function storeAgain(
  db: Changes,
  upload: IncomingUpload,
  sha256: Buffer,
  known: Known,
): Promise<AcceptedUpload | undefined> {
  const envelope: Envelope = {
    provider: known.provider as SdkProvider,
    sdkVersion: known.sdk_version,
    syncSessionId: known.sync_session_id,
    syncType: known.sync_type ?? 'live',
  }
  try {
    return await store(db, upload, sha256, { envelope, received: known.received ?? 0 })
  } catch (error) {
    if (violatedConstraint(error) === 'upload_body_fkey') return undefined
    throw error
  }
}

const STORE_SQL = `
  select batch_id, run_key, provider
  from accept_upload($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, lock_ms => $13)`

type Stored = { batch_id: string; run_key: string; provider: SdkProvider }

/** What an upload holds: its body, compressed, unless it is stored already, and the number of items. */
interface Content {
  envelope: Envelope
  received: number
  body?: Buffer
  decodedBytes?: number
}

/** Stores an upload, or returns the one that came with the same request id in this very moment. */
async function store(
  db: Changes,
  upload: IncomingUpload,
  sha256: Buffer,
  { envelope, received, body, decodedBytes }: Content,
): Promise<AcceptedUpload> {
  const batchId = randomUUID()
  const params = [
    batchId,
    upload.userId,
    envelope.provider,
    sha256,
    body ?? null,
    decodedBytes ?? 0,
    received,
    upload.requestId,
    envelope.syncSessionId,
    envelope.syncType,
    envelope.sdkVersion,
    runKeyOf(envelope, upload.userId, batchId),
  ]
  try {
    const row = await db.atOnce(
      (on, lockMs) => on.one<Stored>(STORE_SQL, [...params, lockMs]),
      async (tx) => {
        // By itself, so that the body is not sent again and again while the user is locked.
        await tx.query('select 1 from app_user where id = $1 for key share', [upload.userId])
        return tx.one<Stored>(STORE_SQL, [...params, null])
      },
    )
    return { batchId: row.batch_id, runKey: row.run_key, provider: row.provider }
  } catch (error) {
    // The user was deleted after the look-up.
    if (violatedConstraint(error)?.endsWith('user_id_fkey')) throw errors.notFound('User', upload.userId)
    throw error
  }
}

/** Checks the provider named in the query before the body is read. @throws AppError bad_request */
export function checkQueryProvider(provider: string | undefined): string | null {
  if (provider === undefined) return null
  if (!resolveSdkProvider(provider)) throw unsupportedProvider(provider)
  return provider
}
