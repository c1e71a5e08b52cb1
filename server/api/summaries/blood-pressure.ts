/** Longest time between the two values of one measurement (contract 12.5, decision D-28). */
const PAIR_MS = 5000

/** One of the two values of a measurement; epoch ms, mmHg. */
export interface PressureReading {
  sourceId: number
  ms: number
  value: number
}

/** Aggregates of the measurements of some hours, whole mmHg; `measuredMs` is the newest of them, epoch ms. */
export interface Pressure {
  avg_systolic_mmhg: number
  avg_diastolic_mmhg: number
  max_systolic_mmhg: number
  max_diastolic_mmhg: number
  min_systolic_mmhg: number
  min_diastolic_mmhg: number
  reading_count: number
  measuredMs: number
}

/**
 * Pairs the values of a source that are at most 5 s apart, the closest first, each with one other, and aggregates the
 * pairs (contract 12.5, decision D-28); null when there is none.
 */
export function pressureOf(
  systolic: readonly PressureReading[],
  diastolic: readonly PressureReading[],
): Pressure | null {
  const byTime = (a: PressureReading, b: PressureReading) => a.sourceId - b.sourceId || a.ms - b.ms
  const lower = diastolic.toSorted(byTime)
  const candidates: { high: PressureReading; low: PressureReading; apartMs: number }[] = []
  let from = 0
  for (const high of systolic.toSorted(byTime)) {
    const before = (low: PressureReading) =>
      low.sourceId < high.sourceId || (low.sourceId === high.sourceId && low.ms < high.ms - PAIR_MS)
    while (from < lower.length && before(lower[from] as PressureReading)) from += 1
    for (let place = from; place < lower.length; place += 1) {
      const low = lower[place] as PressureReading
      if (low.sourceId !== high.sourceId || low.ms > high.ms + PAIR_MS) break
      candidates.push({ high, low, apartMs: Math.abs(high.ms - low.ms) })
    }
  }
  const taken = new Set<PressureReading>()
  const pairs = candidates
    .sort((a, b) => a.apartMs - b.apartMs)
    .filter(({ high, low }) => {
      if (taken.has(high) || taken.has(low)) return false
      taken.add(high).add(low)
      return true
    })
  return pairs.length > 0 ? summedUp(pairs) : null
}

function summedUp(pairs: readonly { high: PressureReading; low: PressureReading }[]): Pressure {
  const highs = pairs.map(({ high }) => high.value)
  const lows = pairs.map(({ low }) => low.value)
  const mean = (values: number[]) => Math.round(values.reduce((sum, value) => sum + value, 0) / values.length)
  return {
    avg_systolic_mmhg: mean(highs),
    avg_diastolic_mmhg: mean(lows),
    max_systolic_mmhg: Math.round(Math.max(...highs)),
    max_diastolic_mmhg: Math.round(Math.max(...lows)),
    min_systolic_mmhg: Math.round(Math.min(...highs)),
    min_diastolic_mmhg: Math.round(Math.min(...lows)),
    reading_count: pairs.length,
    measuredMs: Math.max(...pairs.flatMap(({ high, low }) => [high.ms, low.ms])),
  }
}
