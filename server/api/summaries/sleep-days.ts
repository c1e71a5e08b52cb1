import type { SourceMetadata } from '../../sources/source.ts'
import { isoInstant, zoneText } from '../../time.ts'
import { dateOf } from './day-page.ts'
import type { Mean, Night, Session } from './nights.ts'
import { tenths, whole } from './rounding.ts'

/** A row of the sleep summary. */
export interface SleepRow extends Record<Mean, number | null> {
  date: string
  source: SourceMetadata
  start_time: string | null
  end_time: string | null
  zone_offset: string | null
  duration_minutes: number | null
  total_duration_minutes: number | null
  time_in_bed_minutes: number | null
  efficiency_percent: number | null
  stages: Record<'awake_minutes' | 'light_minutes' | 'deep_minutes' | 'rem_minutes', number | null> | null
  interruptions_count: number | null
  nap_count: number | null
  nap_duration_minutes: number | null
  sessions:
    | {
        start_time: string
        end_time: string
        zone_offset: string | null
        duration_minutes: number
        is_nap: boolean
      }[]
    | null
}

const minutes = (seconds: number | null) => (seconds === null ? null : Math.floor(seconds / 60))

/** Sum of the known values; null if there are none. */
function sumKnown<T>(items: readonly T[], of: (item: T) => number | null | undefined): number | null {
  let sum: number | null = null
  for (const item of items) sum = of(item) == null ? sum : (sum ?? 0) + (of(item) as number)
  return sum
}

/** Maximum of sessions listed for a day: their number depends on what a phone sends. */
export const SESSIONS_LISTED = 24

/** Seconds asleep without naps; null without other sleep. */
export const asleepOf = ({ sessions }: Night): number | null =>
  sumKnown(sessions, ({ nap, asleepS }) => (nap ? null : asleepS))

/** The row of a night. */
export function sleepRow(night: Night): SleepRow {
  const { day, source, sessions } = night
  const main = sessions.filter(({ nap }) => !nap)
  const naps = sessions.filter(({ nap }) => nap)
  const longest = main.toSorted((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs) || a.startMs - b.startMs)[0]
  const asleep = minutes(asleepOf(night))
  const napMinutes = Math.floor(naps.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0) / 60_000)
  const [awake = null, light = null, deep = null, rem = null] = [0, 1, 2, 3].map((place) =>
    minutes(sumKnown(main, ({ stages }) => stages[place])),
  )
  const staged = [awake, light, deep, rem].some((value) => value !== null)
  return {
    date: dateOf(day),
    source: source.metadata,
    start_time: longest ? isoInstant(longest.startMs) : null,
    end_time: longest ? isoInstant(longest.endMs) : null,
    zone_offset: longest ? zoneOf(longest) : null,
    duration_minutes: asleep,
    total_duration_minutes: (asleep ?? 0) + napMinutes,
    time_in_bed_minutes: minutes(sumKnown(main, ({ inBedS }) => inBedS)),
    efficiency_percent: efficiencyOf(night),
    stages: staged ? { awake_minutes: awake, light_minutes: light, deep_minutes: deep, rem_minutes: rem } : null,
    interruptions_count: sumKnown(main, ({ interruptions }) => interruptions),
    nap_count: naps.length,
    nap_duration_minutes: napMinutes,
    sessions: sessions.slice(0, SESSIONS_LISTED).map((session) => ({
      start_time: isoInstant(session.startMs),
      end_time: isoInstant(session.endMs),
      zone_offset: zoneOf(session),
      duration_minutes: Math.floor(session.asleepS / 60),
      is_nap: session.nap,
    })),
    avg_heart_rate_bpm: meanOf(night, 'avg_heart_rate_bpm', whole),
    avg_hrv_sdnn_ms: meanOf(night, 'avg_hrv_sdnn_ms', tenths),
    avg_hrv_rmssd_ms: meanOf(night, 'avg_hrv_rmssd_ms', tenths),
    avg_respiratory_rate: meanOf(night, 'avg_respiratory_rate', tenths),
    avg_spo2_percent: meanOf(night, 'avg_spo2_percent', tenths),
  }
}

const zoneOf = ({ zone }: Session) => (zone === null ? null : zoneText(zone))

/** Weighted by duration, in hundredths (contract 12.4). */
export function efficiencyOf({ sessions }: Night): number | null {
  const known = sessions.filter(({ nap, efficiency }) => !nap && efficiency !== null)
  const weight = known.reduce((sum, { asleepS }) => sum + asleepS, 0)
  if (weight === 0) return null
  const total = known.reduce((sum, { asleepS, efficiency }) => sum + asleepS * (efficiency ?? 0), 0)
  return whole((total / weight) * 100) / 100
}

function meanOf({ measured }: Night, mean: Mean, rounded: (value: number) => number): number | null {
  const found = measured[mean]
  return found ? rounded(found.total / found.n) : null
}
