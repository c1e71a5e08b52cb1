/** Categories of health scores, in the definition order of contract 2.2. */
export const scoreCategories = [
  'sleep',
  'recovery',
  'readiness',
  'activity',
  'stress',
  'resilience',
  'body_battery',
  'strain',
] as const

/** Category of a health score (contract 2.2). */
export type ScoreCategory = (typeof scoreCategories)[number]
