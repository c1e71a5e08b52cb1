import type { SleepStageName } from '../../batch/columns.ts'
import { joinedStages } from '../joined-stages.ts'
import type { Item, Out } from '../part.ts'
import type { Level } from '../stages.ts'
import type { Day } from './day.ts'

/** Their names of stages; any other one is unknown, and a gap. */
const stages: ReadonlyMap<string | undefined, SleepStageName> = new Map([
  ['deep_sleep', 'deep'],
  ['light_sleep', 'light'],
  ['rem_sleep', 'rem'],
  ['awake', 'awake'],
])

/** Nights: the longest of a day is `sleep-<date>`, whatever else comes later; others are named after their start. */
export function sleep(out: Out, day: Day): void {
  const nights = (day.entries.get('sleep') ?? []).flatMap((item) => {
    const [start, end] = [item.numeric('bedtime_start'), item.numeric('bedtime_end')]
    return start === undefined || end === undefined ? [] : [{ item, startMs: start * 1000, endMs: end * 1000 }]
  })
  const byLength = nights.sort((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs) || a.startMs - b.startMs)
  for (const [place, { item, startMs, endMs }] of byLength.entries()) {
    const externalId = `sleep-${place === 0 ? day.date : startMs / 1000}`
    out.night({
      ...{ externalId, start: { ms: startMs, zoneMin: day.zoneMin(startMs) }, endMs, isNap: false },
      ...totalsOf(item),
      stages: stagesOf(item, startMs, endMs),
    })
  }
}

function totalsOf(item: Item) {
  const inStages = new Map(
    item.objects('sleep_stages').flatMap((one) => {
      const [stage, seconds] = [stages.get(one.text('type')), one.numeric('stage_time')]
      return stage === undefined || seconds === undefined ? [] : [[stage, seconds] as const]
    }),
  )
  const of = (stage: SleepStageName) => inStages.get(stage) ?? lengthOf(item, `${stage}_sleep`)
  const [deep, light, rem, awake] = [of('deep'), of('light'), of('rem'), inStages.get('awake')]
  const quick = new Map(item.objects('quick_metrics').map((one) => [one.text('type'), one.numeric('value')]))
  const inBed = quick.get('time_in_bed') ?? lengthOf(item, 'time_in_bed')
  const known = [deep, light, rem].filter((one) => one !== undefined)
  const staged = known.length > 0 ? known.reduce((sum, one) => sum + one, 0) : undefined
  const rest = inBed === undefined || awake === undefined ? undefined : Math.max(0, inBed - awake)
  return {
    asleepSeconds: staged ?? lengthOf(item, 'total_sleep') ?? rest,
    inBedSeconds: inBed,
    awakeSeconds: awake,
    lightSeconds: light,
    deepSeconds: deep,
    remSeconds: rem,
    efficiencyPercent: quick.get('sleep_efic') ?? item.numeric('sleep_efficiency', 'percentage'),
  }
}

/** In seconds, or in minutes. */
function lengthOf(item: Item, field: string): number | undefined {
  const minutes = item.numeric(field, 'minutes')
  return item.numeric(field, 'seconds') ?? (minutes === undefined ? undefined : minutes * 60)
}

function stagesOf(item: Item, nightMs: number, wokeMs: number) {
  const pieces = (item.object('sleep_graph')?.objects('data') ?? []).flatMap((piece): Level[] => {
    const [start, end] = [piece.numeric('start'), piece.numeric('end')]
    if (start === undefined || end === undefined) return []
    return [[stages.get(piece.text('type')), start * 1000, end * 1000]]
  })
  return joinedStages(pieces, nightMs, wokeMs)
}
