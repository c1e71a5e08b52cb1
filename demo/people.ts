/** A person of the demo: what does not change in a year. */
export interface Person {
  /** Seeds everything that is random about this person; the service's `external_user_id` is `demo:{key}`. */
  readonly key: 'ada' | 'ben' | 'cleo'
  readonly firstName: string
  readonly lastName: string
  readonly birthDate: string
  readonly sex: 'female' | 'male'
  readonly zone: string
  readonly provider: 'apple' | 'samsung' | 'health_connect'
  /** Heart rate at rest of an ordinary day, and the highest one. */
  readonly restingBpm: number
  readonly highestBpm: number
  /** What an hour of brisk walking adds to the heart rate: less for those who train. */
  readonly walkBpm: number
  /** Variability of an ordinary night: SDNN where the platform measures that, otherwise RMSSD. */
  readonly variabilityMs: number
  /** Breaths a minute, asleep. */
  readonly breaths: number
  readonly weightKg: number
  readonly heightCm: number
  /** What the body burns at rest in a day. */
  readonly basalKcal: number
  /** Of the whole demo: tests try several. */
  readonly seed: string
}

const ADA: Omit<Person, 'seed'> = {
  ...{ key: 'ada', firstName: 'Ada', lastName: 'Runner', birthDate: '1990-04-12', sex: 'female' },
  ...{ zone: 'Europe/Berlin', provider: 'apple', restingBpm: 55, highestBpm: 187, walkBpm: 34 },
  ...{ variabilityMs: 62, breaths: 14.2, weightKg: 59.5, heightCm: 168, basalKcal: 1340 },
}

const BEN: Omit<Person, 'seed'> = {
  ...{ key: 'ben', firstName: 'Ben', lastName: 'Shift', birthDate: '1984-09-30', sex: 'male' },
  ...{ zone: 'Europe/London', provider: 'samsung', restingBpm: 66, highestBpm: 178, walkBpm: 42 },
  ...{ variabilityMs: 31, breaths: 15.6, weightKg: 88, heightCm: 181, basalKcal: 1790 },
}

const CLEO: Omit<Person, 'seed'> = {
  ...{ key: 'cleo', firstName: 'Cleo', lastName: 'Park', birthDate: '1993-01-21', sex: 'female' },
  ...{ zone: 'Europe/Lisbon', provider: 'health_connect', restingBpm: 61, highestBpm: 185, walkBpm: 38 },
  ...{ variabilityMs: 44, breaths: 15.1, weightKg: 66, heightCm: 164, basalKcal: 1400 },
}

/** The three people; another seed gives them another year. */
export function people(seed = '1'): readonly Person[] {
  return [ADA, BEN, CLEO].map((one) => ({ ...one, seed }))
}

/** The name under which the service knows a person. */
export const externalId = ({ key }: Pick<Person, 'key'>) => `demo:${key}`

/** Seeds what is random about one thing of a person. */
export const named = ({ seed, key }: Person, topic: string) => `${seed}/${key}/${topic}`
