import { Type } from 'typebox'
import { Nullable, PageMetadata, Pagination, SourceMetadata, Uuid } from '../../http/schema.ts'
import { CSV_HEADER } from './render.ts'

/** Media type of a page as columns. */
export const COLUMNS_JSON = 'application/vnd.pulsebase.columns+json'

const SampleColumns = Type.Object(
  {
    timestamp_ms: Type.Array(Type.Integer({ description: 'Epoch milliseconds' })),
    value: Type.Array(Type.Number()),
    zone_offset_min: Type.Array(Nullable(Type.Integer({ description: 'Minutes east of UTC' }))),
    series: Type.Array(Type.Integer({ description: 'Index into `series`' })),
    min: Type.Optional(Type.Array(Type.Number(), { description: 'With include=extremes, as the next two' })),
    max: Type.Optional(Type.Array(Type.Number())),
    count: Type.Optional(Type.Array(Type.Integer())),
  },
  { title: 'SampleColumns', description: 'All as long as the page: one entry for each sample' },
)

const SampleSeries = Type.Object(
  {
    type: Type.String(),
    unit: Type.String(),
    is_daily_total: Nullable(Type.Boolean()),
    implausible: Type.Optional(
      Type.Literal(true, {
        description: 'The values are implausible. Present only on such series, which no aggregate counts.',
      }),
    ),
    data_source_id: Uuid(),
    source: SourceMetadata,
  },
  { title: 'SampleSeries', description: 'What the samples of one type and source have in common' },
)

const ColumnarSamplePage = Type.Object(
  { columns: SampleColumns, series: Type.Array(SampleSeries), pagination: Pagination, metadata: PageMetadata },
  { title: 'ColumnarSamplePage' },
)

const example = {
  columns: { timestamp_ms: [1771921800000], value: [62], zone_offset_min: [60], series: [0] },
  series: [
    {
      type: 'heart_rate',
      unit: 'bpm',
      is_daily_total: null,
      data_source_id: '6f1e4a0c-93f4-4d0a-8a35-7b1de4f7c2d9',
      source: {
        provider: 'garmin',
        source: 'garmin_connect_api',
        device: 'Forerunner 255',
        device_type: 'watch',
        device_name: 'Forerunner 255',
      },
    },
  ],
  pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: 1 },
  metadata: { resolution: null, sample_count: 1, start_time: '2026-02-24T00:00:00Z', end_time: '2026-02-25T00:00:00Z' },
}

/** The page formats for charts and notebooks, for the API description. */
export const columnarForms = {
  [COLUMNS_JSON]: { schema: ColumnarSamplePage, example },
  'application/msgpack': {
    schema: Type.String({ format: 'binary', description: 'A ColumnarSamplePage in MessagePack' }),
  },
  'text/csv': {
    schema: Type.String({
      description:
        'RFC 4180 with a header line, a line for each sample; null is empty, and a text that a spreadsheet would ' +
        "execute begins with '. The cursors are in headers. With include=extremes, `min`, `max` and `count` are the last columns.",
    }),
    example: `${CSV_HEADER}\r\n2026-02-24T08:30:00Z,+01:00,heart_rate,62,bpm,,garmin,garmin_connect_api,Forerunner 255,watch,Forerunner 255,6f1e4a0c-93f4-4d0a-8a35-7b1de4f7c2d9,\r\n`,
  },
}
