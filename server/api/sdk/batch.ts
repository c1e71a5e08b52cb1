import { Type } from 'typebox'
import { Instant, Nullable, Uuid } from '../../http/schema.ts'

/** What can become of an upload. */
export const BATCH_STATUSES = ['queued', 'success', 'partial', 'skipped', 'failed'] as const

const REJECTION = Type.Object(
  {
    collection: Type.String(),
    index: Nullable(Type.Integer()),
    id: Nullable(Type.String()),
    loc: Type.Array(Type.Union([Type.String(), Type.Integer()])),
    type: Type.String(),
    msg: Type.String(),
  },
  { title: 'DroppedItem' },
)

const IMPLAUSIBLE = Type.Object(
  {
    type: Type.String({ description: 'Series type' }),
    unit: Type.String(),
    lowest: Type.Number({ description: 'The lowest plausible value' }),
    highest: Type.Number({ description: 'The highest plausible value' }),
    items: Type.Integer(),
  },
  { title: 'ImplausibleItems' },
)

const IGNORED_TYPE = Type.Object(
  {
    collection: Type.String(),
    type: Nullable(Type.String({ description: 'As sent; null for the remaining types of an upload with very many' })),
    items: Type.Integer(),
    likely: Nullable(Type.String({ description: "This provider's name of what was probably meant" })),
    known_to: Type.Array(Type.String(), { description: 'Other providers with this very name' }),
  },
  { title: 'IgnoredType' },
)

const UNKNOWN_FIELD = Type.Object(
  {
    field: Type.String({ description: 'Field of the body, or `data.x` for one in `data`' }),
    items: Nullable(Type.Integer({ description: 'Entries in it; null when it is neither list nor object' })),
    likely: Nullable(Type.String({ description: 'The field that was probably meant' })),
  },
  { title: 'UnknownField' },
)

/** The account of one upload: what arrived, and the result for every item (sdk-payload 5.2). */
export const Batch = Type.Object(
  {
    batch_id: Uuid(),
    user_id: Uuid(),
    provider: Type.String(),
    run_id: Type.String(),
    sync_session_id: Nullable(Type.String()),
    sync_type: Type.String(),
    status: Type.String({ description: 'queued, success, partial, skipped or failed' }),
    received_at: Instant(),
    finished_at: Nullable(Instant()),
    received: Type.Integer(),
    inserted: Type.Integer(),
    updated: Type.Integer(),
    unchanged: Type.Integer(),
    duplicates: Type.Integer({ description: 'Items whose key another item of the same upload repeated' }),
    ignored_type: Type.Integer(),
    dropped_count: Type.Integer(),
    deleted: Type.Integer({ description: 'Records removed because the platform deleted them' }),
    saved: Type.Record(
      Type.String(),
      Type.Object(
        { inserted: Type.Integer(), updated: Type.Integer(), unchanged: Type.Integer() },
        { title: 'SavedCounts' },
      ),
      {
        description:
          'Saved items that are not samples: sleep (stages), workout, meal (with nutrients), menstrual_cycle, activity',
      },
    ),
    dropped: Type.Array(REJECTION, {
      description:
        'The first 100 dropped items, and parts of workouts that are left out, without measured values; the first 10 where several uploads are listed, which also holds for the lists below',
    }),
    implausible: Type.Array(IMPLAUSIBLE, {
      description:
        'Implausible values, by series type: stored, but excluded from everything computed; statistics of workouts are left out',
    }),
    ignored_types: Type.Array(IGNORED_TYPE, { description: 'Types that are not stored, the 20 most frequent' }),
    unknown_fields: Type.Array(UNKNOWN_FIELD, { description: 'Fields that were not read, at most 20' }),
    error: Nullable(Type.String()),
    replay_of: Nullable(Uuid({ description: 'The upload whose stored body this one imported again' })),
    body_kept: Type.Boolean({ description: 'Whether it can be imported again' }),
  },
  { title: 'UploadBatch' },
)

/** Example of the description. */
export const batchExample = {
  batch_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77',
  user_id: '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11',
  provider: 'apple',
  run_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77',
  sync_session_id: null,
  sync_type: 'live',
  status: 'partial',
  received_at: '2026-02-24T10:00:00Z',
  finished_at: '2026-02-24T10:00:00.120000Z',
  received: 3,
  inserted: 1,
  updated: 0,
  unchanged: 1,
  duplicates: 0,
  ignored_type: 0,
  dropped_count: 1,
  deleted: 0,
  saved: { sleep: { inserted: 1, updated: 0, unchanged: 0 } },
  dropped: [
    {
      collection: 'records',
      index: 2,
      id: 'EDBAB455-72C7-4A5D-9440-B40BCC0500C0',
      loc: ['data', 'records', 2, 'value'],
      type: 'missing',
      msg: 'Field required',
    },
  ],
  implausible: [{ type: 'heart_rate', unit: 'bpm', lowest: 6, highest: 300, items: 1 }],
  ignored_types: [],
  unknown_fields: [],
  error: null,
  replay_of: null,
  body_kept: true,
}

/** Columns of `upload` under the names of the API, with so many entries of each list. */
const batchColumns = (most: number) => `
  id as batch_id, user_id, provider, run_key as run_id, sync_session_id, sync_type, status, received_at, finished_at,
  received, inserted, updated, unchanged, duplicates, ignored as ignored_type, rejected as dropped_count, deleted, saved,
  ${firstOf('rejections', most)} as dropped, ${firstOf('implausible', most)} as implausible,
  ${firstOf('unknown_fields', most)} as unknown_fields, error,
  (
    select coalesce(json_agg(k), '[]')
    from (
      select k.collection, k.type, k.items, k.likely, coalesce(k.known_to, '[]') as known_to
      from jsonb_to_recordset(unstored) k (collection text, type text, reason text, items int8, likely text, known_to jsonb)
      where k.reason = 'ignored_type'
      order by k.items desc, k.collection, k.type
      limit ${Math.min(most, 20)}
    ) k
  ) as ignored_types,
  replay_of, sha256 is not null as body_kept`

const firstOf = (column: string, most: number) => `jsonb_path_query_array(${column}, '$[0 to ${most - 1}]')`

/** One upload with all that is known of it. */
export const BATCH_COLUMNS = batchColumns(1_000)

/** One of many uploads: a phone decides how long these lists are, and a reader how many there are of them. */
export const LISTED_BATCH_COLUMNS = batchColumns(10)
