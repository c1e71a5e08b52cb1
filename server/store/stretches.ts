import type { SampleColumns } from '../batch/columns.ts'

/** Part of a column set, from a place of it on. */
export interface Stretch {
  readonly whole: SampleColumns
  readonly from: number
  readonly columns: SampleColumns
}

const HOUR_MS = 3_600_000

/** Looking up whether anything is stored within a stretch costs as much as merging so many samples. */
const FEWEST = 16

/**
 * The stretches of a column set between which nothing was measured for an hour: what is stored in one of them says nothing
 * about the others. All of it is one stretch if they would be short, or if it has records, which are not taken apart.
 */
export function stretchesOf(whole: SampleColumns): Stretch[] {
  const { timeMs, origins } = whole
  const starts = [0]
  for (let at = 1; at < timeMs.length; at += 1)
    if ((timeMs[at] as number) - (timeMs[at - 1] as number) > HOUR_MS) starts.push(at)
  if (starts.length === 1 || origins !== null || starts.length * FEWEST > timeMs.length)
    return [{ whole, from: 0, columns: whole }]
  return starts.map((from, place) => ({ whole, from, columns: between(whole, from, starts[place + 1]) }))
}

function between(whole: SampleColumns, from: number, until: number | undefined): SampleColumns {
  const { timeMs, value, zoneMin, zoneTaken, lastsS } = whole
  return {
    ...whole,
    timeMs: timeMs.subarray(from, until),
    value: value.subarray(from, until),
    zoneMin: zoneMin.subarray(from, until),
    zoneTaken: zoneTaken?.subarray(from, until) ?? null,
    lastsS: lastsS?.subarray(from, until) ?? null,
  }
}
