import { deviceName } from '../catalogue/devices.ts'

/** A data source for reads; `json` is its SourceMetadata in ASCII, ready to insert into a row. */
export interface Source {
  id: number
  uid: string
  provider: string
  deviceModel: string
  source: string
  deviceType: string
  /** Lower is better; see `sql/routines/priority/source_rank.sql`. */
  rank: number
  metadata: SourceMetadata
  json: string
}

/** SourceMetadata of contract 4. */
export interface SourceMetadata {
  provider: string
  source: string | null
  device: string | null
  device_type: string
  device_name: string | null
}

/**
 * JSON with every character outside ASCII as an escape. V8 keeps what it made of a text with such characters at two bytes
 * a character, and every page it is pasted into: the way through bytes makes that one.
 */
function asciiJson(value: unknown): string {
  const escaped = JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return Buffer.from(escaped, 'latin1').toString('latin1')
}

/** The columns of `data_source`, as `d`, from which a `Source` is made. */
export const SOURCE_COLUMNS = `d.id, d.uid, d.provider, d.device_model, d.source, d.device_type,
  source_rank(d.provider, d.device_type) as rank`

/** A row of SOURCE_COLUMNS. */
export interface SourceRow {
  id: number
  uid: string
  provider: string
  device_model: string
  source: string
  device_type: string
  rank: number
}

/** A data source with the facts that reads show. */
export function sourceOf(row: SourceRow): Source {
  const metadata: SourceMetadata = {
    provider: row.provider,
    source: row.source || null,
    device: row.device_model || null,
    device_type: row.device_type,
    device_name: deviceName(row.device_model),
  }
  return {
    id: row.id,
    uid: row.uid,
    provider: row.provider,
    deviceModel: row.device_model,
    source: row.source,
    deviceType: row.device_type,
    rank: row.rank,
    metadata,
    json: asciiJson(metadata),
  }
}

/** Orders sources from best to worst (contract 12.1): rank, device model, source, id. */
export function bySourceRank(a: Source, b: Source): number {
  return a.rank - b.rank || byName(a, b)
}

/**
 * The order of `merge=none`: as bySourceRank, except that a source without a device model comes after the sources of its
 * provider that have one, whatever its device type (99).
 */
export function byStrictRank(a: Source, b: Source): number {
  return strictRank(a) - strictRank(b) || byName(a, b)
}

const strictRank = ({ rank, deviceModel }: Source) => (deviceModel === '' ? rank - (rank % 1000) + 99 : rank)

const byName = (a: Source, b: Source) =>
  compareText(a.deviceModel, b.deviceModel) || compareText(a.source, b.source) || a.id - b.id

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
