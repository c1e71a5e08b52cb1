import type { SeriesName } from '../../catalogue/series.ts'
import { textAt, valueAt } from '../answers.ts'
import { boundsOf } from '../listed.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { zoneOffsetOf } from '../zone-offset.ts'
import { deviceOf, fromDevice } from './devices.ts'

/** A series, its types of measures, the better one first, and the power of ten by which Withings' unit is larger. */
const kinds: readonly (readonly [series: SeriesName, types: readonly number[], power?: number])[] = [
  ['weight', [1]],
  ['height', [4], 2],
  ['lean_body_mass', [5]],
  ['body_fat_percentage', [6]],
  ['body_fat_mass', [8]],
  ['blood_pressure_diastolic', [9]],
  ['blood_pressure_systolic', [10]],
  ['heart_rate', [11]],
  ['body_temperature', [71, 12]],
  ['oxygen_saturation', [54]],
  ['skin_temperature', [73]],
  ['skeletal_muscle_mass', [76]],
  ['blood_glucose', [119]],
  ['vo2_max', [123]],
  ['cardiovascular_age', [155]],
]

/** What no plan of Withings leaves out, and nothing but measurements brings: if it is not there, it was deleted. */
const alwaysTold: readonly SeriesName[] = [
  ...(['weight', 'lean_body_mass', 'body_fat_percentage', 'body_fat_mass', 'skeletal_muscle_mass'] as const),
  ...(['blood_pressure_diastolic', 'blood_pressure_systolic', 'blood_glucose'] as const),
]

/** Who a measure is of: perhaps somebody else in the house; typed in; typed in when the account was made. */
const AMBIGUOUS = 1
const TYPED = 2
const AT_FIRST = 4

/** A goal, not a measurement. */
const GOAL = 2

/** The position of measures of the whole body; others are of a limb. */
const WHOLE_BODY = 7

/** Measurements of scales, blood pressure monitors, thermometers, and spot checks of watches (docs/providers.md). */
export function measures(out: Out, part: Part): void {
  const zone = textAt(part.body, 'body', 'timezone')
  for (const group of out.items('body', 'measuregrps')) {
    const attrib = group.numeric('attrib')
    if (attrib === AMBIGUOUS) out.ignore('of somebody else')
    else if (group.numeric('category') === GOAL) out.ignore('goal')
    else addGroup(out, group, { zone, attrib })
    takeBack(out, group.id('grpid'), attrib)
  }
  const more = valueAt(part.body, 'body', 'more')
  const bounds = more === true || more === 1 ? undefined : boundsOf(part)
  if (!bounds) return
  const temperatures = valueAt(part.args, 'temperatures') === true ? (['body_temperature'] as const) : []
  for (const series of [...alwaysTold, ...temperatures]) out.only({ series, devices: 'all' }, ...bounds)
  // Those of watches are not all measurements.
  out.only({ series: 'heart_rate', devices: 'bp_monitor' }, ...bounds)
}

/** What a device was said to have measured goes when it turns out to be typed in, or of somebody else. */
function takeBack(out: Out, id: string | undefined, attrib: number | undefined): void {
  if (id !== undefined && (attrib === AMBIGUOUS || isTyped(attrib))) out.gone(recordOf(id))
}

const isTyped = (attrib: number | undefined) => attrib === TYPED || attrib === AT_FIRST

function addGroup(out: Out, group: Item, { zone, attrib }: { zone: string | undefined; attrib: number | undefined }) {
  const [seconds, id] = [group.numeric('date'), group.id('grpid')]
  if (seconds === undefined) group.reject('missing', 'date')
  if (id === undefined) group.reject('missing', 'grpid')
  if (seconds === undefined || id === undefined) return
  const ms = seconds * 1000
  const at: At = { ms, zoneMin: zoneOffsetOf(group.text('timezone') ?? zone, ms) }
  const values = valuesOf(group)
  const record = recordOf(id, isTyped(attrib) ? 'typed' : 'measure')
  fromDevice(out, deviceOf(group), attrib === TYPED)
  for (const [series, types, power = 0] of kinds) {
    if (attrib === AT_FIRST && series !== 'height') continue
    const value = types.map((type) => values.get(type)).find((one) => one !== undefined)
    const number = value === undefined ? undefined : decimal(value[0], value[1] + power)
    // Zero is nothing measured.
    if (number === undefined || number <= 0) continue
    // Heart rates of nights have records, too, of which each has many.
    if (series === 'heart_rate') out.sample(series, at, number, record)
    else out.once(series, at, number, record)
  }
}

const recordOf = (id: string, kind: 'measure' | 'typed' = 'measure') => `withings:${kind}:${id}`

/** Values and powers of ten of the measures of a group, by type. */
function valuesOf(group: Item): ReadonlyMap<number, readonly [value: number, unit: number]> {
  const values = new Map<number, readonly [number, number]>()
  for (const measure of group.objects('measures')) {
    const [type, value] = [measure.numeric('type'), measure.numeric('value')]
    if (type === undefined) measure.reject('missing', 'type')
    if (value === undefined) measure.reject('missing', 'value')
    const position = measure.numeric('position') ?? WHOLE_BODY
    if (type !== undefined && value !== undefined && position === WHOLE_BODY)
      values.set(type, [value, measure.numeric('unit') ?? 0])
  }
  return values
}

/** The number that is written with its decimal point so many places further to the right; multiplied, it would be inexact. */
export function decimal(value: number, power: number): number | undefined {
  const number = Number(`${value}e${power}`)
  return Number.isFinite(number) ? number : undefined
}
