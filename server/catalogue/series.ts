/** How samples of a series combine within a bucket or a day (contract 2.6). */
export type Aggregation = 'sum' | 'avg' | 'max'

/**
 * One series type: stable stored id (smallint), wire name, unit of its values, aggregation, group event, category label
 * (contract 2.6).
 */
export interface SeriesType {
  readonly id: number
  readonly type: string
  readonly unit: string
  readonly aggregation: Aggregation
  readonly event: string
  readonly category: string
}

// id, type, unit, aggregation, event, category: contract 2.6, in order of id. A new series type is one row here.
const rows = [
  [1, 'heart_rate', 'bpm', 'avg', 'heart_rate.created', 'Heart & Cardiovascular'],
  [2, 'resting_heart_rate', 'bpm', 'avg', 'heart_rate.created', 'Heart & Cardiovascular'],
  [3, 'heart_rate_variability_sdnn', 'ms', 'avg', 'heart_rate_variability.created', 'Heart & Cardiovascular'],
  [4, 'heart_rate_recovery_one_minute', 'bpm', 'avg', 'heart_rate.created', 'Heart & Cardiovascular'],
  [5, 'walking_heart_rate_average', 'bpm', 'avg', 'heart_rate.created', 'Heart & Cardiovascular'],
  [6, 'recovery_score', 'score', 'avg', 'recovery_score.created', 'Heart & Cardiovascular'],
  [7, 'heart_rate_variability_rmssd', 'ms', 'avg', 'heart_rate_variability.created', 'Heart & Cardiovascular'],
  [20, 'oxygen_saturation', 'percent', 'avg', 'spo2.created', 'Blood & Respiratory'],
  [21, 'blood_glucose', 'mg_dl', 'avg', 'blood_glucose.created', 'Blood & Respiratory'],
  [22, 'blood_pressure_systolic', 'mmHg', 'avg', 'blood_pressure.created', 'Blood & Respiratory'],
  [23, 'blood_pressure_diastolic', 'mmHg', 'avg', 'blood_pressure.created', 'Blood & Respiratory'],
  [24, 'respiratory_rate', 'brpm', 'avg', 'respiratory_rate.created', 'Blood & Respiratory'],
  [25, 'sleeping_breathing_disturbances', 'count', 'sum', 'respiratory_rate.created', 'Blood & Respiratory'],
  [26, 'blood_alcohol_content', 'mg_dl', 'avg', 'blood_glucose.created', 'Blood & Respiratory'],
  [27, 'peripheral_perfusion_index', 'score', 'avg', 'spo2.created', 'Blood & Respiratory'],
  [28, 'forced_vital_capacity', 'liters', 'avg', 'respiratory_rate.created', 'Blood & Respiratory'],
  [29, 'forced_expiratory_volume_1', 'liters', 'avg', 'respiratory_rate.created', 'Blood & Respiratory'],
  [30, 'peak_expiratory_flow_rate', 'L/min', 'avg', 'respiratory_rate.created', 'Blood & Respiratory'],
  [31, 'breathing_disturbance_index', 'score', 'avg', 'respiratory_rate.created', 'Blood & Respiratory'],
  [40, 'height', 'cm', 'avg', 'body_composition.created', 'Body Composition'],
  [41, 'weight', 'kg', 'avg', 'body_composition.created', 'Body Composition'],
  [42, 'body_fat_percentage', 'percent', 'avg', 'body_composition.created', 'Body Composition'],
  [43, 'body_mass_index', 'kg_m2', 'avg', 'body_composition.created', 'Body Composition'],
  [44, 'lean_body_mass', 'kg', 'avg', 'body_composition.created', 'Body Composition'],
  [45, 'body_temperature', 'celsius', 'avg', 'body_temperature.created', 'Body Composition'],
  [46, 'skin_temperature', 'celsius', 'avg', 'body_temperature.created', 'Body Composition'],
  [47, 'waist_circumference', 'cm', 'avg', 'body_composition.created', 'Body Composition'],
  [48, 'body_fat_mass', 'kg', 'avg', 'body_composition.created', 'Body Composition'],
  [49, 'skeletal_muscle_mass', 'kg', 'avg', 'body_composition.created', 'Body Composition'],
  [50, 'skin_temperature_deviation', 'celsius', 'avg', 'body_temperature.created', 'Body Composition'],
  [51, 'skin_temperature_trend_deviation', 'celsius', 'avg', 'body_temperature.created', 'Body Composition'],
  [52, 'bone_mass', 'kg', 'avg', 'body_composition.created', 'Body Composition'],
  [53, 'body_water_mass', 'kg', 'avg', 'body_composition.created', 'Body Composition'],
  [60, 'vo2_max', 'ml_kg_min', 'avg', 'fitness_metrics.created', 'Fitness Metrics'],
  [61, 'six_minute_walk_test_distance', 'meters', 'max', 'fitness_metrics.created', 'Fitness Metrics'],
  [62, 'cardiovascular_age', 'years', 'avg', 'fitness_metrics.created', 'Fitness Metrics'],
  [80, 'steps', 'count', 'sum', 'steps.created', 'Activity - Basic'],
  [81, 'energy', 'kcal', 'sum', 'calories.created', 'Activity - Basic'],
  [82, 'basal_energy', 'kcal', 'sum', 'calories.created', 'Activity - Basic'],
  [83, 'stand_time', 'minutes', 'sum', 'activity_timeseries.created', 'Activity - Basic'],
  [84, 'exercise_time', 'minutes', 'sum', 'activity_timeseries.created', 'Activity - Basic'],
  [85, 'physical_effort', 'score', 'avg', 'activity_timeseries.created', 'Activity - Basic'],
  [86, 'flights_climbed', 'count', 'sum', 'activity_timeseries.created', 'Activity - Basic'],
  [87, 'average_met', 'met', 'avg', 'activity_timeseries.created', 'Activity - Basic'],
  [88, 'active_time', 'minutes', 'sum', 'activity_timeseries.created', 'Activity - Basic'],
  [100, 'distance_walking_running', 'meters', 'sum', 'activity_timeseries.created', 'Activity - Distance'],
  [101, 'distance_cycling', 'meters', 'sum', 'activity_timeseries.created', 'Activity - Distance'],
  [102, 'distance_swimming', 'meters', 'sum', 'activity_timeseries.created', 'Activity - Distance'],
  [103, 'distance_downhill_snow_sports', 'meters', 'sum', 'activity_timeseries.created', 'Activity - Distance'],
  [104, 'distance_other', 'meters', 'sum', 'activity_timeseries.created', 'Activity - Distance'],
  [120, 'walking_step_length', 'cm', 'avg', 'workout_metrics.created', 'Activity - Walking'],
  [121, 'walking_speed', 'm_per_s', 'avg', 'workout_metrics.created', 'Activity - Walking'],
  [122, 'walking_double_support_percentage', 'percent', 'avg', 'workout_metrics.created', 'Activity - Walking'],
  [123, 'walking_asymmetry_percentage', 'percent', 'avg', 'workout_metrics.created', 'Activity - Walking'],
  [124, 'walking_steadiness', 'percent', 'avg', 'workout_metrics.created', 'Activity - Walking'],
  [125, 'stair_descent_speed', 'm_per_s', 'avg', 'workout_metrics.created', 'Activity - Walking'],
  [126, 'stair_ascent_speed', 'm_per_s', 'avg', 'workout_metrics.created', 'Activity - Walking'],
  [140, 'running_power', 'watts', 'avg', 'workout_metrics.created', 'Activity - Running'],
  [141, 'running_speed', 'm_per_s', 'avg', 'workout_metrics.created', 'Activity - Running'],
  [142, 'running_vertical_oscillation', 'cm', 'avg', 'workout_metrics.created', 'Activity - Running'],
  [143, 'running_ground_contact_time', 'ms', 'avg', 'workout_metrics.created', 'Activity - Running'],
  [144, 'running_stride_length', 'cm', 'avg', 'workout_metrics.created', 'Activity - Running'],
  [145, 'running_vertical_ratio', 'percent', 'avg', 'workout_metrics.created', 'Activity - Running'],
  [146, 'running_stance_time_balance', 'percent', 'avg', 'workout_metrics.created', 'Activity - Running'],
  [160, 'swimming_stroke_count', 'count', 'sum', 'workout_metrics.created', 'Activity - Swimming'],
  [161, 'underwater_depth', 'meters', 'avg', 'workout_metrics.created', 'Activity - Swimming'],
  [180, 'cadence', 'rpm', 'avg', 'workout_metrics.created', 'Activity - Generic'],
  [181, 'power', 'watts', 'avg', 'workout_metrics.created', 'Activity - Generic'],
  [182, 'speed', 'm_per_s', 'avg', 'workout_metrics.created', 'Activity - Generic'],
  [183, 'workout_effort_score', 'score', 'avg', 'workout_metrics.created', 'Activity - Generic'],
  [184, 'estimated_workout_effort_score', 'score', 'avg', 'workout_metrics.created', 'Activity - Generic'],
  [200, 'environmental_audio_exposure', 'dB', 'avg', 'environmental.created', 'Environmental'],
  [201, 'headphone_audio_exposure', 'dB', 'avg', 'environmental.created', 'Environmental'],
  [202, 'environmental_sound_reduction', 'dB', 'avg', 'environmental.created', 'Environmental'],
  [203, 'time_in_daylight', 'minutes', 'sum', 'environmental.created', 'Environmental'],
  [204, 'water_temperature', 'celsius', 'avg', 'environmental.created', 'Environmental'],
  [205, 'uv_exposure', 'count', 'sum', 'environmental.created', 'Environmental'],
  [206, 'inhaler_usage', 'count', 'sum', 'environmental.created', 'Environmental'],
  [207, 'weather_temperature', 'celsius', 'avg', 'environmental.created', 'Environmental'],
  [208, 'weather_humidity', 'percent', 'avg', 'environmental.created', 'Environmental'],
  [209, 'elevation', 'meters', 'avg', 'timeseries.created', 'Environmental'],
  [210, 'latitude', 'degrees', 'avg', 'timeseries.created', 'Environmental'],
  [211, 'longitude', 'degrees', 'avg', 'timeseries.created', 'Environmental'],
  [212, 'air_temperature', 'celsius', 'avg', 'timeseries.created', 'Environmental'],
  [220, 'garmin_stress_level', 'score', 'avg', 'stress.created', 'Provider-Specific'],
  [221, 'garmin_skin_temperature', 'celsius', 'avg', 'body_temperature.created', 'Provider-Specific'],
  [222, 'garmin_fitness_age', 'years', 'avg', 'fitness_metrics.created', 'Provider-Specific'],
  [223, 'garmin_body_battery', 'percent', 'avg', 'recovery_score.created', 'Provider-Specific'],
  [240, 'withings_pulse_wave_velocity', 'm_per_s', 'avg', 'fitness_metrics.created', 'Provider-Specific'],
  [241, 'withings_metabolic_age', 'years', 'avg', 'fitness_metrics.created', 'Provider-Specific'],
  [260, 'dietary_energy_consumed', 'kcal', 'sum', 'timeseries.created', 'Nutrition'],
  [261, 'dietary_carbohydrates', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [262, 'dietary_fiber', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [263, 'dietary_sugar', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [264, 'dietary_fat_total', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [265, 'dietary_fat_saturated', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [266, 'dietary_fat_monounsaturated', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [267, 'dietary_fat_polyunsaturated', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [268, 'dietary_cholesterol', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [269, 'dietary_protein', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [270, 'dietary_sodium', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [271, 'dietary_potassium', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [272, 'dietary_calcium', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [273, 'dietary_iron', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [274, 'dietary_magnesium', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [275, 'dietary_phosphorus', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [276, 'dietary_zinc', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [277, 'dietary_copper', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [278, 'dietary_manganese', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [279, 'dietary_selenium', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [280, 'dietary_chromium', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [281, 'dietary_molybdenum', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [282, 'dietary_iodine', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [283, 'dietary_chloride', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [284, 'dietary_vitamin_a', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [285, 'dietary_vitamin_b6', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [286, 'dietary_vitamin_b12', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [287, 'dietary_vitamin_c', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [288, 'dietary_vitamin_d', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [289, 'dietary_vitamin_e', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [290, 'dietary_vitamin_k', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [291, 'dietary_thiamin', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [292, 'dietary_riboflavin', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [293, 'dietary_niacin', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [294, 'dietary_folate', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [295, 'dietary_pantothenic_acid', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  [296, 'dietary_biotin', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
  [297, 'dietary_caffeine', 'mg', 'sum', 'timeseries.created', 'Nutrition'],
  // 298, 299 and 600, 601 are ours: Android sends them and the contract leaves their ids open. Ids never change.
  [298, 'dietary_fat_trans', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [299, 'dietary_energy_from_fat', 'kcal', 'sum', 'timeseries.created', 'Nutrition'],
  [500, 'electrodermal_activity', 'count', 'avg', 'stress.created', 'Other'],
  [501, 'push_count', 'count', 'sum', 'activity_timeseries.created', 'Other'],
  // A fraction stored as percentage points under the contract's unit and aggregation: HealthKit writes one sample a
  // week, so the sum of a day is that sample.
  [502, 'atrial_fibrillation_burden', 'count', 'sum', 'heart_rate.created', 'Other'],
  [503, 'insulin_delivery', 'count', 'sum', 'blood_glucose.created', 'Other'],
  [504, 'number_of_times_fallen', 'count', 'sum', 'activity_timeseries.created', 'Other'],
  [505, 'number_of_alcoholic_beverages', 'count', 'sum', 'activity_timeseries.created', 'Other'],
  [506, 'nike_fuel', 'count', 'sum', 'activity_timeseries.created', 'Other'],
  [507, 'hydration', 'mL', 'sum', 'activity_timeseries.created', 'Other'],
  [600, 'dietary_fat_unsaturated', 'g', 'sum', 'timeseries.created', 'Nutrition'],
  [601, 'dietary_folic_acid', 'mcg', 'sum', 'timeseries.created', 'Nutrition'],
] as const satisfies readonly (readonly [number, string, string, Aggregation, string, string])[]

/** Wire name of a series type, as emitted (contract 2.6). */
export type SeriesName = (typeof rows)[number][1]

/**
 * Every series type in order of id: the 136 of contract 2.6 and four nutrients that only Android sends (sdk-types 5).
 */
export const seriesTypes: readonly SeriesType[] = rows.map(([id, type, unit, aggregation, event, category]) => ({
  id,
  type,
  unit,
  aggregation,
  event,
  category,
}))

/** Series type of a stored id (contract 2.6); daily-total twins are not in it, subtract DAILY_TOTAL_OFFSET first. */
export const seriesById: ReadonlyMap<number, SeriesType> = new Map(seriesTypes.map((series) => [series.id, series]))

/** Wire names of all series types in definition order, as emitted: `energy`, never its input alias (contract D-04). */
export const seriesNames: readonly SeriesName[] = rows.map(([, type]) => type)

/** Series type of a name given by a client; `active_energy` is accepted for `energy` (contract 2.6, D-04). */
export const seriesByName: ReadonlyMap<string, SeriesType> = new Map([
  ...seriesTypes.map((series) => [series.type, series] as const),
  ['active_energy', seriesTypes.find(({ type }) => type === 'energy')!],
])

/**
 * Added to a type id gives the stored series_id of its hidden daily-total twin (design 4): a pre-aggregated total of a
 * day is stamped 00:00 and, under one id, would overwrite the intraday sample of 00:00.
 */
export const DAILY_TOTAL_OFFSET = 10_000
