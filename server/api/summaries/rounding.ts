/**
 * A number as summaries write it: nine decimals and twelve digits at most, so that no sum shows the noise of binary
 * fractions (0.30000000000000004). Null stays null.
 */
export function tidied<T extends number | null>(value: T): T {
  return (value === null ? null : Number(Number(value.toPrecision(12)).toFixed(9))) as T
}
