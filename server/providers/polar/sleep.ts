import type { SleepStageName } from '../../batch/columns.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { DAY_MS } from '../../time.ts'
import { listedBetween } from '../listed.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { type Dated, dateOf, itemsOf } from './items.ts'
import { inNight, type Nights, nightOf, nightsIn } from './nights.ts'

/** What a code of the hypnogram stands for; any other one is unknown. 6: a short interruption. */
const stages: Readonly<Record<number, SleepStageName>> = {
  0: 'awake',
  1: 'rem',
  2: 'light',
  3: 'light',
  4: 'deep',
  6: 'awake',
}

const nightId = (date: string) => `polar:sleep:${date}`

/** Nights with stages, heart rate and a score (docs/providers.md). */
export function sleep(out: Out, part: Part): void {
  const starts: number[] = []
  for (const item of itemsOf(out, part, 'nights')) {
    const day = dateOf(item, 'date')
    const start = item.instant('sleep_start_time')
    const end = item.instant('sleep_end_time')
    if (!start) item.reject('missing', 'sleep_start_time')
    if (!end) item.reject('missing', 'sleep_end_time')
    if (!day || !start || !end) continue
    const externalId = nightId(day.date)
    const span: Nights[string] = [start.ms, end.ms, start.zoneMin]
    if (!night(out, item, { externalId, start, endMs: end.ms }, span)) continue
    starts.push(start.ms)
    for (const [at, value] of byTime(item.object('heart_rate_samples'), span))
      out.sample('heart_rate', at, value || undefined, externalId)
    score(out, item, externalId, start)
  }
  if (Array.isArray((part.body as { nights?: unknown } | null)?.nights)) listedBetween(out, part, starts, 'nights')
}

/** Values by times of day, in the order of time. */
function byTime(values: Item | undefined, night: Nights[string]): (readonly [At, number])[] {
  const found = (values?.names() ?? []).flatMap((time) => {
    const [ms, value] = [inNight(time, night), values?.number(time)]
    if (ms === undefined) values?.reject('implausible_value', time)
    return ms === undefined || value === undefined ? [] : [[{ ms, zoneMin: night[2] }, value] as const]
  })
  return found.sort(([a], [b]) => a.ms - b.ms)
}

function night(
  out: Out,
  item: Item,
  known: { externalId: string; start: At; endMs: number },
  span: Nights[string],
): boolean {
  const [light, deep, rem] = [item.number('light_sleep'), item.number('deep_sleep'), item.number('rem_sleep')]
  const asleep = light === undefined || deep === undefined || rem === undefined ? undefined : light + deep + rem
  const lengthS = (span[1] - span[0]) / 1000
  const efficiency = asleep === undefined || !(lengthS > 0) ? undefined : Math.round((asleep / lengthS) * 10_000) / 100
  return out.night({
    ...known,
    asleepSeconds: asleep,
    awakeSeconds: item.number('total_interruption_duration'),
    lightSeconds: light,
    deepSeconds: deep,
    remSeconds: rem,
    // More than all of the time: the parts were recorded, the ends were edited.
    efficiencyPercent: efficiency !== undefined && efficiency <= 100 ? efficiency : undefined,
    isNap: false,
    stages: intervals(byTime(item.object('hypnogram'), span), span[1]),
  })
}

/** Each stage lasts until the next one; equal neighbours are one, and what is unknown is left out. */
function intervals(marks: readonly (readonly [At, number])[], endMs: number) {
  if (marks.length === 0) return undefined
  const found: [stage: SleepStageName, startMs: number, endMs: number][] = []
  for (const [place, [{ ms }, code]] of marks.entries()) {
    const untilMs = marks[place + 1]?.[0].ms ?? endMs
    const stage = stages[code]
    if (stage === undefined || untilMs <= ms) continue
    const last = found.at(-1)
    if (last && last[0] === stage && last[2] === ms) last[2] = untilMs
    else found.push([stage, ms, untilMs])
  }
  return found
}

/** Polar writes 0 or less where it has no score. */
function score(out: Out, item: Item, externalId: string, start: At): void {
  const positive = (field: string) => {
    const value = item.number(field)
    return value !== undefined && value > 0 ? value : undefined
  }
  const charge = item.number('sleep_charge')
  out.score({
    category: 'sleep',
    externalId,
    at: start,
    value: positive('sleep_score'),
    components: {
      continuity: positive('continuity'),
      group_duration_score: item.number('group_duration_score'),
      group_solidity_score: item.number('group_solidity_score'),
      group_regeneration_score: item.number('group_regeneration_score'),
      sleep_charge: charge === -1 ? undefined : charge,
      sleep_rating: item.number('sleep_rating'),
    },
    night: externalId,
  })
}

const statuses = ['very poor', 'poor', 'compromised', 'ok', 'good', 'very good']
const ansStatuses = ['much below usual', 'below usual', 'usual', 'above usual', 'much above usual']

/** The word of a status that counts from 1. */
function word(item: Item, field: string, words: readonly string[]): string | undefined {
  const status = item.number(field)
  if (status !== undefined && words[status - 1] === undefined) item.reject('enum', field)
  return status === undefined ? undefined : words[status - 1]
}

/** What a night means for the day after it; measured while asleep, so at the end of the night where that is known. */
export function nightlyRecharge(out: Out, part: Part): void {
  const nights = nightsIn(part.args)
  for (const item of itemsOf(out, part, 'recharges')) {
    const day = dateOf(item, 'date')
    if (!day) continue
    const externalId = `polar:recharge:${day.date}`
    const known = nightOf(nights, day.date)
    measured(out, day, known, [
      ['heart_rate_variability_rmssd', item.number('heart_rate_variability_avg'), item.object('hrv_samples')],
      ['respiratory_rate', item.number('breathing_rate_avg'), item.object('breathing_samples')],
    ])
    const qualifier = word(item, 'nightly_recharge_status', statuses)
    out.score({
      category: 'recovery',
      externalId,
      at: day.at,
      value: qualifier === undefined ? undefined : item.number('nightly_recharge_status'),
      qualifier,
      components: {
        heart_rate_avg: item.number('heart_rate_avg'),
        beat_to_beat_avg: item.number('beat_to_beat_avg'),
        heart_rate_variability_avg: item.number('heart_rate_variability_avg'),
        breathing_rate_avg: item.number('breathing_rate_avg'),
        ans_charge: item.number('ans_charge'),
        ans_charge_status: word(item, 'ans_charge_status', ansStatuses),
      },
      night: nightId(day.date),
    })
  }
}

/** People cut off less of the beginning of a night. */
const CUT_MS = 3 * 3_600_000

type Measured = readonly [series: SeriesName, average: number | undefined, byTime: Item | undefined]

function measured(out: Out, { at, date }: Dated, night: Nights[string] | undefined, values: readonly Measured[]): void {
  const record = `polar:recharge:${date}`
  for (const [series, average, times] of values) {
    out.sample(series, night ? { ms: night[1], zoneMin: night[2] } : at, average || undefined, record)
    if (!night) continue
    for (const [when, value] of byTime(times, night)) out.sample(series, when, value || undefined, record)
    // It was there while the night was not known, or ended elsewhere.
    out.only({ series }, at.ms, at.ms + 1)
    // Nothing but nights brings breaths: what an edit has cut off goes, too.
    const fromMs = series === 'respiratory_rate' ? night[0] - CUT_MS : night[0]
    out.only({ series }, fromMs, Math.min(night[1], fromMs + DAY_MS))
  }
}

/**
 * The temperature of the skin while asleep, at its date: ends of nights are listed for 28 days only, so that what is asked
 * for again later would be stored twice. Reading it as a value of that night is for the reader (server/api/summaries).
 */
export function skinTemperature(out: Out, part: Part): void {
  for (const item of itemsOf(out, part)) {
    const day = dateOf(item, 'sleep_date')
    if (!day) continue
    const record = `polar:skintemp:${day.date}`
    out.sample('skin_temperature', day.at, item.number('sleep_time_skin_temperature_celsius'), record)
    out.sample('skin_temperature_deviation', day.at, item.number('deviation_from_baseline_celsius'), record)
  }
}
