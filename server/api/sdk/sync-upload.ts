import { type TSchema, Type } from 'typebox'
import { errors } from '../../errors.ts'
import { contentEncoding } from '../../http/encoding.ts'
import { MAX_JSON_CONTAINERS } from '../../http/json.ts'
import { route } from '../../http/route.ts'
import { Nullable, UserPath, Uuid } from '../../http/schema.ts'
import { checkQueryProvider } from '../../intake/uploads/accept.ts'
import { Accepted, accepted } from './accepted.ts'

const Source = Type.Object(
  {
    appId: Type.Optional(Nullable(Type.String())),
    name: Type.Optional(Nullable(Type.String())),
    deviceModel: Type.Optional(Nullable(Type.String())),
    deviceType: Type.Optional(Nullable(Type.String())),
  },
  { title: 'UploadSource' },
)

/** A list of an upload. The body bounds it: one body has a maximum number of arrays and objects, and of bytes. */
const Items = <T extends TSchema>(item: T, options: object = {}) =>
  Type.Array(item, { maxItems: MAX_JSON_CONTAINERS, ...options })

const Text = () => Type.Optional(Nullable(Type.String()))
const Time = () => Type.String({ format: 'date-time' })

/** The fields of every item. */
const item = {
  id: Text(),
  startDate: Time(),
  endDate: Time(),
  zoneOffset: Type.Optional(Nullable(Type.String({ examples: ['+02:00'] }))),
  source: Type.Optional(Nullable(Source)),
}

/** Statistic of a workout, or score of a night. */
const Value = Type.Object({ type: Type.String(), value: Type.Number(), unit: Text() }, { title: 'UploadValue' })

const RecordItem = Type.Object(
  {
    ...item,
    type: Type.String(),
    value: Type.Optional(Type.Union([Type.Number(), Type.String()], { description: 'A number, or a number as text' })),
    unit: Text(),
    parentId: Type.Optional(Nullable(Type.String({ description: 'The meal a nutrient belongs to' }))),
    metadata: Type.Optional(Type.Unknown({ description: 'Of a meal: title, mealType' })),
  },
  { title: 'UploadRecord' },
)

const SleepItem = Type.Object(
  {
    ...item,
    stage: Type.String({ description: 'in_bed, awake, sleeping, light, deep or rem' }),
    parentId: Type.Optional(Nullable(Type.String({ description: "The platform's session" }))),
    values: Type.Optional(Nullable(Items(Value))),
  },
  { title: 'UploadSleep' },
)

const WorkoutItem = Type.Object(
  {
    ...item,
    type: Text(),
    title: Text(),
    notes: Text(),
    values: Type.Optional(Nullable(Items(Value, { description: 'Statistics' }))),
    segments: Type.Optional(Nullable(Items(Type.Unknown()))),
    laps: Type.Optional(Nullable(Items(Type.Unknown()))),
    route: Type.Optional(Nullable(Items(Type.Unknown()))),
    samples: Type.Optional(Nullable(Items(Type.Unknown()))),
  },
  { title: 'UploadWorkout' },
)

const DeletedItem = Type.Object({ id: Type.String(), type: Text() }, { title: 'UploadDeletion' })

/** For the description only; the handler reads the bytes itself and bad items never fail the request. */
const Upload = Type.Object(
  {
    provider: Type.Optional(Type.String({ description: 'apple, samsung or health_connect (alias google)' })),
    sdkVersion: Type.Optional(Type.String()),
    syncTimestamp: Type.Optional(Time()),
    syncSessionId: Text(),
    syncType: Type.Optional(Nullable(Type.String({ description: 'historical or live' }))),
    data: Type.Optional(
      Type.Object({
        records: Type.Optional(Items(RecordItem)),
        sleep: Type.Optional(Items(SleepItem)),
        workouts: Type.Optional(Items(WorkoutItem)),
        deleted: Type.Optional(Items(DeletedItem, { description: 'What the platform deleted' })),
        deletions: Type.Optional(Items(DeletedItem, { description: 'Alias of `deleted`' })),
      }),
    ),
  },
  { title: 'Upload' },
)

const OLD_PATH_END = '/sync/'
const OLD_PATH = `/api/v1/sdk/users/{user_id}${OLD_PATH_END}`

/** Takes an upload of a phone SDK: stored durably before the 202, imported in the background (contract 9.1). */
export const syncUpload = route(
  {
    method: 'POST',
    path: '/api/v1/sdk/users/{user_id}/sync',
    // Of the iOS SDK before 0.4.0; the body of its first two releases names no provider.
    otherPath: `${OLD_PATH}apple`,
    operationId: 'uploadSdkData',
    summary: 'Upload health data of a phone',
    description:
      'Answers 202 once the upload is stored. Content problems never fail the request: read the batch status. ' +
      'The body may be compressed (gzip, deflate with or without the header of zlib), at most 32 MiB decoded. Within 24 hours, the same X-Request-Id with the same bytes counts as the same upload.',
    tag: 'SDK',
    guard: 'sdk',
    share: 'own',
    params: UserPath,
    query: Type.Object({ provider: Type.Optional(Type.String()) }),
    body: Upload,
    bodyKind: 'bytes',
    status: 202,
    response: Type.Object(
      { ...Accepted.properties, batch_id: Uuid(), run_id: Type.String() },
      { title: 'UploadAccepted' },
    ),
    example: {
      ...accepted('Import task queued successfully', '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11'),
      batch_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77',
      run_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77',
    },
    bodyExample: {
      provider: 'apple',
      sdkVersion: '0.15.0',
      data: {
        records: [
          {
            id: '4BB916DA-5A7E-49B9-AD76-26FB84D59AB7',
            type: 'HKQuantityTypeIdentifierHeartRate',
            startDate: '2026-02-24T08:30:00Z',
            endDate: '2026-02-24T08:30:00Z',
            zoneOffset: '+01:00',
            value: 62,
            unit: 'bpm',
            source: { name: 'Apple Watch', deviceModel: 'Watch7,5', deviceType: 'watch' },
          },
        ],
      },
    },
    errors: {
      400: 'Not a JSON object, a damaged compressed body, or an unsupported provider',
      403: 'The token belongs to another user',
      413: 'More than 32 MiB',
      415: 'Another content type or encoding',
    },
  },
  async ({ params, query, ctx }, { uploads }) => {
    const [, pathProvider] = ctx.path.split(OLD_PATH_END)
    const queryProvider = checkQueryProvider(query.provider ?? pathProvider)
    if (ctx.request.type && ctx.is('json', '+json') === false) throw errors.wrongMediaType('application/json')
    const encoding = contentEncoding(ctx.get('content-encoding'))
    if (!encoding) throw errors.wrongEncoding()
    const { batchId, runKey } = await uploads.accept({
      userId: params.user_id,
      body: ctx.req,
      contentLength: ctx.request.length,
      encoding,
      queryProvider,
      requestId: ctx.get('x-request-id').slice(0, 200) || null,
    })
    return { ...accepted('Import task queued successfully', params.user_id), batch_id: batchId, run_id: runKey }
  },
)
