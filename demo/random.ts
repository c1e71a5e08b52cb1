import { normal, type Random, random } from '../simulator/random.ts'

/** A number moved into [low, high]. */
export function within(low: number, value: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}

/** Days that still count in `drift`; older ones would change it by less than a hundredth. */
const MEMORY_DAYS = 12

/**
 * A value that drifts from day to day (AR(1), mean 0, deviation 1, `keep` of it stays until the next day). It needs no
 * earlier state: a date alone determines it, so that a year can be made in any order.
 */
export function drift(name: string, day: number, keep: number): number {
  let value = 0
  for (let age = MEMORY_DAYS; age >= 0; age--) value = value * keep + normal(random(`${name}/${day - age}`))
  return value * Math.sqrt(1 - keep * keep)
}

/** Makes ids in the form of a UUID (version 4). */
export function uuids(next: Random): () => string {
  const word = () =>
    Math.floor(next() * 4_294_967_296)
      .toString(16)
      .padStart(8, '0')
  return () => {
    const [a, b, c, d] = [word(), word(), word(), word()]
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(1, 4)}-${c.slice(4)}${d}`
  }
}
