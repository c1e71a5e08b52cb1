/** What is told of; active energy, oxygen and body temperature are not. */
export const TOLD = [
  ...['active-minutes', 'active-zone-minutes', 'altitude', 'blood-glucose', 'body-fat', 'distance', 'exercise'],
  ...['daily-heart-rate-variability', 'daily-oxygen-saturation', 'daily-respiratory-rate', 'floors', 'heart-rate'],
  ...['daily-resting-heart-rate', 'daily-sleep-temperature-derivations', 'heart-rate-variability', 'height'],
  ...['hydration-log', 'nutrition-log', 'respiratory-rate-sleep-summary', 'run-vo2-max', 'sedentary-period', 'sleep'],
  ...['steps', 'weight'],
] as const
export type Told = (typeof TOLD)[number]
