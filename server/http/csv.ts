import type { Context } from 'koa'
import { type TSchema, Type } from 'typebox'
import { heldTags } from './etag.ts'
import { Reply } from './reply.ts'

/** A route whose list is also served as CSV. */
export interface CsvForm {
  /** Begins the name of the file. */
  name: string
  /** The property of the answer with the list. */
  list: string
}

/** The media type. */
export const CSV_TYPE = 'text/csv'

/** A text as a field; one that a spreadsheet would execute as a formula gets a quote in front (OWASP: CSV injection). */
export function csvField(text: string | null): string {
  if (text === null) return ''
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** What the API description says of it. */
export const csvDescription = {
  schema: Type.String({
    description:
      'RFC 4180 with a header line, a line for each row; null is empty, fields of objects are columns, lists are JSON, ' +
      "and a text that a spreadsheet would execute begins with '. The cursors are in headers.",
  }),
}

/** Headers of such an answer. */
export const csvHeaders = {
  'Content-Disposition': 'Of CSV: the name of a file',
  'X-Total-Count': 'Of CSV: the number of rows on all pages, where it is known',
  'X-Next-Cursor': 'Of CSV: `cursor` of the next page; absent on the last one',
  'X-Previous-Cursor': 'Of CSV: `cursor` of the previous page; absent on the first one',
}

/** Whether a client prefers CSV to JSON. */
const wantsCsv = (ctx: Context): boolean => ctx.accepts('application/json', CSV_TYPE) === CSV_TYPE

/** Tags of CSV are those of JSON with this behind: a client that holds one form does not hold the other. */
const TAG_END = '-csv"'

/** Leaves of the tags that a client sent those of CSV, as the handler knows them. */
function keepCsvTags(ctx: Context): void {
  const own = heldTags(ctx)
    .filter((tag) => tag.endsWith(TAG_END))
    .map((tag) => `${tag.slice(0, -TAG_END.length)}"`)
  ctx.request.headers['if-none-match'] = own.join(', ')
}

/** How a route answers with CSV. */
export interface CsvAnswers {
  /** Whether this request is for CSV; prepares it for the handler. */
  asked(ctx: Context): boolean
  /** The answer of the handler as CSV. */
  reply(result: unknown, ctx: Context): Reply
}

/** The CSV of a list whose answer has this schema. */
export function csvAnswers(form: CsvForm, response: TSchema | undefined): CsvAnswers {
  const columns = csvColumns(form, response)
  return {
    asked(ctx) {
      const asked = wantsCsv(ctx)
      if (asked) keepCsvTags(ctx)
      return asked
    },
    reply: (result, ctx) => asCsv(form, columns, result, ctx),
  }
}

function asCsv({ name, list }: CsvForm, columns: readonly CsvColumn[], result: unknown, ctx: Context): Reply {
  const { status, body, headers: given } = result instanceof Reply ? result : new Reply(200, '', null)
  const headers: Record<string, string> = { ...given, Vary: 'Accept' }
  if (headers.ETag) headers.ETag = headers.ETag.replace(/"$/, TAG_END)
  if (status === 304) return new Reply(304, CSV_TYPE, null, headers)
  const answer: Answer = result instanceof Reply ? JSON.parse(String(body)) : (result as Answer)
  const { next_cursor, previous_cursor, total_count } = answer.pagination ?? {}
  if (next_cursor) headers['X-Next-Cursor'] = next_cursor
  if (previous_cursor) headers['X-Previous-Cursor'] = previous_cursor
  const total = total_count ?? answer.total ?? null
  if (total !== null) headers['X-Total-Count'] = String(total)
  headers['Content-Disposition'] = `attachment; filename="${fileName(name, ctx)}"`
  const lines = [columns.map(({ title }) => title).join(',')]
  for (const row of answer[list] as object[]) lines.push(columns.map(({ path }) => fieldAt(row, path)).join(','))
  return new Reply(200, `${CSV_TYPE}; charset=utf-8`, `${lines.join('\r\n')}\r\n`, headers)
}

interface Answer extends Record<string, unknown> {
  pagination?: { next_cursor: string | null; previous_cursor: string | null; total_count: number | null }
  total?: number
}

/** `workouts_2026-02-01_2026-03-01.csv`: the days of the range, if it names days. */
function fileName(name: string, { query }: Context): string {
  const days = [query.start_date, query.end_date].map((text) => /^\d{4}-\d{2}-\d{2}/.exec(String(text))?.[0])
  return `${[name, ...days.filter(Boolean)].join('_')}.csv`
}

/** A column: its title, and where its value is in a row. */
interface CsvColumn {
  title: string
  path: readonly string[]
}

/** The columns of a list in an answer: every property of its items, those of objects with the name of the object before. */
function csvColumns({ list }: CsvForm, response: TSchema | undefined): CsvColumn[] {
  const { properties } = response as { properties: Record<string, { items: TSchema }> }
  return leaves((properties[list] as { items: TSchema }).items, [])
}

function leaves(schema: TSchema, path: readonly string[]): CsvColumn[] {
  const { anyOf = [], properties } = schema as { anyOf?: TSchema[]; properties?: Record<string, TSchema> }
  const [own] = anyOf
  if (own) return leaves(own, path)
  if (!properties) return [{ title: path.join('_'), path }]
  return Object.entries(properties).flatMap(([name, property]) => leaves(property, [...path, name]))
}

function fieldAt(row: object, path: readonly string[]): string {
  let value: unknown = row
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name]
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // No formula, and needed as it is.
  return /^[+-]\d\d:\d\d$/.test(text) ? text : csvField(text)
}
