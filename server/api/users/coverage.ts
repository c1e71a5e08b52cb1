import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { parseDateInput } from '../../http/dates.ts'
import { route } from '../../http/route.ts'
import { DateInput, Enum, Instant, Nullable, UserPath } from '../../http/schema.ts'
import { userView } from '../../sources/user-view.ts'
import { DAY_MS } from '../../time.ts'
import { readArrivals, TYPES_LISTED } from './coverage-arrivals.ts'
import { readDays } from './coverage-days.ts'

/** Longest range of one answer. */
const MAX_DAYS = 366

const Coverage = Type.Object(
  {
    days: Type.Array(
      Type.Object(
        {
          day: Type.String({ format: 'date', description: 'Day of the data: in UTC, or in the zone of its record' }),
          provider: Type.String(),
          type: Type.String({
            description: 'Series type; or sleep, workout, meal, meal_nutrient, menstrual_cycle, activity, health_score',
          }),
          received: Type.Integer({
            description: 'In all uploads, including samples of workouts and rejected items; repeated items count again',
          }),
          stored: Type.Integer({ description: 'Samples, sessions or records there are now, archived ones included' }),
          implausible: Type.Integer({
            description: 'Of those stored, implausible values, which are excluded from everything computed',
          }),
          rejected: Type.Integer({
            description: 'Of those received; items without a time or a type are only in `arrivals`',
          }),
          reasons: Type.Array(
            Type.Object({ reason: Type.String(), items: Type.Integer() }, { title: 'CoverageReason' }),
            {
              description: 'Rejected items by reason, the most frequent first',
            },
          ),
          last_upload_at: Nullable(Instant({ description: 'When the last upload with any of it arrived' })),
        },
        { title: 'CoverageDay' },
      ),
    ),
    arrivals: Type.Array(
      Type.Object(
        {
          day: Type.String({ format: 'date', description: 'Day on which the uploads arrived' }),
          provider: Type.String(),
          uploads: Type.Integer(),
          queued: Type.Integer({ description: 'Uploads that are not imported yet' }),
          failed: Type.Integer({ description: 'Uploads of which nothing could be stored' }),
          received: Type.Integer(),
          ignored: Type.Integer(),
          rejected: Type.Integer(),
          deleted: Type.Integer({ description: 'Records that the platform deleted' }),
          last_upload_at: Instant(),
          unstored: Type.Array(
            Type.Object(
              {
                collection: Type.String(),
                type: Nullable(
                  Type.String({
                    description: `The platform's name; null for items without one, and all but the ${TYPES_LISTED.utc} most frequent of the day (${TYPES_LISTED.local} with days=local)`,
                  }),
                ),
                reason: Type.String({
                  description:
                    'ignored_type; deleted: through the API before; connection_ended; or why the items were rejected',
                }),
                items: Type.Integer(),
                likely: Type.Optional(
                  Type.String({
                    description: "With days=local: this provider's name of what was probably meant, if any",
                  }),
                ),
                known_to: Type.Optional(
                  Type.Array(Type.String(), { description: 'With days=local: other providers with this very name' }),
                ),
              },
              { title: 'CoverageUnstored' },
            ),
          ),
        },
        { title: 'CoverageArrival' },
      ),
    ),
    providers: Type.Optional(
      Type.Array(
        Type.Object(
          {
            provider: Type.String(),
            first_upload_at: Instant(),
            last_upload_at: Instant(),
            first_day: Nullable(
              Type.String({ format: 'date', description: 'First day of anything that was received' }),
            ),
            last_day: Nullable(Type.String({ format: 'date', description: 'Last day of anything that was received' })),
          },
          { title: 'CoverageProvider' },
        ),
        { description: 'With days=local: when each provider sent something, and of which days, whatever the range' },
      ),
    ),
    samples_kept_from: Type.Optional(
      Nullable(
        Instant({
          description: 'With days=local: before this, samples may be archived, so only hours and days are there',
        }),
      ),
    ),
    data_kept_from: Type.Optional(
      Nullable(Instant({ description: 'With days=local: of samples from before this nothing is kept' })),
    ),
  },
  { title: 'UserCoverage' },
)

/** What happened to the data of each day: why one has data, and another has none. */
export const getUserCoverage = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/coverage',
    operationId: 'getUserCoverage',
    summary: 'What was received and what is stored, by day',
    description: `\`days\` go by the time of measurement, \`arrivals\` by the time of upload: rejected items may have no usable time. At most ${MAX_DAYS} days.`,
    tag: 'Users',
    guard: 'key',
    csv: { name: 'coverage', list: 'days' },
    share: 'report',
    params: UserPath,
    query: Type.Object({
      start_date: DateInput('First day.'),
      end_date: DateInput('Last day, included; of an instant, its day in UTC, unless that has just begun.'),
      days: Enum(['utc', 'local'], {
        default: 'utc',
        description:
          "Whole days of UTC, or of the person's own calendar: each record belongs to the day of the zone it was taken in, an upload to that of the zone the person was in",
      }),
    }),
    response: Coverage,
    example: {
      days: [
        {
          day: '2026-02-24',
          provider: 'apple',
          type: 'heart_rate',
          received: 812,
          stored: 790,
          implausible: 2,
          rejected: 1,
          reasons: [{ reason: 'missing', items: 1 }],
          last_upload_at: '2026-02-24T22:10:00.120000Z',
        },
      ],
      arrivals: [
        {
          day: '2026-02-24',
          provider: 'apple',
          uploads: 4,
          queued: 0,
          failed: 0,
          received: 815,
          ignored: 2,
          rejected: 1,
          deleted: 0,
          last_upload_at: '2026-02-24T22:10:00.120000Z',
          unstored: [
            { collection: 'records', type: 'HKQuantityTypeIdentifierX', reason: 'ignored_type', items: 2 },
            { collection: 'records', type: 'HKQuantityTypeIdentifierHeartRate', reason: 'missing', items: 1 },
          ],
        },
      ],
    },
    errors: { 400: 'Bad date, or too many days' },
  },
  async ({ params, query }, { db }) => {
    const startMs = Math.floor(parseDateInput(query.start_date) / DAY_MS) * DAY_MS
    const endMs = Math.ceil(parseDateInput(query.end_date, 'whole day') / DAY_MS) * DAY_MS
    if (endMs - startMs > MAX_DAYS * DAY_MS) throw errors.badRequest(`The range may have at most ${MAX_DAYS} days.`)
    const view = await userView(db, params.user_id)
    if (endMs <= startMs) return { days: [], arrivals: [] }
    const asked = { view, startMs, endMs, local: query.days === 'local' }
    const { days, ...beside } = await readDays(db, asked)
    return { days, arrivals: await readArrivals(db, asked), ...beside }
  },
)
