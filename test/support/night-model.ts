// The summaries of sleep and recovery as straight-line code over sessions and samples: contract 12.1, 12.2, 12.4, 12.6.
// Shares nothing with the service.
import { type Device, metadataOf, type Sample } from './activity-model.ts'
import { competing } from './recomputed/competing.ts'
import { alike, dateText } from './summaries.ts'

const QUARTER_MS = 900_000

const MEANS = {
  avg_heart_rate_bpm: 'heart_rate',
  avg_hrv_sdnn_ms: 'heart_rate_variability_sdnn',
  avg_hrv_rmssd_ms: 'heart_rate_variability_rmssd',
  avg_respiratory_rate: 'respiratory_rate',
  avg_spo2_percent: 'oxygen_saturation',
} as const

/** A session as its source reports it; whole seconds, `stages` as [stage, start, end] in epoch seconds. */
export interface Session {
  place: number
  day: number
  startMs: number
  endMs: number
  zone: number | null
  asleep_s: number | null
  in_bed_s: number | null
  awake_s: number | null
  light_s: number | null
  deep_s: number | null
  rem_s: number | null
  efficiency_percent: number | null
  is_nap: boolean | null
  /** A better session of its source covers it: it counts nowhere. */
  covered: boolean
  stages: [string, number, number][] | null
}

/** A recovery score; `place` is -1 if only its provider is known. */
export interface Score {
  place: number
  provider: string
  day: number
  ms: number
  value: number
}

/** A sample; `isDate`: it is of a date, as which it is stored, and of no instant. */
export type Told = Omit<Sample, 'daily'> & { isDate: boolean }

/**
 * Samples with whether they are of a date: alone in the first quarter hour of a date in UTC, without an offset, and from a
 * cloud provider, which has no heart rates of dates.
 */
export function withDates(
  samples: readonly (Omit<Sample, 'daily'> & { zone: number | null })[],
  clouds: ReadonlySet<number>,
) {
  const key = ({ place, type, ms }: Omit<Sample, 'daily'>) => `${place} ${type} ${Math.floor(ms / QUARTER_MS)}`
  const counts = new Map<string, number>()
  for (const one of samples) counts.set(key(one), (counts.get(key(one)) ?? 0) + 1)
  return samples.map(({ zone, ...one }): Told => {
    const isFirst = Math.floor(one.ms / QUARTER_MS) % 96 === 0
    const isDate =
      isFirst && zone === null && clouds.has(one.place) && one.type !== 'heart_rate' && counts.get(key(one)) === 1
    return { ...one, isDate }
  })
}

/** The data of a user. */
export interface Nights {
  /** Best first. */
  devices: readonly Device[]
  sessions: Session[]
  samples: Told[]
  scores: Score[]
}

const sum = (values: number[]) => values.reduce((all, value) => all + value, 0)
const known = (values: (number | null)[]) => {
  const told = values.filter((value) => value !== null)
  return told.length > 0 ? sum(told) : null
}
const minutes = (seconds: number | null) => (seconds === null ? null : Math.floor(seconds / 60))
const instant = (ms: number) => new Date(ms).toISOString().replace(/\.000Z$/, 'Z')
const zoneText = (zone: number | null) =>
  zone === null
    ? null
    : `${zone < 0 ? '-' : '+'}${String(Math.floor(Math.abs(zone) / 60)).padStart(2, '0')}:${String(Math.abs(zone) % 60).padStart(2, '0')}`
function interruptions({ stages }: Session): number | null {
  if (!stages || stages.length === 0) return null
  const asleep = stages.filter(([name]) => name !== 'awake')
  const first = Math.min(...asleep.map(([, start]) => start))
  const last = Math.max(...asleep.map(([, , end]) => end))
  return stages.filter(([name, start, end]) => name === 'awake' && end - start >= 300 && start >= first && end <= last)
    .length
}

const asleepOf = (one: Session) => one.asleep_s ?? (one.endMs - one.startMs) / 1000

/** Sessions of a person, judged against each other: which are copies, and which are naps (sdk-types 7.4). */
export function judged(sessions: readonly Session[]): Session[] {
  const overlap = (one: Session, other: Session) => one.startMs < other.endMs && other.startMs < one.endMs
  const lasts = (one: Session) => (asleepOf(one) + (one.awake_s ?? 0)) * (one.light_s === null ? 1 : 2)
  const known = sessions.map((one) => ({ ...one, covered: false }))
  const bestFirst = [...known].sort(
    (a, b) => lasts(b) - lasts(a) || asleepOf(b) - asleepOf(a) || a.startMs - b.startMs || a.endMs - b.endMs,
  )
  bestFirst.forEach((one, n) => {
    one.covered = bestFirst
      .slice(0, n)
      .some(
        (other) =>
          !other.covered &&
          other.place === one.place &&
          overlap(one, other) &&
          Math.abs(one.endMs - other.endMs) < 86_400_000,
      )
  })
  return known.map((one) => {
    let longest: Session | undefined
    for (const other of known.filter(({ day, covered }) => day === one.day && !covered)) {
      const [most, least] = [longest ? asleepOf(longest) : -1, asleepOf(other)]
      if (least > most || (least === most && other.startMs < (longest as Session).startMs)) longest = other
    }
    const hour = new Date(one.startMs + (one.zone ?? 0) * 60_000).getUTCHours()
    const isShort = asleepOf(one) < 3 * 3600 && hour >= 9 && hour < 20
    return { ...one, is_nap: isShort && !(longest && overlap(one, longest)) }
  })
}

/** The places that may be believed on a day. */
const rivals = (mains: readonly Session[]) =>
  competing(
    mains.map((one) => ({
      source: one.place,
      start: one.startMs,
      end: one.endMs,
      zone: one.zone,
      asleep: asleepOf(one),
      awake: one.awake_s,
    })),
  )

/** The sessions that count on a day: of the source that has most to say for being believed (contract 12.4). */
function nightOf({ devices, sessions }: Nights, day: number): Session[] {
  const ofDay = sessions.filter((one) => one.day === day && !one.covered)
  const mains = ofDay.filter((one) => !one.is_nap)
  let best: { place: number; key: number[] } | undefined
  for (const place of mains.length > 0 ? rivals(mains) : new Set(ofDay.map((one) => one.place))) {
    const own = mains.filter((one) => one.place === place).map(asleepOf)
    const like = devices[place] as Device
    const rank = devices.findIndex(({ provider, type }) => provider === like.provider && type === like.type)
    const key = [rank, -sum(own), place]
    const at = key.findIndex((part, n) => part !== (best?.key[n] ?? Number.POSITIVE_INFINITY))
    if (!best || (key[at] as number) < (best.key[at] as number)) best = { place, key }
  }
  return ofDay.filter((one) => one.place === best?.place)
}

/** The place of the first source of the same provider and type. */
function rankOf({ devices }: Nights, place: number): number {
  const like = devices[place] as Device
  return devices.findIndex(({ provider, type }) => provider === like.provider && type === like.type)
}

/** The place of the best source of samples: by provider and type, then by their number; undefined without any. */
function bestPlace(model: Nights, samples: Nights['samples']): number | undefined {
  const amount = (place: number) => samples.filter((one) => one.place === place).length
  return [...new Set(samples.map(({ place }) => place))].sort(
    (a, b) => rankOf(model, a) - rankOf(model, b) || amount(b) - amount(a) || a - b,
  )[0]
}

/** The row of the sleep summary of a day, the place of its source and of those of its means by type, and the seconds asleep without naps; undefined without sleep. */
export function sleepRow(model: Nights, day: number) {
  const own = nightOf(model, day)
  if (own.length === 0) return undefined
  const { place } = own[0] as Session
  const [main, naps] = [own.filter((one) => !one.is_nap), own.filter((one) => one.is_nap)]
  const asleep = asleepOf
  const longest = [...main].sort((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs))[0]
  const duration = main.length > 0 ? sum(main.map(asleep)) : null
  const nap = Math.floor(sum(naps.map(({ startMs, endMs }) => endMs - startMs)) / 60_000)
  const stages = {
    awake_minutes: minutes(known(main.map(({ awake_s }) => awake_s))),
    light_minutes: minutes(known(main.map(({ light_s }) => light_s))),
    deep_minutes: minutes(known(main.map(({ deep_s }) => deep_s))),
    rem_minutes: minutes(known(main.map(({ rem_s }) => rem_s))),
  }
  const efficient = main.filter(({ efficiency_percent }) => efficiency_percent !== null)
  const weight = sum(efficient.map(asleep))
  const counting = main.length > 0 ? main : naps
  // At its end, where no further sleep begins, the source of the night has a say, too.
  const inside = counting.flatMap(({ startMs, endMs }) =>
    model.samples.filter(
      (one) =>
        one.ms >= startMs &&
        (one.ms < endMs ||
          (one.ms === endMs && one.place === place && counting.every((other) => other.startMs !== endMs))),
    ),
  )
  // What is of a date belongs to the night of that date, wherever it is stored.
  const ofDate = model.samples.filter((one) => one.isDate && Math.floor(one.ms / 86_400_000) === day)
  const during = [...inside.filter(({ isDate }) => !isDate), ...ofDate]
  const tellers: Record<string, number> = {}
  const means = Object.entries(MEANS).map(([field, type]) => {
    const told = during.filter((one) => one.type === type)
    const ofProvider = told.filter((one) => model.devices[one.place]?.provider === model.devices[place]?.provider)
    const teller = told.some((one) => one.place === place)
      ? place
      : bestPlace(model, ofProvider.length > 0 ? ofProvider : told)
    if (teller === undefined) return [field, null]
    tellers[type] = teller
    const values = told.filter((one) => one.place === teller).map(({ value }) => value)
    return [field, sum(values) / values.length]
  })
  return {
    place,
    tellers,
    asleepS: duration,
    row: {
      date: dateText(day),
      source: metadataOf(model.devices[place] as Device),
      start_time: longest ? instant(longest.startMs) : null,
      end_time: longest ? instant(longest.endMs) : null,
      zone_offset: longest ? zoneText(longest.zone) : null,
      duration_minutes: minutes(duration),
      total_duration_minutes: (minutes(duration) ?? 0) + nap,
      time_in_bed_minutes: minutes(known(main.map(({ in_bed_s }) => in_bed_s))),
      efficiency_percent:
        weight > 0 ? sum(efficient.map((one) => asleep(one) * (one.efficiency_percent ?? 0))) / weight : null,
      stages: Object.values(stages).some((value) => value !== null) ? stages : null,
      interruptions_count: known(main.map(interruptions)),
      nap_count: naps.length,
      nap_duration_minutes: nap,
      sessions: own.map((one) => ({
        start_time: instant(one.startMs),
        end_time: instant(one.endMs),
        zone_offset: zoneText(one.zone),
        duration_minutes: Math.floor(asleep(one) / 60),
        is_nap: one.is_nap === true,
      })),
      ...(Object.fromEntries(means) as Record<keyof typeof MEANS, number | null>),
    },
  }
}

/** The sessions that count on the dates asked for, by model: naps only where there is nothing else. */
const nights = new WeakMap<Nights, Map<number, Session[]>>()

function sleepOn(model: Nights, day: number): Session[] {
  const known = nights.get(model) ?? new Map<number, Session[]>()
  nights.set(model, known)
  const own = known.get(day) ?? nightOf(model, day)
  known.set(day, own)
  return own.some((one) => !one.is_nap) ? own.filter((one) => !one.is_nap) : own
}

/** The date of a resting heart rate: of the night that its quarter hour reaches into, which began first, else its day. */
function restingDate(model: Nights, { day, ms }: Nights['samples'][number]): number {
  const quarter = Math.floor(ms / QUARTER_MS) * QUARTER_MS
  const around = [-2, -1, 0, 1, 2].flatMap((far) => sleepOn(model, day + far))
  const reached = around.filter(({ startMs, endMs }) => startMs < quarter + QUARTER_MS && endMs > quarter)
  return reached.sort((a, b) => a.startMs - b.startMs || a.day - b.day)[0]?.day ?? day
}

/** The row of the recovery summary of a day; undefined if there is none. */
export function recoveryRow(model: Nights, day: number) {
  const types: string[] = ['resting_heart_rate', ...Object.values(MEANS)]
  const used = types.filter((type) => type !== 'heart_rate' && type !== 'respiratory_rate')
  const dateOf = (one: Nights['samples'][number]) =>
    one.type === 'resting_heart_rate' && Math.abs(one.day - day) <= 2 ? restingDate(model, one) : one.day
  const samples = model.samples.filter((one) => used.includes(one.type) && dateOf(one) === day)
  const scores = model.scores.filter((one) => one.day === day).sort((a, b) => b.ms - a.ms)
  if (samples.length + scores.length === 0) return undefined
  const night = sleepRow(model, day)
  // Each metric comes from the best position that has it; -1 is a provider without a source, after all of its sources.
  const providers = [...new Set(model.devices.map(({ provider }) => provider))]
  type Teller = { place: number; provider: string }
  const tellerOf = (place: number): Teller => ({ place, provider: model.devices[place]?.provider ?? '' })
  const key = ({ place, provider }: Teller): [number, number, number] => [
    providers.indexOf(provider),
    place < 0 ? 1 : rankOf(model, place),
    place < 0 ? 0 : -samples.filter((one) => one.place === place).length,
  ]
  const better = (a: Teller, b: Teller) => {
    if (a.provider === b.provider && a.place < 0 !== b.place < 0) return a.place < 0 ? 1 : -1
    const [of, than] = [key(a), key(b)]
    return of[0] - than[0] || of[1] - than[1] || of[2] - than[2] || a.place - b.place
  }
  const counting: Teller[] = []
  const mean = (type: string) => {
    const typed = samples.filter((one) => one.type === type)
    const best = bestPlace(model, typed)
    if (best === undefined) return null
    counting.push(tellerOf(best))
    const values = typed.filter(({ place }) => place === best).map(({ value }) => value)
    return sum(values) / values.length
  }
  const byNight = (value: number | null | undefined, type: string) => {
    if (!night || value === null || value === undefined) return mean(type)
    counting.push(tellerOf(night.tellers[type] as number))
    return value
  }
  const [ofBest] = scores.toSorted((a, b) => better(a, b) || b.ms - a.ms)
  if (ofBest) counting.push({ place: ofBest.place, provider: ofBest.provider })
  const metrics = {
    resting_heart_rate_bpm: mean('resting_heart_rate'),
    avg_hrv_sdnn_ms: byNight(night?.row.avg_hrv_sdnn_ms, 'heart_rate_variability_sdnn'),
    avg_hrv_rmssd_ms: byNight(night?.row.avg_hrv_rmssd_ms, 'heart_rate_variability_rmssd'),
    avg_spo2_percent: byNight(night?.row.avg_spo2_percent, 'oxygen_saturation'),
  }
  const best = counting.sort(better)[0] as Teller
  return {
    date: dateText(day),
    source:
      best.place < 0
        ? { provider: best.provider, source: null, device: null, device_type: 'unknown', device_name: null }
        : metadataOf(model.devices[best.place] as Device),
    sleep_duration_seconds: night?.asleepS ?? null,
    sleep_efficiency_percent: night?.row.efficiency_percent ?? null,
    ...metrics,
    recovery_score: ofBest ? (ofBest.provider === 'polar' ? (ofBest.value - 1) * 20 : ofBest.value) : null,
  }
}

/** Means are rounded on the wire: whole beats, tenths, hundredths of a percent asleep. */
const STEPS: Record<string, number> = {
  avg_heart_rate_bpm: 1,
  resting_heart_rate_bpm: 1,
  recovery_score: 1,
  efficiency_percent: 0.01,
  sleep_efficiency_percent: 0.01,
  avg_hrv_sdnn_ms: 0.1,
  avg_hrv_rmssd_ms: 0.1,
  avg_respiratory_rate: 0.1,
  avg_spo2_percent: 0.1,
}

type Row = Record<string, unknown>

/** Whether a row is the expected one; its means are rounded. */
export function sameRow(found: Row, wanted: Row): boolean {
  return (
    Object.keys(found).length === Object.keys(wanted).length &&
    Object.entries(found).every(([field, value]) => {
      const step = STEPS[field]
      const other = wanted[field]
      if (step === undefined || typeof value !== 'number' || typeof other !== 'number') return alike(value, other)
      const inSteps = value / step
      return Math.abs(inSteps - Math.round(inSteps)) < 1e-6 && Math.abs(value - other) <= step / 2 + 1e-9
    })
  )
}
