import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { type CycleRule, type RecordKind, type RecordRule, recordRule } from '../sdk.ts'

// HealthKit identifier without HKQuantityTypeIdentifier, series, wire unit, factor where the unit text misleads:
// sdk-types 2 and 5. HealthKit's `%` is a fraction of 1. CyclingFunctionalThresholdPower is left out on purpose: a
// threshold is not a power sample and would spoil every average.
const quantities: readonly (readonly [tail: string, series: SeriesName, wireUnit: string, factor?: number])[] = [
  ['HeartRate', 'heart_rate', 'bpm'],
  ['RestingHeartRate', 'resting_heart_rate', 'bpm'],
  ['HeartRateVariabilitySDNN', 'heart_rate_variability_sdnn', 'ms'],
  ['HeartRateRecoveryOneMinute', 'heart_rate_recovery_one_minute', 'bpm'],
  ['WalkingHeartRateAverage', 'walking_heart_rate_average', 'bpm'],
  ['AtrialFibrillationBurden', 'atrial_fibrillation_burden', '%', 100],
  ['PeripheralPerfusionIndex', 'peripheral_perfusion_index', '%', 100],

  ['RespiratoryRate', 'respiratory_rate', 'breaths/min'],
  ['AppleSleepingBreathingDisturbances', 'sleeping_breathing_disturbances', 'count'],
  ['BloodGlucose', 'blood_glucose', 'mg/dL'],
  ['InsulinDelivery', 'insulin_delivery', 'IU'],
  ['BloodAlcoholContent', 'blood_alcohol_content', '%', 100_000], // 0.0008 = 0.08 % = 80 mg/dL
  ['BloodPressureSystolic', 'blood_pressure_systolic', 'mmHg'],
  ['BloodPressureDiastolic', 'blood_pressure_diastolic', 'mmHg'],
  ['BodyTemperature', 'body_temperature', 'degC'],
  ['BasalBodyTemperature', 'body_temperature', 'degC'],
  ['AppleSleepingWristTemperature', 'skin_temperature', 'degC'],
  ['ForcedVitalCapacity', 'forced_vital_capacity', 'L'],
  ['ForcedExpiratoryVolume1', 'forced_expiratory_volume_1', 'L'],
  ['PeakExpiratoryFlowRate', 'peak_expiratory_flow_rate', 'L/min'],
  ['ElectrodermalActivity', 'electrodermal_activity', 'S', 1e6], // microsiemens

  ['Height', 'height', 'm'],
  ['BodyMass', 'weight', 'kg'],
  ['BodyMassIndex', 'body_mass_index', 'kg/m²'],
  ['BodyFatPercentage', 'body_fat_percentage', '%', 100],
  ['LeanBodyMass', 'lean_body_mass', 'kg'],
  ['WaistCircumference', 'waist_circumference', 'm'],

  ['VO2Max', 'vo2_max', 'mL/kg/min'],
  ['SixMinuteWalkTestDistance', 'six_minute_walk_test_distance', 'm'],

  ['StepCount', 'steps', 'count'],
  ['ActiveEnergyBurned', 'energy', 'Cal'],
  ['BasalEnergyBurned', 'basal_energy', 'Cal'],
  ['AppleExerciseTime', 'exercise_time', 'min'],
  ['AppleStandTime', 'stand_time', 'min'],
  ['AppleMoveTime', 'active_time', 'min'],
  ['FlightsClimbed', 'flights_climbed', 'count'],
  ['PhysicalEffort', 'physical_effort', 'kcal/hr/kg'],
  ['PushCount', 'push_count', 'count'],
  ['NikeFuel', 'nike_fuel', 'count'],
  ['NumberOfTimesFallen', 'number_of_times_fallen', 'count'],
  ['NumberOfAlcoholicBeverages', 'number_of_alcoholic_beverages', 'count'],

  ['DistanceWalkingRunning', 'distance_walking_running', 'm'],
  ['DistanceCycling', 'distance_cycling', 'm'],
  ['DistanceSwimming', 'distance_swimming', 'm'],
  ['DistanceDownhillSnowSports', 'distance_downhill_snow_sports', 'm'],
  ['DistanceWheelchair', 'distance_other', 'm'],
  ['DistanceCrossCountrySkiing', 'distance_other', 'm'],
  ['DistancePaddleSports', 'distance_other', 'm'],
  ['DistanceRowing', 'distance_other', 'm'],
  ['DistanceSkatingSports', 'distance_other', 'm'],
  ['UnderwaterDepth', 'underwater_depth', 'm'],

  ['WalkingSpeed', 'walking_speed', 'm/s'],
  ['WalkingStepLength', 'walking_step_length', 'm'],
  ['WalkingAsymmetryPercentage', 'walking_asymmetry_percentage', '%', 100],
  ['WalkingDoubleSupportPercentage', 'walking_double_support_percentage', '%', 100],
  ['AppleWalkingSteadiness', 'walking_steadiness', '%', 100],
  ['StairAscentSpeed', 'stair_ascent_speed', 'm/s'],
  ['StairDescentSpeed', 'stair_descent_speed', 'm/s'],

  ['RunningPower', 'running_power', 'W'],
  ['RunningSpeed', 'running_speed', 'm/s'],
  ['RunningVerticalOscillation', 'running_vertical_oscillation', 'cm'],
  ['RunningGroundContactTime', 'running_ground_contact_time', 'ms'],
  ['RunningStrideLength', 'running_stride_length', 'm'],
  ['SwimmingStrokeCount', 'swimming_stroke_count', 'count'],
  ['CyclingCadence', 'cadence', 'count/min'],
  ['CyclingPower', 'power', 'W'],
  ['CyclingSpeed', 'speed', 'm/s'],
  ['CrossCountrySkiingSpeed', 'speed', 'm/s'],
  ['PaddleSportsSpeed', 'speed', 'm/s'],
  ['RowingSpeed', 'speed', 'm/s'],
  ['WorkoutEffortScore', 'workout_effort_score', 'appleEffortScore'],
  ['EstimatedWorkoutEffortScore', 'estimated_workout_effort_score', 'appleEffortScore'],

  ['EnvironmentalAudioExposure', 'environmental_audio_exposure', 'dBASPL'],
  ['HeadphoneAudioExposure', 'headphone_audio_exposure', 'dBASPL'],
  ['EnvironmentalSoundReduction', 'environmental_sound_reduction', 'dBASPL'],
  ['TimeInDaylight', 'time_in_daylight', 'min'],
  ['UVExposure', 'uv_exposure', 'count'],
  ['WaterTemperature', 'water_temperature', 'degC'],
  ['InhalerUsage', 'inhaler_usage', 'count'],

  ['DietaryEnergyConsumed', 'dietary_energy_consumed', 'Cal'],
  ['DietaryProtein', 'dietary_protein', 'g'],
  ['DietaryCarbohydrates', 'dietary_carbohydrates', 'g'],
  ['DietaryFiber', 'dietary_fiber', 'g'],
  ['DietarySugar', 'dietary_sugar', 'g'],
  ['DietaryFatTotal', 'dietary_fat_total', 'g'],
  ['DietaryFatSaturated', 'dietary_fat_saturated', 'g'],
  ['DietaryFatMonounsaturated', 'dietary_fat_monounsaturated', 'g'],
  ['DietaryFatPolyunsaturated', 'dietary_fat_polyunsaturated', 'g'],
  ['DietaryCholesterol', 'dietary_cholesterol', 'mg'],
  ['DietarySodium', 'dietary_sodium', 'mg'],
  ['DietaryPotassium', 'dietary_potassium', 'mg'],
  ['DietaryChloride', 'dietary_chloride', 'mg'],
  ['DietaryCaffeine', 'dietary_caffeine', 'mg'],
  ['DietaryCalcium', 'dietary_calcium', 'mg'],
  ['DietaryIron', 'dietary_iron', 'mg'],
  ['DietaryMagnesium', 'dietary_magnesium', 'mg'],
  ['DietaryPhosphorus', 'dietary_phosphorus', 'mg'],
  ['DietaryZinc', 'dietary_zinc', 'mg'],
  ['DietaryCopper', 'dietary_copper', 'mg'],
  ['DietaryManganese', 'dietary_manganese', 'mg'],
  ['DietarySelenium', 'dietary_selenium', 'mcg'],
  ['DietaryChromium', 'dietary_chromium', 'mcg'],
  ['DietaryMolybdenum', 'dietary_molybdenum', 'mcg'],
  ['DietaryIodine', 'dietary_iodine', 'mcg'],
  ['DietaryVitaminA', 'dietary_vitamin_a', 'mcg'],
  ['DietaryVitaminB6', 'dietary_vitamin_b6', 'mg'],
  ['DietaryVitaminB12', 'dietary_vitamin_b12', 'mcg'],
  ['DietaryVitaminC', 'dietary_vitamin_c', 'mg'],
  ['DietaryVitaminD', 'dietary_vitamin_d', 'mcg'],
  ['DietaryVitaminE', 'dietary_vitamin_e', 'mg'],
  ['DietaryVitaminK', 'dietary_vitamin_k', 'mcg'],
  ['DietaryThiamin', 'dietary_thiamin', 'mg'],
  ['DietaryRiboflavin', 'dietary_riboflavin', 'mg'],
  ['DietaryNiacin', 'dietary_niacin', 'mg'],
  ['DietaryFolate', 'dietary_folate', 'mcg'],
  ['DietaryBiotin', 'dietary_biotin', 'mcg'],
  ['DietaryPantothenicAcid', 'dietary_pantothenic_acid', 'mg'],
  ['DietaryWater', 'hydration', 'L'],
]

// Category identifier without HKCategoryTypeIdentifier, its observation, the meaning of its values: sdk-types 3 and 9.
// Sexual activity is sensitive and not stored.
const cycles: readonly (readonly [
  tail: string,
  observation: CycleRule['observation'],
  levels: Record<number, string | null>,
])[] = [
  ['MenstrualFlow', 'flow', { 1: null, 2: 'light', 3: 'medium', 4: 'heavy', 5: 'none' }],
  ['CervicalMucusQuality', 'cervical_mucus', { 1: 'dry', 2: 'sticky', 3: 'creamy', 4: 'watery', 5: 'egg_white' }],
  // A surge of oestrogen comes before that of luteinising hormone, which Health Connect calls high and positive.
  ['OvulationTestResult', 'ovulation_test', { 1: 'negative', 2: 'positive', 3: 'inconclusive', 4: 'high' }],
]

const cycleRule = (observation: CycleRule['observation'], levels: Record<number, string | null>): CycleRule => ({
  observation,
  levels: new Map(Object.entries(levels).map(([value, level]) => [Number(value), level])),
  onlyLevels: true,
  startKey: 'HKMenstrualCycleStart',
})

/** HealthKit types of SDK uploads and of the XML export, by their full identifier (sdk-types 2, 3, 5). */
export const appleRecords: ReadonlyMap<string, RecordKind> = new Map<string, RecordKind>([
  ...quantities.map(([tail, ...rule]) => [`HKQuantityTypeIdentifier${tail}`, recordRule(...rule)] as const),
  ['HKQuantityTypeIdentifierOxygenSaturation', oxygenSaturation()],
  ['HKCorrelationTypeIdentifierFood', 'meal'],
  ...cycles.map(([tail, ...rule]) => [`HKCategoryTypeIdentifier${tail}`, cycleRule(...rule)] as const),
  ['HKCategoryTypeIdentifierMindfulSession', { activity: 'meditation' }],
])

// The SDK multiplies by 100, forks and the XML export do not (sdk-types 1.1).
function oxygenSaturation(): RecordRule {
  const percent = recordRule('oxygen_saturation', '%')
  return {
    ...percent,
    convert(value, unit) {
      const converted = percent.convert(value, unit)
      return converted !== undefined && converted <= 1 ? withoutNoise(converted * 100) : converted
    },
  }
}
