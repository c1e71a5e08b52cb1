import { bloodPressureOf, compositionOf, glucoseOf, spotOxygenOf, temperatureOf } from '../truth/measurements.ts'
import { type Day, type Person, sleepsOf } from '../truth/person.ts'
import { knownMs } from '../truth/personas.ts'
import type { Weighing } from '../truth/workouts.ts'
import { HOUR_MS, localMs } from '../zones.ts'
import {
  cuff,
  deviceId,
  glucometer,
  isNew,
  longId,
  type Row,
  scaleOf,
  seconds,
  thermometer,
  watchOf,
  zoneAt,
} from './devices.ts'

/** What was measured at once. */
export interface Group {
  readonly grpid: number
  readonly date: number
  readonly modified: number
  readonly category: number
  readonly measures: readonly Measure[]
  readonly [field: string]: unknown
}

/** The value is `value · 10^unit`. */
interface Measure {
  readonly value: number
  readonly unit: number
  readonly type: number
  readonly position?: number
}

function measure(type: number, number: number, decimals: number): Measure {
  return { value: Math.round(number * 10 ** decimals), type, unit: 0 - decimals }
}

interface Taken {
  readonly key: string
  readonly atMs: number
  readonly knownMs: number
  readonly changedMs?: number
  readonly device: { readonly model: string; readonly model_id: number } | null
  readonly attrib?: number
  readonly category?: number
  readonly measures: readonly Measure[]
}

function group(person: Person, taken: Taken): Group {
  const { key, atMs, device, measures, attrib = 0, category = 1 } = taken
  const id = device && deviceId(person, device as Parameters<typeof deviceId>[1])
  const name = isNew(person) ? 'model_id' : 'modelid'
  return {
    ...{ grpid: longId(`${person.seed}/${key}`), attrib, date: seconds(atMs), created: seconds(taken.knownMs) },
    ...{ modified: seconds(taken.changedMs ?? taken.knownMs), category, deviceid: id, hash_deviceid: id },
    ...{ measures, [name]: device?.model_id ?? null, model: device?.model ?? null, comment: null },
    // People who travel have the zone with the group.
    ...(person.awayZone !== null && { timezone: zoneAt(person, atMs) }),
  }
}

/** The groups of a local day that are known, with what belongs to others and what is a wish. */
export function groupsOf(person: Person, day: Day, { nowMs, advanced }: { nowMs: number; advanced: boolean }): Group[] {
  const taken = [
    ...account(person, day),
    ...(day.weighing ? weighed(person, day, day.weighing) : []),
    ...others(person, day),
    ...(advanced ? ofWatch(person, day, nowMs) : []),
  ]
  return taken.filter((one) => one.knownMs <= nowMs).map((one) => group(person, one))
}

/** What somebody gave when the account was made: a height, a weight that may be wrong, a wish. */
function account(person: Person, { day, zone }: Day): Taken[] {
  if (day !== person.span.firstDay) return []
  const atMs = localMs(zone, day, 0) + 12 * HOUR_MS
  const given = { atMs, knownMs: atMs, device: null }
  return [
    {
      ...{ ...given, key: 'account', attrib: 4 },
      measures: [measure(4, person.heightCm / 100, 2), measure(1, person.weightKg + 4, 3)],
    },
    { ...given, key: 'goal', attrib: 2, category: 2, measures: [measure(1, person.weightKg - 3, 3)] },
  ]
}

/** Grams, percent to 0.1; some people type their weight, and some scales weigh somebody else, too. */
function weighed(person: Person, { day, vascularAge }: Day, weighing: Weighing): Taken[] {
  const { atMs, kg } = weighing
  const device = scaleOf(person)
  const stranger = day % 7 === 3
  const other = {
    ...{ key: `stranger/${day}`, atMs: atMs + 60_000, knownMs: knownMs(person, atMs + 60_000), device, attrib: 1 },
    measures: [measure(1, kg + 14.35, 3)],
  }
  if (day % 11 === 0) {
    const measures = [measure(1, kg, 1), { value: 0, type: 4, unit: -2 }]
    return [{ key: `weight/${day}`, atMs, knownMs: weighing.knownMs, device: null, attrib: 2, measures }]
  }
  const { fatPercent, muscleKg } = compositionOf(person, weighing)
  const fatKg = (kg * fatPercent) / 100
  const limb = { ...measure(8, fatKg / 9, 3), position: 3 }
  const measures = [
    ...[measure(1, kg, 3), measure(6, fatPercent, 1), measure(8, fatKg, 3), measure(5, kg - fatKg, 3)],
    ...[measure(76, muscleKg, 2), measure(88, kg * 0.04, 2), measure(77, kg * 0.55, 2)],
    ...(isNew(person) ? [limb, measure(155, vascularAge, 0)] : []),
  ]
  const own = { key: `weight/${day}`, atMs, knownMs: weighing.knownMs, device, measures }
  return stranger ? [own, other] : [own]
}

/** With a cuff, a thermometer, a sensor, and the watch held still. */
function others(person: Person, { day }: Day): Taken[] {
  const pressure = bloodPressureOf(person, day)
  const temperature = temperatureOf(person, day)
  const oxygen = spotOxygenOf(person, day)
  return [
    ...glucoseOf(person, day).map((one) => ({
      ...{ ...one, key: `glucose/${one.atMs}`, device: glucometer, measures: [measure(119, one.mgPerDl, 0)] },
    })),
    ...(pressure ? [{ ...pressure, key: `pressure/${day}`, device: cuff, attrib: day % 2 === 0 ? 5 : 0 }] : []).map(
      ({ systolic, diastolic, pulse, ...one }) => ({
        ...one,
        measures: [measure(9, diastolic, 0), measure(10, systolic, 0), measure(11, pulse, 0)],
      }),
    ),
    ...(temperature ? [{ ...temperature, key: `temperature/${day}`, device: thermometer }] : []).map(
      ({ celsius, ...one }) => ({ ...one, measures: [measure(12, celsius, 3), measure(71, celsius, 3)] }),
    ),
    ...(oxygen ? [{ ...oxygen, key: `oxygen/${day}`, device: watchOf(person) }] : []).map(({ percent, ...one }) => ({
      ...{ ...one, attrib: 15, measures: [measure(54, percent, 0)] },
    })),
  ]
}

/** Of nights, and once a week. */
function ofWatch(person: Person, day: Day, nowMs: number): Taken[] {
  const device = watchOf(person)
  const nights = sleepsOf([day], nowMs).filter(({ sleep, deleted }) => !sleep.nap && !deleted)
  const skin = nights.map(({ sleep, endMs, createdMs, updatedMs }) => ({
    ...{ key: `skin/${day.day}`, atMs: endMs, knownMs: createdMs, changedMs: updatedMs, device },
    measures: [measure(73, sleep.skinTemperature, 2)],
  }))
  const noonMs = localMs(day.zone, day.day, 720)
  const fitness = { key: `fitness/${day.day}`, atMs: noonMs, knownMs: knownMs(person, noonMs), device }
  return [...skin, ...(day.day % 7 === 0 ? [{ ...fitness, measures: [measure(123, day.vo2Max, 1)] }] : [])]
}

/** A group with the types that were asked for; null when it has none of them. */
export function narrowed(group: Group, types: ReadonlySet<number> | null): Row | null {
  const measures = types ? group.measures.filter(({ type }) => types.has(type)) : group.measures
  return measures.length > 0 ? { ...group, measures } : null
}
