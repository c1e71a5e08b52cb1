import { createHash } from 'node:crypto'

/** Answers the next number in [0, 1): the same sequence on every machine for the same name. */
export type Random = () => number

/** A generator that is seeded by a name, such as `7/ana/night/20520` (FNV-1a, then mulberry32). */
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

/** A whole number from low to high, both possible. */
export function whole(next: Random, low: number, high: number): number {
  return low + Math.floor(next() * (high - low + 1))
}

/** About the normal distribution with mean 0 and deviation 1, never beyond ±3.5. */
export function normal(next: Random): number {
  return (next() + next() + next() + next() - 2) * Math.sqrt(3)
}

/** One of them. */
export function pick<T>(next: Random, choices: readonly T[]): T {
  return choices[Math.floor(next() * choices.length)] as T
}

/** A number rounded to so many decimals. */
export function round(value: number, decimals = 0): number {
  const factor = 10 ** decimals
  return Math.round(value * factor) / factor
}

/** A UUID that a name always has (version 4 in form). */
export function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** A number below 2^31 that a name always has. */
export function numberOf(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) >>> 1
}

/** A secret that a name always has; only for what has to be the same in two processes. */
export function secretOf(name: string): string {
  return createHash('sha256').update(`pulsebase simulator ${name}`).digest('hex').slice(0, 40)
}

/** The same in another order. */
export function shuffled<T>(list: readonly T[], next: Random): T[] {
  const result = [...list]
  for (let i = result.length - 1; i > 0; i--) {
    const other = Math.floor(next() * (i + 1))
    const [a, b] = [result[i] as T, result[other] as T]
    result[i] = b
    result[other] = a
  }
  return result
}
