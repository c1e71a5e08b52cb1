import { textAt, valueAt } from '../answers.ts'

// What is kept of the summary of a night. It goes with the request for the stages of the night, under the names that
// Withings has for it: so it is read in the same way as it came and as it was kept.

/** Durations in seconds, beats and breaths a minute; an efficiency of 1 is all of the time. */
const FIGURES = [
  'total_sleep_time',
  'asleepduration',
  'lightsleepduration',
  'remsleepduration',
  'deepsleepduration',
  'sleep_efficiency',
  'wakeupduration',
  'hr_min',
  'rr_average',
  'breathing_disturbances_intensity',
  'sleep_score',
  'apnea_hypopnea_index',
] as const

type Figure = (typeof FIGURES)[number]

/** A night or a nap; instants in epoch seconds. */
export interface Night {
  readonly id: string
  readonly startdate: number
  readonly enddate: number
  readonly modified: number | null
  readonly timezone: string | null
  /** 16: a tracker, 32: a mat; and which one. */
  readonly model: number | null
  readonly model_id: number | null
  readonly hash_deviceid: string | null
  readonly data: Readonly<Partial<Record<Figure, number>>>
}

/** The summary of a night; undefined when it has no id, or no times. */
export function nightOf(json: unknown): Night | undefined {
  const id = valueAt(json, 'id')
  const text = Number.isSafeInteger(id) || typeof id === 'string' ? String(id) : ''
  const [startdate, enddate] = [numberAt(json, 'startdate'), numberAt(json, 'enddate')]
  if (!/^\d{1,20}$/.test(text) || startdate === undefined || enddate === undefined) return undefined
  const data = FIGURES.flatMap((name) => {
    const value = numberAt(json, 'data', name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...{ id: text, startdate, enddate, modified: numberAt(json, 'modified') ?? null },
    timezone: shortAt(json, 'timezone'),
    model: numberAt(json, 'model') ?? null,
    model_id: numberAt(json, 'model_id') ?? null,
    hash_deviceid: shortAt(json, 'hash_deviceid'),
    data: Object.fromEntries(data),
  }
}

/** A number of seconds, beats and so on; none is larger than an instant. */
function numberAt(json: unknown, ...path: readonly string[]): number | undefined {
  const value = valueAt(json, ...path)
  return typeof value === 'number' && value >= 0 && value < 1e11 ? value : undefined
}

const shortAt = (json: unknown, name: string) => /^[\w+/.-]{1,64}$/.exec(textAt(json, name) ?? '')?.[0] ?? null

/** Why a night is not stored, and not asked for: it goes on, or comes from another app; undefined: it is. */
export function whyNot(json: unknown, { data }: Night): 'incomplete' | 'imported' | undefined {
  if (valueAt(json, 'completed') === false) return 'incomplete'
  const { total_sleep_time: total, lightsleepduration: light, deepsleepduration: deep, remsleepduration: rem } = data
  const isTotalOnly = [total, light, deep, rem].every((one) => one === undefined)
  return isTotalOnly && data.asleepduration !== undefined ? 'imported' : undefined
}
