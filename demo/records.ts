import { random, round } from '../simulator/random.ts'
import { DAY_MS, dateOf, HOUR_MS, localMs, MINUTE_MS, offsetText } from '../simulator/zones.ts'
import { cycleOf, lateDays, offsetOf, startOf } from './calendar.ts'
import { utcText } from './clock.ts'
import type { Day } from './days.ts'
import { type Device, nameOf, type Quantity, sourceOf } from './devices.ts'
import { named, type Person } from './people.ts'
import type { Span } from './plans.ts'
import { uuids } from './random.ts'
import {
  fatOf,
  mealsOf,
  oxygenUptake,
  pressuresOf,
  wakingTemperature,
  weighs,
  weightOf,
  wristTemperature,
} from './vitals.ts'

/** An item of an upload. */
export interface Item {
  readonly list: 'records' | 'sleep' | 'workouts'
  /** When the phone can send it. */
  readonly readyMs: number
  readonly item: Readonly<Record<string, unknown>>
}

/** Makes the items of one day. */
export interface Maker {
  readonly person: Person
  readonly items: Item[]
  readonly newId: () => string
  /** How much later than usual the day arrives. */
  readonly lateMs: number
}

/** When something was, and how long after its end a phone has it. */
export interface When extends Span {
  readonly scoredMs?: number
}

/** Adds an item of a list. */
export function add(maker: Maker, list: Item['list'], when: When, fields: Record<string, unknown>): void {
  const { startMs, endMs, scoredMs = 0 } = when
  const zoneOffset = offsetText(offsetOf(maker.person, startMs))
  const item = { startDate: utcText(startMs), endDate: utcText(endMs), zoneOffset, ...fields }
  maker.items.push({ list, readyMs: endMs + scoredMs + maker.lateMs, item })
}

interface Measured {
  readonly quantity: Quantity
  readonly value: number
  readonly device?: Device
  readonly id?: string
  readonly parentId?: string
}

function measure(maker: Maker, span: Span, { quantity, value, device = 'watch', ...ids }: Measured): void {
  const name = nameOf(maker.person, quantity)
  if (!name) return
  const [type, unit] = name
  const { id = maker.newId(), ...parent } = ids
  add(maker, 'records', span, { id, ...parent, type, value, unit, source: sourceOf(maker.person, device) })
}

const at = (ms: number): Span => ({ startMs: ms, endMs: ms })

/** The records of a day: what the person's platform would send of it. */
export function addRecords(maker: Maker, day: Day): void {
  addHeart(maker, day)
  for (const quantity of ['variability', 'oxygen', 'breaths'] as const)
    for (const { ms, value } of day[quantity]) measure(maker, at(ms), { quantity, value })
  for (const quarter of day.quarters) {
    for (const quantity of ['steps', 'meters', 'kcal', 'floors', 'activeMinutes'] as const)
      if (quarter[quantity] > 0) measure(maker, quarter, { quantity, value: quarter[quantity] })
  }
  for (const quarter of day.phoneQuarters) {
    measure(maker, quarter, { quantity: 'steps', value: quarter.steps, device: 'phone' })
    measure(maker, quarter, { quantity: 'meters', value: quarter.meters, device: 'phone' })
  }
  addBasal(maker, day)
  addBody(maker, day)
  addMeals(maker, day)
  addCycle(maker, day)
}

/** Android sends the heart rates of an hour as one record of many samples. */
function addHeart(maker: Maker, day: Day): void {
  const isApple = maker.person.provider === 'apple'
  let hour = -1
  let parentId = ''
  let index = 0
  for (const { ms, value } of day.heart) {
    if (isApple) {
      measure(maker, at(ms), { quantity: 'heart', value })
      continue
    }
    if (Math.floor(ms / HOUR_MS) !== hour) {
      hour = Math.floor(ms / HOUR_MS)
      parentId = maker.newId()
      index = 0
    }
    measure(maker, at(ms), { quantity: 'heart', value, id: `${parentId}-s${index++}`, parentId })
  }
}

/** Energy at rest: Apple's every two hours while the watch is worn, Android's as a rate, once a day. */
function addBasal(maker: Maker, day: Day): void {
  const { person } = maker
  if (day.restingBpm === null) return
  if (person.provider !== 'apple') {
    measure(maker, at(day.startMs + 9 * HOUR_MS), { quantity: 'basal', value: person.basalKcal })
    return
  }
  for (let startMs = day.startMs; startMs < day.endMs; startMs += 2 * HOUR_MS) {
    const endMs = Math.min(startMs + 2 * HOUR_MS, day.endMs)
    const value = round((person.basalKcal * (endMs - startMs)) / DAY_MS, 1)
    measure(maker, { startMs, endMs }, { quantity: 'basal', value })
  }
}

function addBody(maker: Maker, day: Day): void {
  const { person } = maker
  const date = day.day
  const { zone } = startOf(person, date)
  const main = day.sleeps.find(({ isNap }) => !isNap)
  const up = main?.inBed.endMs ?? localMs(zone, date, 8 * 60)
  const measured = (ms: number, quantity: Quantity, value: number, device: Device = 'watch') =>
    measure(maker, at(ms), { quantity, value, device })
  if (day.restingBpm !== null) measured(localMs(zone, date, 16 * 60), 'resting', day.restingBpm)
  if (main && person.provider === 'apple') measured(main.inBed.endMs, 'wrist', wristTemperature(person, date))
  for (const { sport, endMs, laps } of day.workouts)
    if (sport === 'running' && laps.length > 3) measured(endMs, 'uptake', oxygenUptake(person, date))
  if (weighs(person, date)) {
    measured(up + 10 * MINUTE_MS, 'weight', weightOf(person, date), 'scale')
    if (person.key === 'cleo') measured(up + 10 * MINUTE_MS, 'fat', fatOf(person, date), 'scale')
  }
  if (person.key !== 'cleo') return
  if (main) measured(up + 2 * MINUTE_MS, 'temperature', wakingTemperature(person, date), 'thermometer')
  for (const { ms, systolic, diastolic } of pressuresOf(person, date)) {
    const id = maker.newId()
    const both = { systolic: { value: systolic, id: `${id}-sys` }, diastolic: { value: diastolic, id: `${id}-dia` } }
    for (const quantity of ['systolic', 'diastolic'] as const)
      measure(maker, at(ms), { quantity, device: 'cuff', parentId: id, ...both[quantity] })
  }
}

const NUTRIENTS = [
  ['ENERGY', 'kcal', 'energy', 'kcal'],
  ['PROTEIN', 'protein', 'protein', 'g'],
  ['CARBOHYDRATE', 'carbohydrates', 'carbohydrates', 'g'],
  ['TOTAL_FAT', 'fat', 'fat', 'g'],
] as const

function addMeals(maker: Maker, { day }: Day): void {
  const source = sourceOf(maker.person, 'diary')
  for (const meal of mealsOf(maker.person, day)) {
    const id = maker.newId()
    const span = { startMs: meal.ms, endMs: meal.ms + 20 * MINUTE_MS }
    const metadata = { title: meal.title, mealType: meal.kind }
    add(maker, 'records', span, { id, type: 'FOOD', value: 1, unit: 'count', source, metadata })
    for (const [name, field, tail, unit] of NUTRIENTS) {
      const fields = { id: `${id}-${tail}`, parentId: id, type: `DIETARY_${name}`, value: meal[field], unit, source }
      add(maker, 'records', span, fields)
    }
  }
}

/** Flow of the days of a period: light, heavy, heavy, medium, light. */
const FLOW = [1, 3, 3, 2, 1]

function addCycle(maker: Maker, { day, startMs }: Day): void {
  const cycle = cycleOf(maker.person, day)
  if (!cycle) return
  const span = at(startMs + 8 * HOUR_MS)
  const source = sourceOf(maker.person, 'diary')
  const observed = (type: string, value: number) =>
    add(maker, 'records', span, { id: maker.newId(), type, value, unit: null, source })
  const flow = FLOW[cycle.of]
  if (flow !== undefined) observed('MENSTRUATION_FLOW', flow)
  const ovulation = cycle.length - 14
  if (cycle.of >= ovulation - 3 && cycle.of < ovulation) observed('OVULATION_TEST', 3)
  if (cycle.of === ovulation) observed('OVULATION_TEST', 1)
}

/** Prepares the items of a date. */
export function makerOf(person: Person, day: number): Maker {
  const newId = uuids(random(named(person, `ids/${dateOf(day)}`)))
  return { person, items: [], newId, lateMs: lateDays(person, day) * DAY_MS }
}
