/** How samples of a series combine within a bucket or a day (contract 2.6). */
export type Aggregation = 'sum' | 'avg' | 'max'

/**
 * One series type: stable stored id (smallint), wire name, unit of its values, aggregation, plausible range, group event,
 * category label (contract 2.6).
 */
export interface SeriesType {
  readonly id: number
  readonly type: string
  readonly unit: string
  readonly aggregation: Aggregation
  /** The lowest and the highest plausible value of a sample or of the total of a day, both included, in `unit`. */
  readonly lowest: number
  readonly highest: number
  readonly event: string
  readonly category: string
}

// id, type, unit, aggregation, lowest, highest, event, category: contract 2.6, in order of id. A new series type is one
// row here. The plausible range covers everything that was ever measured of a person, or that nature allows, with a margin:
// no possible value lies outside, however rare it is. If possible, the range also excludes values in a wrong unit: the
// comments name the unit and the sources of the extremes. It applies to a record of any length up to a day of 25 hours.
const rows = [
  // 11 bpm in a deep dive (McKnight 2021). Hearts and Health Connect stop at 300: almost all values above are sensor
  // faults, though 600 was seen (Indian Pacing Electrophysiol J 2012). Values below 6 are beats per second. At rest 22 to
  // 28 bpm (24-hour electrocardiograms, Guinness).
  [1, 'heart_rate', 'bpm', 'avg', 6, 300, 'heart_rate.created', 'Heart & Cardiovascular'],
  [2, 'resting_heart_rate', 'bpm', 'avg', 10, 300, 'heart_rate.created', 'Heart & Cardiovascular'],
  // Variability of a day is below 300 ms, of fibrillation some hundreds; Health Connect takes 1 to 200. Below 0.5 lie
  // seconds. After effort a heart may go on to rise.
  [
    3,
    'heart_rate_variability_sdnn',
    'ms',
    'avg',
    0.5,
    1000,
    'heart_rate_variability.created',
    'Heart & Cardiovascular',
  ],
  [4, 'heart_rate_recovery_one_minute', 'bpm', 'avg', -100, 250, 'heart_rate.created', 'Heart & Cardiovascular'],
  [5, 'walking_heart_rate_average', 'bpm', 'avg', 10, 300, 'heart_rate.created', 'Heart & Cardiovascular'],
  [6, 'recovery_score', 'score', 'avg', 0, 100, 'recovery_score.created', 'Heart & Cardiovascular'],
  [
    7,
    'heart_rate_variability_rmssd',
    'ms',
    'avg',
    0.5,
    1000,
    'heart_rate_variability.created',
    'Heart & Cardiovascular',
  ],
  // Near the top of Everest 34 % (Grocott 2009), of a dying patient 3 % (nurses on allnurses.com); up to 1 lie fractions.
  // Survived: glucose 5,600 mg/dL (Soni, Diabetes Care 1990), alcohol 1,480. No range detects glucose in mmol/L.
  [20, 'oxygen_saturation', 'percent', 'avg', 2, 100, 'spo2.created', 'Blood & Respiratory'],
  [21, 'blood_glucose', 'mg_dl', 'avg', 1, 6000, 'blood_glucose.created', 'Blood & Respiratory'],
  // Up to 480/350 mmHg when lifting weights (MacDougall 1985). Mean pressures of premature babies fall to 23 ± 4 mmHg
  // (VLBW cohort, Arch Dis Child Fetal); in 7 % of children the diastolic sounds go on to 0 (Freedman, Am J Hypertens).
  [22, 'blood_pressure_systolic', 'mmHg', 'avg', 15, 500, 'blood_pressure.created', 'Blood & Respiratory'],
  [23, 'blood_pressure_diastolic', 'mmHg', 'avg', 0, 400, 'blood_pressure.created', 'Blood & Respiratory'],
  [24, 'respiratory_rate', 'brpm', 'avg', 1, 150, 'respiratory_rate.created', 'Blood & Respiratory'],
  [25, 'sleeping_breathing_disturbances', 'count', 'sum', 0, 5000, 'respiratory_rate.created', 'Blood & Respiratory'],
  [26, 'blood_alcohol_content', 'mg_dl', 'avg', 0, 2000, 'blood_glucose.created', 'Blood & Respiratory'],
  [27, 'peripheral_perfusion_index', 'score', 'avg', 0, 100, 'spo2.created', 'Blood & Respiratory'],
  // The largest lungs hold 12 litres (Reed, rower). Peak flow of 95 % of men is below 894 L/min (Eur Respir J 1995, 849);
  // below 10 lie L/s. An apnoea lasts 10 s or more (AASM), so there are at most 360 an hour.
  [28, 'forced_vital_capacity', 'liters', 'avg', 0.01, 15, 'respiratory_rate.created', 'Blood & Respiratory'],
  [29, 'forced_expiratory_volume_1', 'liters', 'avg', 0.01, 15, 'respiratory_rate.created', 'Blood & Respiratory'],
  [30, 'peak_expiratory_flow_rate', 'L/min', 'avg', 10, 1500, 'respiratory_rate.created', 'Blood & Respiratory'],
  [31, 'breathing_disturbance_index', 'score', 'avg', 0, 360, 'respiratory_rate.created', 'Blood & Respiratory'],
  // From a newborn of 24 cm and 212 g, too early, to 272 cm and 635 kg, 408 of them water (Guinness World Records). Body
  // mass index of adults from 6.7. Up to 1 % fat lie fractions, and a mass of 0 was not measured.
  [40, 'height', 'cm', 'avg', 20, 300, 'body_composition.created', 'Body Composition'],
  [41, 'weight', 'kg', 'avg', 0.2, 700, 'body_composition.created', 'Body Composition'],
  [42, 'body_fat_percentage', 'percent', 'avg', 1, 90, 'body_composition.created', 'Body Composition'],
  [43, 'body_mass_index', 'kg_m2', 'avg', 2, 300, 'body_composition.created', 'Body Composition'],
  [44, 'lean_body_mass', 'kg', 'avg', 0.1, 500, 'body_composition.created', 'Body Composition'],
  // Survived: 11.8 °C by accident, 9 in surgery (Guinness World Records), 46.5. Skin: frostbite to a sauna; above 60 lies
  // Fahrenheit. Deviations from -30 as in Health Connect; above 20 lies the temperature itself.
  [45, 'body_temperature', 'celsius', 'avg', 9, 47, 'body_temperature.created', 'Body Composition'],
  [46, 'skin_temperature', 'celsius', 'avg', -10, 60, 'body_temperature.created', 'Body Composition'],
  [47, 'waist_circumference', 'cm', 'avg', 10, 400, 'body_composition.created', 'Body Composition'],
  [48, 'body_fat_mass', 'kg', 'avg', 0, 500, 'body_composition.created', 'Body Composition'],
  [49, 'skeletal_muscle_mass', 'kg', 'avg', 0.01, 200, 'body_composition.created', 'Body Composition'],
  [50, 'skin_temperature_deviation', 'celsius', 'avg', -30, 20, 'body_temperature.created', 'Body Composition'],
  [51, 'skin_temperature_trend_deviation', 'celsius', 'avg', -30, 20, 'body_temperature.created', 'Body Composition'],
  [52, 'bone_mass', 'kg', 'avg', 0.001, 20, 'body_composition.created', 'Body Composition'],
  [53, 'body_water_mass', 'kg', 'avg', 0.1, 500, 'body_composition.created', 'Body Composition'],
  // Highest 101.1 mL/kg/min (Blummenfelt 2026; Health Connect stops at 100). In six minutes runners stay below 2,500 m.
  [60, 'vo2_max', 'ml_kg_min', 'avg', 1, 120, 'fitness_metrics.created', 'Fitness Metrics'],
  [61, 'six_minute_walk_test_distance', 'meters', 'max', 0, 2500, 'fitness_metrics.created', 'Fitness Metrics'],
  [62, 'cardiovascular_age', 'years', 'avg', 0, 150, 'fitness_metrics.created', 'Fitness Metrics'],
  // In 24 hours: 319.6 km on foot (Sorokin 2022), 204,371 steps (Kroleski 2021), 24,242 m climbed (Herrmann 2024); by
  // bicycle 1,026 km, behind a lorry 1,957 (Secrest 1990; Health Connect's distance is of any sport); 104 km swum, in 27
  // hours 250 with a current (Fernández 2021). Basal energy of Health Connect: up to 10,000 kcal a day. A day of 25 hours
  // has 1,500 minutes.
  [80, 'steps', 'count', 'sum', 0, 500_000, 'steps.created', 'Activity - Basic'],
  [81, 'energy', 'kcal', 'sum', 0, 50_000, 'calories.created', 'Activity - Basic'],
  [82, 'basal_energy', 'kcal', 'sum', 0, 12_000, 'calories.created', 'Activity - Basic'],
  [83, 'stand_time', 'minutes', 'sum', 0, 1500, 'activity_timeseries.created', 'Activity - Basic'],
  [84, 'exercise_time', 'minutes', 'sum', 0, 1500, 'activity_timeseries.created', 'Activity - Basic'],
  [85, 'physical_effort', 'score', 'avg', 0, 100, 'activity_timeseries.created', 'Activity - Basic'],
  [86, 'flights_climbed', 'count', 'sum', 0, 20_000, 'activity_timeseries.created', 'Activity - Basic'],
  [87, 'average_met', 'met', 'avg', 0, 100, 'activity_timeseries.created', 'Activity - Basic'],
  [88, 'active_time', 'minutes', 'sum', 0, 1500, 'activity_timeseries.created', 'Activity - Basic'],
  [
    100,
    'distance_walking_running',
    'meters',
    'sum',
    0,
    2_000_000,
    'activity_timeseries.created',
    'Activity - Distance',
  ],
  [101, 'distance_cycling', 'meters', 'sum', 0, 2_000_000, 'activity_timeseries.created', 'Activity - Distance'],
  [102, 'distance_swimming', 'meters', 'sum', 0, 300_000, 'activity_timeseries.created', 'Activity - Distance'],
  [
    103,
    'distance_downhill_snow_sports',
    'meters',
    'sum',
    0,
    600_000,
    'activity_timeseries.created',
    'Activity - Distance',
  ],
  [104, 'distance_other', 'meters', 'sum', 0, 2_000_000, 'activity_timeseries.created', 'Activity - Distance'],
  // Walkers reach 4.9 m/s (Bosworth's mile), runners 12.4 m/s, with steps of 2.7 m and contacts of 86 ms (Bolt: Čoh 2018),
  // cyclists 311 turns a minute and 2,700 W. Parachutists fall at 377 m/s from 38,969 m (Guinness World Records), divers
  // work at 534 m (COMEX Hydra 8). Shorter are metres, seconds and fractions, longer millimetres, faster km/h.
  [120, 'walking_step_length', 'cm', 'avg', 3, 300, 'workout_metrics.created', 'Activity - Walking'],
  [121, 'walking_speed', 'm_per_s', 'avg', 0, 7, 'workout_metrics.created', 'Activity - Walking'],
  [122, 'walking_double_support_percentage', 'percent', 'avg', 0, 100, 'workout_metrics.created', 'Activity - Walking'],
  [123, 'walking_asymmetry_percentage', 'percent', 'avg', 0, 100, 'workout_metrics.created', 'Activity - Walking'],
  [124, 'walking_steadiness', 'percent', 'avg', 0, 100, 'workout_metrics.created', 'Activity - Walking'],
  [125, 'stair_descent_speed', 'm_per_s', 'avg', 0, 10, 'workout_metrics.created', 'Activity - Walking'],
  [126, 'stair_ascent_speed', 'm_per_s', 'avg', 0, 10, 'workout_metrics.created', 'Activity - Walking'],
  [140, 'running_power', 'watts', 'avg', 0, 5000, 'workout_metrics.created', 'Activity - Running'],
  [141, 'running_speed', 'm_per_s', 'avg', 0, 14, 'workout_metrics.created', 'Activity - Running'],
  [142, 'running_vertical_oscillation', 'cm', 'avg', 0.5, 40, 'workout_metrics.created', 'Activity - Running'],
  [143, 'running_ground_contact_time', 'ms', 'avg', 10, 5000, 'workout_metrics.created', 'Activity - Running'],
  [144, 'running_stride_length', 'cm', 'avg', 10, 600, 'workout_metrics.created', 'Activity - Running'],
  [145, 'running_vertical_ratio', 'percent', 'avg', 0.5, 100, 'workout_metrics.created', 'Activity - Running'],
  [146, 'running_stance_time_balance', 'percent', 'avg', 2, 98, 'workout_metrics.created', 'Activity - Running'],
  [160, 'swimming_stroke_count', 'count', 'sum', 0, 500_000, 'workout_metrics.created', 'Activity - Swimming'],
  [161, 'underwater_depth', 'meters', 'avg', 0, 600, 'workout_metrics.created', 'Activity - Swimming'],
  [180, 'cadence', 'rpm', 'avg', 0, 500, 'workout_metrics.created', 'Activity - Generic'],
  [181, 'power', 'watts', 'avg', 0, 5000, 'workout_metrics.created', 'Activity - Generic'],
  [182, 'speed', 'm_per_s', 'avg', 0, 400, 'workout_metrics.created', 'Activity - Generic'],
  [183, 'workout_effort_score', 'score', 'avg', 0, 100, 'workout_metrics.created', 'Activity - Generic'],
  [184, 'estimated_workout_effort_score', 'score', 'avg', 0, 100, 'workout_metrics.created', 'Activity - Generic'],
  // An anechoic room has -25 dB, sound in air at most 194 dB.
  [200, 'environmental_audio_exposure', 'dB', 'avg', -30, 200, 'environmental.created', 'Environmental'],
  [201, 'headphone_audio_exposure', 'dB', 'avg', -30, 200, 'environmental.created', 'Environmental'],
  [202, 'environmental_sound_reduction', 'dB', 'avg', -50, 200, 'environmental.created', 'Environmental'],
  [203, 'time_in_daylight', 'minutes', 'sum', 0, 1500, 'environmental.created', 'Environmental'],
  [204, 'water_temperature', 'celsius', 'avg', -5, 60, 'environmental.created', 'Environmental'],
  [205, 'uv_exposure', 'count', 'sum', 0, 50, 'environmental.created', 'Environmental'],
  [206, 'inhaler_usage', 'count', 'sum', 0, 1000, 'environmental.created', 'Environmental'],
  // On earth -89.2 to 56.7 °C (WMO): warmer is Fahrenheit. A sauna has 110, a chamber for cryotherapy -195. Humidity down
  // to 0.33 %, so that a range cannot detect fractions. UV index 43.3 (Cabrol 2014).
  [207, 'weather_temperature', 'celsius', 'avg', -100, 60, 'environmental.created', 'Environmental'],
  [208, 'weather_humidity', 'percent', 'avg', 0, 100, 'environmental.created', 'Environmental'],
  [209, 'elevation', 'meters', 'avg', -5000, 45_000, 'timeseries.created', 'Environmental'],
  [210, 'latitude', 'degrees', 'avg', -90, 90, 'timeseries.created', 'Environmental'],
  [211, 'longitude', 'degrees', 'avg', -180, 180, 'timeseries.created', 'Environmental'],
  [212, 'air_temperature', 'celsius', 'avg', -200, 120, 'timeseries.created', 'Environmental'],
  // Garmin writes -1 and -2 where it could not measure stress.
  [220, 'garmin_stress_level', 'score', 'avg', 0, 100, 'stress.created', 'Provider-Specific'],
  [221, 'garmin_skin_temperature', 'celsius', 'avg', -20, 60, 'body_temperature.created', 'Provider-Specific'],
  [222, 'garmin_fitness_age', 'years', 'avg', 0, 150, 'fitness_metrics.created', 'Provider-Specific'],
  [223, 'garmin_body_battery', 'percent', 'avg', 0, 100, 'recovery_score.created', 'Provider-Specific'],
  [240, 'withings_pulse_wave_velocity', 'm_per_s', 'avg', 1, 50, 'fitness_metrics.created', 'Provider-Specific'],
  [241, 'withings_metabolic_age', 'years', 'avg', 0, 150, 'fitness_metrics.created', 'Provider-Specific'],
  // Kilocalories, grams and their parts that nobody eats in a day: no food, but a wrong unit. 100 g of one vitamin or
  // mineral, 100 L of water are Health Connect's limits. More: 200 g vitamin C a day (Klenner, in Cathcart 1981) and the
  // salt of a quart of soy sauce (Carlberg 2013). Grams of iodine are a medicine; 2,000,000 IU of vitamin D (50,000 mcg)
  // did two patients no harm (BMC Pharmacol Toxicol 15:57).
  [260, 'dietary_energy_consumed', 'kcal', 'sum', 0, 50_000, 'timeseries.created', 'Nutrition'],
  [261, 'dietary_carbohydrates', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [262, 'dietary_fiber', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [263, 'dietary_sugar', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [264, 'dietary_fat_total', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [265, 'dietary_fat_saturated', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [266, 'dietary_fat_monounsaturated', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [267, 'dietary_fat_polyunsaturated', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [268, 'dietary_cholesterol', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [269, 'dietary_protein', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [270, 'dietary_sodium', 'mg', 'sum', 0, 300_000, 'timeseries.created', 'Nutrition'],
  [271, 'dietary_potassium', 'mg', 'sum', 0, 300_000, 'timeseries.created', 'Nutrition'],
  [272, 'dietary_calcium', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [273, 'dietary_iron', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [274, 'dietary_magnesium', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [275, 'dietary_phosphorus', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [276, 'dietary_zinc', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [277, 'dietary_copper', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [278, 'dietary_manganese', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [279, 'dietary_selenium', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [280, 'dietary_chromium', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [281, 'dietary_molybdenum', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [282, 'dietary_iodine', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [283, 'dietary_chloride', 'mg', 'sum', 0, 300_000, 'timeseries.created', 'Nutrition'],
  [284, 'dietary_vitamin_a', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [285, 'dietary_vitamin_b6', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [286, 'dietary_vitamin_b12', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [287, 'dietary_vitamin_c', 'mg', 'sum', 0, 300_000, 'timeseries.created', 'Nutrition'],
  [288, 'dietary_vitamin_d', 'mcg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [289, 'dietary_vitamin_e', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [290, 'dietary_vitamin_k', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [291, 'dietary_thiamin', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [292, 'dietary_riboflavin', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [293, 'dietary_niacin', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [294, 'dietary_folate', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [295, 'dietary_pantothenic_acid', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  [296, 'dietary_biotin', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
  [297, 'dietary_caffeine', 'mg', 'sum', 0, 100_000, 'timeseries.created', 'Nutrition'],
  // 298, 299 and 600, 601 are ours: Android sends them and the contract leaves their ids open. Ids never change.
  [298, 'dietary_fat_trans', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [299, 'dietary_energy_from_fat', 'kcal', 'sum', 0, 50_000, 'timeseries.created', 'Nutrition'],
  [500, 'electrodermal_activity', 'count', 'avg', 0, 1000, 'stress.created', 'Other'],
  [501, 'push_count', 'count', 'sum', 0, 500_000, 'activity_timeseries.created', 'Other'],
  // A fraction stored as percentage points under the contract's unit and aggregation: HealthKit writes one sample a
  // week, so the sum of a day is that sample.
  [502, 'atrial_fibrillation_burden', 'count', 'sum', 0, 100, 'heart_rate.created', 'Other'],
  // Up to 35,000 units of insulin a day (White, consultant360.com). 156 beers in one sitting (André the Giant).
  [503, 'insulin_delivery', 'count', 'sum', 0, 40_000, 'blood_glucose.created', 'Other'],
  [504, 'number_of_times_fallen', 'count', 'sum', 0, 1000, 'activity_timeseries.created', 'Other'],
  [505, 'number_of_alcoholic_beverages', 'count', 'sum', 0, 250, 'activity_timeseries.created', 'Other'],
  [506, 'nike_fuel', 'count', 'sum', 0, 1_000_000, 'activity_timeseries.created', 'Other'],
  [507, 'hydration', 'mL', 'sum', 0, 100_000, 'activity_timeseries.created', 'Other'],
  [600, 'dietary_fat_unsaturated', 'g', 'sum', 0, 5000, 'timeseries.created', 'Nutrition'],
  [601, 'dietary_folic_acid', 'mcg', 'sum', 0, 10_000_000, 'timeseries.created', 'Nutrition'],
] as const satisfies readonly (readonly [
  id: number,
  type: string,
  unit: string,
  aggregation: Aggregation,
  lowest: number,
  highest: number,
  event: string,
  category: string,
])[]

/** Wire name of a series type, as emitted (contract 2.6). */
export type SeriesName = (typeof rows)[number][1]

/** Every series type in order of id (contract 2.6). */
export const seriesTypes: readonly SeriesType[] = rows.map(
  ([id, type, unit, aggregation, lowest, highest, event, category]) => ({
    id,
    type,
    unit,
    aggregation,
    lowest,
    highest,
    event,
    category,
  }),
)

/** Series type of an id (contract 2.6); for the id of a twin, look up its `typeIdOf`. */
export const seriesById: ReadonlyMap<number, SeriesType> = new Map(seriesTypes.map((series) => [series.id, series]))

/** Wire names of all series types in definition order, as emitted: `energy`, never its input alias (contract D-04). */
export const seriesNames: readonly SeriesName[] = rows.map(([, type]) => type)

/** Series type of a name given by a client; `active_energy` is accepted for `energy` (contract 2.6, D-04). */
export const seriesByName: ReadonlyMap<string, SeriesType> = new Map([
  ...seriesTypes.map((series) => [series.type, series] as const),
  ['active_energy', seriesTypes.find(({ type }) => type === 'energy')!],
])

/**
 * A type id plus this is the stored series_id of its hidden daily-total twin (contract 12.9): the total of a day has the
 * time 00:00 and, under the same id, would overwrite the sample of 00:00.
 */
export const DAILY_TOTAL_OFFSET = 10_000

/**
 * A type id, or that of its daily-total twin, plus this is the stored series_id of the hidden twin for implausible values:
 * they are stored and can be read, but no rollup, mean or sum of the series includes them.
 */
export const IMPLAUSIBLE_OFFSET = 20_000

/**
 * Added to the id of one of `activitySeries` or `vitalSeries` gives the stored series_id of the hidden twin that holds what
 * somebody entered by hand. Pages, buckets and counts of samples read it like the series itself; where summaries and scores
 * choose, what was measured comes first (docs/reading.md). It divides the other offsets, so that what is left
 * of any stored id is the type.
 */
export const MANUAL_OFFSET = 5_000

/** Id of the type of a stored series_id. */
export const typeIdOf = (seriesId: number): number => seriesId % MANUAL_OFFSET

const idOf = (name: SeriesName) => (seriesByName.get(name) as SeriesType).id

/** Series that merged activity takes record by record from several sources. */
const activitySeries: readonly SeriesName[] = [
  ...(['heart_rate', 'steps', 'energy', 'basal_energy', 'exercise_time', 'flights_climbed', 'active_time'] as const),
  'distance_walking_running',
]
const activityIds: ReadonlySet<number> = new Set(activitySeries.map(idOf))

/** Series besides heart rate whose means nights, recovery, the body and resilience show. */
const vitalSeries: readonly SeriesName[] = [
  ...(['resting_heart_rate', 'heart_rate_variability_sdnn', 'heart_rate_variability_rmssd'] as const),
  ...(['oxygen_saturation', 'respiratory_rate'] as const),
]
const manualIds: ReadonlySet<number> = new Set([...activityIds, ...vitalSeries.map(idOf)])

/** Whether what was entered by hand of a type has a twin of its own; a weight typed in is an ordinary weight. */
export const hasManualTwin = (seriesId: number): boolean => manualIds.has(seriesId)

/** Whether the length of a series' records is stored: for amounts that merged activity spreads over their time. */
export const keepsLength = (seriesId: number): boolean =>
  activityIds.has(seriesId) && seriesById.get(seriesId)?.aggregation === 'sum'

/** The series_id under which a value is stored, in the unit of the series: its own, or the twin of implausible values. */
export function storedId(seriesId: number, value: number): number {
  const series = seriesById.get(typeIdOf(seriesId))
  if (!series || (value >= series.lowest && value <= series.highest)) return seriesId
  return seriesId + IMPLAUSIBLE_OFFSET
}

/** What a stored series_id is. */
export interface StoredSeries {
  series: SeriesType
  isDailyTotal: boolean
  isImplausible: boolean
  /** Whether its values were entered by hand; unknown for implausible values and daily totals. */
  isManual: boolean
}

/** What a stored series_id is; undefined if its type is unknown. */
export function storedSeries(seriesId: number): StoredSeries | undefined {
  const series = seriesById.get(typeIdOf(seriesId))
  return (
    series && {
      series,
      isDailyTotal: seriesId % IMPLAUSIBLE_OFFSET >= DAILY_TOTAL_OFFSET,
      isImplausible: seriesId >= IMPLAUSIBLE_OFFSET,
      isManual: seriesId % DAILY_TOTAL_OFFSET >= MANUAL_OFFSET,
    }
  )
}
