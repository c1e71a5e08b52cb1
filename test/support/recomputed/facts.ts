// What summaries are recomputed from: items as they were sent, and what these say. Nothing here or beside it comes from the
// service.

export const MINUTE = 60_000
export const QUARTER = 15 * MINUTE
export const DAY = 86_400_000

/** An item of an SDK body; fields may be missing. */
export type Item = Record<string, unknown>

/** What one upload says. */
export interface Body {
  provider: string
  data: { records: Item[]; sleep: Item[]; workouts: Item[] }
}

/** A device or an app of the person: what its items say of it, and what a reader sees of it. */
export interface Device {
  provider: 'apple' | 'samsung' | 'health_connect'
  sent: Item
  shown: {
    provider: string
    source: string | null
    device: string | null
    device_type: string
    device_name: string | null
  }
}

/** A device that has sent something; `seen` says in which order they were first met. */
export interface Source extends Device {
  seen: number
}

/** A value that counts; times in epoch ms, `zone` in minutes east of UTC. */
export interface Point {
  source: Source
  series: string
  ms: number
  value: number
  zone: number | null
  lasts: number
  kind: 'measured' | 'manual' | 'total'
}

export interface Stage {
  source: Source
  /** The session of the platform; null where gaps decide. */
  session: string | null
  id: string
  stage: string
  start: number
  end: number
  zone: number | null
}

export interface Workout {
  source: Source
  end: number
  zone: number | null
  ascent: number | null
}

export interface Facts {
  points: Point[]
  stages: Stage[]
  workouts: Workout[]
}

/** A list by what `key` says of each. */
export function grouped<T, K>(list: readonly T[], key: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const one of list) {
    const group = groups.get(key(one))
    if (group) group.push(one)
    else groups.set(key(one), [one])
  }
  return groups
}
