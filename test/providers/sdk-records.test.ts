import t from 'tap'
import { seriesByName, seriesTypes } from '../../server/catalogue/series.ts'
import { appleRecords } from '../../server/providers/apple/records.ts'
import { androidRecords } from '../../server/providers/health_connect/records.ts'
import { resolveSdkProvider, type SdkProvider, sdkProviderAliases, sdkProviders } from '../../server/providers/index.ts'
import { isNutrient, type RecordKind, type RecordRule } from '../../server/providers/sdk.ts'

type Case = readonly [type: string, value: number, unit: string, series: string, stored: number, seriesUnit: string]

// sdk-types 2 and 5, without the prefix HKQuantityTypeIdentifier.
const apple: readonly Case[] = [
  ['HeartRate', 61, 'bpm', 'heart_rate', 61, 'bpm'],
  ['RestingHeartRate', 61, 'bpm', 'resting_heart_rate', 61, 'bpm'],
  ['HeartRateVariabilitySDNN', 48.26113, 'ms', 'heart_rate_variability_sdnn', 48.26113, 'ms'],
  ['HeartRateRecoveryOneMinute', 61, 'bpm', 'heart_rate_recovery_one_minute', 61, 'bpm'],
  ['WalkingHeartRateAverage', 61, 'bpm', 'walking_heart_rate_average', 61, 'bpm'],
  ['AtrialFibrillationBurden', 0.021, '%', 'atrial_fibrillation_burden', 2.1, 'count'],
  ['PeripheralPerfusionIndex', 0.034, '%', 'peripheral_perfusion_index', 3.4, 'score'],
  ['OxygenSaturation', 97, '%', 'oxygen_saturation', 97, 'percent'],
  ['RespiratoryRate', 14.5, 'breaths/min', 'respiratory_rate', 14.5, 'brpm'],
  ['AppleSleepingBreathingDisturbances', 412, 'count', 'sleeping_breathing_disturbances', 412, 'count'],
  ['BloodGlucose', 98, 'mg/dL', 'blood_glucose', 98, 'mg_dl'],
  ['InsulinDelivery', 2.5, 'IU', 'insulin_delivery', 2.5, 'count'],
  ['BloodAlcoholContent', 0.0008, '%', 'blood_alcohol_content', 80, 'mg_dl'],
  ['BloodPressureSystolic', 121, 'mmHg', 'blood_pressure_systolic', 121, 'mmHg'],
  ['BloodPressureDiastolic', 121, 'mmHg', 'blood_pressure_diastolic', 121, 'mmHg'],
  ['BodyTemperature', 36.62, 'degC', 'body_temperature', 36.62, 'celsius'],
  ['BasalBodyTemperature', 36.62, 'degC', 'body_temperature', 36.62, 'celsius'],
  ['AppleSleepingWristTemperature', 36.62, 'degC', 'skin_temperature', 36.62, 'celsius'],
  ['ForcedVitalCapacity', 4.1, 'L', 'forced_vital_capacity', 4.1, 'liters'],
  ['ForcedExpiratoryVolume1', 4.1, 'L', 'forced_expiratory_volume_1', 4.1, 'liters'],
  ['PeakExpiratoryFlowRate', 430, 'L/min', 'peak_expiratory_flow_rate', 430, 'L/min'],
  ['ElectrodermalActivity', 0.0000023, 'S', 'electrodermal_activity', 2.3, 'count'],
  ['Height', 1.68, 'm', 'height', 168, 'cm'],
  ['BodyMass', 81.2, 'kg', 'weight', 81.2, 'kg'],
  ['BodyMassIndex', 24.1, 'kg/m²', 'body_mass_index', 24.1, 'kg_m2'],
  ['BodyFatPercentage', 0.243, '%', 'body_fat_percentage', 24.3, 'percent'],
  ['LeanBodyMass', 81.2, 'kg', 'lean_body_mass', 81.2, 'kg'],
  ['WaistCircumference', 0.84, 'm', 'waist_circumference', 84, 'cm'],
  ['VO2Max', 46, 'mL/kg/min', 'vo2_max', 46, 'ml_kg_min'],
  ['SixMinuteWalkTestDistance', 1234.5, 'm', 'six_minute_walk_test_distance', 1234.5, 'meters'],
  ['StepCount', 412, 'count', 'steps', 412, 'count'],
  ['ActiveEnergyBurned', 21.734, 'Cal', 'energy', 21.734, 'kcal'],
  ['BasalEnergyBurned', 21.734, 'Cal', 'basal_energy', 21.734, 'kcal'],
  ['AppleExerciseTime', 17, 'min', 'exercise_time', 17, 'minutes'],
  ['AppleStandTime', 17, 'min', 'stand_time', 17, 'minutes'],
  ['AppleMoveTime', 17, 'min', 'active_time', 17, 'minutes'],
  ['FlightsClimbed', 412, 'count', 'flights_climbed', 412, 'count'],
  ['PhysicalEffort', 3.2, 'kcal/hr/kg', 'physical_effort', 3.2, 'score'],
  ['PushCount', 412, 'count', 'push_count', 412, 'count'],
  ['NikeFuel', 412, 'count', 'nike_fuel', 412, 'count'],
  ['NumberOfTimesFallen', 412, 'count', 'number_of_times_fallen', 412, 'count'],
  ['NumberOfAlcoholicBeverages', 412, 'count', 'number_of_alcoholic_beverages', 412, 'count'],
  ['DistanceWalkingRunning', 1234.5, 'm', 'distance_walking_running', 1234.5, 'meters'],
  ['DistanceCycling', 1234.5, 'm', 'distance_cycling', 1234.5, 'meters'],
  ['DistanceSwimming', 1234.5, 'm', 'distance_swimming', 1234.5, 'meters'],
  ['DistanceDownhillSnowSports', 1234.5, 'm', 'distance_downhill_snow_sports', 1234.5, 'meters'],
  ['DistanceWheelchair', 1234.5, 'm', 'distance_other', 1234.5, 'meters'],
  ['DistanceCrossCountrySkiing', 1234.5, 'm', 'distance_other', 1234.5, 'meters'],
  ['DistancePaddleSports', 1234.5, 'm', 'distance_other', 1234.5, 'meters'],
  ['DistanceRowing', 1234.5, 'm', 'distance_other', 1234.5, 'meters'],
  ['DistanceSkatingSports', 1234.5, 'm', 'distance_other', 1234.5, 'meters'],
  ['UnderwaterDepth', 1234.5, 'm', 'underwater_depth', 1234.5, 'meters'],
  ['WalkingSpeed', 1.31, 'm/s', 'walking_speed', 1.31, 'm_per_s'],
  ['WalkingStepLength', 0.71, 'm', 'walking_step_length', 71, 'cm'],
  ['WalkingAsymmetryPercentage', 0.032, '%', 'walking_asymmetry_percentage', 3.2, 'percent'],
  ['WalkingDoubleSupportPercentage', 0.287, '%', 'walking_double_support_percentage', 28.7, 'percent'],
  ['AppleWalkingSteadiness', 0.93, '%', 'walking_steadiness', 93, 'percent'],
  ['StairAscentSpeed', 1.31, 'm/s', 'stair_ascent_speed', 1.31, 'm_per_s'],
  ['StairDescentSpeed', 1.31, 'm/s', 'stair_descent_speed', 1.31, 'm_per_s'],
  ['RunningPower', 180, 'W', 'running_power', 180, 'watts'],
  ['RunningSpeed', 1.31, 'm/s', 'running_speed', 1.31, 'm_per_s'],
  ['RunningVerticalOscillation', 8.4, 'cm', 'running_vertical_oscillation', 8.4, 'cm'],
  ['RunningGroundContactTime', 48.26113, 'ms', 'running_ground_contact_time', 48.26113, 'ms'],
  ['RunningStrideLength', 1.106, 'm', 'running_stride_length', 110.6, 'cm'],
  ['SwimmingStrokeCount', 412, 'count', 'swimming_stroke_count', 412, 'count'],
  ['CyclingCadence', 84, 'count/min', 'cadence', 84, 'rpm'],
  ['CyclingPower', 180, 'W', 'power', 180, 'watts'],
  ['CyclingSpeed', 1.31, 'm/s', 'speed', 1.31, 'm_per_s'],
  ['CrossCountrySkiingSpeed', 1.31, 'm/s', 'speed', 1.31, 'm_per_s'],
  ['PaddleSportsSpeed', 1.31, 'm/s', 'speed', 1.31, 'm_per_s'],
  ['RowingSpeed', 1.31, 'm/s', 'speed', 1.31, 'm_per_s'],
  ['WorkoutEffortScore', 6, 'appleEffortScore', 'workout_effort_score', 6, 'score'],
  ['EstimatedWorkoutEffortScore', 6, 'appleEffortScore', 'estimated_workout_effort_score', 6, 'score'],
  ['EnvironmentalAudioExposure', 71.5, 'dBASPL', 'environmental_audio_exposure', 71.5, 'dB'],
  ['HeadphoneAudioExposure', 71.5, 'dBASPL', 'headphone_audio_exposure', 71.5, 'dB'],
  ['EnvironmentalSoundReduction', 71.5, 'dBASPL', 'environmental_sound_reduction', 71.5, 'dB'],
  ['TimeInDaylight', 17, 'min', 'time_in_daylight', 17, 'minutes'],
  ['UVExposure', 412, 'count', 'uv_exposure', 412, 'count'],
  ['WaterTemperature', 36.62, 'degC', 'water_temperature', 36.62, 'celsius'],
  ['InhalerUsage', 412, 'count', 'inhaler_usage', 412, 'count'],
  ['DietaryEnergyConsumed', 21.734, 'Cal', 'dietary_energy_consumed', 21.734, 'kcal'],
  ['DietaryProtein', 7.9, 'g', 'dietary_protein', 7.9, 'g'],
  ['DietaryCarbohydrates', 7.9, 'g', 'dietary_carbohydrates', 7.9, 'g'],
  ['DietaryFiber', 7.9, 'g', 'dietary_fiber', 7.9, 'g'],
  ['DietarySugar', 7.9, 'g', 'dietary_sugar', 7.9, 'g'],
  ['DietaryFatTotal', 7.9, 'g', 'dietary_fat_total', 7.9, 'g'],
  ['DietaryFatSaturated', 7.9, 'g', 'dietary_fat_saturated', 7.9, 'g'],
  ['DietaryFatMonounsaturated', 7.9, 'g', 'dietary_fat_monounsaturated', 7.9, 'g'],
  ['DietaryFatPolyunsaturated', 7.9, 'g', 'dietary_fat_polyunsaturated', 7.9, 'g'],
  ['DietaryCholesterol', 95, 'mg', 'dietary_cholesterol', 95, 'mg'],
  ['DietarySodium', 95, 'mg', 'dietary_sodium', 95, 'mg'],
  ['DietaryPotassium', 95, 'mg', 'dietary_potassium', 95, 'mg'],
  ['DietaryChloride', 95, 'mg', 'dietary_chloride', 95, 'mg'],
  ['DietaryCaffeine', 95, 'mg', 'dietary_caffeine', 95, 'mg'],
  ['DietaryCalcium', 95, 'mg', 'dietary_calcium', 95, 'mg'],
  ['DietaryIron', 95, 'mg', 'dietary_iron', 95, 'mg'],
  ['DietaryMagnesium', 95, 'mg', 'dietary_magnesium', 95, 'mg'],
  ['DietaryPhosphorus', 95, 'mg', 'dietary_phosphorus', 95, 'mg'],
  ['DietaryZinc', 95, 'mg', 'dietary_zinc', 95, 'mg'],
  ['DietaryCopper', 95, 'mg', 'dietary_copper', 95, 'mg'],
  ['DietaryManganese', 95, 'mg', 'dietary_manganese', 95, 'mg'],
  ['DietarySelenium', 1.28, 'mcg', 'dietary_selenium', 1.28, 'mcg'],
  ['DietaryChromium', 1.28, 'mcg', 'dietary_chromium', 1.28, 'mcg'],
  ['DietaryMolybdenum', 1.28, 'mcg', 'dietary_molybdenum', 1.28, 'mcg'],
  ['DietaryIodine', 1.28, 'mcg', 'dietary_iodine', 1.28, 'mcg'],
  ['DietaryVitaminA', 1.28, 'mcg', 'dietary_vitamin_a', 1.28, 'mcg'],
  ['DietaryVitaminB6', 95, 'mg', 'dietary_vitamin_b6', 95, 'mg'],
  ['DietaryVitaminB12', 1.28, 'mcg', 'dietary_vitamin_b12', 1.28, 'mcg'],
  ['DietaryVitaminC', 95, 'mg', 'dietary_vitamin_c', 95, 'mg'],
  ['DietaryVitaminD', 1.28, 'mcg', 'dietary_vitamin_d', 1.28, 'mcg'],
  ['DietaryVitaminE', 95, 'mg', 'dietary_vitamin_e', 95, 'mg'],
  ['DietaryVitaminK', 1.28, 'mcg', 'dietary_vitamin_k', 1.28, 'mcg'],
  ['DietaryThiamin', 95, 'mg', 'dietary_thiamin', 95, 'mg'],
  ['DietaryRiboflavin', 95, 'mg', 'dietary_riboflavin', 95, 'mg'],
  ['DietaryNiacin', 95, 'mg', 'dietary_niacin', 95, 'mg'],
  ['DietaryFolate', 1.28, 'mcg', 'dietary_folate', 1.28, 'mcg'],
  ['DietaryBiotin', 1.28, 'mcg', 'dietary_biotin', 1.28, 'mcg'],
  ['DietaryPantothenicAcid', 95, 'mg', 'dietary_pantothenic_acid', 95, 'mg'],
  ['DietaryWater', 0.35, 'L', 'hydration', 350, 'mL'],
]

// sdk-types 4 and 5 with the older names, and the one quantity of section 9.
const android: readonly Case[] = [
  ['HEART_RATE', 61, 'bpm', 'heart_rate', 61, 'bpm'],
  ['RESTING_HEART_RATE', 61, 'bpm', 'resting_heart_rate', 61, 'bpm'],
  ['HEART_RATE_VARIABILITY', 48.26113, 'ms', 'heart_rate_variability_rmssd', 48.26113, 'ms'],
  ['OXYGEN_SATURATION', 96.5, '%', 'oxygen_saturation', 96.5, 'percent'],
  ['BLOOD_GLUCOSE', 5.38, 'mmol/L', 'blood_glucose', 96.937916, 'mg_dl'],
  ['BLOOD_PRESSURE_SYSTOLIC', 121, 'mmHg', 'blood_pressure_systolic', 121, 'mmHg'],
  ['BLOOD_PRESSURE_DIASTOLIC', 121, 'mmHg', 'blood_pressure_diastolic', 121, 'mmHg'],
  ['RESPIRATORY_RATE', 14.5, 'breaths/min', 'respiratory_rate', 14.5, 'brpm'],
  ['BODY_TEMPERATURE', 36.7, '°C', 'body_temperature', 36.7, 'celsius'],
  ['HEIGHT', 1.76, 'm', 'height', 176, 'cm'],
  ['WEIGHT', 81.2, 'kg', 'weight', 81.2, 'kg'],
  ['LEAN_BODY_MASS', 81.2, 'kg', 'lean_body_mass', 81.2, 'kg'],
  ['SKELETAL_MUSCLE_MASS', 81.2, 'kg', 'skeletal_muscle_mass', 81.2, 'kg'],
  ['BODY_FAT_MASS', 81.2, 'kg', 'body_fat_mass', 81.2, 'kg'],
  ['BODY_FAT', 21.4, '%', 'body_fat_percentage', 21.4, 'percent'],
  ['BMI', 24.1, 'kg/m²', 'body_mass_index', 24.1, 'kg_m2'],
  ['VO2_MAX', 46, 'mL/kg/min', 'vo2_max', 46, 'ml_kg_min'],
  ['STEP_COUNT', 412, 'count', 'steps', 412, 'count'],
  ['ACTIVE_CALORIES_BURNED', 48.5, 'kcal', 'energy', 48.5, 'kcal'],
  ['FLOORS_CLIMBED', 412, 'count', 'flights_climbed', 412, 'count'],
  ['DISTANCE', 1234.5, 'm', 'distance_walking_running', 1234.5, 'meters'],
  ['HYDRATION', 330, 'mL', 'hydration', 330, 'mL'],
  ['POWER', 180, 'W', 'power', 180, 'watts'],
  ['SPEED', 1.31, 'm/s', 'speed', 1.31, 'm_per_s'],
  ['CYCLING_PEDALING_CADENCE', 84, 'rpm', 'cadence', 84, 'rpm'],
  ['DIETARY_ENERGY', 48.5, 'kcal', 'dietary_energy_consumed', 48.5, 'kcal'],
  ['ENERGY_TOTAL', 48.5, 'kcal', 'dietary_energy_consumed', 48.5, 'kcal'],
  ['DIETARY_ENERGY_FROM_FAT', 48.5, 'kcal', 'dietary_energy_from_fat', 48.5, 'kcal'],
  ['DIETARY_PROTEIN', 7.9, 'g', 'dietary_protein', 7.9, 'g'],
  ['PROTEIN_TOTAL', 7.9, 'g', 'dietary_protein', 7.9, 'g'],
  ['DIETARY_CARBOHYDRATE', 7.9, 'g', 'dietary_carbohydrates', 7.9, 'g'],
  ['TOTAL_CARBOHYDRATE_TOTAL', 7.9, 'g', 'dietary_carbohydrates', 7.9, 'g'],
  ['DIETARY_FIBER', 7.9, 'g', 'dietary_fiber', 7.9, 'g'],
  ['DIETARY_FIBER_TOTAL', 7.9, 'g', 'dietary_fiber', 7.9, 'g'],
  ['DIETARY_SUGAR', 7.9, 'g', 'dietary_sugar', 7.9, 'g'],
  ['SUGAR_TOTAL', 7.9, 'g', 'dietary_sugar', 7.9, 'g'],
  ['DIETARY_TOTAL_FAT', 7.9, 'g', 'dietary_fat_total', 7.9, 'g'],
  ['TOTAL_FAT_TOTAL', 7.9, 'g', 'dietary_fat_total', 7.9, 'g'],
  ['DIETARY_SATURATED_FAT', 7.9, 'g', 'dietary_fat_saturated', 7.9, 'g'],
  ['SATURATED_FAT_TOTAL', 7.9, 'g', 'dietary_fat_saturated', 7.9, 'g'],
  ['DIETARY_MONOUNSATURATED_FAT', 7.9, 'g', 'dietary_fat_monounsaturated', 7.9, 'g'],
  ['MONOUNSATURATED_FAT_TOTAL', 7.9, 'g', 'dietary_fat_monounsaturated', 7.9, 'g'],
  ['DIETARY_POLYUNSATURATED_FAT', 7.9, 'g', 'dietary_fat_polyunsaturated', 7.9, 'g'],
  ['POLYUNSATURATED_FAT_TOTAL', 7.9, 'g', 'dietary_fat_polyunsaturated', 7.9, 'g'],
  ['DIETARY_TRANS_FAT', 7.9, 'g', 'dietary_fat_trans', 7.9, 'g'],
  ['DIETARY_UNSATURATED_FAT', 7.9, 'g', 'dietary_fat_unsaturated', 7.9, 'g'],
  ['DIETARY_CHOLESTEROL', 95, 'mg', 'dietary_cholesterol', 95, 'mg'],
  ['CHOLESTEROL_TOTAL', 95, 'mg', 'dietary_cholesterol', 95, 'mg'],
  ['DIETARY_SODIUM', 95, 'mg', 'dietary_sodium', 95, 'mg'],
  ['SODIUM_TOTAL', 95, 'mg', 'dietary_sodium', 95, 'mg'],
  ['DIETARY_POTASSIUM', 95, 'mg', 'dietary_potassium', 95, 'mg'],
  ['POTASSIUM_TOTAL', 95, 'mg', 'dietary_potassium', 95, 'mg'],
  ['DIETARY_CHLORIDE', 95, 'mg', 'dietary_chloride', 95, 'mg'],
  ['CHLORIDE_TOTAL', 95, 'mg', 'dietary_chloride', 95, 'mg'],
  ['DIETARY_CAFFEINE', 95, 'mg', 'dietary_caffeine', 95, 'mg'],
  ['CAFFEINE_TOTAL', 95, 'mg', 'dietary_caffeine', 95, 'mg'],
  ['DIETARY_CALCIUM', 95, 'mg', 'dietary_calcium', 95, 'mg'],
  ['CALCIUM_TOTAL', 95, 'mg', 'dietary_calcium', 95, 'mg'],
  ['DIETARY_IRON', 95, 'mg', 'dietary_iron', 95, 'mg'],
  ['IRON_TOTAL', 95, 'mg', 'dietary_iron', 95, 'mg'],
  ['DIETARY_MAGNESIUM', 95, 'mg', 'dietary_magnesium', 95, 'mg'],
  ['MAGNESIUM_TOTAL', 95, 'mg', 'dietary_magnesium', 95, 'mg'],
  ['DIETARY_PHOSPHORUS', 95, 'mg', 'dietary_phosphorus', 95, 'mg'],
  ['PHOSPHORUS_TOTAL', 95, 'mg', 'dietary_phosphorus', 95, 'mg'],
  ['DIETARY_ZINC', 95, 'mg', 'dietary_zinc', 95, 'mg'],
  ['ZINC_TOTAL', 95, 'mg', 'dietary_zinc', 95, 'mg'],
  ['DIETARY_COPPER', 95, 'mg', 'dietary_copper', 95, 'mg'],
  ['COPPER_TOTAL', 95, 'mg', 'dietary_copper', 95, 'mg'],
  ['DIETARY_MANGANESE', 95, 'mg', 'dietary_manganese', 95, 'mg'],
  ['MANGANESE_TOTAL', 95, 'mg', 'dietary_manganese', 95, 'mg'],
  ['DIETARY_SELENIUM', 1.28, 'mcg', 'dietary_selenium', 1.28, 'mcg'],
  ['SELENIUM_TOTAL', 1.28, 'mcg', 'dietary_selenium', 1.28, 'mcg'],
  ['DIETARY_CHROMIUM', 1.28, 'mcg', 'dietary_chromium', 1.28, 'mcg'],
  ['CHROMIUM_TOTAL', 1.28, 'mcg', 'dietary_chromium', 1.28, 'mcg'],
  ['DIETARY_MOLYBDENUM', 1.28, 'mcg', 'dietary_molybdenum', 1.28, 'mcg'],
  ['MOLYBDENUM_TOTAL', 1.28, 'mcg', 'dietary_molybdenum', 1.28, 'mcg'],
  ['DIETARY_IODINE', 1.28, 'mcg', 'dietary_iodine', 1.28, 'mcg'],
  ['IODINE_TOTAL', 1.28, 'mcg', 'dietary_iodine', 1.28, 'mcg'],
  ['DIETARY_VITAMIN_A', 1.28, 'mcg', 'dietary_vitamin_a', 1.28, 'mcg'],
  ['VITAMIN_A_TOTAL', 1.28, 'mcg', 'dietary_vitamin_a', 1.28, 'mcg'],
  ['DIETARY_VITAMIN_B6', 95, 'mg', 'dietary_vitamin_b6', 95, 'mg'],
  ['VITAMIN_B6_TOTAL', 95, 'mg', 'dietary_vitamin_b6', 95, 'mg'],
  ['DIETARY_VITAMIN_B12', 1.28, 'mcg', 'dietary_vitamin_b12', 1.28, 'mcg'],
  ['VITAMIN_B12_TOTAL', 1.28, 'mcg', 'dietary_vitamin_b12', 1.28, 'mcg'],
  ['DIETARY_VITAMIN_C', 95, 'mg', 'dietary_vitamin_c', 95, 'mg'],
  ['VITAMIN_C_TOTAL', 95, 'mg', 'dietary_vitamin_c', 95, 'mg'],
  ['DIETARY_VITAMIN_D', 1.28, 'mcg', 'dietary_vitamin_d', 1.28, 'mcg'],
  ['VITAMIN_D_TOTAL', 1.28, 'mcg', 'dietary_vitamin_d', 1.28, 'mcg'],
  ['DIETARY_VITAMIN_E', 95, 'mg', 'dietary_vitamin_e', 95, 'mg'],
  ['VITAMIN_E_TOTAL', 95, 'mg', 'dietary_vitamin_e', 95, 'mg'],
  ['DIETARY_VITAMIN_K', 1.28, 'mcg', 'dietary_vitamin_k', 1.28, 'mcg'],
  ['VITAMIN_K_TOTAL', 1.28, 'mcg', 'dietary_vitamin_k', 1.28, 'mcg'],
  ['DIETARY_THIAMIN', 95, 'mg', 'dietary_thiamin', 95, 'mg'],
  ['THIAMIN_TOTAL', 95, 'mg', 'dietary_thiamin', 95, 'mg'],
  ['DIETARY_RIBOFLAVIN', 95, 'mg', 'dietary_riboflavin', 95, 'mg'],
  ['RIBOFLAVIN_TOTAL', 95, 'mg', 'dietary_riboflavin', 95, 'mg'],
  ['DIETARY_NIACIN', 95, 'mg', 'dietary_niacin', 95, 'mg'],
  ['NIACIN_TOTAL', 95, 'mg', 'dietary_niacin', 95, 'mg'],
  ['DIETARY_FOLATE', 1.28, 'mcg', 'dietary_folate', 1.28, 'mcg'],
  ['FOLATE_TOTAL', 1.28, 'mcg', 'dietary_folate', 1.28, 'mcg'],
  ['DIETARY_FOLIC_ACID', 1.28, 'mcg', 'dietary_folic_acid', 1.28, 'mcg'],
  ['DIETARY_BIOTIN', 1.28, 'mcg', 'dietary_biotin', 1.28, 'mcg'],
  ['BIOTIN_TOTAL', 1.28, 'mcg', 'dietary_biotin', 1.28, 'mcg'],
  ['DIETARY_PANTOTHENIC_ACID', 95, 'mg', 'dietary_pantothenic_acid', 95, 'mg'],
  ['PANTOTHENIC_ACID_TOTAL', 95, 'mg', 'dietary_pantothenic_acid', 95, 'mg'],
  ['BASAL_METABOLIC_RATE', 1640, 'kcal/day', 'basal_energy', 1640, 'kcal'],
  ['BASAL_BODY_TEMPERATURE', 36.4, '°C', 'body_temperature', 36.4, 'celsius'],
]

const isSample = (kind: RecordKind): kind is RecordRule => typeof kind === 'object' && 'series' in kind

function rule(provider: SdkProvider, type: string): RecordRule {
  const kind = sdkProviders.get(provider)!.recordKind(type)
  if (!isSample(kind)) throw new Error(`${type} is no sample`)
  return kind
}

t.test('every documented wire type lands in its series, with or without its unit', async (t) => {
  const found: string[] = []
  const expected: string[] = []
  const walk = (provider: SdkProvider, [type, value, unit, series, stored, seriesUnit]: Case) => {
    const { series: lands, convert, dailyTotal } = rule(provider, type)
    const line = (text: string) => `${provider} ${type}: ${text}`
    if (lands !== seriesByName.get(series)) found.push(line('not the series of the catalogue'))
    // With its unit, without one, with an empty and with an unknown one.
    const values = [unit, null, '', 'smoots'].map((one) => convert(value, one))
    found.push(line(`${lands.type} ${lands.unit} ${values} ${dailyTotal}`))
    const [usual, isTotal] = [[stored, stored, stored, undefined], type === 'BASAL_METABOLIC_RATE']
    expected.push(line(`${series} ${seriesUnit} ${usual} ${isTotal}`))
  }
  for (const [tail, ...rest] of apple) walk('apple', [`HKQuantityTypeIdentifier${tail}`, ...rest])
  for (const row of android) {
    walk('health_connect', row)
    walk('samsung', row)
  }
  t.strictSame(found, expected)
  t.equal(expected.length, apple.length + 2 * android.length)
})

t.test('no wire type is mapped beyond the documented ones', async (t) => {
  const mapped = (table: ReadonlyMap<string, RecordKind>) =>
    [...table].filter(([, kind]) => isSample(kind)).map(([type]) => type)
  t.strictSame(mapped(appleRecords).sort(), apple.map(([tail]) => `HKQuantityTypeIdentifier${tail}`).sort())
  t.strictSame(mapped(androidRecords).sort(), android.map(([type]) => type).sort())
})

t.test('the conversion vectors of sdk-types 12 hold', async (t) => {
  const vectors: readonly (readonly [SdkProvider, ...Case])[] = [
    ['apple', 'HKQuantityTypeIdentifierHeight', 1.68, 'm', 'height', 168, 'cm'],
    ['apple', 'HKQuantityTypeIdentifierBodyFatPercentage', 0.243, '%', 'body_fat_percentage', 24.3, 'percent'],
    ['health_connect', 'BODY_FAT', 18.9, '%', 'body_fat_percentage', 18.9, 'percent'],
    ['apple', 'HKQuantityTypeIdentifierOxygenSaturation', 97, '%', 'oxygen_saturation', 97, 'percent'],
    ['apple', 'HKQuantityTypeIdentifierOxygenSaturation', 0.97, '%', 'oxygen_saturation', 97, 'percent'],
    ['health_connect', 'OXYGEN_SATURATION', 96.5, '%', 'oxygen_saturation', 96.5, 'percent'],
    ['apple', 'HKQuantityTypeIdentifierWalkingStepLength', 0.71, 'm', 'walking_step_length', 71, 'cm'],
    [
      ...(['apple', 'HKQuantityTypeIdentifierWalkingAsymmetryPercentage', 0.032, '%'] as const),
      ...(['walking_asymmetry_percentage', 3.2, 'percent'] as const),
    ],
    ['apple', 'HKQuantityTypeIdentifierActiveEnergyBurned', 21.734, 'Cal', 'energy', 21.734, 'kcal'],
    ['apple', 'HKQuantityTypeIdentifierDietaryEnergyConsumed', 146000, 'cal', 'dietary_energy_consumed', 146, 'kcal'],
    ['apple', 'HKQuantityTypeIdentifierDietaryWater', 0.35, 'L', 'hydration', 350, 'mL'],
    ['samsung', 'BLOOD_GLUCOSE', 5.38, 'mmol/L', 'blood_glucose', 96.937916, 'mg_dl'],
    ['health_connect', 'BLOOD_GLUCOSE', 5.6, 'mmol/L', 'blood_glucose', 100.90192, 'mg_dl'],
    ['samsung', 'HEIGHT', 1.76, 'm', 'height', 176, 'cm'],
    ['health_connect', 'HYDRATION', 330, 'mL', 'hydration', 330, 'mL'],
    ['apple', 'HKQuantityTypeIdentifierWaistCircumference', 0.84, 'm', 'waist_circumference', 84, 'cm'],
    ['health_connect', 'HEART_RATE_VARIABILITY', 41.7, 'ms', 'heart_rate_variability_rmssd', 41.7, 'ms'],
    [
      ...(['apple', 'HKQuantityTypeIdentifierHeartRateVariabilitySDNN', 48.26113, 'ms'] as const),
      ...(['heart_rate_variability_sdnn', 48.26113, 'ms'] as const),
    ],
  ]
  for (const [provider, type, value, unit, series, stored, seriesUnit] of vectors) {
    t.match(rule(provider, type).series, { type: series, unit: seriesUnit })
    t.equal(rule(provider, type).convert(value, unit), stored, `${provider} ${type} ${value} ${unit}`)
  }
  t.equal(sdkProviders.get('health_connect')?.recordKind('TOTAL_CALORIES_BURNED'), 'ignored')
})

t.test('a unit that differs from the documented one is converted', async (t) => {
  const cases: readonly (readonly [SdkProvider, string, number, string, number])[] = [
    ['apple', 'HKQuantityTypeIdentifierHeight', 170, 'cm', 170],
    ['apple', 'HKQuantityTypeIdentifierHeight', 70, 'in', 177.8],
    ['apple', 'HKQuantityTypeIdentifierBodyMass', 180, 'lb', 81.6466266],
    ['apple', 'HKQuantityTypeIdentifierDistanceWalkingRunning', 1, 'mi', 1609.344],
    ['apple', 'HKQuantityTypeIdentifierBodyTemperature', 98.6, 'degF', 37],
    ['apple', 'HKQuantityTypeIdentifierActiveEnergyBurned', 418.4, 'kJ', 100],
    ['apple', 'HKQuantityTypeIdentifierBloodGlucose', 5.5, 'mmol<180.1558800000541>/L', 99.1001],
    ['apple', 'HKQuantityTypeIdentifierHeartRate', 1.5, 'count/s', 90],
    ['apple', 'HKQuantityTypeIdentifierHeartRate', 61, 'count/min', 61],
    ['apple', 'HKQuantityTypeIdentifierRunningStrideLength', 110.6, 'cm', 110.6],
    ['apple', 'HKQuantityTypeIdentifierDietaryWater', 250, 'mL', 250],
    ['apple', 'HKQuantityTypeIdentifierDietarySodium', 0.64, 'g', 640],
    ['apple', 'HKQuantityTypeIdentifierBloodAlcoholContent', 80, 'mg/dL', 80],
    ['apple', 'HKQuantityTypeIdentifierElectrodermalActivity', 2.3, 'mcS', 2.3],
    ['health_connect', 'HYDRATION', 0.5, 'L', 500],
    ['health_connect', 'BLOOD_GLUCOSE', 98, 'mg/dL', 98],
    ['health_connect', 'BODY_TEMPERATURE', 36.7, '°C', 36.7],
  ]
  for (const [provider, type, value, unit, stored] of cases) {
    t.equal(rule(provider, type).convert(value, unit), stored, `${type} ${value} ${unit}`)
  }
})

t.test('fractions of HealthKit become percent even when the SDK calls them a count', async (t) => {
  t.equal(rule('apple', 'HKQuantityTypeIdentifierAtrialFibrillationBurden').convert(0.021, 'count'), 2.1)
  t.equal(rule('apple', 'HKQuantityTypeIdentifierPeripheralPerfusionIndex').convert(0.034, 'count'), 3.4)
  t.equal(rule('apple', 'HKQuantityTypeIdentifierAppleWalkingSteadiness').convert(1, 'count'), 100)
  t.equal(rule('apple', 'HKQuantityTypeIdentifierOxygenSaturation').convert(1, '%'), 100)
  t.equal(rule('apple', 'HKQuantityTypeIdentifierOxygenSaturation').convert(0.97, null), 97)
  t.equal(rule('health_connect', 'OXYGEN_SATURATION').convert(0.9, '%'), 0.9, 'only HealthKit knows fractions')
  t.equal(rule('samsung', 'BODY_FAT').convert(0.9, '%'), 0.9)
})

t.test('what is no sample becomes meals, cycles and activities, or is ignored without an error', async (t) => {
  const kinds: readonly (readonly [SdkProvider, string, string])[] = [
    ['apple', 'meal', 'HKCorrelationTypeIdentifierFood'],
    ['apple', 'cycle', 'HKCategoryTypeIdentifierMenstrualFlow'],
    ['apple', 'cycle', 'HKCategoryTypeIdentifierCervicalMucusQuality'],
    ['apple', 'cycle', 'HKCategoryTypeIdentifierOvulationTestResult'],
    ['apple', 'activity', 'HKCategoryTypeIdentifierMindfulSession'],
    ['apple', 'ignored', 'HKCategoryTypeIdentifierSexualActivity'],
    ['apple', 'ignored', 'HKCategoryTypeIdentifierIntermenstrualBleeding'],
    ['apple', 'ignored', 'HKCategoryTypeIdentifierPregnancy'],
    ['apple', 'ignored', 'HKCategoryTypeIdentifierAppleStandHour'],
    ['apple', 'ignored', 'HKCategoryTypeIdentifierHighHeartRateEvent'],
    ['apple', 'ignored', 'HKCorrelationTypeIdentifierBloodPressure'],
    ['apple', 'ignored', 'HKQuantityTypeIdentifierCyclingFunctionalThresholdPower'],
    ['apple', 'ignored', 'HKQuantityTypeIdentifierDoesNotExist'],
    ['apple', 'ignored', 'hkquantitytypeidentifierheartrate'],
    ['apple', 'ignored', 'HeartRate'],
    ['apple', 'ignored', 'HEART_RATE'],
    ['apple', 'ignored', 'constructor'],
    ['apple', 'ignored', ''],
    ['health_connect', 'meal', 'FOOD'],
    ['health_connect', 'cycle', 'MENSTRUATION_FLOW'],
    ['health_connect', 'cycle', 'MENSTRUATION_PERIOD'],
    ['health_connect', 'cycle', 'INTERMENSTRUAL_BLEEDING'],
    ['health_connect', 'cycle', 'CERVICAL_MUCUS'],
    ['health_connect', 'cycle', 'OVULATION_TEST'],
    ['health_connect', 'ignored', 'SEXUAL_ACTIVITY'],
    ['health_connect', 'ignored', 'TOTAL_CALORIES_BURNED'],
    ['health_connect', 'ignored', 'ELEVATION_GAINED'],
    ['health_connect', 'ignored', 'heart_rate'],
    ['samsung', 'meal', 'FOOD'],
    ['samsung', 'ignored', 'HKQuantityTypeIdentifierHeartRate'],
  ]
  const name = (kind: RecordKind) => {
    if (typeof kind === 'string') return kind
    return 'observation' in kind ? 'cycle' : 'activity' in kind ? 'activity' : 'sample'
  }
  for (const [provider, kind, type] of kinds) {
    t.equal(name(sdkProviders.get(provider)!.recordKind(type)), kind, `${provider} ${type}`)
  }
})

t.test('what a platform observes of a cycle has one name, whatever its number', async (t) => {
  const level = (provider: SdkProvider, type: string, value: number) => {
    const kind = sdkProviders.get(provider)!.recordKind(type)
    if (typeof kind === 'string' || !('observation' in kind)) throw new Error(`${type} is no observation`)
    return [kind.observation, kind.levels.get(value), kind.onlyLevels]
  }
  const apple = (tail: string, value: number) => level('apple', `HKCategoryTypeIdentifier${tail}`, value)
  const android = (type: string, value: number) => level('samsung', type, value)
  t.strictSame(
    [0, 1, 2, 3, 4, 5, 6].map((value) => apple('MenstrualFlow', value)[1]),
    [undefined, null, 'light', 'medium', 'heavy', 'none', undefined],
  )
  t.strictSame(
    [0, 1, 2, 3, 4].map((value) => android('MENSTRUATION_FLOW', value)[1]),
    [null, 'light', 'medium', 'heavy', undefined],
  )
  t.strictSame(apple('OvulationTestResult', 1), ['ovulation_test', 'negative', true])
  t.strictSame(apple('OvulationTestResult', 2), ['ovulation_test', 'positive', true])
  t.strictSame(apple('OvulationTestResult', 3), ['ovulation_test', 'inconclusive', true])
  t.strictSame(apple('OvulationTestResult', 4), ['ovulation_test', 'high', true])
  t.strictSame(android('OVULATION_TEST', 0), ['ovulation_test', 'inconclusive', false])
  t.strictSame(android('OVULATION_TEST', 1), ['ovulation_test', 'positive', false])
  t.strictSame(android('OVULATION_TEST', 2), ['ovulation_test', 'high', false])
  t.strictSame(android('OVULATION_TEST', 3), ['ovulation_test', 'negative', false])
  for (const [value, word] of [
    [1, 'dry'],
    [2, 'sticky'],
    [3, 'creamy'],
    [4, 'watery'],
    [5, 'egg_white'],
  ] as const) {
    t.strictSame(apple('CervicalMucusQuality', value), ['cervical_mucus', word, true])
    t.strictSame(android('CERVICAL_MUCUS', value), ['cervical_mucus', word, false])
  }
  t.strictSame(android('INTERMENSTRUAL_BLEEDING', 1), ['intermenstrual_bleeding', undefined, false])
})

t.test('a rule is one object, shared by a wire type and its legacy alias', async (t) => {
  t.equal(rule('samsung', 'PROTEIN_TOTAL'), rule('health_connect', 'DIETARY_PROTEIN'))
  t.equal(rule('apple', 'HKQuantityTypeIdentifierHeartRate'), rule('apple', 'HKQuantityTypeIdentifierHeartRate'))
})

t.test('nutrients are the dietary series and hydration', async (t) => {
  const nutrients = seriesTypes.filter(isNutrient).map(({ type }) => type)
  t.equal(nutrients.length, 38 + 4 + 1)
  t.ok(nutrients.includes('hydration'))
  t.ok(nutrients.includes('dietary_folic_acid'))
  t.notOk(isNutrient(seriesByName.get('heart_rate')!))
})

t.test('an SDK may name its provider in any case and by its old name', async (t) => {
  t.equal(resolveSdkProvider('apple'), 'apple')
  t.equal(resolveSdkProvider(' Samsung '), 'samsung')
  t.equal(resolveSdkProvider('HEALTH_CONNECT'), 'health_connect')
  t.equal(resolveSdkProvider('Google'), 'health_connect')
  for (const name of ['fitbit', 'google_health', 'garmin', 'unknown', '', 'constructor']) {
    t.equal(resolveSdkProvider(name), undefined, name)
  }
  t.strictSame([...sdkProviderAliases], [['google', 'health_connect']])
})
