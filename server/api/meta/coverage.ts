import { Type } from 'typebox'
import type { WorkoutMeasures } from '../../batch/columns.ts'
import { providers } from '../../catalogue/providers.ts'
import { seriesTypes } from '../../catalogue/series.ts'
import { route } from '../../http/route.ts'
import { type SdkProvider, sdkProviders } from '../../providers/index.ts'
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

// Fields of contract 5.3 by the statistics of the SDKs that fill them, so that a new measure cannot be forgotten here.
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

/** The providers whose data this version reads, in the order of the catalogue. */
const known: readonly (readonly [name: string, ability: SdkAbility])[] = providers.flatMap(({ provider }) => {
  const ability = sdkProviders.get(provider as SdkProvider)
  return ability ? [[provider, ability] as const] : []
})

/** The providers for which `holds` is true of some record, or of the ability itself. */
const having = (holds: (kind: RecordKind, ability: SdkAbility) => boolean) =>
  known
    .filter(([, ability]) => [...ability.records.values()].some((kind) => holds(kind, ability)))
    .map(([name]) => name)

const everyProvider = known.map(([name]) => name)
const sending = (type: string) =>
  having((kind) => typeof kind === 'object' && 'series' in kind && kind.series.type === type)

const fields = (codes: readonly string[], names: readonly string[]) =>
  names.length === 0 ? [] : codes.map((code) => ({ code, providers: names }))

/** `oxygen_saturation` in words. */
const words = (code: string) => `${code.charAt(0).toUpperCase()}${code.slice(1)}`.replaceAll('_', ' ')

const metric = ({ type, unit, lowest, highest }: (typeof seriesTypes)[number]) => ({
  code: type,
  unit,
  lowest,
  highest,
  description: words(type),
  providers: sending(type),
})

const coverage = {
  providers: everyProvider,
  timeseries: [...new Set(seriesTypes.map(({ category }) => category))].map((name) => ({
    name,
    metrics: seriesTypes.filter(({ category }) => category === name).map(metric),
  })),
  workout_fields: [
    ...fields(['duration_seconds', ...Object.values(workoutMeasures), 'segments'], everyProvider),
    ...fields(
      ['moving_time_seconds'],
      having((_, ability) => ability.idleSegments !== undefined),
    ),
  ],
  sleep_fields: fields(Object.values(sleepTotals), everyProvider),
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
    having((kind) => typeof kind === 'object' && 'observation' in kind),
  ),
  meal_fields: [
    ...fields(
      ['name', 'meal_type'],
      having((kind) => kind === 'meal'),
    ),
    ...seriesTypes.filter(isNutrient).flatMap(({ type }) => fields([type], sending(type))),
  ],
  // Platforms that report sessions send scores with them; other scores are computed here (contract 14).
  health_scores: [
    {
      code: 'sleep',
      description: 'Sleep score of the platform, and the computed one',
      providers: [...having((_, ability) => ability.givesSleepSessions), 'internal'],
    },
    {
      code: 'resilience',
      description: 'How steady heart rate variability in sleep is, computed',
      providers: ['internal'],
    },
  ],
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
