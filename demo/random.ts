/** Returns the next number in [0, 1): the same sequence on every machine for the same name. */
export type Random = () => number

/** A generator that is seeded by a name, such as `1/ada/night/20520` (FNV-1a, then mulberry32). */
export function random(name: string): Random {
  let state = 0x811c9dc5
  for (let i = 0; i < name.length; i++) state = Math.imul(state ^ name.charCodeAt(i), 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A number in [low, high). */
export function between(next: Random, low: number, high: number): number {
  return low + next() * (high - low)
}

/** About the normal distribution with mean 0 and deviation 1, never beyond ±3.5. */
export function normal(next: Random): number {
  return (next() + next() + next() + next() - 2) * Math.sqrt(3)
}

/** A number rounded to so many decimals. */
export function round(value: number, decimals = 0): number {
  const factor = 10 ** decimals
  return Math.round(value * factor) / factor
}

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
