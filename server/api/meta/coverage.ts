import { Type } from 'typebox'
import type { WorkoutMeasures } from '../../batch/columns.ts'
import { providers } from '../../catalogue/providers.ts'
import { type ScoreCategory, scoreCategories } from '../../catalogue/score-categories.ts'
import { type SeriesName, type SeriesType, seriesTypes } from '../../catalogue/series.ts'
import { route } from '../../http/route.ts'
import { cloudProviders, type SdkProvider, sdkProviders } from '../../providers/index.ts'
import type { Brings } from '../../providers/part.ts'
import { isNutrient, type RecordKind, type SdkAbility } from '../../providers/sdk.ts'
import type { Totals } from '../../store/sleep/totals.ts'

const Fields = Type.Array(
  Type.Object({ code: Type.String(), providers: Type.Array(Type.String()) }, { title: 'CoverageField' }),
)

const Coverage = Type.Object(
  {
    providers: Type.Array(Type.String()),
    timeseries: Type.Array(
      Type.Object({
        name: Type.String({ description: 'Category' }),
        metrics: Type.Array(
          Type.Object({
            code: Type.String(),
            unit: Type.String(),
            lowest: Type.Number({ description: 'The lowest plausible value' }),
            highest: Type.Number({ description: 'The highest plausible value' }),
            description: Type.String(),
            providers: Type.Array(Type.String()),
          }),
        ),
      }),
    ),
    workout_fields: Fields,
    sleep_fields: Fields,
    menstrual_cycle_fields: Fields,
    meal_fields: Fields,
    health_scores: Type.Array(
      Type.Object({ code: Type.String(), description: Type.String(), providers: Type.Array(Type.String()) }),
    ),
  },
  { title: 'Coverage' },
)

// Fields of contract 5.3 by what fills them, so that a new measure cannot be forgotten here.
const workoutMeasures: Record<keyof WorkoutMeasures, string> = {
  caloriesKcal: 'calories_kcal',
  distanceMeters: 'distance_meters',
  steps: 'steps_count',
  heartRateMin: 'heart_rate_min',
  heartRateAvg: 'avg_heart_rate_bpm',
  heartRateMax: 'max_heart_rate_bpm',
  averageSpeed: 'average_speed',
  maxSpeed: 'max_speed',
  averageCadence: 'average_cadence',
  averageWatts: 'average_watts',
  maxWatts: 'max_watts',
  elevationGainMeters: 'elevation_gain_meters',
  elevationHighMeters: 'elev_high',
  elevationLowMeters: 'elev_low',
}

const workoutFields: Record<Exclude<Brings['workouts'][number], 'movingSeconds'>, string> = {
  title: 'name',
  entrySource: 'entry_source',
  ...workoutMeasures,
  intensity: 'intensity',
  hrZones: 'hr_zones',
}

/** What no phone reports. */
const cloudsOnly: readonly string[] = [workoutFields.intensity, workoutFields.hrZones]

// Fields of contract 5.4 and its `stages` by the totals of sessions that fill them.
const sleepTotals: Record<keyof Totals, string> = {
  asleepS: 'sleep_duration_seconds',
  inBedS: 'time_in_bed_seconds',
  awakeS: 'awake',
  lightS: 'light',
  deepS: 'deep',
  remS: 'rem',
  efficiencyPercent: 'efficiency_percent',
}

/** The providers whose data this version reads, in the order of the catalogue, with what a phone or an API of theirs sends. */
const known: readonly { name: string; sdk: SdkAbility | undefined; cloud: Brings | undefined }[] = providers
  .map(({ provider }) => ({
    name: provider,
    sdk: sdkProviders.get(provider as SdkProvider),
    cloud: cloudProviders.get(provider)?.brings,
  }))
  .filter(({ sdk, cloud }) => sdk || cloud)

/** The providers whose phones, or whose API, send something. */
const having = (phone: (ability: SdkAbility) => boolean, cloud: (brings: Brings) => boolean = () => false) =>
  known.filter((one) => (one.sdk && phone(one.sdk)) || (one.cloud && cloud(one.cloud))).map(({ name }) => name)

const recording = (holds: (kind: RecordKind) => boolean) => (ability: SdkAbility) =>
  [...ability.records.values()].some(holds)

const always = () => true
const never = () => false

const ofSeries = (series: SeriesType) =>
  recording((kind) => typeof kind === 'object' && 'series' in kind && kind.series.type === series.type)

const sending = (series: SeriesType) =>
  having(ofSeries(series), (cloud) => cloud.series.includes(series.type as SeriesName))

const eating = (series: SeriesType) =>
  having(ofSeries(series), ({ meals = [] }) => meals.includes(series.type as SeriesName))

const field = (code: string, names: readonly string[]) => (names.length === 0 ? [] : [{ code, providers: names }])
const fields = (codes: readonly string[], names: readonly string[]) => codes.flatMap((code) => field(code, names))

/** Fields that phones send, unless no phone does, and that some clouds name among those of a kind. */
const named = (codes: Readonly<Record<string, string>>, kind: (cloud: Brings) => readonly string[]) =>
  Object.entries(codes).flatMap(([name, code]) =>
    field(
      code,
      having(cloudsOnly.includes(code) ? never : always, (cloud) => kind(cloud).includes(name)),
    ),
  )

/** `oxygen_saturation` in words. */
const words = (code: string) => `${code.charAt(0).toUpperCase()}${code.slice(1)}`.replaceAll('_', ' ')

const metric = (series: SeriesType) => ({
  code: series.type,
  unit: series.unit,
  lowest: series.lowest,
  highest: series.highest,
  description: words(series.type),
  providers: sending(series),
})

/** Categories of which a score is computed here, too (contract 14). */
const computed: readonly ScoreCategory[] = ['sleep', 'resilience']

const healthScore = (category: ScoreCategory) => {
  // Platforms that report sessions send scores of sleep with them.
  const given = having(
    ({ givesSleepSessions }) => category === 'sleep' && givesSleepSessions,
    ({ scores }) => scores.includes(category),
  )
  const names = computed.includes(category) ? [...given, 'internal'] : given
  const origin = [given.length > 0 && 'as the provider gives it', computed.includes(category) && 'computed']
  const description = `${words(category)} score: ${origin.filter(Boolean).join(', and ')}`
  return names.length === 0 ? [] : [{ code: category, description, providers: names }]
}

const everyProvider = known.map(({ name }) => name)

const coverage = {
  providers: everyProvider,
  timeseries: [...new Set(seriesTypes.map(({ category }) => category))].map((name) => ({
    name,
    metrics: seriesTypes.filter(({ category }) => category === name).map(metric),
  })),
  workout_fields: [
    ...field(
      'duration_seconds',
      having(always, ({ workouts }) => workouts.length > 0),
    ),
    ...named(workoutFields, ({ workouts }) => workouts),
    ...field('segments', having(always)),
    ...field(
      'moving_time_seconds',
      having(
        ({ idleSegments }) => idleSegments !== undefined,
        ({ workouts }) => workouts.includes('movingSeconds'),
      ),
    ),
  ],
  sleep_fields: named(sleepTotals, ({ nights }) => nights),
  menstrual_cycle_fields: fields(
    [
      'current_phase_type',
      'day_in_cycle',
      'cycle_length',
      'predicted_cycle_length',
      'period_length',
      'is_predicted_cycle',
      'last_updated_at',
    ],
    having(recording((kind) => typeof kind === 'object' && 'observation' in kind)),
  ),
  meal_fields: [
    ...fields(
      ['name', 'meal_type'],
      having(
        recording((kind) => kind === 'meal'),
        ({ meals = [] }) => meals.length > 0,
      ),
    ),
    ...seriesTypes.filter(isNutrient).flatMap((series) => field(series.type, eating(series))),
  ],
  health_scores: scoreCategories.flatMap(healthScore),
}

/** What this version can store and which providers send it, whatever else they offer (contract 11). */
export const getCoverage = route(
  {
    method: 'GET',
    path: '/api/v1/meta/coverage',
    operationId: 'getCoverage',
    summary: 'Which providers send what',
    tag: 'Meta',
    guard: 'public',
    response: Coverage,
    example: {
      providers: everyProvider,
      timeseries: [
        {
          name: 'Heart & Cardiovascular',
          metrics: [
            {
              code: 'heart_rate',
              unit: 'bpm',
              lowest: 6,
              highest: 300,
              description: 'Heart rate',
              providers: everyProvider,
            },
          ],
        },
      ],
      workout_fields: [{ code: 'distance_meters', providers: everyProvider }],
      sleep_fields: [{ code: 'deep', providers: everyProvider }],
      menstrual_cycle_fields: [{ code: 'cycle_length', providers: everyProvider }],
      meal_fields: [{ code: 'meal_type', providers: everyProvider }],
      health_scores: [
        { code: 'resilience', description: 'How steady heart rate variability is', providers: ['internal'] },
      ],
    },
  },
  async () => coverage,
)
