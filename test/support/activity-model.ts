// The activity summary as straight-line code over samples: contract 12.1 to 12.3. Shares nothing with the service.
import { dateText, localDay, MINUTE_MS } from './summaries.ts'

const QUARTER_MS = 15 * MINUTE_MS

/** The source of samples. */
export interface Device {
  provider: string
  /** Model; '' = none. */
  device: string
  source: string
  type: string
  /** Its name for people. */
  name: string | null
  /** When merged: devices with the same number are ordered by the amount of their data. Absent: the position in the list. */
  rank?: number
}

/** SourceMetadata of contract 4. */
export const metadataOf = ({ provider, source, device, type, name }: Device) => ({
  ...{ provider, source, device: device || null, device_type: type, device_name: name },
})

/** A sample; `place` is the position of its device, best first (with `merge=none`). */
export interface Sample {
  place: number
  type: string
  daily: boolean
  ms: number
  value: number
  /** The length of its record, if stored. */
  lastsMs?: number
  /** Entered by hand. */
  manual?: boolean
  /** The day of its quarter hour: that of the latest sample in it. */
  day: number
}

const TYPES = [
  ...['heart_rate', 'steps', 'energy', 'basal_energy', 'flights_climbed', 'active_time', 'distance_walking_running'],
]

const quarterOf = (ms: number) => Math.floor(ms / QUARTER_MS)
const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS)

/** Samples, which ascend, with their days; `zone` is minutes east of UTC. */
export function withDays(samples: (Omit<Sample, 'day'> & { zone: number | null })[]): Sample[] {
  const days = new Map<string, number>()
  const key = ({ place, type, daily, manual = false, ms }: Omit<Sample, 'day'>) =>
    `${place} ${type} ${daily} ${manual} ${quarterOf(ms)}`
  for (const one of samples) days.set(key(one), localDay(quarterOf(one.ms) * QUARTER_MS, one.zone))
  return samples.map(({ zone: _, ...one }) => ({ ...one, day: days.get(key(one)) as number }))
}

/** A workout and the local day of its end; `place` is the position of its device. */
export interface Workout {
  place: number
  day: number
  ascent: number
}

/** The data of a user. */
export interface Model {
  /** Best first. */
  devices: readonly Device[]
  samples: Sample[]
  workouts: Workout[]
  /** Maximum heart rate. */
  highest: number
}

const sum = (values: number[]) => values.reduce((all, value) => all + value, 0)
const sumOrNull = (values: number[]) => (values.length > 0 ? sum(values) : null)

function minutesOf(samples: Sample[], value: (values: number[]) => number): number[] {
  const minutes = new Map<number, number[]>()
  for (const { ms, value } of samples) {
    minutes.set(minuteOf(ms), [...(minutes.get(minuteOf(ms)) ?? []), value])
  }
  return [...minutes.values()].map(value)
}

/** Samples of a type that count on a day if everything comes from one source. */
function ofOne(samples: Sample[], place: number, type: string): Sample[] {
  const own = samples.filter((one) => one.place === place && one.type === type)
  const totals = own.filter(({ daily }) => daily)
  return totals.length > 0 ? totals : own
}

/** The part of a record that lies in a quarter hour or a minute: it is spread evenly over its time. */
interface Piece {
  sample: Sample
  slot: number
  amount: number
}

function piecesOf(sample: Sample, slotMs: number): Piece[] {
  const { ms, value, lastsMs = 0 } = sample
  const first = Math.floor(ms / slotMs)
  if (lastsMs === 0) return [{ sample, slot: first, amount: value }]
  const pieces: Piece[] = []
  for (let slot = first; slot * slotMs < ms + lastsMs; slot += 1) {
    const insideMs = Math.min((slot + 1) * slotMs, ms + lastsMs) - Math.max(slot * slotMs, ms)
    pieces.push({ sample, slot, amount: (value * insideMs) / lastsMs })
  }
  return pieces
}

/** An entry that competes for quarter hours: the measured samples of a device, or those entered by hand. */
interface Entry {
  place: number
  manual: boolean
  samples: Sample[]
  reached: Set<number>
}

/** The samples of one type, of all days: sources may disagree about the day of a quarter hour. */
interface Typed {
  typed: Sample[]
  entries: Entry[]
}

function typedOf(samples: Sample[], type: string): Typed {
  const typed = samples.filter((one) => one.type === type)
  const entries = new Map<string, Entry>()
  for (const one of typed.filter(({ daily }) => !daily)) {
    const { place, manual = false } = one
    const entry = entries.get(`${place} ${manual}`) ?? { place, manual, samples: [], reached: new Set() }
    entries.set(`${place} ${manual}`, entry)
    entry.samples.push(one)
    for (const { slot } of piecesOf(one, QUARTER_MS)) entry.reached.add(slot)
  }
  return { typed, entries: [...entries.values()] }
}

const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Positions, best first: by rank, more samples, names. */
function ranked(devices: readonly Device[], samples: readonly Sample[]): number[] {
  const rank = (place: number) => devices[place]?.rank ?? place
  const amount = (place: number) => samples.filter((one) => one.place === place).length
  const [model, name] = [
    (place: number) => devices[place]?.device ?? '',
    (place: number) => devices[place]?.source ?? '',
  ]
  return [...new Set(samples.map(({ place }) => place))].sort(
    (a, b) => rank(a) - rank(b) || amount(b) - amount(a) || text(model(a), model(b)) || text(name(a), name(b)) || a - b,
  )
}

/** The entries of a type that precede one on a day: measured ones first, then by rank, amount on the day, names. */
function betterThan(devices: readonly Device[], { entries }: Typed, one: Entry, day: number): Entry[] {
  const rank = ({ place }: Entry) => devices[place]?.rank ?? place
  const amount = ({ samples }: Entry) => samples.filter((sample) => sample.day === day).length
  const names = ({ place }: Entry) => `${devices[place]?.device}\0${devices[place]?.source}\0${place}`
  const order = (a: Entry, b: Entry) =>
    Number(a.manual) - Number(b.manual) || rank(a) - rank(b) || amount(b) - amount(a) || text(names(a), names(b))
  return entries.filter((other) => other !== one && order(other, one) < 0)
}

/** The part of an entry's samples on a day in quarter hours that no better one reaches, by quarter hour or minute. */
function freePieces(devices: readonly Device[], typed: Typed, entry: Entry, day: number, slotMs = QUARTER_MS): Piece[] {
  const better = betterThan(devices, typed, entry, day)
  const isFree = (slot: number) => !better.some(({ reached }) => reached.has(Math.floor((slot * slotMs) / QUARTER_MS)))
  return entry.samples
    .filter((one) => one.day === day)
    .flatMap((one) => piecesOf(one, slotMs))
    .filter(({ slot }) => isFree(slot))
}

/** With merge=segments: the samples of a type that count on a day. */
function ofSeveral(devices: readonly Device[], of: Typed, day: number): Piece[] {
  const onDay = of.typed.filter((one) => one.day === day)
  const measured = onDay.filter(({ manual }) => !manual)
  const [leader] = ranked(devices, measured.length > 0 ? measured : onDay)
  const segments = of.entries.flatMap((entry) => freePieces(devices, of, entry, day))
  const wholes = (samples: Sample[]) => samples.map((sample) => ({ sample, slot: 0, amount: sample.value }))
  const total = measured.filter(({ daily, place }) => daily && place === leader)
  const leads = (measured.length > 0 ? measured : onDay).some(({ daily, place }) => !daily && place === leader)
  const others = leads ? segments.filter(({ sample }) => sample.place !== leader) : []
  const counted =
    total.length > 0
      ? [...wholes(total), ...others]
      : [...segments.filter(({ sample }) => sample.place === leader), ...others]
  const rivals = measured.filter(({ daily, place }) => daily && place !== leader)
  const totals = ranked(devices, rivals).map((place) => rivals.filter((one) => one.place === place))
  const value = (samples: Sample[]) => sum(samples.map((one) => one.value))
  const [largest] = totals.sort((a, b) => value(b) - value(a))
  const amount = sumOrNull(counted.map((piece) => piece.amount))
  if (largest && (amount === null || amount < value(largest) / 2)) return wholes(largest)
  return counted
}

/** With merge=segments: minutes with steps, and with at least 30 of them; null if a record is too long to know. */
function steppingOf(
  devices: readonly Device[],
  typed: Typed,
  day: number,
): { known: boolean; values: number[] } | null {
  let known = false
  const values: number[] = []
  for (const entry of typed.entries) {
    const pieces = freePieces(devices, typed, entry, day, MINUTE_MS)
    if (pieces.some(({ sample }) => (sample.lastsMs ?? 0) > QUARTER_MS)) return null
    const minutes = new Map<number, number>()
    for (const { slot, amount } of pieces) minutes.set(slot, (minutes.get(slot) ?? 0) + amount)
    values.push(...minutes.values())
    known ||= pieces.length > 0
  }
  return { known, values }
}

/** The data of a user, with the samples by type and by day. */
interface Sorted extends Model {
  types: Map<string, Typed>
  days: Map<number, Sample[]>
}

function sorted({ samples, ...rest }: Model): Sorted {
  const model = { ...rest, samples: samples.filter(({ type }) => TYPES.includes(type)) }
  const days = new Map<number, Sample[]>()
  for (const one of model.samples)
    days
      .set(one.day, days.get(one.day) ?? [])
      .get(one.day)
      ?.push(one)
  return { ...model, types: new Map(TYPES.map((type) => [type, typedOf(model.samples, type)])), days }
}

/** A number without the noise of binary fractions. */
const clean = (value: number | null) => (value === null ? null : Math.round(value * 1e9) / 1e9)

function rowOf(model: Sorted, day: number, merged: boolean): Record<string, unknown> {
  const { devices } = model
  const samples = model.days.get(day) ?? []
  const best = Math.min(...samples.map(({ place }) => place))
  const all = (type: string) => model.types.get(type) as Typed
  const chosen = (type: string): Piece[] =>
    merged
      ? ofSeveral(devices, all(type), day)
      : ofOne(samples, best, type).map((sample) => ({ sample, slot: 0, amount: sample.value }))
  const own = (type: string) => samples.filter((one) => one.type === type && !one.daily && one.place === best)
  const amount = (type: string) => {
    const found = sumOrNull(chosen(type).map((piece) => piece.amount))
    return merged ? clean(found) : found
  }
  const whole = (value: number | null) => (value === null ? null : Math.round(value))
  const order = merged ? ranked(devices, samples) : [best]
  const counting = new Set(TYPES.flatMap((type) => chosen(type).map(({ sample }) => sample.place)))
  const source = merged ? order.find((place) => counting.has(place)) : best
  const ascents = model.workouts.filter((one) => one.day === day)
  // Sources that only track workouts come after those that measured anything.
  const others = new Map(ascents.map((one) => [one.place, { place: one.place } as Sample]))
  const climbers = merged ? [...order, ...ranked(devices, [...others.values()])] : order
  const climber = climbers.find((place) => ascents.some((one) => one.place === place))
  const ascent = sumOrNull(ascents.filter(({ place }) => place === climber).map((one) => one.ascent))
  const beats = chosen('heart_rate').map((piece) => piece.amount)
  const stepping = merged
    ? steppingOf(devices, all('steps'), day)
    : { known: own('steps').length > 0, values: minutesOf(own('steps'), sum) }
  const beating = merged
    ? all('heart_rate').entries.map((entry) =>
        freePieces(devices, all('heart_rate'), entry, day).map((one) => one.sample),
      )
    : [own('heart_rate')]
  const pulses = beating.flatMap((one) => minutesOf(one, (values) => sum(values) / values.length))
  const share = (percent: number) => Math.floor((model.highest * percent) / 100)
  const within = (from: (bpm: number) => boolean) => pulses.filter(from).length
  const [energy, basal] = [amount('energy'), amount('basal_energy')]
  const strict = sumOrNull([energy, basal].filter((one) => one !== null))
  return {
    date: dateText(day),
    source: metadataOf(devices[source ?? order[0] ?? 0] as Device),
    steps: whole(amount('steps')),
    distance_meters: amount('distance_walking_running'),
    floors_climbed:
      whole(amount('flights_climbed')) ??
      (ascent === null || (ascent === 0 && !merged) ? null : Math.floor(ascent / 3)),
    elevation_meters: ascent,
    active_calories_kcal: energy,
    total_calories_kcal: merged ? (basal === null ? null : clean(basal + (energy ?? 0))) : strict,
    active_minutes:
      whole(amount('active_time')) ?? (stepping?.known ? stepping.values.filter((n) => n >= 30).length : null),
    sedentary_minutes: stepping?.known
      ? Math.max(
          0,
          Math.min(
            stepping.values.filter((n) => n < 30).length,
            Math.max(1440, stepping.values.length) - (whole(amount('active_time')) ?? 0),
          ),
        )
      : null,
    intensity_minutes:
      pulses.length > 0
        ? {
            light: within((bpm) => bpm >= share(50) && bpm <= share(63)),
            moderate: within((bpm) => bpm > share(63) && bpm <= share(76)),
            vigorous: within((bpm) => bpm > share(76)),
          }
        : null,
    heart_rate:
      beats.length > 0
        ? {
            avg_bpm: Math.round(sum(beats) / beats.length),
            max_bpm: Math.round(Math.max(...beats)),
            min_bpm: Math.round(Math.min(...beats)),
          }
        : null,
  }
}

/** The rows of the activity summary on the days [firstDay, endDay), by day; samples of other types do not count. */
export function activityRows(of: Model, firstDay: number, endDay: number, merged: boolean) {
  const model = sorted(of)
  const days = [...model.days.keys()].sort((a, b) => a - b)
  const shown = days.filter((day) => day >= firstDay && day < endDay)
  // With merge a day of which every quarter hour went to another day has no row.
  const counts = (day: number) =>
    [...model.types.values()].some(
      (typed) =>
        typed.typed.some((one) => one.daily && one.day === day) ||
        typed.entries.some((entry) => freePieces(model.devices, typed, entry, day).length > 0),
    )
  return shown.filter((day) => !merged || counts(day)).map((day) => rowOf(model, day, merged))
}
