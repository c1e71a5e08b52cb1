/**
 * A number as summaries return it: at most nine decimals and twelve digits, so no sum shows the noise of binary fractions
 * (0.30000000000000004). Null stays null.
 */
export function tidied<T extends number | null>(value: T): T {
  // Most are counts, which a conversion to text and back would not change.
  if (value === null || (Number.isInteger(value) && Math.abs(value) < 1e12)) return value
  const twelve = Number(value.toPrecision(12))
  return (Math.abs(twelve) >= 100 ? twelve : Number(twelve.toFixed(9))) as T
}

/**
 * A mean with one decimal, as in all summaries. A mean of 95.65 becomes 95.7 whatever the order of addition: without
 * rounding the noise first, archiving might change the last digit.
 */
export const tenths = (value: number): number => Math.round(tidied(tidied(value) * 10)) / 10

/** A mean as a whole number, by the same rule. */
export const whole = (value: number): number => Math.round(tidied(value))
