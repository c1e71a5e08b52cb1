import { Type } from 'typebox'
import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { Nullable } from '../../http/schema.ts'
import type { ArchivalSettings } from '../../rollups/archive.ts'

const days = (max: number) => Nullable(Type.Integer({ minimum: 1, maximum: max }))

/** How long samples and rollups are kept; an absent field means forever (contract 13). */
export const ArchivalBody = Type.Object(
  {
    archive_after_days: Type.Optional(days(3650)),
    delete_after_days: Type.Optional(days(7300)),
  },
  { title: 'ArchivalSettingsFields' },
)

const STORAGE_FIELDS = [
  'live_data_bytes',
  'live_index_bytes',
  'archive_data_bytes',
  'archive_index_bytes',
  'other_tables_bytes',
  'total_bytes',
  'live_row_count',
  'archive_row_count',
] as const
const PRETTY_FIELDS = [
  'live_total_pretty',
  'live_data_pretty',
  'live_index_pretty',
  'archive_total_pretty',
  'archive_data_pretty',
  'archive_index_pretty',
  'other_tables_pretty',
  'total_pretty',
] as const

/** The settings and the sizes of the data: `live` are samples, `archive` are rollups. */
export const Archival = Type.Object(
  {
    settings: Type.Object(
      { archive_after_days: days(3650), delete_after_days: days(7300) },
      { title: 'ArchivalSettings' },
    ),
    storage: Type.Object({
      ...Object.fromEntries(STORAGE_FIELDS.map((name) => [name, Type.Integer()])),
      avg_bytes_per_live_row: Type.Number(),
      avg_bytes_per_archive_row: Type.Number(),
      live_data_span_days: Type.Integer(),
      ...Object.fromEntries(PRETTY_FIELDS.map((name) => [name, Type.String()])),
      growth_class: Type.String({ description: 'bounded, linear_efficient or linear' }),
      compression_ratio: Nullable(Type.Number({ description: 'Bytes before ÷ after, of compressed samples' })),
    }),
  },
  { title: 'Archival' },
)

/** Example of the description. */
export const archivalExample = {
  settings: { archive_after_days: 90, delete_after_days: null },
  storage: {
    live_data_bytes: 104_857_600,
    live_index_bytes: 52_428_800,
    archive_data_bytes: 1_048_576,
    archive_index_bytes: 524_288,
    other_tables_bytes: 20_971_520,
    total_bytes: 179_830_784,
    live_row_count: 1_204_331,
    archive_row_count: 8021,
    avg_bytes_per_live_row: 130.6,
    avg_bytes_per_archive_row: 196.1,
    live_data_span_days: 88,
    live_total_pretty: '150.0 MB',
    live_data_pretty: '100.0 MB',
    live_index_pretty: '50.0 MB',
    archive_total_pretty: '1.5 MB',
    archive_data_pretty: '1.0 MB',
    archive_index_pretty: '512.0 KB',
    other_tables_pretty: '20.0 MB',
    total_pretty: '171.5 MB',
    growth_class: 'linear_efficient',
    compression_ratio: null,
  },
}

interface Report {
  live_data: number
  live_index: number
  live_rows: number
  live_span_days: number | null
  archive_data: number
  archive_index: number
  archive_rows: number
  uncompressed_bytes: number | null
  compressed_bytes: number | null
  total: number
}

/** Reads settings and sizes, in the form of contract 13. */
export async function readArchival(db: Database) {
  const settings = await db.one<ArchivalSettings>('select archive_after_days, delete_after_days from archival')
  const report = await db.one<Report>(
    `select live_data_bytes as live_data, live_index_bytes as live_index, live_rows, live_span_days,
            archive_data_bytes as archive_data, archive_index_bytes as archive_index, archive_rows,
            uncompressed_bytes, compressed_bytes, pg_database_size(current_database()) as total
     from storage_report()`,
  )
  return { settings, storage: storageOf(report, settings) }
}

function storageOf(report: Report, settings: ArchivalSettings) {
  const live = report.live_data + report.live_index
  const archive = report.archive_data + report.archive_index
  const other = Math.max(0, report.total - live - archive)
  const average = (bytes: number, rows: number) => (rows > 0 ? Math.round((bytes / rows) * 10) / 10 : 0)
  const { uncompressed_bytes: before, compressed_bytes: after } = report
  return {
    live_data_bytes: report.live_data,
    live_index_bytes: report.live_index,
    archive_data_bytes: report.archive_data,
    archive_index_bytes: report.archive_index,
    other_tables_bytes: other,
    total_bytes: report.total,
    live_row_count: report.live_rows,
    archive_row_count: report.archive_rows,
    avg_bytes_per_live_row: average(live, report.live_rows),
    avg_bytes_per_archive_row: average(archive, report.archive_rows),
    live_data_span_days: Math.max(0, Math.round(report.live_span_days ?? 0)),
    live_total_pretty: pretty(live),
    live_data_pretty: pretty(report.live_data),
    live_index_pretty: pretty(report.live_index),
    archive_total_pretty: pretty(archive),
    archive_data_pretty: pretty(report.archive_data),
    archive_index_pretty: pretty(report.archive_index),
    other_tables_pretty: pretty(other),
    total_pretty: pretty(report.total),
    growth_class: growthClass(settings),
    compression_ratio: before && after ? Math.round((before / after) * 10) / 10 : null,
  }
}

/** How storage grows with time (contract 13). */
function growthClass({ archive_after_days, delete_after_days }: ArchivalSettings): string {
  if (delete_after_days !== null) return 'bounded'
  return archive_after_days !== null ? 'linear_efficient' : 'linear'
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

function pretty(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return power === 0 ? counted(bytes, 'byte') : `${(bytes / 1024 ** power).toFixed(1)} ${UNITS[power]}`
}
