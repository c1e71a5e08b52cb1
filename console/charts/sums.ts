/** Types whose values add up, beside those of food. The test compares them with the catalogue of the service. */
const SUMS: ReadonlySet<string> = new Set([
  'active_time',
  'atrial_fibrillation_burden',
  'basal_energy',
  'distance_cycling',
  'distance_downhill_snow_sports',
  'distance_other',
  'distance_swimming',
  'distance_walking_running',
  'energy',
  'exercise_time',
  'flights_climbed',
  'hydration',
  'inhaler_usage',
  'insulin_delivery',
  'nike_fuel',
  'number_of_alcoholic_beverages',
  'number_of_times_fallen',
  'push_count',
  'sleeping_breathing_disturbances',
  'stand_time',
  'steps',
  'swimming_stroke_count',
  'time_in_daylight',
  'uv_exposure',
])

/** Whether the values of a type add up, so that a bucket has their sum and not their mean. */
export const isSum = (type: string): boolean => SUMS.has(type) || type.startsWith('dietary_')
