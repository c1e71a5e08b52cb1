import type { SeriesName } from '../../catalogue/series.ts'
import { type CycleRule, type RecordKind, recordRule } from '../sdk.ts'

// Wire type, series, wire unit, legacy alias: sdk-types 4 and 5. Percentages are real percent here.
// TOTAL_CALORIES_BURNED is left out on purpose: it contains ACTIVE_CALORIES_BURNED, and apps write it for single workouts as
// well, so its sum is not the total of a day.
const quantities: readonly (readonly [type: string, series: SeriesName, wireUnit: string, alias?: string])[] = [
  ['HEART_RATE', 'heart_rate', 'bpm'],
  ['RESTING_HEART_RATE', 'resting_heart_rate', 'bpm'],
  ['HEART_RATE_VARIABILITY', 'heart_rate_variability_rmssd', 'ms'],
  ['OXYGEN_SATURATION', 'oxygen_saturation', '%'],
  ['BLOOD_GLUCOSE', 'blood_glucose', 'mmol/L'],
  ['BLOOD_PRESSURE_SYSTOLIC', 'blood_pressure_systolic', 'mmHg'],
  ['BLOOD_PRESSURE_DIASTOLIC', 'blood_pressure_diastolic', 'mmHg'],
  ['RESPIRATORY_RATE', 'respiratory_rate', 'breaths/min'],
  ['BODY_TEMPERATURE', 'body_temperature', '°C'],
  ['BASAL_BODY_TEMPERATURE', 'body_temperature', '°C'],
  ['HEIGHT', 'height', 'm'],
  ['WEIGHT', 'weight', 'kg'],
  ['LEAN_BODY_MASS', 'lean_body_mass', 'kg'],
  ['SKELETAL_MUSCLE_MASS', 'skeletal_muscle_mass', 'kg'],
  ['BODY_FAT_MASS', 'body_fat_mass', 'kg'],
  ['BODY_FAT', 'body_fat_percentage', '%'],
  ['BMI', 'body_mass_index', 'kg/m²'],
  ['VO2_MAX', 'vo2_max', 'mL/kg/min'],
  ['STEP_COUNT', 'steps', 'count'],
  ['ACTIVE_CALORIES_BURNED', 'energy', 'kcal'],
  ['FLOORS_CLIMBED', 'flights_climbed', 'count'],
  ['DISTANCE', 'distance_walking_running', 'm'],
  ['HYDRATION', 'hydration', 'mL'],
  ['POWER', 'power', 'W'],
  ['SPEED', 'speed', 'm/s'],
  ['CYCLING_PEDALING_CADENCE', 'cadence', 'rpm'],

  ['DIETARY_ENERGY', 'dietary_energy_consumed', 'kcal', 'ENERGY_TOTAL'],
  ['DIETARY_ENERGY_FROM_FAT', 'dietary_energy_from_fat', 'kcal'],
  ['DIETARY_PROTEIN', 'dietary_protein', 'g', 'PROTEIN_TOTAL'],
  ['DIETARY_CARBOHYDRATE', 'dietary_carbohydrates', 'g', 'TOTAL_CARBOHYDRATE_TOTAL'],
  ['DIETARY_FIBER', 'dietary_fiber', 'g', 'DIETARY_FIBER_TOTAL'],
  ['DIETARY_SUGAR', 'dietary_sugar', 'g', 'SUGAR_TOTAL'],
  ['DIETARY_TOTAL_FAT', 'dietary_fat_total', 'g', 'TOTAL_FAT_TOTAL'],
  ['DIETARY_SATURATED_FAT', 'dietary_fat_saturated', 'g', 'SATURATED_FAT_TOTAL'],
  ['DIETARY_MONOUNSATURATED_FAT', 'dietary_fat_monounsaturated', 'g', 'MONOUNSATURATED_FAT_TOTAL'],
  ['DIETARY_POLYUNSATURATED_FAT', 'dietary_fat_polyunsaturated', 'g', 'POLYUNSATURATED_FAT_TOTAL'],
  ['DIETARY_TRANS_FAT', 'dietary_fat_trans', 'g'],
  ['DIETARY_UNSATURATED_FAT', 'dietary_fat_unsaturated', 'g'],
  ['DIETARY_CHOLESTEROL', 'dietary_cholesterol', 'mg', 'CHOLESTEROL_TOTAL'],
  ['DIETARY_SODIUM', 'dietary_sodium', 'mg', 'SODIUM_TOTAL'],
  ['DIETARY_POTASSIUM', 'dietary_potassium', 'mg', 'POTASSIUM_TOTAL'],
  ['DIETARY_CHLORIDE', 'dietary_chloride', 'mg', 'CHLORIDE_TOTAL'],
  ['DIETARY_CAFFEINE', 'dietary_caffeine', 'mg', 'CAFFEINE_TOTAL'],
  ['DIETARY_CALCIUM', 'dietary_calcium', 'mg', 'CALCIUM_TOTAL'],
  ['DIETARY_IRON', 'dietary_iron', 'mg', 'IRON_TOTAL'],
  ['DIETARY_MAGNESIUM', 'dietary_magnesium', 'mg', 'MAGNESIUM_TOTAL'],
  ['DIETARY_PHOSPHORUS', 'dietary_phosphorus', 'mg', 'PHOSPHORUS_TOTAL'],
  ['DIETARY_ZINC', 'dietary_zinc', 'mg', 'ZINC_TOTAL'],
  ['DIETARY_COPPER', 'dietary_copper', 'mg', 'COPPER_TOTAL'],
  ['DIETARY_MANGANESE', 'dietary_manganese', 'mg', 'MANGANESE_TOTAL'],
  ['DIETARY_SELENIUM', 'dietary_selenium', 'mcg', 'SELENIUM_TOTAL'],
  ['DIETARY_CHROMIUM', 'dietary_chromium', 'mcg', 'CHROMIUM_TOTAL'],
  ['DIETARY_MOLYBDENUM', 'dietary_molybdenum', 'mcg', 'MOLYBDENUM_TOTAL'],
  ['DIETARY_IODINE', 'dietary_iodine', 'mcg', 'IODINE_TOTAL'],
  ['DIETARY_VITAMIN_A', 'dietary_vitamin_a', 'mcg', 'VITAMIN_A_TOTAL'],
  ['DIETARY_VITAMIN_B6', 'dietary_vitamin_b6', 'mg', 'VITAMIN_B6_TOTAL'],
  ['DIETARY_VITAMIN_B12', 'dietary_vitamin_b12', 'mcg', 'VITAMIN_B12_TOTAL'],
  ['DIETARY_VITAMIN_C', 'dietary_vitamin_c', 'mg', 'VITAMIN_C_TOTAL'],
  ['DIETARY_VITAMIN_D', 'dietary_vitamin_d', 'mcg', 'VITAMIN_D_TOTAL'],
  ['DIETARY_VITAMIN_E', 'dietary_vitamin_e', 'mg', 'VITAMIN_E_TOTAL'],
  ['DIETARY_VITAMIN_K', 'dietary_vitamin_k', 'mcg', 'VITAMIN_K_TOTAL'],
  ['DIETARY_THIAMIN', 'dietary_thiamin', 'mg', 'THIAMIN_TOTAL'],
  ['DIETARY_RIBOFLAVIN', 'dietary_riboflavin', 'mg', 'RIBOFLAVIN_TOTAL'],
  ['DIETARY_NIACIN', 'dietary_niacin', 'mg', 'NIACIN_TOTAL'],
  ['DIETARY_FOLATE', 'dietary_folate', 'mcg', 'FOLATE_TOTAL'],
  ['DIETARY_FOLIC_ACID', 'dietary_folic_acid', 'mcg'],
  ['DIETARY_BIOTIN', 'dietary_biotin', 'mcg', 'BIOTIN_TOTAL'],
  ['DIETARY_PANTOTHENIC_ACID', 'dietary_pantothenic_acid', 'mg', 'PANTOTHENIC_ACID_TOTAL'],
]

// Wire type, its observation, the names of the values from 0 on: the cycle types expected of later SDKs (sdk-types 9,
// with the values of Health Connect's own records; 0 is its "unknown"). Sexual activity is sensitive and not stored.
const cycles: readonly (readonly [
  type: string,
  observation: CycleRule['observation'],
  ...levels: (string | null)[],
])[] = [
  ['MENSTRUATION_FLOW', 'flow', null, 'light', 'medium', 'heavy'],
  ['MENSTRUATION_PERIOD', 'period'],
  ['INTERMENSTRUAL_BLEEDING', 'intermenstrual_bleeding'],
  ['CERVICAL_MUCUS', 'cervical_mucus', null, 'dry', 'sticky', 'creamy', 'watery', 'egg_white', 'unusual'],
  ['OVULATION_TEST', 'ovulation_test', 'inconclusive', 'positive', 'high', 'negative'],
]

/** Android wire types, the same for Health Connect and Samsung Health (sdk-types 4, 5). */
export const androidRecords: ReadonlyMap<string, RecordKind> = new Map<string, RecordKind>([
  ...quantities.flatMap(([type, series, wireUnit, alias]) => {
    const rule = recordRule(series, wireUnit)
    return alias ? [[type, rule] as const, [alias, rule] as const] : [[type, rule] as const]
  }),
  // A rate per day: several readings a day must not add up, so each is the day's total (sdk-types 1.1).
  ['BASAL_METABOLIC_RATE', { ...recordRule('basal_energy', 'kcal/day'), dailyTotal: true }],
  ['FOOD', 'meal'],
  ...cycles.map(
    ([type, observation, ...levels]) =>
      [type, { observation, levels: new Map(levels.entries()), onlyLevels: false, startKey: null }] as const,
  ),
])

/** The Android SDK's names of sleep and workouts in its logs (sdk-types 4: native type to host type id). */
export const androidEvents: ReadonlyMap<string, 'sleep' | 'workout'> = new Map([
  ['sleep', 'sleep'],
  ['SLEEP', 'sleep'],
  ['workout', 'workout'],
  ['WORKOUT', 'workout'],
  ['EXERCISE', 'workout'],
])
