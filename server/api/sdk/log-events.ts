import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { normaliseDeviceString } from '../../catalogue/devices.ts'
import type { Transaction } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Nullable, UserPath } from '../../http/schema.ts'
import { sessionRunKey, unsupportedProvider } from '../../intake/uploads/accept.ts'
import { resolveSdkProvider, type SdkProvider, sdkProviders } from '../../providers/index.ts'
import { isoInstant } from '../../time.ts'
import { Accepted, accepted } from './accepted.ts'
import { type LoggedEvent, MAX_TYPES, readLoggedEvent } from './logged-event.ts'

/** For the description only; without a `type` it accepts everything, since one bad event never fails the request. */
const Event = Type.Unsafe<unknown>({
  title: 'SdkLogEvent',
  'x-described': { type: 'object' },
  description: 'An object; the fields depend on eventType. Unusable ones are counted in dropped_count',
  properties: {
    eventType: Type.String({
      description: 'historical_data_sync_start, historical_data_type_sync_end or device_state',
    }),
    timestamp: Type.String({ format: 'date-time' }),
    dataTypeCounts: Type.Array(Type.Object({ type: Type.String(), count: Type.Optional(Type.Integer()) }), {
      maxItems: MAX_TYPES,
      description: 'Any others are ignored',
    }),
    dataType: Type.String(),
    success: Type.Boolean({ description: 'false without an errorCode: not finished yet' }),
    recordCount: Nullable(Type.Integer()),
    durationMs: Nullable(Type.Integer()),
    errorCode: Nullable(Type.String()),
    errorMessage: Nullable(Type.String()),
    timeRange: Nullable(
      Type.Object({
        startDate: Type.Optional(Nullable(Type.String({ format: 'date-time' }))),
        endDate: Type.String({ format: 'date-time' }),
      }),
    ),
    batteryLevel: Nullable(Type.Number({ description: '0 to 1; anything else counts as unknown' })),
    batteryState: Nullable(Type.String()),
    isLowPowerMode: Nullable(Type.Boolean()),
    thermalState: Nullable(Type.String()),
    taskType: Nullable(Type.String()),
    availableRamBytes: Nullable(Type.Integer()),
    totalRamBytes: Nullable(Type.Integer()),
  },
})

/** Takes a phone's report about its export: progress events and facts per data type of its run (contract 9.2). */
export const logEvents = route(
  {
    method: 'POST',
    path: '/api/v1/sdk/users/{user_id}/logs',
    operationId: 'logSdkEvents',
    summary: "Report the progress of a phone's export",
    description:
      'Appears in the sync history as the run of syncSessionId. A start opens the run, and the ends of all announced types ' +
      'close it. The same log may be sent again.',
    tag: 'SDK',
    guard: 'sdk',
    params: UserPath,
    body: Type.Object(
      {
        sdkVersion: Type.String(),
        provider: Type.Optional(
          Nullable(Type.String({ description: 'apple, samsung or health_connect (alias google)' })),
        ),
        syncSessionId: Type.Optional(Nullable(Type.String())),
        events: Type.Array(Event, { minItems: 1, maxItems: 100 }),
      },
      { title: 'SdkLog' },
    ),
    status: 202,
    response: Type.Object({ ...Accepted.properties, run_id: Nullable(Type.String()) }, { title: 'SdkLogAccepted' }),
    example: {
      ...accepted('Log events stored successfully', '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11'),
      run_id: 'sdk_C1A9D9F0-1D5E-4D5D-9E7A-62E2B7B0A8F4_0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
    },
    bodyExample: {
      sdkVersion: '0.15.0',
      provider: 'apple',
      syncSessionId: 'C1A9D9F0-1D5E-4D5D-9E7A-62E2B7B0A8F4',
      events: [
        {
          eventType: 'historical_data_sync_start',
          timestamp: '2026-02-24T14:58:00Z',
          dataTypeCounts: [{ type: 'HKQuantityTypeIdentifierHeartRate', count: 412331 }],
          timeRange: { endDate: '2026-02-24T14:58:00Z' },
        },
      ],
    },
    errors: {
      400: 'An unsupported provider',
      403: 'The token belongs to another user',
      413: 'More than 1 MiB',
    },
  },
  async ({ params, body }, { db }) => {
    const provider = body.provider?.trim() ? resolveSdkProvider(body.provider) : null
    if (provider === undefined) throw unsupportedProvider(String(body.provider))
    const events = body.events.map(readLoggedEvent).filter((event) => event !== undefined)
    const log: Log = {
      userId: params.user_id,
      provider,
      syncSessionId: normaliseDeviceString(body.syncSessionId, 100) || null,
      events,
    }
    const runKey = await db.transaction((tx) => store(tx, log))
    const dropped = body.events.length - events.length
    return { ...accepted('Log events stored successfully', params.user_id, dropped), run_id: runKey }
  },
)

interface Log {
  userId: string
  provider: SdkProvider | null
  syncSessionId: string | null
  events: LoggedEvent[]
}

/** Writes a log and returns the key of its run, null when it has no usable event. @throws AppError not_found */
async function store(tx: Transaction, log: Log): Promise<string | null> {
  // Keeps the user from being deleted until the end, in the order in which a deletion takes its locks.
  const [user] = await tx.query<{ now: string }>(
    `select date_part('epoch', now()) * 1000 as now from app_user where id = $1 for key share`,
    [log.userId],
  )
  if (!user) throw errors.notFound('User', log.userId)
  if (log.events.length === 0) return null
  const nowMs = Number(user.now)
  const runKey = runKeyOf(log, nowMs)
  const provider = await openRun(tx, log, runKey)
  const fresh = await notKnown(tx, log, runKey)
  if (fresh.size === 0) return runKey
  for (const event of fresh.values()) {
    // A clock that is ahead must not make later reports count as older.
    const atMs = Math.min(event.loggedAtMs ?? nowMs, nowMs)
    await report(tx, { userId: log.userId, runKey, provider }, event, atMs)
  }
  const last = [...fresh.values()].findLast(({ kind }) => kind !== 'device_state')
  await tx.query('select settle_run($1, $2, $3)', [log.userId, runKey, last?.message ?? null])
  await writeEvents(tx, log.userId, runKey, fresh)
  return runKey
}

/** The events of a log by their ids, without those already stored: a log may be sent again. */
async function notKnown(tx: Transaction, { userId, events }: Log, runKey: string): Promise<Map<string, LoggedEvent>> {
  const fresh = new Map(events.map((event) => [eventId(userId, runKey, event), event]))
  const known = await tx.query<{ event_id: string }>(
    'select event_id from sync_event where user_id = $1 and event_id = any ($2)',
    [userId, [...fresh.keys()]],
  )
  for (const { event_id } of known) fresh.delete(event_id)
  return fresh
}

/**
 * A log without a session cannot be distinguished from others of the same phone and day, by the phone's clock, so those
 * share a run: a start finds its ends, and a log that is sent again finds its run.
 */
function runKeyOf({ userId, syncSessionId, provider, events }: Log, nowMs: number): string {
  if (syncSessionId) return sessionRunKey(userId, syncSessionId)
  const loggedAtMs = events.find((event) => event.loggedAtMs !== undefined)?.loggedAtMs ?? nowMs
  return `sdk_log_${provider ?? 'unknown'}_${isoInstant(loggedAtMs).slice(0, 10)}_${userId}`
}

/** Makes sure the run exists, and returns its provider: `unknown` until a log or an upload names one. */
async function openRun(tx: Transaction, { userId, provider, syncSessionId, events }: Log, runKey: string) {
  const window = events.findLast((event) => event.window)?.window
  const starts = events.some(({ kind }) => kind === 'historical_data_sync_start')
  const isExport = syncSessionId !== null || events.some(({ kind }) => kind !== 'device_state')
  const run = await tx.one<{ provider: string }>(
    `insert into sync_run as run (run_key, user_id, provider, source, scope, stage, status, window_start, window_end)
     values ($1, $2, coalesce($3, 'unknown'), 'sdk', $4, $5, $6,
             to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000))
     on conflict (user_id, run_key) do update
     set provider = case when run.provider = 'unknown' then excluded.provider else run.provider end,
         window_start = coalesce(excluded.window_start, run.window_start),
         window_end = coalesce(excluded.window_end, run.window_end)
     returning provider`,
    [
      runKey,
      userId,
      provider,
      isExport ? 'historical' : 'live',
      starts ? 'started' : 'completed',
      starts ? 'in_progress' : 'success',
      window?.startMs ?? null,
      window?.endMs ?? null,
    ],
  )
  return run.provider
}

/**
 * Notes what an event reports about data types. An event older than the known one changes nothing, so neither order nor
 * repetition of logs matters. A start after something else is a new attempt. Of types beyond MAX_TYPES in a run, only
 * the number of reports is noted. The caller holds the run.
 */
async function report(
  tx: Transaction,
  { userId, runKey, provider }: { userId: string; runKey: string; provider: string },
  { reports }: LoggedEvent,
  atMs: number,
): Promise<void> {
  if (reports.length === 0) return
  const rows = reports.map((one, place) => ({ ...one, ...dataType(provider, one.nativeType), place }))
  await tx.query(
    `with given as (
       select x.*, k.native_type is not null as is_known,
              row_number() over (partition by k.native_type is null order by x.place) as new_place
       from jsonb_to_recordset($4) as x ("nativeType" text, "dataType" text, kind text, records int8, status text,
                                         "errorCode" text, error text, place int4)
       left join sync_run_report k on k.user_id = $1 and k.run_key = $2 and k.native_type = x."nativeType"
     ), kept as (
       select * from given
       where is_known
          or new_place <= $5::int4 - (select count(*) from sync_run_report where user_id = $1 and run_key = $2)
     ), left_out as (
       update sync_run s
       set types_left_out = s.types_left_out + n.n
       from (select (select count(*) from given) - (select count(*) from kept) as n) n
       where s.user_id = $1 and s.run_key = $2 and n.n > 0
     )
     insert into sync_run_report as r (user_id, run_key, native_type, data_type, kind, reported_records, status,
                                       error_code, error, reported_at)
     select $1, $2, x."nativeType", x."dataType", x.kind, x.records, x.status, x."errorCode", x.error,
            to_timestamp($3::float8 / 1000)
     from kept x
     on conflict (user_id, run_key, native_type) do update
     set data_type = excluded.data_type, kind = excluded.kind,
         reported_records = coalesce(excluded.reported_records, r.reported_records),
         status = excluded.status, error_code = excluded.error_code, error = excluded.error,
         attempt = r.attempt + (excluded.status = 'in_progress')::int4,
         reported_at = excluded.reported_at
     where excluded.reported_at > r.reported_at
        or (excluded.reported_at = r.reported_at and excluded.status <> 'in_progress')`,
    [userId, runKey, atMs, JSON.stringify(rows), MAX_TYPES],
  )
}

/** Our name of a platform type, as runs count it; its own name if it is not stored. */
function dataType(provider: string, nativeType: string): { dataType: string; kind: string } {
  const ability = sdkProviders.get(provider as SdkProvider)
  const event = ability?.loggedEvents.get(nativeType)
  if (event) return { dataType: event, kind: 'event' }
  const rule = ability?.recordKind(nativeType) ?? 'ignored'
  if (rule === 'ignored') return { dataType: nativeType, kind: 'native' }
  if (rule === 'meal') return { dataType: 'meal', kind: 'event' }
  if ('series' in rule) return { dataType: rule.series.type, kind: 'series' }
  return { dataType: 'activity' in rule ? 'activity' : 'menstrual_cycle', kind: 'event' }
}

/** Adds events. The last one shows the state of the run after all of them. */
async function writeEvents(
  tx: Transaction,
  userId: string,
  runKey: string,
  events: Map<string, LoggedEvent>,
): Promise<void> {
  const rows = [...events].map(([id, event], index) => ({
    id,
    stage: event.kind === 'historical_data_sync_start' ? 'started' : 'fetching',
    message: event.message,
    error: event.error,
    metadata: event.metadata,
    place: index,
    last: index === events.size - 1,
  }))
  await tx.query(
    `insert into sync_event (event_id, created_at, user_id, run_key, stage, status, message, error, metadata)
     select x.id, clock_timestamp(), r.user_id, r.run_key,
            case when x.last and r.stage <> 'fetching' then r.stage else x.stage end,
            case when x.last then r.status else 'in_progress' end,
            x.message, x.error, x.metadata
     from sync_run r
     cross join jsonb_to_recordset($3)
       as x (id uuid, stage text, message text, error text, metadata jsonb, place int4, last boolean)
     where r.user_id = $1 and r.run_key = $2
     order by x.place`,
    [userId, runKey, JSON.stringify(rows)],
  )
}

/** The same event of the same run has the same id, however often it is sent (a UUID of version 8, RFC 9562). */
function eventId(userId: string, runKey: string, { metadata, error }: LoggedEvent): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([userId, runKey, metadata, error]))
    .digest()
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
