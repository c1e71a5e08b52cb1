import { normaliseDeviceString } from '../../catalogue/devices.ts'
import { counted } from '../../counted.ts'
import { isoInstant, parseInstant } from '../../time.ts'

/** Data types of one announcement, and of one run, that are kept. */
export const MAX_TYPES = 300

/** What a phone reports about one data type, under the platform's own name. */
export interface TypeReport {
  nativeType: string
  /** Records announced, or sent by the end; null = not reported. */
  records: number | null
  status: 'in_progress' | 'success' | 'failed' | 'unfinished'
  errorCode: string | null
  error: string | null
}

/** A log event in its stored form: only these fields, none of which is a measured value. */
export interface LoggedEvent {
  kind: 'historical_data_sync_start' | 'historical_data_type_sync_end' | 'device_state'
  /** By the phone's clock, epoch ms; undefined = not reported or not readable. */
  loggedAtMs: number | undefined
  message: string
  error: string | null
  metadata: Record<string, unknown>
  reports: TypeReport[]
  /** Range of an announced export, if both ends are reported; epoch ms. */
  window: { startMs: number; endMs: number } | undefined
}

type Fields = Record<string, unknown>

/**
 * Reads a log event of a phone (contract 9.2, sdk-payload 11) leniently: values that are missing or out of range are
 * null. Undefined when it is unusable: not an object, an unknown eventType, an end without type or success.
 */
export function readLoggedEvent(raw: unknown): LoggedEvent | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined
  const fields = raw as Fields
  const loggedAtMs = instant(fields.timestamp)
  const read = READERS[fields.eventType as LoggedEvent['kind']]
  const event = Object.hasOwn(READERS, String(fields.eventType)) ? read(fields) : undefined
  if (!event) return undefined
  const kind = fields.eventType as LoggedEvent['kind']
  const metadata = { event_type: kind, logged_at: instantText(loggedAtMs), ...event.metadata }
  return { error: null, reports: [], window: undefined, ...event, kind, loggedAtMs, metadata }
}

type Reading = Pick<LoggedEvent, 'message' | 'metadata'> & Partial<LoggedEvent>

const READERS: Record<LoggedEvent['kind'], (fields: Fields) => Reading | undefined> = {
  historical_data_sync_start: readStart,
  historical_data_type_sync_end: readTypeEnd,
  device_state: readDeviceState,
}

function readStart(fields: Fields): Reading {
  const reports = new Map<string, TypeReport>()
  for (const item of Array.isArray(fields.dataTypeCounts) ? fields.dataTypeCounts.slice(0, MAX_TYPES) : []) {
    const { type, count } = (item ?? {}) as Fields
    const nativeType = text(type, 200)
    if (!nativeType) continue
    reports.set(nativeType, {
      nativeType,
      records: integer(count),
      status: 'in_progress',
      errorCode: null,
      error: null,
    })
  }
  const { startMs, endMs } = timeRange(fields)
  return {
    message: `Export of ${counted(reports.size, 'data type')} announced`,
    metadata: { data_types: reports.size, range_start: instantText(startMs), range_end: instantText(endMs) },
    reports: [...reports.values()],
    window: startMs !== undefined && endMs !== undefined ? { startMs, endMs } : undefined,
  }
}

function readTypeEnd(fields: Fields): Reading | undefined {
  const nativeType = text(fields.dataType, 200)
  if (!nativeType || typeof fields.success !== 'boolean') return undefined
  const errorCode = text(fields.errorCode, 100)
  // sdk-payload 11: a failure without a code is a pause, and the phone continues later.
  const status = fields.success ? 'success' : errorCode ? 'failed' : 'unfinished'
  const records = integer(fields.recordCount)
  const error = fields.success ? null : text(fields.errorMessage, 500)
  const { startMs, endMs } = timeRange(fields)
  const sent = records === null ? '' : `, ${counted(records, 'record')}`
  return {
    message: `${nativeType}: ${{ success: 'sent', failed: 'failed', unfinished: 'not finished yet' }[status]}${sent}`,
    error: error ?? (status === 'failed' ? errorCode : null),
    metadata: {
      data_type: nativeType,
      success: fields.success,
      record_count: records,
      duration_ms: integer(fields.durationMs),
      error_code: errorCode,
      range_start: instantText(startMs),
      range_end: instantText(endMs),
    },
    reports: [{ nativeType, records, status, errorCode: status === 'failed' ? errorCode : null, error }],
  }
}

function readDeviceState(fields: Fields): Reading {
  const level = fields.batteryLevel
  return {
    message: 'State of the device',
    metadata: {
      // Simulators report -1.
      battery_level: typeof level === 'number' && level >= 0 && level <= 1 ? level : null,
      battery_state: text(fields.batteryState, 50),
      is_low_power_mode: typeof fields.isLowPowerMode === 'boolean' ? fields.isLowPowerMode : null,
      thermal_state: text(fields.thermalState, 50),
      task_type: text(fields.taskType, 50),
      available_ram_bytes: integer(fields.availableRamBytes),
      total_ram_bytes: integer(fields.totalRamBytes),
    },
  }
}

const text = (value: unknown, max: number) => normaliseDeviceString(value, max) || null

const integer = (value: unknown) =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.floor(value) : null

const LAST_YEAR_MS = Date.UTC(2200, 0)

function instant(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? parseInstant(value.trim()) : undefined
  return ms !== undefined && ms >= 0 && ms < LAST_YEAR_MS ? ms : undefined
}

const instantText = (ms: number | undefined) => (ms === undefined ? null : isoInstant(ms))

function timeRange({ timeRange }: Fields): { startMs: number | undefined; endMs: number | undefined } {
  const { startDate, endDate } = (timeRange ?? {}) as Fields
  return { startMs: instant(startDate), endMs: instant(endDate) }
}
