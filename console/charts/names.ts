/** What phones and Pulsebase call differently, by the words of the phone that count. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'active calories': 'energy',
  'active energy': 'energy',
  'basal body temperature': 'body_temperature',
  'basal metabolic rate': 'basal_energy',
  bmi: 'body_mass_index',
  'body fat': 'body_fat_percentage',
  'body mass': 'weight',
  carbohydrate: 'dietary_carbohydrates',
  'cross country skiing speed': 'speed',
  'cycling cadence': 'cadence',
  'cycling pedaling cadence': 'cadence',
  'cycling power': 'power',
  'cycling speed': 'speed',
  'dietary carbohydrate': 'dietary_carbohydrates',
  'dietary energy': 'dietary_energy_consumed',
  'dietary water': 'hydration',
  distance: 'distance_walking_running',
  'distance cross country skiing': 'distance_other',
  'distance paddle sports': 'distance_other',
  'distance rowing': 'distance_other',
  'distance skating sports': 'distance_other',
  'distance wheelchair': 'distance_other',
  energy: 'dietary_energy_consumed',
  exercise: 'workout',
  'floors climbed': 'flights_climbed',
  food: 'meal',
  'heart rate variability': 'heart_rate_variability_rmssd',
  'move time': 'active_time',
  'paddle sports speed': 'speed',
  'rowing speed': 'speed',
  'sleep analysis': 'sleep',
  'sleeping wrist temperature': 'skin_temperature',
  step: 'steps',
}

/** The words of a name, in small letters, without those that say nothing. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/^HK[A-Za-z]*TypeIdentifier(Apple)?/, '')
    .replace(/[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])|[A-Za-z](?=\d)|\d(?=[A-Z])/g, '$& ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word && !['count', 'total', 'burned'].includes(word))

const keyOf = (words: readonly string[]): string =>
  words
    .filter((word) => word !== 'dietary')
    .sort()
    .join(' ')

/** Whether a platform's name of a type, such as HKQuantityTypeIdentifierStepCount or STEP_COUNT, means a type. */
export function isNameOf(name: string, type: string): boolean {
  if (name === type) return true
  const words = wordsOf(name)
  const other = OTHER_NAMES[words.join(' ')]
  return other ? other === type : keyOf(words) === keyOf(wordsOf(type))
}
