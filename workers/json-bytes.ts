import { jsonDepth, MAX_JSON_DEPTH } from '../server/http/json.ts'
import { scanRecords } from './record-scan.ts'
import { takeSourcesOut } from './repeated-sources.ts'
import type { ScannedRecords } from './scanned-records.ts'

const NON_ASCII = /[\x80-\xff]/

/** Decodes a string of a parsed body into its text. */
export type Decode = (raw: string) => string

/** A parsed upload. */
export interface ParsedBody {
  body: unknown
  decode: Decode
  /** Source objects that are numbers in the body: `sources[n]` as `firstSource + n`. */
  sources: unknown[]
  firstSource: number
  /** Records that were read from the bytes; then the list of records in the body holds only the unusual ones. */
  records?: ScannedRecords
}

/**
 * Parses the JSON of an upload from its UTF-8 bytes. Records are read from the bytes if they can be; all else is parsed.
 * One character outside Latin-1 (the ’ of "Ana’s Apple Watch") makes the whole text two bytes per character, which doubles
 * the time of decoding and parsing (10.8 against 4.9 ms for 1.3 MB). So bytes are treated as Latin-1 characters, and the
 * few strings that are used go through `decode`. A body with \\u escapes, whose characters could not be distinguished
 * from bytes, is decoded first.
 */
export function parseJsonBytes(bytes: Uint8Array): ParsedBody | 'not_json' | 'too_deep' {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const encoding = encodingOf(buffer)
  const scan = scanRecords(buffer, (start, end) => parsedOrNone(buffer.toString(encoding, start, end)))
  if (!scan) return parseWhole(buffer, encoding)
  const { records, rest, mark } = scan
  const parsed = parseWhole(rest, encoding, records.plain + records.objects)
  const list = typeof parsed === 'string' ? undefined : recordsOf(parsed.body)
  // Another list had that key, or the body is damaged: which way is found by reading it as it is.
  if (typeof parsed === 'string' || list?.[0] !== mark) return parseWhole(buffer, encoding)
  list.shift()
  return { ...parsed, records }
}

function recordsOf(body: unknown): unknown[] | undefined {
  const records = (body as { data?: { records?: unknown } | null } | null)?.data?.records
  return Array.isArray(records) ? records : undefined
}

const encodingOf = (buffer: Buffer) => (buffer.includes('\\u') ? 'utf8' : 'latin1')

/** Parses the JSON of an upload, of which so many arrays and objects were taken out; repeated sources are parsed once. */
export function parseWhole(
  buffer: Buffer,
  encoding: 'utf8' | 'latin1' = encodingOf(buffer),
  taken = 0,
): ParsedBody | 'not_json' | 'too_deep' {
  const shortened = takeSourcesOut(buffer)
  if (jsonDepth(shortened.bytes, MAX_JSON_DEPTH, taken) > MAX_JSON_DEPTH) return 'too_deep'
  try {
    return {
      body: JSON.parse(shortened.bytes.toString(encoding)),
      decode: encoding === 'utf8' ? asIs : utf8FromLatin1,
      sources: shortened.texts.map((text) => JSON.parse(text.toString(encoding))),
      firstSource: shortened.first,
    }
  } catch {
    return 'not_json'
  }
}

function parsedOrNone(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const asIs: Decode = (raw) => raw

const utf8FromLatin1: Decode = (raw) => (NON_ASCII.test(raw) ? Buffer.from(raw, 'latin1').toString('utf8') : raw)
