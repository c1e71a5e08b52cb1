import { between, pick, random, round, whole } from '../random.ts'
import { localMs, MINUTE_MS } from '../zones.ts'
import type { Person } from './person.ts'
import { knownMs } from './personas.ts'

/** What somebody ate and entered into an app. */
export interface Meal {
  readonly key: string
  readonly atMs: number
  readonly knownMs: number
  readonly type: 'breakfast' | 'lunch' | 'dinner' | 'snack'
  readonly name: string
  readonly kcal: number
  /** Grams. */
  readonly protein: number
  readonly carbohydrates: number
  readonly fat: number
  readonly fiber: number
  readonly sugar: number
}

/** Something that somebody drank and entered into an app. */
export interface Drink {
  readonly key: string
  readonly atMs: number
  readonly knownMs: number
  readonly millilitres: number
}

const HOURS = { breakfast: 7, lunch: 12, snack: 16, dinner: 19 } as const
const NAMES = {
  breakfast: ['Oatmeal', 'Rye bread with cheese', 'Yoghurt & berries'],
  lunch: ['Lentil soup', 'Rice with vegetables', 'Chicken salad'],
  snack: ['Apple', 'Nuts', 'Crème brûlée'],
  dinner: ['Pasta', 'Salmon with potatoes', 'Dal bhat'],
} as const

/** Who enters what they eat and drink: every second person. */
function logs({ seed }: Person): boolean {
  return random(`${seed}/meals`)() < 0.5
}

/** The meals of a local day, by time. */
export function mealsOf(person: Person, day: number): Meal[] {
  if (!logs(person)) return []
  const next = random(`${person.seed}/meals/${day}`)
  const { zone } = person.day(day)
  const types = ['breakfast', 'lunch', 'snack', 'dinner'] as const
  return types.flatMap((type): Meal[] => {
    const atMs = localMs(zone, day, HOURS[type] * 60) + whole(next, 0, 59) * MINUTE_MS
    const [protein, carbohydrates, fat] = [grams(next, 4, 34), grams(next, 15, 90), grams(next, 3, 32)]
    const [fiber, sugar] = [grams(next, 1, 9), round(carbohydrates * between(next, 0.05, 0.4), 1)]
    const kcal = round(4 * protein + 4 * carbohydrates + 9 * fat, 1)
    const name = pick(next, NAMES[type])
    const forgotten = next() < (type === 'snack' ? 0.6 : 0.15)
    const key = `${type}/${day}`
    const one = { key, atMs, knownMs: knownMs(person, atMs + 20 * MINUTE_MS), type, name, kcal }
    return forgotten ? [] : [{ ...one, protein, carbohydrates, fat, fiber, sugar }]
  })
}

function grams(next: () => number, low: number, high: number): number {
  return round(between(next, low, high), 1)
}

/** The drinks of a local day, by time. */
export function drinksOf(person: Person, day: number): Drink[] {
  if (!logs(person)) return []
  const next = random(`${person.seed}/drinks/${day}`)
  const { zone } = person.day(day)
  return [9, 13, 18].map((hour) => {
    const atMs = localMs(zone, day, hour * 60) + whole(next, 0, 119) * MINUTE_MS
    const millilitres = pick(next, [200, 250, 330, 500])
    return { key: `drink/${hour}/${day}`, atMs, knownMs: knownMs(person, atMs + MINUTE_MS), millilitres }
  })
}
