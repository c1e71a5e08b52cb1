/** Smallest and largest recovery score of the providers whose scale is not 0 to 100 (contract 14.1). */
const ranges: ReadonlyMap<string, readonly [min: number, max: number]> = new Map([['polar', [1, 6]]])

/** A provider's recovery score as a whole number from 0 to 100 (contract 12.6). */
export function recoveryPercent(provider: string, score: number): number {
  const [min, max] = ranges.get(provider) ?? [0, 100]
  return Math.min(100, Math.max(0, Math.round(((score - min) / (max - min)) * 100)))
}
