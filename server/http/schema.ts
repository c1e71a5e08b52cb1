import { type TSchema, Type } from 'typebox'
import { providerNames } from '../catalogue/providers.ts'
import { scopes } from '../catalogue/scopes.ts'
import { seriesByName, seriesNames } from '../catalogue/series.ts'

/** A string that is one of `values`, in the order in which error messages list them (contract 1.8). */
export const Enum = <T extends string>(values: readonly T[], options: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...options })

/** `schema` or null. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** A repeatable query parameter, which may also be a comma list (contract 1.1); by default at most 50 values. */
export const List = <T extends TSchema>(item: T, options: object = {}) =>
  Type.Array(item, { maxItems: 50, ...options, 'x-comma-list': true })

/** UUID in any spelling of contract 1.2; handlers receive it lower case and hyphenated. */
export const Uuid = (options: object = {}) => Type.String({ format: 'uuid', ...options })

/** Instant in its API form: ISO 8601 in UTC with Z. */
export const Instant = (options: object = {}) => Type.String({ format: 'date-time', ...options })

// As exact as a pattern can be: the parser checks whether such a date exists.
const DAY = '\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])'
const TIME = '([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d([.,]\\d{1,9})?)?'
const ZONE = '([Zz]|[+-](0\\d|1[0-7]):?[0-5]\\d)'
const DATE_INPUT = `^([+-]?\\d{1,11}(\\.\\d+)?|${DAY}([T ]${TIME}${ZONE}?)?)$`

/**
 * Date input of contract 1.3: stays text here, parsed by `dates.ts` (a bad one is a 400, not a 422). `x-described` is
 * only for the API description.
 */
export const DateInput = (description: string) =>
  Type.String({
    description,
    examples: ['2026-02-24', '2026-02-24T08:30:00Z', '1771921800'],
    'x-described': { pattern: DATE_INPUT },
  })

/**
 * Start of a page: opaque, from an answer of the same route with the same filters; any other text is a 400 (contract
 * 1.4).
 */
export const Cursor = (description = '`next_cursor` or `previous_cursor` of another page') =>
  Type.Optional(Type.String({ description, 'x-described': { minLength: 1 } }))

/** Page size of the cursor-paged lists: 1 to 1000, default 50 (decision D-07). */
export const Limit = (max = 1000, fallback = 50) => Type.Integer({ minimum: 1, maximum: max, default: fallback })

/** Lower-case provider slug (contract 2.1). */
export const Provider = () => Enum(providerNames, { title: 'ProviderName' })

/** Series type name; the input spelling `active_energy` is accepted for `energy` (decision D-04). */
export const Series = () =>
  Enum(seriesNames, {
    title: 'SeriesType',
    'x-aliases': [...seriesByName.keys()].filter((name) => !seriesNames.includes(name as never)),
  })

/** How data comes (SyncScope of contract 2.2). */
export const SyncScope = () => Enum(scopes, { title: 'SyncScope' })

/** `source` of a record (contract 4: SourceMetadata). */
export const SourceMetadata = Type.Object(
  {
    provider: Type.String(),
    source: Nullable(Type.String()),
    device: Nullable(Type.String()),
    device_type: Nullable(Type.String()),
    device_name: Nullable(Type.String()),
  },
  { title: 'SourceMetadata' },
)

/** Path parameter of every route below a user. */
export const UserPath = Type.Object({ user_id: Uuid() })

/** A password, token, secret or code that a client sends: no answer repeats it. */
export const Secret = (options: object = {}) => Type.String({ format: 'password', writeOnly: true, ...options })

/** `{"detail": "..."}`. */
export const ErrorBody = Type.Object(
  {
    detail: Type.String(),
    hint: Type.Optional(Type.String({ description: 'What to send instead, if known' })),
  },
  { title: 'ErrorBody' },
)

/** `{"status": "..."}` of a probe. */
export const Status = Type.Object({ status: Type.String() }, { title: 'Status' })

/** `{"message": "..."}`: something was done. */
export const Confirmation = Type.Object({ message: Type.String() }, { title: 'Confirmation' })

/** 422 body of contract 1.8. */
export const ValidationBody = Type.Object(
  {
    detail: Type.Array(
      Type.Object(
        {
          type: Type.String(),
          loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
          msg: Type.String(),
          input: Type.Unknown(),
          ctx: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        },
        { title: 'ValidationIssue' },
      ),
      {
        maxItems: 51,
        description:
          'Path and query before the body. The first 50; a last one of type too_many_errors counts the others in ' +
          'ctx.unlisted. Long inputs are cut, secrets are shown as [hidden]',
      },
    ),
  },
  { title: 'ValidationBody' },
)

/** Cursors of the neighbouring pages (contract 1.4). */
export const Pagination = Type.Object(
  {
    next_cursor: Nullable(Type.String()),
    previous_cursor: Nullable(Type.String()),
    has_more: Type.Boolean(),
    total_count: Nullable(Type.Integer()),
  },
  { title: 'Pagination' },
)

/** The request of a page (contract 1.4). */
export const PageMetadata = Type.Object(
  {
    resolution: Nullable(Type.String()),
    sample_count: Nullable(Type.Integer()),
    start_time: Nullable(Instant()),
    end_time: Nullable(Instant()),
  },
  { title: 'PageMetadata' },
)

/** Cursor envelope of contract 1.4 around `item`, whose title names the envelope. */
export const CursorPage = <T extends TSchema>(item: T & { title?: string }) =>
  Type.Object(
    { data: Type.Array(item), pagination: Pagination, metadata: PageMetadata },
    { title: `${item.title}Page` },
  )
