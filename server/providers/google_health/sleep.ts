import type { SleepStageName } from '../../batch/columns.ts'
import type { Item, NightPart, Out } from '../part.ts'
import { type Level, stagesApart } from '../stages.ts'
import { offsetMinutes, startOf } from './times.ts'

/** Google's stages that we have; what is restless, or not specified, is unknown. */
const stages: ReadonlyMap<string, SleepStageName> = new Map([
  ['AWAKE', 'awake'],
  ['LIGHT', 'light'],
  ['DEEP', 'deep'],
  ['REM', 'rem'],
  ['ASLEEP', 'sleeping'],
])

/** Adds a night or a nap (docs/providers.md). Returns its start; undefined: it is not ready, or cannot be read. */
export function sleep(out: Out, value: Item, name: string | undefined): number | undefined {
  // Google sends it again when it is.
  if (value.boolean('metadata', 'processed') === false) return undefined
  const start = startOf(value)
  const end = value.instant('interval', 'endTime')
  const externalId = name ?? value.id('metadata', 'externalId')
  if (!end) value.reject('missing', 'interval', 'endTime')
  if (!externalId) value.reject('missing', 'metadata', 'externalId')
  if (!start || !end || !externalId) return undefined
  const zoneMin = start.zoneMin ?? offsetMinutes(value.text('interval', 'endUtcOffset'))
  const isStored = out.night({
    ...{ externalId, start: { ms: start.ms, zoneMin }, endMs: end.ms },
    version: value.instant('updateTime')?.ms,
    isNap: value.boolean('metadata', 'nap') ?? false,
    ...totalsOf(value),
    stages: stagesOf(value, start.ms, end.ms),
  })
  return isStored ? start.ms : undefined
}

function totalsOf(value: Item) {
  const minutes = (...path: readonly string[]) => value.numeric('summary', ...path)
  const byStage = new Map(
    value.objects('summary', 'stagesSummary').map((one) => [one.text('type'), one.numeric('minutes')] as const),
  )
  const seconds = (number: number | undefined) => (number === undefined ? undefined : number * 60)
  const [inBed, asleep] = [minutes('minutesInSleepPeriod'), minutes('minutesAsleep')]
  const share = inBed !== undefined && inBed > 0 && asleep !== undefined ? Math.round((asleep / inBed) * 1000) / 10 : 0
  return {
    inBedSeconds: seconds(inBed),
    asleepSeconds: seconds(asleep),
    awakeSeconds: seconds(byStage.get('AWAKE') ?? minutes('minutesAwake')),
    lightSeconds: seconds(byStage.get('LIGHT')),
    deepSeconds: seconds(byStage.get('DEEP')),
    remSeconds: seconds(byStage.get('REM')),
    efficiencyPercent: share > 0 ? Math.min(100, share) : undefined,
  }
}

/** The stages; undefined: Google has none. */
function stagesOf(value: Item, startMs: number, endMs: number): NightPart['stages'] {
  const told = value.objects('stages').flatMap((one): Level[] => {
    const [from, until] = [one.instant('startTime'), one.instant('endTime')]
    if (!from) one.reject('missing', 'startTime')
    if (!until) one.reject('missing', 'endTime')
    return from && until ? [[stages.get(one.text('type') ?? ''), from.ms, until.ms]] : []
  })
  return told.length > 0 ? stagesApart(told, startMs, endMs) : undefined
}
