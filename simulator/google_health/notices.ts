import { randomUUID } from 'node:crypto'
import type { Notice, Notices, Stretch } from '../notices/notices.ts'
import { type Change, changesOf } from '../truth/changes.ts'
import { drinksOf, mealsOf } from '../truth/meals.ts'
import { gathered, glucoseOf, learned } from '../truth/measurements.ts'
import type { Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS, HOUR_MS, localDay, MINUTE_MS, offsetAt } from '../zones.ts'
import { accountOf, scopeOf } from './oauth.ts'
import { instant, type Row } from './points.ts'
import type { ServiceTokens } from './service-account.ts'
import type { Signer } from './signature.ts'
import { answerSubscribers } from './subscribers.ts'
import type { Told } from './told.ts'
import { types } from './types.ts'

/** Pauses that double, up to a week. */
function pauses(): number[] {
  const found: number[] = []
  for (let seconds = 10, sum = 0; sum < 7 * 86_400; seconds = Math.min(seconds * 2, 43_200), sum += seconds)
    found.push(seconds)
  return found
}

/** What changed, by type and time, without the data. */
export function noticesOf(tokens: ServiceTokens, signer: Signer): Notices {
  return {
    byHand: false,
    retries: pauses(),
    // Ours: nothing is published.
    answerSeconds: 10,
    of: told,
    left: (person, atMs) => notice(person, said('steps', [atMs - DAY_MS, atMs], { atMs, operation: 'DELETE' })),
    headers: ({ text, subscription, settings }) => ({
      ...(subscription.key !== null && { authorization: subscription.key }),
      ...(settings.own.signature && { 'google-health-api-signature': signer.sign(text) }),
    }),
    takes: (status) => status === 204,
    answer: (call) => answerSubscribers(call, tokens),
  }
}

interface Said {
  readonly atMs: number
  readonly type: Told
  readonly operation: 'UPSERT' | 'DELETE'
  readonly fromMs: number
  readonly toMs: number
}

function said(type: Told, [fromMs, toMs]: readonly [number, number], more: Pick<Said, 'atMs' | 'operation'>): Said {
  return { type, fromMs, toMs, ...more }
}

/** Under a name that is another one each time; one in four alone, the others in a list. */
function notice(person: Person, { atMs, type, operation, fromMs, toMs }: Said): Notice {
  const { zone } = person.day(localDay('UTC', fromMs))
  const wall = (ms: number) => new Date(ms + offsetAt(zone, ms) * MINUTE_MS).toISOString().slice(0, 19)
  const shape = types[type]?.shape
  const interval: Row =
    shape === 'daily'
      ? { civilIso8601TimeInterval: { startTime: wall(fromMs).slice(0, 10), endTime: wall(toMs).slice(0, 10) } }
      : {
          physicalTimeInterval: { startTime: instant(fromMs), endTime: instant(toMs) },
          civilIso8601TimeInterval: { startTime: wall(fromMs), endTime: wall(toMs) },
        }
  const data = {
    ...{ version: '1', clientProvidedSubscriptionName: randomUUID(), healthUserId: accountOf(person) },
    ...{ operation, dataType: type, intervals: [interval] },
  }
  const isAlone = Math.floor(atMs / HOUR_MS) % 4 === 0
  return { atMs, topic: type, body: () => (isAlone ? JSON.stringify({ data }) : JSON.stringify([{ data }])) }
}

function told({ person, scopes, fromMs, toMs }: Stretch): Notice[] {
  const span = [fromMs, toMs] as const
  const moments = (type: Told, found: readonly { atMs: number; knownMs: number }[]) =>
    found.map(({ atMs, knownMs }) => said(type, [atMs, atMs + 1000], { atMs: knownMs, operation: 'UPSERT' }))
  const all = [
    ...changesOf(person, fromMs, toMs).flatMap((change) => ofChange(person, change)),
    ...moments('nutrition-log', learned(person, mealsOf, span)),
    ...moments('hydration-log', learned(person, drinksOf, span)),
    ...gathered(person, glucoseOf, span).map((one) =>
      said('blood-glucose', [one.fromMs, one.toMs + 1000], { atMs: one.knownMs, operation: 'UPSERT' }),
    ),
  ]
  const allowed = all.filter(({ type }) => scopes.has(scopeOf(types[type]?.scope ?? '')))
  return allowed.sort((a, b) => a.atMs - b.atMs).map((one) => notice(person, one))
}

const OF_NIGHTS: readonly Told[] = [
  ...(['sleep', 'heart-rate-variability', 'respiratory-rate-sleep-summary'] as const),
  ...(['daily-heart-rate-variability', 'daily-resting-heart-rate', 'daily-respiratory-rate'] as const),
  ...(['daily-oxygen-saturation', 'daily-sleep-temperature-derivations'] as const),
]
const OF_DAYS: readonly Told[] = [
  ...(['steps', 'distance', 'floors', 'altitude', 'active-minutes', 'active-zone-minutes'] as const),
  ...(['sedentary-period', 'heart-rate'] as const),
]

function ofChange(person: Person, change: Change): Said[] {
  const { atMs, how } = change
  const operation = how === 'removed' ? ('DELETE' as const) : ('UPSERT' as const)
  const each = (list: readonly Told[], span: readonly [number, number]) =>
    list.map((type) => said(type, span, { atMs, operation }))
  if (change.what === 'sleep') {
    const { view, before } = change
    const { sleep, startMs, endMs } = view
    const span = [Math.min(startMs, before?.startMs ?? startMs), Math.max(endMs, before?.endMs ?? endMs)] as const
    return each(sleep.nap ? ['sleep'] : OF_NIGHTS, span)
  }
  if (change.what === 'workout') {
    const { workout, sport } = change.view
    return each(sport === 'running' ? ['exercise', 'run-vo2-max'] : ['exercise'], [
      workout.startMs,
      workout.endMs + 1000,
    ])
  }
  if (change.what === 'weighing')
    return each(['weight', 'body-fat'], [change.weighing.atMs, change.weighing.atMs + 1000])
  return change.what === 'day' ? each(OF_DAYS, [progressFrom(person, atMs), knownUntil(person, atMs)]) : []
}

/** From when on the watch brings something new: since it was last asked, and a little before. */
function progressFrom(person: Person, atMs: number): number {
  return Math.min(knownUntil(person, atMs - 3 * HOUR_MS), knownUntil(person, atMs) - 3 * HOUR_MS) - 15 * MINUTE_MS
}
