import { createHash } from 'node:crypto'
import type { Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { localDay } from '../zones.ts'

export type Row = Record<string, unknown>

interface Device {
  readonly type: string
  readonly model: string
  readonly model_id: number
}

/** Whether somebody has the newer device of each kind. */
export function isNew({ ring }: Person): boolean {
  return ring === 'or5'
}

/** Whether a mat under the mattress watches somebody's sleep, not the watch. */
export function hasMat({ strap }: Person): boolean {
  return strap === 3
}

export function scaleOf(person: Person): Device {
  return isNew(person)
    ? { type: 'Scale', model: 'Body Scan', model_id: 10 }
    : { type: 'Scale', model: 'Body+', model_id: 5 }
}

export function watchOf(person: Person): Device {
  return isNew(person)
    ? { type: 'Activity Tracker', model: 'ScanWatch 2', model_id: 94 }
    : { type: 'Activity Tracker', model: 'ScanWatch', model_id: 93 }
}

export const cuff: Device = { type: 'Blood Pressure Monitor', model: 'BPM Connect', model_id: 45 }
export const thermometer: Device = { type: 'Smart Connected Thermometer', model: 'Thermo', model_id: 70 }
export const glucometer: Device = { type: 'Gateway', model: 'Lingo sensor', model_id: 1063 }
export const mat: Device = { type: 'Sleep Monitor', model: 'Aura Sensor V2', model_id: 63 }

export function deviceId(person: Person, { model_id }: Device): string {
  return createHash('sha256').update(`withings/${person.seed}/${model_id}`).digest('hex').slice(0, 40)
}

/** The list of devices. */
export function devices(person: Person, nowMs: number): Row[] {
  const owned = [scaleOf(person), watchOf(person), cuff, thermometer, ...(hasMat(person) ? [mat] : [])]
  return owned.map((device) => ({
    ...{ ...device, battery: isNew(person) ? 'high' : 'medium', timezone: zoneAt(person, nowMs) },
    ...{ first_session_date: null, last_session_date: Math.floor(knownUntil(person, nowMs) / 1000) },
    ...{ deviceid: deviceId(person, device), hash_deviceid: deviceId(person, device) },
  }))
}

/** Where somebody is. */
export function zoneAt(person: Person, ms: number): string {
  return person.day(localDay('UTC', ms)).zone
}

/** A number that exceeds 32 bits. */
export function longId(name: string): number {
  return 4_000_000_000 + Number.parseInt(createHash('sha256').update(`withings/${name}`).digest('hex').slice(0, 8), 16)
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}

/** What of the values was asked for; nothing where nobody asked. */
export function chosen(fields: ReadonlySet<string>, values: Row): Row {
  return Object.fromEntries(Object.entries(values).filter(([name]) => fields.has(name)))
}
