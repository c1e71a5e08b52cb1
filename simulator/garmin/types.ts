import type { Settings } from '../settings.ts'
import type { Day, Person } from '../truth/person.ts'
import { activities, activityDetails, activityFiles } from './activities.ts'
import { dailies, epochs, respiration, stressDetails, userMetrics } from './days.ts'
import type { Item, Style } from './items.ts'
import { bloodPressures, bodyComps, healthSnapshot, mct, moveIQ, spotOxygen } from './measurements.ts'
import { hrv, nightOxygen, skinTemp, sleeps } from './nights.ts'
import type { Permission } from './oauth.ts'

/**
 * What tells a summary type again: the progress of a day (all of the day, or only what is new of it), its end, a sleep,
 * the main one, a new workout, one that got another name, a weighing.
 */
type Occasion = 'progress' | 'slots' | 'end' | 'sleep' | 'night' | 'workout' | 'edit' | 'weighing'

/** A summary type. */
export interface SummaryType {
  /** Its name in bodies. */
  readonly key: string
  /** Its name in requests for the past; undefined: it cannot be asked for. */
  readonly backfill?: string
  /** Its name in errors. */
  readonly code: string
  readonly permission: Permission
  /** Types of a family may stand in one body. */
  readonly family: 'day' | 'slot' | 'night' | 'activity' | 'other'
  readonly on: readonly Occasion[]
  /** Records of a local day, as known at an instant. */
  items(person: Person, day: Day, nowMs: number, style: Style): Item[]
}

const HEALTH = 'HEALTH_EXPORT'
const ACTIVITY = 'ACTIVITY_EXPORT'

export const types: readonly SummaryType[] = [
  type('sleeps', 'sleeps', { code: 'CONNECT_SLEEP', family: 'night', on: ['sleep'], items: sleeps }),
  type('dailies', 'dailies', { code: 'CONNECT_DAILIES', family: 'day', on: ['progress'], items: dailies }),
  type('activities', 'activities', {
    ...{ code: 'CONNECT_ACTIVITY', permission: ACTIVITY, family: 'activity', on: ['workout'], items: activities },
  }),
  type('manuallyUpdatedActivities', undefined, {
    ...{ code: 'CONNECT_ACTIVITY', permission: ACTIVITY, family: 'activity', on: ['edit'], items: activities },
  }),
  type('activityDetails', 'activityDetails', {
    ...{ code: 'CONNECT_ACTIVITY_DETAILS', permission: ACTIVITY, family: 'activity', on: ['workout', 'edit'] },
    items: activityDetails,
  }),
  type('activityFiles', undefined, {
    ...{
      code: 'CONNECT_ACTIVITY_FILE',
      permission: ACTIVITY,
      family: 'activity',
      on: ['workout'],
      items: activityFiles,
    },
  }),
  type('moveIQActivities', 'moveiq', {
    ...{ code: 'CONNECT_MOVEIQ', permission: ACTIVITY, family: 'slot', on: ['slots'], items: moveIQ },
  }),
  type('hrv', 'hrv', { code: 'CONNECT_HRV', family: 'night', on: ['night'], items: hrv }),
  type('skinTemp', 'skinTemp', { code: 'CONNECT_SKIN_TEMP', family: 'night', on: ['night'], items: skinTemp }),
  type('pulseox', 'pulseOx', {
    ...{ code: 'CONNECT_PULSE_OX', family: 'night', on: ['night', 'slots'] },
    items: (person, day, nowMs) => [...nightOxygen(person, day, nowMs), ...spotOxygen(person, day, nowMs)],
  }),
  type('allDayRespiration', 'respiration', {
    ...{ code: 'CONNECT_RESPIRATION', family: 'slot', on: ['slots'], items: respiration },
  }),
  type('epochs', 'epochs', { code: 'CONNECT_EPOCHS', family: 'slot', on: ['slots'], items: epochs }),
  type('stressDetails', 'stressDetails', {
    ...{ code: 'CONNECT_STRESS', family: 'day', on: ['progress'], items: stressDetails },
  }),
  type('userMetrics', 'userMetrics', {
    ...{ code: 'CONNECT_USER_METRICS', family: 'other', on: ['end'], items: userMetrics },
  }),
  type('bodyComps', 'bodyComps', { code: 'CONNECT_BODY', family: 'other', on: ['weighing'], items: bodyComps }),
  type('bloodPressures', 'bloodPressures', {
    ...{ code: 'CONNECT_BLOOD_PRESSURE', family: 'other', on: ['slots'], items: bloodPressures },
  }),
  type('healthSnapshot', 'healthSnapshot', {
    ...{ code: 'CONNECT_HEALTH_SNAPSHOT', family: 'other', on: ['slots'], items: healthSnapshot },
  }),
  type('mct', 'mct', { code: 'CONNECT_MCT', permission: 'MCT_EXPORT', family: 'other', on: ['end'], items: mct }),
]

type More = Omit<SummaryType, 'key' | 'backfill' | 'permission'> & { readonly permission?: Permission }

function type(key: string, backfill: string | undefined, { permission = HEALTH, ...more }: More): SummaryType {
  return { key, ...(backfill !== undefined && { backfill }), permission, ...more }
}

export function styleOf({ own }: Settings): Style {
  return {
    heartRateSeconds: Math.max(1, Number(own.heart_rate_seconds)),
    detailSeconds: Math.max(1, Number(own.detail_seconds)),
    newSleepIds: own.new_sleep_ids === true,
  }
}
