import { type Static, Type } from 'typebox'
import { errors } from '../../errors.ts'
import { parseDateInput } from '../../http/dates.ts'
import { DateInput } from '../../http/schema.ts'
import type { Json } from '../../providers/part.ts'
import type { Window } from '../../providers/provider.ts'
import { DAY_MS } from '../../time.ts'

/** Without a start (contract 7.1). */
const USUAL_DAYS = 30
/** The longest range of one sync. */
const MOST_DAYS = 365

const flag = (what: string, fallback = false) =>
  Type.Boolean({ default: fallback, description: `${what}, where the provider can` })

/** What is asked of a provider. What it has no parameter for makes no difference to it. */
export const askedFields = {
  since: Type.Optional(
    Type.Integer({
      ...{ minimum: 0, maximum: 253_402_300_799 },
      description: 'Unix seconds; 0 = all there is, 365 days at most',
    }),
  ),
  summary_start_time: Type.Optional(DateInput('Instead of since')),
  summary_end_time: Type.Optional(DateInput('Not included; now unless given')),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 50,
    description: 'Items of a page, where the provider can',
  }),
  offset: Type.Integer({
    ...{ minimum: 0, maximum: 1_000_000_000, default: 0 },
    description: 'Items before the page, where the provider can',
  }),
  filter_by_modification_time: flag('By the time of the last change', true),
  samples: flag('With detailed samples'),
  zones: flag('With zones of heart rate'),
  route: flag('With the route'),
}

const Asked = Type.Object(askedFields)
type Asked = Partial<Static<typeof Asked>>

/**
 * The span that is asked for, never in the future and 365 days at most; null: the caller names none, which means the
 * last 30 days. @throws AppError bad_datetime, bad_request
 */
export function windowOf({ since, summary_start_time: start, summary_end_time: end }: Asked, nowMs: number) {
  if (since === undefined && start === undefined && end === undefined) return null
  const untilMs = end === undefined ? nowMs : Math.min(parseDateInput(end, 'whole day'), nowMs)
  const sinceMs = since === undefined ? untilMs - USUAL_DAYS * DAY_MS : since * 1000
  const fromMs = start === undefined ? sinceMs : parseDateInput(start)
  if (fromMs >= untilMs) throw errors.badRequest('The range must end after it starts, and start in the past.')
  return { fromMs: Math.max(fromMs, untilMs - MOST_DAYS * DAY_MS), untilMs }
}

/** The last 30 days. */
export const usualWindow = (nowMs: number): Window => ({ fromMs: nowMs - USUAL_DAYS * DAY_MS, untilMs: nowMs })

/** What the folders of providers look at, by the names of contract 7.1. */
export function optionsOf(asked: Asked): Readonly<Record<string, Json>> {
  const { limit, offset, filter_by_modification_time, samples, zones, route } = asked
  const given = { limit, offset, filter_by_modification_time, samples, zones, route }
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
