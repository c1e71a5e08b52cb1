import type { Notice, Notices, Stretch } from '../notices/notices.ts'
import { withQuery } from '../notices/subscriptions.ts'
import { secretOf } from '../random.ts'
import { type Change, changesOf } from '../truth/changes.ts'
import { daysBetween, type Person } from '../truth/person.ts'
import { newSince } from '../truth/personas.ts'
import { localDay, MINUTE_MS } from '../zones.ts'
import type { Backfills } from './backfills.ts'
import type { Callbacks } from './callbacks.ts'
import { seconds, summaryId, userIdOf } from './items.ts'
import { bundled, Push } from './pushes.ts'
import { type SummaryType, styleOf, types } from './types.ts'

/** Nobody signs anything: what an address must hold, so that not everybody can tell something. */
const ADDRESS_SECRET = secretOf('garmin address')

/** What a service has to know to check addresses. */
export const variables = { GARMIN_WEBHOOK_PATH_SECRET: ADDRESS_SECRET }

/** Nothing is published of the pauses but that it goes on for seven days: minutes, hours, then twice a day. */
const PAUSES = [60, 300, 900, 3600, 3 * 3600, 6 * 3600, ...Array.from({ length: 13 }, () => 12 * 3600)]

/** So much of what was brought before is told again. */
const OVERLAP_MS = 15 * MINUTE_MS

/** What becomes known, pushed or announced; what was asked of the past; consents that end or change. */
export function noticesOf(backfills: Backfills, callbacks: Callbacks): Notices {
  return {
    byHand: true,
    addressed: (url) => withQuery(url, { k: ADDRESS_SECRET }),
    retries: PAUSES,
    answerSeconds: 30,
    // When it is put on hold is not published, either.
    holdDays: 2,
    keptDays: 7,
    atOnce: 32,
    of: (stretch) => told(stretch, callbacks),
    asked: (nowMs) => backfills.due(nowMs),
    bundled,
    left(person, atMs) {
      backfills.forget(person)
      return simple('deregistrations', atMs, { userId: userIdOf(person) })
    },
    changed: (person, scopes, atMs) =>
      simple('userPermissionsChange', atMs, {
        ...{ userId: userIdOf(person), summaryId: summaryId(person, atMs, 'perm'), permissions: scopes },
        changeTimeInSeconds: seconds(atMs),
      }),
    headers: ({ client }) => ({ 'garmin-client-id': client.id }),
    takes: (status) => status === 200,
  }
}

function simple(topic: string, atMs: number, item: Record<string, unknown>): Notice {
  return { atMs, topic, body: () => ({ [topic]: [item] }) }
}

function told({ person, scopes, fromMs, toMs, settings }: Stretch, callbacks: Callbacks): Notice[] {
  const style = styleOf(settings)
  const made = new Set<string>()
  return changesOf(person, fromMs, toMs).flatMap((change) =>
    types.flatMap(({ key, permission, family, items, on }): Notice[] => {
      if (!scopes.has(permission)) return []
      const { atMs } = change
      const slots = on.includes('slots') && change.what === 'day'
      return daysOf(person, change, on).flatMap((number) => {
        const name = `${key} ${number} ${atMs}`
        const found = made.has(name) ? [] : items(person, person.day(number), atMs, style)
        made.add(name)
        const sinceMs = slots ? newSince(person, atMs) - OVERLAP_MS : 0
        const fresh = found.filter(({ endMs }) => endMs > sinceMs)
        return fresh.length > 0 ? [new Push({ atMs, key, person, family, items: fresh }, callbacks)] : []
      })
    }),
  )
}

/** The local days that a change makes it tell again. */
function daysOf(person: Person, change: Change, on: SummaryType['on']): number[] {
  const days = new Set<number>()
  if (change.what === 'day') {
    const { day, complete, atMs } = change
    if (complete && (on.includes('progress') || on.includes('slots') || on.includes('end'))) days.add(day.day)
    if (on.includes('progress') || on.includes('slots')) {
      const sinceMs = newSince(person, atMs) - OVERLAP_MS
      // Of somebody who travels, the next day may begin hours before that of UTC does.
      for (const { day: number } of daysBetween(person, sinceMs, atMs)) {
        const { startMs, met } = person.minutes(number)
        if (startMs <= atMs && startMs + met.length * MINUTE_MS > sinceMs) days.add(number)
      }
    }
  }
  if (change.what === 'sleep') {
    const { nap, day } = change.view.sleep
    if (on.includes('sleep') && (nap || change.how !== 'removed')) days.add(day)
    if (on.includes('night') && !nap && change.how !== 'removed') days.add(day)
  }
  if (change.what === 'workout' && change.how === 'made' && on.includes('workout')) days.add(change.view.workout.day)
  if (change.what === 'workout' && change.how === 'changed' && on.includes('edit')) days.add(change.view.workout.day)
  if (change.what === 'weighing' && on.includes('weighing'))
    days.add(localDay(person.day(localDay('UTC', change.weighing.atMs)).zone, change.weighing.atMs))
  return [...days].filter((day) => day >= person.span.firstDay)
}
