import { between, normal, random, round } from '../simulator/random.ts'
import { localMs, MINUTE_MS } from '../simulator/zones.ts'
import { cycleOf, fitness, illness, runOf, shiftOf, startOf } from './calendar.ts'
import { weekday } from './clock.ts'
import { type Sample, spanOf } from './heart.ts'
import type { Sleep, StageName } from './nights.ts'
import { named, type Person } from './people.ts'
import { contains } from './plans.ts'
import { drift, within } from './random.ts'

/** Variability follows the night: higher in deep sleep, lower in REM sleep and awake. */
const BY_STAGE: Record<StageName, number> = { deep: 1.12, light: 1, rem: 0.9, awake: 0.82 }

/** What a night of a person's variability is, in ms: lower after a hard day, ill, and in the second half of a cycle. */
export function variabilityOf(person: Person, day: number): number {
  const load = (runOf(person, day - 1)?.km ?? 0) / 42.2
  const worked = shiftOf(person, day - 1) === 'night' ? 0.1 : 0
  const cycle = cycleOf(person, day)
  const luteal = cycle && cycle.of > cycle.length - 14 ? 0.1 : 0
  const gained = person.key === 'ada' ? fitness(person, day) * 0.18 : 0
  const change = drift(named(person, 'variability'), day, 0.5) * 0.09 - load * 0.4 - worked - luteal + gained
  return person.variabilityMs * Math.exp(change - illness(person, day) * 0.45)
}

/** Minutes between two measurements of a night. */
const EVERY = { apple: 75, samsung: 60, health_connect: 12 } as const
const OXYGEN_MINUTES = 45

/** Variability in the intervals of a night. */
export function variabilityIn(person: Person, day: number, sleep: Sleep): Sample[] {
  const next = random(named(person, `variability/${day}`))
  const level = variabilityOf(person, day)
  return measuredIn(sleep, EVERY[person.provider], (ms) => {
    const stage = sleep.stages.find((one) => contains(one, ms))?.stage ?? 'light'
    return round(within(8, level * BY_STAGE[stage] * Math.exp(normal(next) * 0.13), 190), 1)
  })
}

/** Oxygen saturation of a night, in percent. */
export function oxygenIn(person: Person, day: number, sleep: Sleep): Sample[] {
  const next = random(named(person, `oxygen/${day}`))
  const level = (person.key === 'ben' ? 95.4 : 96.8) - illness(person, day) * 0.9
  return measuredIn(sleep, OXYGEN_MINUTES, () => round(within(90, level + normal(next) * 0.8, 100)))
}

/** Breaths a minute of a night. */
export function breathsIn(person: Person, day: number, sleep: Sleep): Sample[] {
  const next = random(named(person, `breaths/${day}`))
  const level = person.breaths + drift(named(person, 'breath'), day, 0.6) * 0.35 + illness(person, day) * 2.2
  return measuredIn(sleep, OXYGEN_MINUTES, () => round(within(9, level + normal(next) * 0.7, 24), 1))
}

function measuredIn({ stages }: Sleep, everyMinutes: number, valueAt: (ms: number) => number): Sample[] {
  const { startMs, endMs } = spanOf(stages)
  const samples: Sample[] = []
  for (let ms = startMs + 10 * MINUTE_MS; ms < endMs; ms += everyMinutes * MINUTE_MS) {
    samples.push({ ms, value: valueAt(ms) })
  }
  return samples
}

/** What a thermometer says on waking, in °C: three tenths more after ovulation. */
export function wakingTemperature(person: Person, day: number): number {
  const next = random(named(person, `temperature/${day}`))
  const cycle = cycleOf(person, day)
  const luteal = cycle && cycle.of > cycle.length - 14 ? 0.32 : 0
  return round(36.38 + luteal + normal(next) * 0.07, 2)
}

/** What a watch measures at the wrist at night, in °C. */
export function wristTemperature(person: Person, day: number): number {
  return round(35.1 + drift(named(person, 'wrist'), day, 0.4) * 0.18 + illness(person, day) * 0.9, 2)
}

/** Oxygen that a runner can take up, in mL/kg/min. */
export function oxygenUptake(person: Person, day: number): number {
  return round(46.5 + fitness(person, day) * 5 + drift(named(person, 'uptake'), day, 0.8) * 0.4, 1)
}

/** Weight in kg: it wanders through the year, and from day to day. */
export function weightOf(person: Person, day: number): number {
  const season = Math.cos(((day % 365) / 365) * 2 * Math.PI) * 0.9
  const trained = person.key === 'ada' ? -fitness(person, day) * 1.2 : 0
  return round(person.weightKg + season + trained + drift(named(person, 'weight'), day, 0.7) * 0.4, 1)
}

/** Share of fat in percent, which follows the weight. */
export function fatOf(person: Person, day: number): number {
  const next = random(named(person, `fat/${day}`))
  return round(27.5 + (weightOf(person, day) - person.weightKg) * 0.7 + normal(next) * 0.35, 1)
}

/** Whether a person steps on the scale on a date: Cleo on five mornings a week, the others on Mondays. */
export function weighs(person: Person, day: number): boolean {
  return person.key === 'cleo' ? random(named(person, `scale/${day}`))() < 0.72 : weekday(day) === 1
}

/** A reading of a cuff. */
export interface Pressure {
  readonly ms: number
  readonly systolic: number
  readonly diastolic: number
}

/** Cleo's blood pressure on three days a week, in the morning and in the evening. */
export function pressuresOf(person: Person, day: number): Pressure[] {
  if (person.key !== 'cleo' || ![1, 3, 5].includes(weekday(day))) return []
  const next = random(named(person, `pressure/${day}`))
  const { zone } = startOf(person, day)
  return [7.4, 21.2].map((hour, at) => {
    const ms = localMs(zone, day, Math.round(hour * 60 + normal(next) * 12))
    const level = drift(named(person, 'pressure'), day, 0.7) * 3 + normal(next) * 3 - at * 3
    return { ms, systolic: round(119 + level), diastolic: round(76 + level * 0.6 + normal(next) * 1.5) }
  })
}

/** A meal with its nutrients, in grams and kcal. */
export interface Meal {
  readonly ms: number
  readonly title: string
  readonly kind: string
  readonly kcal: number
  readonly protein: number
  readonly carbohydrates: number
  readonly fat: number
}

const MEALS = [
  { kind: 'breakfast', hour: 7.6, kcal: 390, titles: ['Porridge with berries', 'Yoghurt and muesli', 'Eggs on toast'] },
  {
    kind: 'lunch',
    hour: 13.1,
    kcal: 620,
    titles: ['Lentil salad', 'Vegetable curry', 'Grilled sardines', 'Soup and bread'],
  },
  {
    kind: 'dinner',
    hour: 20.1,
    kcal: 680,
    titles: ['Pasta with tomatoes', 'Rice and beans', 'Salmon with potatoes', 'Omelette'],
  },
]

/** What Cleo enters of her meals: nearly always breakfast, not always dinner. */
export function mealsOf(person: Person, day: number): Meal[] {
  if (person.key !== 'cleo') return []
  const next = random(named(person, `meals/${day}`))
  const { zone } = startOf(person, day)
  return MEALS.flatMap(({ kind, hour, kcal: usual, titles }) => {
    const title = titles[Math.floor(next() * titles.length)] ?? ''
    const kcal = usual * between(next, 0.8, 1.25)
    const protein = (kcal * between(next, 0.15, 0.24)) / 4
    const fat = (kcal * between(next, 0.27, 0.36)) / 9
    const carbohydrates = (kcal - protein * 4 - fat * 9) / 4
    const ms = localMs(zone, day, Math.round(hour * 60 + normal(next) * 18))
    const grams = { protein: round(protein, 1), carbohydrates: round(carbohydrates, 1), fat: round(fat, 1) }
    return next() < 0.12 ? [] : [{ ms, title, kind, kcal: round(kcal), ...grams }]
  })
}
