import t from 'tap'
import { providerByName, providerNames, providers } from '../../server/catalogue/providers.ts'
import {
  DAILY_TOTAL_OFFSET,
  type SeriesName,
  seriesById,
  seriesByName,
  seriesNames,
  seriesTypes,
  storedId,
} from '../../server/catalogue/series.ts'

// type, unit, aggregation, event of contract 2.6: those of phones and files, then those only cloud providers send.
const catalogue = `
  heart_rate bpm avg heart_rate.created
  resting_heart_rate bpm avg heart_rate.created
  heart_rate_variability_sdnn ms avg heart_rate_variability.created
  heart_rate_recovery_one_minute bpm avg heart_rate.created
  walking_heart_rate_average bpm avg heart_rate.created
  heart_rate_variability_rmssd ms avg heart_rate_variability.created
  oxygen_saturation percent avg spo2.created
  blood_glucose mg_dl avg blood_glucose.created
  blood_pressure_systolic mmHg avg blood_pressure.created
  blood_pressure_diastolic mmHg avg blood_pressure.created
  respiratory_rate brpm avg respiratory_rate.created
  sleeping_breathing_disturbances count sum respiratory_rate.created
  blood_alcohol_content mg_dl avg blood_glucose.created
  peripheral_perfusion_index score avg spo2.created
  forced_vital_capacity liters avg respiratory_rate.created
  forced_expiratory_volume_1 liters avg respiratory_rate.created
  peak_expiratory_flow_rate L/min avg respiratory_rate.created
  breathing_disturbance_index score avg respiratory_rate.created
  height cm avg body_composition.created
  weight kg avg body_composition.created
  body_fat_percentage percent avg body_composition.created
  body_mass_index kg_m2 avg body_composition.created
  lean_body_mass kg avg body_composition.created
  body_temperature celsius avg body_temperature.created
  skin_temperature celsius avg body_temperature.created
  waist_circumference cm avg body_composition.created
  body_fat_mass kg avg body_composition.created
  skeletal_muscle_mass kg avg body_composition.created
  skin_temperature_deviation celsius avg body_temperature.created
  skin_temperature_trend_deviation celsius avg body_temperature.created
  vo2_max ml_kg_min avg fitness_metrics.created
  six_minute_walk_test_distance meters max fitness_metrics.created
  cardiovascular_age years avg fitness_metrics.created
  steps count sum steps.created
  energy kcal sum calories.created
  basal_energy kcal sum calories.created
  stand_time minutes sum activity_timeseries.created
  exercise_time minutes sum activity_timeseries.created
  physical_effort score avg activity_timeseries.created
  flights_climbed count sum activity_timeseries.created
  average_met met avg activity_timeseries.created
  active_time minutes sum activity_timeseries.created
  distance_walking_running meters sum activity_timeseries.created
  distance_cycling meters sum activity_timeseries.created
  distance_swimming meters sum activity_timeseries.created
  distance_downhill_snow_sports meters sum activity_timeseries.created
  distance_other meters sum activity_timeseries.created
  walking_step_length cm avg workout_metrics.created
  walking_speed m_per_s avg workout_metrics.created
  walking_double_support_percentage percent avg workout_metrics.created
  walking_asymmetry_percentage percent avg workout_metrics.created
  walking_steadiness percent avg workout_metrics.created
  stair_descent_speed m_per_s avg workout_metrics.created
  stair_ascent_speed m_per_s avg workout_metrics.created
  running_power watts avg workout_metrics.created
  running_speed m_per_s avg workout_metrics.created
  running_vertical_oscillation cm avg workout_metrics.created
  running_ground_contact_time ms avg workout_metrics.created
  running_stride_length cm avg workout_metrics.created
  running_vertical_ratio percent avg workout_metrics.created
  running_stance_time_balance percent avg workout_metrics.created
  swimming_stroke_count count sum workout_metrics.created
  underwater_depth meters avg workout_metrics.created
  cadence rpm avg workout_metrics.created
  power watts avg workout_metrics.created
  speed m_per_s avg workout_metrics.created
  workout_effort_score score avg workout_metrics.created
  estimated_workout_effort_score score avg workout_metrics.created
  environmental_audio_exposure dB avg environmental.created
  headphone_audio_exposure dB avg environmental.created
  environmental_sound_reduction dB avg environmental.created
  time_in_daylight minutes sum environmental.created
  water_temperature celsius avg environmental.created
  uv_exposure count sum environmental.created
  inhaler_usage count sum environmental.created
  weather_temperature celsius avg environmental.created
  weather_humidity percent avg environmental.created
  elevation meters avg timeseries.created
  latitude degrees avg timeseries.created
  longitude degrees avg timeseries.created
  air_temperature celsius avg timeseries.created
  electrodermal_activity count avg stress.created
  push_count count sum activity_timeseries.created
  atrial_fibrillation_burden count sum heart_rate.created
  insulin_delivery count sum blood_glucose.created
  number_of_times_fallen count sum activity_timeseries.created
  number_of_alcoholic_beverages count sum activity_timeseries.created
  nike_fuel count sum activity_timeseries.created
  hydration mL sum activity_timeseries.created
  dietary_energy_consumed kcal sum timeseries.created
  dietary_energy_from_fat kcal sum timeseries.created
  dietary_protein g sum timeseries.created
  dietary_carbohydrates g sum timeseries.created
  dietary_fiber g sum timeseries.created
  dietary_sugar g sum timeseries.created
  dietary_fat_total g sum timeseries.created
  dietary_fat_saturated g sum timeseries.created
  dietary_fat_monounsaturated g sum timeseries.created
  dietary_fat_polyunsaturated g sum timeseries.created
  dietary_fat_trans g sum timeseries.created
  dietary_fat_unsaturated g sum timeseries.created
  dietary_cholesterol mg sum timeseries.created
  dietary_sodium mg sum timeseries.created
  dietary_potassium mg sum timeseries.created
  dietary_chloride mg sum timeseries.created
  dietary_caffeine mg sum timeseries.created
  dietary_calcium mg sum timeseries.created
  dietary_iron mg sum timeseries.created
  dietary_magnesium mg sum timeseries.created
  dietary_phosphorus mg sum timeseries.created
  dietary_zinc mg sum timeseries.created
  dietary_copper mg sum timeseries.created
  dietary_manganese mg sum timeseries.created
  dietary_selenium mcg sum timeseries.created
  dietary_chromium mcg sum timeseries.created
  dietary_molybdenum mcg sum timeseries.created
  dietary_iodine mcg sum timeseries.created
  dietary_vitamin_a mcg sum timeseries.created
  dietary_vitamin_b6 mg sum timeseries.created
  dietary_vitamin_b12 mcg sum timeseries.created
  dietary_vitamin_c mg sum timeseries.created
  dietary_vitamin_d mcg sum timeseries.created
  dietary_vitamin_e mg sum timeseries.created
  dietary_vitamin_k mcg sum timeseries.created
  dietary_thiamin mg sum timeseries.created
  dietary_riboflavin mg sum timeseries.created
  dietary_niacin mg sum timeseries.created
  dietary_folate mcg sum timeseries.created
  dietary_folic_acid mcg sum timeseries.created
  dietary_biotin mcg sum timeseries.created
  dietary_pantothenic_acid mg sum timeseries.created
  recovery_score score avg recovery_score.created
  bone_mass kg avg body_composition.created
  body_water_mass kg avg body_composition.created
  garmin_stress_level score avg stress.created
  garmin_skin_temperature celsius avg body_temperature.created
  garmin_fitness_age years avg fitness_metrics.created
  garmin_body_battery percent avg recovery_score.created
  withings_pulse_wave_velocity m_per_s avg fitness_metrics.created
  withings_metabolic_age years avg fitness_metrics.created
`

t.test('every series has the unit, aggregation and event of the interface', async (t) => {
  const expected = catalogue.trim().split('\n').sort()
  const actual = seriesTypes.map((s) => `  ${s.type} ${s.unit} ${s.aggregation} ${s.event}`).sort()
  t.strictSame(
    actual.map((line) => line.trim()),
    expected.map((line) => line.trim()).sort(),
  )
})

t.test('the webhook groups hold exactly the series of contract 10.2', async (t) => {
  const inGroup = (event: string) => seriesTypes.filter((s) => s.event === event).map((s) => s.type)
  t.strictSame(inGroup('steps.created'), ['steps'])
  t.strictSame(inGroup('calories.created'), ['energy', 'basal_energy'])
  t.strictSame(inGroup('heart_rate_variability.created'), [
    'heart_rate_variability_sdnn',
    'heart_rate_variability_rmssd',
  ])
  t.strictSame(inGroup('spo2.created'), ['oxygen_saturation', 'peripheral_perfusion_index'])
  t.strictSame(inGroup('stress.created'), ['garmin_stress_level', 'electrodermal_activity'])
  t.strictSame(inGroup('recovery_score.created'), ['recovery_score', 'garmin_body_battery'])
  t.strictSame(inGroup('blood_glucose.created'), ['blood_glucose', 'blood_alcohol_content', 'insulin_delivery'])
  t.equal(new Set(seriesTypes.map((s) => s.event)).size, 17)
})

t.test('stored ids never move', async (t) => {
  const ids: readonly [number, SeriesName, string][] = [
    [1, 'heart_rate', 'Heart & Cardiovascular'],
    [6, 'recovery_score', 'Heart & Cardiovascular'],
    [7, 'heart_rate_variability_rmssd', 'Heart & Cardiovascular'],
    [20, 'oxygen_saturation', 'Blood & Respiratory'],
    [31, 'breathing_disturbance_index', 'Blood & Respiratory'],
    [40, 'height', 'Body Composition'],
    [53, 'body_water_mass', 'Body Composition'],
    [60, 'vo2_max', 'Fitness Metrics'],
    [62, 'cardiovascular_age', 'Fitness Metrics'],
    [80, 'steps', 'Activity - Basic'],
    [81, 'energy', 'Activity - Basic'],
    [88, 'active_time', 'Activity - Basic'],
    [100, 'distance_walking_running', 'Activity - Distance'],
    [104, 'distance_other', 'Activity - Distance'],
    [120, 'walking_step_length', 'Activity - Walking'],
    [126, 'stair_ascent_speed', 'Activity - Walking'],
    [140, 'running_power', 'Activity - Running'],
    [146, 'running_stance_time_balance', 'Activity - Running'],
    [160, 'swimming_stroke_count', 'Activity - Swimming'],
    [161, 'underwater_depth', 'Activity - Swimming'],
    [180, 'cadence', 'Activity - Generic'],
    [184, 'estimated_workout_effort_score', 'Activity - Generic'],
    [200, 'environmental_audio_exposure', 'Environmental'],
    [212, 'air_temperature', 'Environmental'],
    [220, 'garmin_stress_level', 'Provider-Specific'],
    [241, 'withings_metabolic_age', 'Provider-Specific'],
    [260, 'dietary_energy_consumed', 'Nutrition'],
    [297, 'dietary_caffeine', 'Nutrition'],
    [298, 'dietary_fat_trans', 'Nutrition'],
    [299, 'dietary_energy_from_fat', 'Nutrition'],
    [500, 'electrodermal_activity', 'Other'],
    [507, 'hydration', 'Other'],
    [600, 'dietary_fat_unsaturated', 'Nutrition'],
    [601, 'dietary_folic_acid', 'Nutrition'],
  ]
  for (const [id, type, category] of ids) {
    t.match(seriesById.get(id), { id, type, category })
    t.equal(seriesByName.get(type)?.id, id)
  }
})

t.test('ids and names are unique, in order, and daily-total twins fit a smallint', async (t) => {
  const ids = seriesTypes.map((s) => s.id)
  t.equal(seriesTypes.length, 136 + 4)
  t.equal(new Set(ids).size, 140)
  t.equal(new Set(seriesNames).size, 140)
  t.strictSame(
    ids,
    [...ids].sort((a, b) => a - b),
  )
  t.equal(DAILY_TOTAL_OFFSET, 10_000)
  t.ok(ids.every((id) => id > 0 && id < DAILY_TOTAL_OFFSET && id + DAILY_TOTAL_OFFSET <= 32_767))
})

t.test('aggregations are counted as in contract 2.6, the four Android nutrients being sums', async (t) => {
  const count = (aggregation: string) => seriesTypes.filter((s) => s.aggregation === aggregation).length
  t.strictSame({ sum: count('sum'), avg: count('avg'), max: count('max') }, { sum: 62 + 4, avg: 73, max: 1 })
})

t.test('categories appear in the order of the coverage response', async (t) => {
  t.strictSame(
    [...new Set(seriesTypes.map((s) => s.category))],
    [
      'Heart & Cardiovascular',
      'Blood & Respiratory',
      'Body Composition',
      'Fitness Metrics',
      'Activity - Basic',
      'Activity - Distance',
      'Activity - Walking',
      'Activity - Running',
      'Activity - Swimming',
      'Activity - Generic',
      'Environmental',
      'Provider-Specific',
      'Nutrition',
      'Other',
    ],
  )
})

t.test('active_energy is understood and energy is said', async (t) => {
  t.equal(seriesByName.get('active_energy'), seriesByName.get('energy'))
  t.equal(seriesByName.get('active_energy')?.type, 'energy')
  t.notOk(seriesNames.includes('active_energy' as SeriesName))
  t.equal(seriesByName.get('constructor'), undefined)
})

const isPlausible = (type: string, value: number) => {
  const series = seriesByName.get(type)
  if (!series) throw new Error(type)
  return storedId(series.id, value) === series.id
}

// Extreme values of real people, and whose: the records are from the sources in the catalogue, the rest from textbooks.
const extremes: readonly [SeriesName, value: number, of: string][] = [
  ['heart_rate', 11, 'a diver in the deep'],
  ['heart_rate', 290, 'a racing heart'],
  ['resting_heart_rate', 22, 'a runner of 24 years, at night'],
  ['walking_heart_rate_average', 25, 'a heart without conduction'],
  ['heart_rate_recovery_one_minute', -10, 'a heart that rises after effort'],
  ['heart_rate_variability_rmssd', 1.5, 'a transplanted heart'],
  ['heart_rate_variability_sdnn', 400, 'a fibrillating heart'],
  ['oxygen_saturation', 3, 'a patient without lungs'],
  ['oxygen_saturation', 34, 'a climber on Everest'],
  ['oxygen_saturation', 100, 'whoever breathes oxygen'],
  ['blood_glucose', 5600, 'a diabetic, before he knew'],
  ['blood_glucose', 9, 'a patient after an overdose of insulin'],
  ['blood_alcohol_content', 1480, 'a driver'],
  ['blood_pressure_systolic', 20, 'a baby of 23 weeks'],
  ['blood_pressure_systolic', 480, 'a body builder at the leg press'],
  ['blood_pressure_diastolic', 0, 'a child whose sounds go on'],
  ['blood_pressure_diastolic', 350, 'a body builder at the leg press'],
  ['respiratory_rate', 2, 'a yogi'],
  ['respiratory_rate', 120, 'a newborn with wet lungs'],
  ['sleeping_breathing_disturbances', 1100, 'a night of the worst apnoea'],
  ['breathing_disturbance_index', 150, 'the worst apnoea'],
  ['forced_vital_capacity', 11.68, 'an Olympic rower'],
  ['peak_expiratory_flow_rate', 30, 'a child with asthma'],
  ['peak_expiratory_flow_rate', 900, 'a tall man'],
  ['height', 24, 'the smallest newborn'],
  ['height', 272, 'the tallest man'],
  ['weight', 0.212, 'the smallest newborn'],
  ['weight', 635, 'the heaviest man'],
  ['body_water_mass', 450, 'the heaviest man'],
  ['lean_body_mass', 480, 'the heaviest man'],
  ['body_mass_index', 6.7, 'a patient with anorexia'],
  ['body_mass_index', 186, 'the heaviest man'],
  ['body_fat_percentage', 2, 'a body builder'],
  ['body_fat_percentage', 80, 'the heaviest man'],
  ['waist_circumference', 302, 'the widest man'],
  ['body_temperature', 11.8, 'a child found in the snow'],
  ['body_temperature', 46.5, 'a patient with heat stroke'],
  ['skin_temperature', -2, 'a frostbitten finger'],
  ['skin_temperature_deviation', -25, 'a hand in the snow'],
  ['vo2_max', 101.1, 'a triathlete'],
  ['steps', 204_371, 'a walker in 24 hours'],
  ['energy', 20_000, 'a cyclist in 24 hours'],
  ['basal_energy', 10_000, 'the most of Health Connect'],
  ['flights_climbed', 7953, 'a ski mountaineer in 24 hours: 24,242 m'],
  ['stand_time', 1500, 'a day of 25 hours'],
  ['average_met', 29, 'a triathlete at the limit'],
  ['distance_walking_running', 1_957_000, 'a cyclist behind a lorry, in Health Connect'],
  ['distance_cycling', 1_957_000, 'a cyclist behind a lorry'],
  ['distance_swimming', 250_000, 'a swimmer in the Gulf Stream'],
  ['distance_downhill_snow_sports', 359_000, 'the 83 runs of 24 hours'],
  ['walking_step_length', 8, 'a patient with Parkinson'],
  ['walking_speed', 4.87, 'a race walker'],
  ['running_speed', 12.42, 'the fastest sprinter'],
  ['running_vertical_oscillation', 4.9, 'the fastest sprinter'],
  ['running_ground_contact_time', 80, 'the fastest sprinter'],
  ['running_stride_length', 270, 'the fastest sprinter, a step'],
  ['running_stride_length', 540, 'the fastest sprinter, two steps'],
  ['running_stance_time_balance', 20, 'a runner who limps'],
  ['underwater_depth', 534, 'a diver at work'],
  ['cadence', 311, 'a sprinter on rollers'],
  ['power', 2700, 'a sprinter on the track'],
  ['speed', 377, 'a parachutist from the stratosphere'],
  ['elevation', 38_969, 'a parachutist in the stratosphere'],
  ['elevation', -430, 'a bather in the Dead Sea'],
  ['weather_temperature', -89.2, 'the pole of cold'],
  ['weather_temperature', 56.7, 'Death Valley'],
  ['weather_humidity', 0.33, 'the desert'],
  ['air_temperature', -195, 'a chamber for cryotherapy'],
  ['uv_exposure', 43.3, 'the Andes'],
  ['dietary_energy_consumed', 25_000, 'a contest of eaters'],
  ['dietary_sugar', 1500, 'twelve litres of cola'],
  ['dietary_sodium', 68_000, 'a quart of soy sauce'],
  ['dietary_chloride', 105_000, 'a quart of soy sauce'],
  ['dietary_vitamin_c', 200_000, 'what a doctor gave'],
  ['dietary_vitamin_d', 50_000, 'a bottle at once: 2,000,000 IU'],
  ['dietary_iodine', 4_600_000, 'six grams of potassium iodide'],
  ['hydration', 25_000, 'diabetes insipidus'],
  ['insulin_delivery', 35_000, 'a defect of the receptor, a day'],
  ['number_of_alcoholic_beverages', 156, 'a giant'],
]

t.test('what was ever measured of a person is plausible', async (t) => {
  t.strictSame(
    extremes.filter(([type, value]) => !isPlausible(type, value)),
    [],
  )
})

// Ordinary values, sent in another unit under the name of ours.
const mistakes: readonly [SeriesName, value: number, sent: string][] = [
  ['heart_rate', 1.2, 'beats per second'],
  ['heart_rate', 3.4, 'beats per second'],
  ['heart_rate', 850, 'milliseconds from beat to beat'],
  ['resting_heart_rate', 0, 'nothing'],
  ['heart_rate_variability_rmssd', 0.045, 'seconds'],
  ['heart_rate_variability_sdnn', 45_000, 'microseconds'],
  ['oxygen_saturation', 0.97, 'a fraction'],
  ['oxygen_saturation', 9700, 'a percentage as a fraction, times 100'],
  ['blood_glucose', 9009, 'mg/dL as mmol/L: 500 times 18'],
  ['blood_alcohol_content', 8000, 'a percentage as a fraction'],
  ['blood_pressure_systolic', 12, 'kilopascals'],
  ['respiratory_rate', 0.25, 'breaths per second'],
  ['forced_vital_capacity', 4500, 'millilitres'],
  ['peak_expiratory_flow_rate', 8.5, 'litres per second'],
  ['height', 1.75, 'metres'],
  ['height', 5.9, 'feet'],
  ['height', 1750, 'millimetres'],
  ['weight', 70_000, 'grams'],
  ['body_fat_percentage', 0.22, 'a fraction'],
  ['body_fat_percentage', 2200, 'a percentage as a fraction, times 100'],
  ['bone_mass', 3200, 'grams'],
  ['waist_circumference', 0.9, 'metres'],
  ['waist_circumference', 900, 'millimetres'],
  ['body_temperature', 98.6, 'Fahrenheit'],
  ['body_temperature', 310, 'Kelvin'],
  ['body_temperature', 0.4, 'a deviation'],
  ['skin_temperature', 92, 'Fahrenheit'],
  ['skin_temperature_deviation', 34, 'the temperature itself'],
  ['vo2_max', 3500, 'mL/min'],
  ['steps', -5, 'a difference of a counter'],
  ['energy', 2_500_000, 'small calories'],
  ['energy', 8_400_000, 'joules'],
  ['basal_energy', 1_600_000, 'small calories'],
  ['stand_time', 36_000, 'seconds'],
  ['average_met', 600, 'kcal per hour'],
  ['distance_walking_running', 10_000_000, 'millimetres'],
  ['distance_swimming', 1_500_000, 'millimetres'],
  ['walking_step_length', 0.72, 'metres'],
  ['walking_step_length', 720, 'millimetres'],
  ['running_speed', 15, 'km/h'],
  ['running_vertical_oscillation', 85, 'millimetres'],
  ['running_vertical_oscillation', 0.085, 'metres'],
  ['running_ground_contact_time', 0.24, 'seconds'],
  ['running_stride_length', 1.2, 'metres'],
  ['running_stride_length', 1200, 'millimetres'],
  ['running_vertical_ratio', 0.085, 'a fraction'],
  ['running_stance_time_balance', 0.495, 'a fraction'],
  ['underwater_depth', 18_000, 'millimetres'],
  ['power', 250_000, 'milliwatts'],
  ['weather_temperature', 68, 'Fahrenheit'],
  ['weather_temperature', 293, 'Kelvin'],
  ['weather_humidity', 7400, 'a percentage as a fraction, times 100'],
  ['water_temperature', 78, 'Fahrenheit'],
  ['latitude', 525_200_000, 'degrees times 1e7'],
  ['garmin_stress_level', -1, 'not measured'],
  ['withings_pulse_wave_velocity', 750, 'cm/s'],
  ['dietary_energy_consumed', 2_100_000, 'small calories'],
  ['dietary_protein', 80_000, 'milligrams'],
  ['dietary_sodium', 2_300_000, 'micrograms'],
  ['dietary_calcium', 1_000_000, 'micrograms'],
  ['dietary_vitamin_d', 400_000, 'nanograms'],
  ['hydration', 2_000_000, 'microlitres'],
  ['insulin_delivery', 50_000, 'thousandths of a unit'],
  ['number_of_alcoholic_beverages', 330, 'millilitres'],
]

t.test('a usual value in a wrong unit is implausible where a range can tell', async (t) => {
  t.strictSame(
    mistakes.filter(([type, value]) => isPlausible(type, value)),
    [],
  )
})

t.test('every range is one, and no sum, score or share is below nothing', async (t) => {
  const wrong = seriesTypes.filter(({ lowest, highest, aggregation, unit }) => {
    const fromNothing = aggregation === 'sum' || unit === 'score' || unit === 'percent'
    return !(lowest < highest) || (fromNothing && lowest < 0)
  })
  t.strictSame(wrong, [])
  const minutes = seriesTypes.filter(({ unit }) => unit === 'minutes')
  t.strictSame(
    minutes.filter(({ highest }) => highest !== 25 * 60),
    [],
    'minutes of the longest day',
  )
})

// cloud api, rest pull, client sdk, file import, stream, ping, callback, history days, configurable, live mode, rank:
// contract 2.1 and 2.4.
const y = true
const n = false
const capabilities: Record<string, readonly unknown[]> = {
  apple: ['Apple Health', n, n, y, y, n, n, n, null, n, null, 1],
  samsung: ['Samsung Health', n, n, y, n, n, n, n, null, n, null, 10],
  garmin: ['Garmin', y, n, n, n, y, n, y, 30, n, 'webhook', 2],
  health_connect: ['Health Connect', n, n, y, n, n, n, n, null, n, null, 8],
  google_health: ['Google Health', y, y, n, n, n, y, n, null, y, 'pull', 7],
  polar: ['Polar', y, y, n, n, n, y, n, null, y, 'pull', 3],
  suunto: ['Suunto', y, y, n, n, y, n, n, null, y, 'pull', 4],
  whoop: ['Whoop', y, y, n, n, n, y, n, null, y, 'pull', 5],
  strava: ['Strava', y, y, n, n, n, y, n, null, y, 'pull', 12],
  oura: ['Oura', y, y, n, n, n, y, n, null, y, 'pull', 9],
  fitbit: ['Fitbit', y, y, n, n, n, n, n, null, n, 'pull', 6],
  ultrahuman: ['Ultrahuman', y, y, n, n, n, n, n, null, n, 'pull', 13],
  sensorbio: ['Sensor Bio', y, y, n, n, n, n, n, null, n, 'pull', 11],
  withings: ['Withings', y, y, n, n, n, y, n, null, y, 'pull', 14],
  unknown: ['Unknown', n, n, n, n, n, n, n, null, n, null, 99],
  internal: ['Internal', n, n, n, n, n, n, n, null, n, null, 99],
}

t.test('providers are listed in order with the capabilities of the interface', async (t) => {
  t.strictSame([...providerNames], Object.keys(capabilities))
  for (const p of providers) {
    t.strictSame(
      [
        ...[p.name, p.hasCloudApi, p.restPull, p.clientSdk, p.fileImport, p.webhookStream, p.webhookPing],
        ...[p.webhookCallback, p.maxHistoricalDays, p.liveSyncConfigurable, p.defaultLiveSyncMode, p.rank],
      ],
      capabilities[p.provider],
      p.provider,
    )
    t.equal(providerByName.get(p.provider), p)
    t.equal(p.sentinel, p.rank === 99)
  }
  t.equal(providerByName.get('google'), undefined)
})
