// What goes wrong with real phones, on purpose: so that every page about it has something to show.
import { DAY_MS, dateOf, localMs } from '../simulator/zones.ts'
import { utcText } from './clock.ts'
import { sourceOf } from './devices.ts'
import type { Person } from './people.ts'

type Body = Readonly<Record<string, unknown>>

const hk = (name: string) => `HKQuantityTypeIdentifier${name}`

/** Three unusable records, one type that is not stored, one weight sent twice: a day before an instant. */
export function messOf(person: Person, nowMs: number): Body | undefined {
  if (person.key !== 'ada') return undefined
  const ms = Math.floor((nowMs - DAY_MS) / 60_000) * 60_000
  const when = { startDate: utcText(ms), endDate: utcText(ms), zoneOffset: '+01:00' }
  const watch = { source: sourceOf(person, 'watch'), ...when }
  const scale = { source: sourceOf(person, 'scale'), ...when, type: hk('BodyMass'), unit: 'kg' }
  const records = [
    { ...watch, id: 'demo-mess-1', type: hk('HeartRate'), value: null, unit: 'count/min' },
    { ...watch, id: 'demo-mess-2', type: hk('DistanceWalkingRunning'), value: 12, unit: 'furlong' },
    { ...watch, id: 'demo-mess-3', type: hk('StepCount'), value: 40, unit: 'count', startDate: dateOf(ms / DAY_MS) },
    { ...watch, id: 'demo-mess-4', type: 'heart_rate', value: 61, unit: 'bpm' },
    { ...scale, id: 'demo-mess-5', value: round(person.weightKg + 21) },
    { ...scale, id: 'demo-mess-5', value: round(person.weightKg + 0.3) },
  ]
  return { provider: person.provider, syncType: 'live', data: { records } }
}

const round = (value: number) => Math.round(value * 10) / 10

/** Steps of a phone that Cleo gave away before the year begins, and whose connection ended then. */
export function formerPhone(person: Person, firstDay: number): { provider: string; body: Body } | undefined {
  if (person.key !== 'cleo') return undefined
  const provider = 'samsung'
  const source = { deviceManufacturer: 'Samsung', deviceModel: 'SM-A536B', deviceType: 'phone' }
  const records = [9, 12, 13, 17, 18].map((hour) => {
    const ms = localMs(person.zone, firstDay - 1, hour * 60)
    const when = { startDate: utcText(ms), endDate: utcText(ms + 3_600_000), zoneOffset: '+00:00' }
    return { ...when, id: `demo-former-${hour}`, type: 'STEP_COUNT', value: 180 + hour * 37, unit: 'count', source }
  })
  return { provider, body: { provider, syncType: 'historical', data: { records } } }
}
