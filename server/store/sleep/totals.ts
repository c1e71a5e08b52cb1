import type { SleepStageName } from '../../batch/columns.ts'

/** A stage and its time, epoch ms. */
export interface TimedStage {
  stage: SleepStageName
  startMs: number
  endMs: number
}

/** A stage of a session without overlaps. Epoch ms. */
export type CleanStage = readonly [stage: SleepStageName, startMs: number, endMs: number]

/** Start and end, epoch ms. */
export type Range = readonly [startMs: number, endMs: number]

/** Whole seconds; null = not reported by the source. */
export interface Totals {
  asleepS: number
  inBedS: number
  awakeS: number | null
  lightS: number | null
  deepS: number | null
  remS: number | null
  efficiencyPercent: number | null
}

const detailed = (stage: SleepStageName) => stage === 'light' || stage === 'deep' || stage === 'rem'

/** Whether a stage is sleep, with or without detail. */
export const isSleep = (stage: SleepStageName): boolean => stage === 'sleeping' || detailed(stage)

/**
 * The stages of a session that count, ascending, without overlaps (sdk-types 7.3): light, deep and REM sleep and lying
 * awake; of two that overlap, the one that starts first wins. Sleep without detail counts where none of these covers it.
 * Time in bed counts as sleep only if the source reports no sleep. `stages` ascend by start.
 */
export function cleanStages(stages: readonly TimedStage[]): CleanStage[] {
  const vague: SleepStageName = stages.some(({ stage }) => isSleep(stage)) ? 'sleeping' : 'in_bed'
  const exact = firstCome(stages.filter(({ stage }) => stage === 'awake' || detailed(stage)))
  const rest = firstCome(stages.filter(({ stage }) => stage === vague))
  return filled(
    exact,
    'sleeping',
    rest.map(([, startMs, endMs]) => [startMs, endMs]),
  )
}

/** The stages, each cut to start where the previous ones end; they ascend by start. */
function firstCome(stages: readonly TimedStage[]): CleanStage[] {
  const clean: CleanStage[] = []
  let coveredMs = Number.NEGATIVE_INFINITY
  for (const { stage, startMs, endMs } of stages) {
    if (endMs <= coveredMs) continue
    clean.push([stage, Math.max(startMs, coveredMs), endMs])
    coveredMs = endMs
  }
  return clean
}

/**
 * The stages plus the time in bed that none of them covers; `clean` is the result of cleanStages. For platforms whose
 * in_bed means awake in bed (sdk-types 7.4).
 */
export const withTimeInBed = (clean: readonly CleanStage[], inBed: readonly Range[]): CleanStage[] =>
  filled(clean, 'in_bed', union(inBed))

/** The stages plus a stage for each part of a range that none of them covers; both ascend and do not overlap. */
function filled(clean: readonly CleanStage[], stage: SleepStageName, ranges: readonly Range[]): CleanStage[] {
  const all: CleanStage[] = [...clean]
  let next = 0
  for (const [startMs, endMs] of ranges) {
    let fromMs = startMs
    while (next < clean.length && (clean[next] as CleanStage)[2] <= fromMs) next += 1
    for (let place = next; fromMs < endMs; place += 1) {
      const [, untilMs, coveredMs] = clean[place] ?? [stage, endMs, endMs]
      if (untilMs > fromMs) all.push([stage, fromMs, Math.min(untilMs, endMs)])
      fromMs = Math.max(fromMs, coveredMs)
    }
  }
  return all.sort((a, b) => a[1] - b[1])
}

/** Sums of a session (sdk-types 7.3 E to G): `inBed` has the ranges that count as time in bed besides the stages. */
export function totalsOf(clean: readonly CleanStage[], inBed: readonly Range[]): Totals {
  const ms = { in_bed: 0, awake: 0, sleeping: 0, light: 0, deep: 0, rem: 0 }
  for (const [stage, startMs, endMs] of clean) ms[stage] += endMs - startMs
  const asleepMs = ms.sleeping + ms.light + ms.deep + ms.rem
  const rangesMs = union(inBed).reduce((sum, [startMs, endMs]) => sum + endMs - startMs, 0)
  const inBedMs = Math.max(rangesMs, asleepMs + ms.awake)
  const inDetail = clean.some(([stage]) => detailed(stage))
  const known = (stage: SleepStageName) => (inDetail ? seconds(ms[stage]) : null)
  return {
    asleepS: seconds(asleepMs),
    inBedS: seconds(inBedMs),
    awakeS: inDetail || ms.awake > 0 ? seconds(ms.awake) : null,
    lightS: known('light'),
    deepS: known('deep'),
    remS: known('rem'),
    efficiencyPercent: inBedMs > 0 ? Math.round((asleepMs / inBedMs) * 10_000) / 100 : null,
  }
}

const seconds = (ms: number) => Math.floor(ms / 1000)

/** The ranges ascending, with overlapping and touching ones joined. */
export function union(ranges: readonly Range[]): Range[] {
  const joined: [startMs: number, endMs: number][] = []
  for (const [startMs, endMs] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1)
    if (last && startMs <= last[1]) last[1] = Math.max(last[1], endMs)
    else joined.push([startMs, endMs])
  }
  return joined
}

/** Position of the first range that ends after `ms`; `ranges` ascend and do not overlap. */
export function firstEndingAfter(ranges: readonly Range[], ms: number): number {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ranges[middle] as Range)[1] > ms) high = middle
    else low = middle + 1
  }
  return low
}
