// However a pull is cut into windows and pages, and in whatever order pages come to parcels: the rows are the same, what a
// page says of what is not on it is true, and recoveries are found at the end of their sleep.
import fc from 'fast-check'
import t from 'tap'
import type { Batch, Span } from '../../server/batch/columns.ts'
import { storedSeries } from '../../server/catalogue/series.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import type { Json } from '../../server/providers/part.ts'
import type { Request, Window } from '../../server/providers/provider.ts'
import { batchOf, rowsOf, type TestPart } from '../support/parcels.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const HOUR = 60 * MIN
const DAY = 24 * HOUR
const START = Date.UTC(2026, 1, 1)
const DAYS = 12
const AT = START + (DAYS + 2) * DAY
/** Everything that there is. */
const ALL: Window = { fromMs: START - 3 * DAY, untilMs: AT }

const utc = (ms: number) => new Date(ms).toISOString()
/** An instant as a clock `zone` minutes east of UTC shows it. */
const local = (ms: number, zone: number) => {
  const [sign, size] = [zone < 0 ? '-' : '+', Math.abs(zone)]
  const two = (number: number) => String(number).padStart(2, '0')
  return utc(ms + zone * MIN).replace('Z', `${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`)
}
const dateOf = (ms: number, zone: number) => utc(ms + zone * MIN).slice(0, 10)

type Document = Record<string, Json>

/** A person's day as each provider would know it. */
interface Day {
  startMs: number
  hours: number
  zone: number
  nap: number
  workout: number
  level: number
  late: number
}

const anyDays = fc
  .array(
    fc.record({
      late: fc.nat(180),
      hours: fc.integer({ min: 4, max: 9 }),
      zone: fc.constantFrom(60, 60, 60, 345, -210),
      nap: fc.nat(3),
      workout: fc.nat(2),
      level: fc.integer({ min: 1, max: 99 }),
    }),
    { minLength: 1, maxLength: DAYS },
  )
  .map((days) => days.map((one, place): Day => ({ ...one, startMs: START + place * DAY + 21 * HOUR + one.late * MIN })))

const nightsOf = (days: readonly Day[]) =>
  days.flatMap(({ startMs, hours, zone, nap, level }, place) => [
    { id: `night-${place}`, startMs, endMs: startMs + hours * HOUR, zone, level, isNap: false },
    ...Array.from({ length: nap }, (_, nth) => {
      const napMs = START + place * DAY + (33 + 2 * nth) * HOUR + 20 * MIN
      return { id: `nap-${place}-${nth}`, startMs: napMs, endMs: napMs + 25 * MIN, zone, level, isNap: level % 4 > 0 }
    }),
  ])

const workoutsOf = (days: readonly Day[]) =>
  days.flatMap(({ workout, zone, level }, place) =>
    Array.from({ length: workout }, (_, nth) => {
      const startMs = START + place * DAY + (6 + 5 * nth) * HOUR
      return { id: `workout-${place}-${nth}`, startMs, endMs: startMs + (20 + level) * MIN, zone, level }
    }),
  )

/** What a provider has, by path, each with the time its filter goes by; and how it finds and pages it. */
interface Shelf {
  documents: Map<string, { ms: number; day: string; document: Document }[]>
  answer(request: Request, shelf: Shelf, page: number): Json
}

const collection = '/v2/usercollection/'

function oura(days: readonly Day[]): Shelf {
  const timed = (list: { startMs: number; endMs: number; zone: number }[], of: (at: number) => Document) =>
    list
      .map(({ startMs, endMs, zone }, place) => ({ ms: startMs, day: dateOf(endMs, zone), document: of(place) }))
      .sort((a, b) => a.ms - b.ms)
  const nights = nightsOf(days)
  const workouts = workoutsOf(days)
  const documents = new Map([
    [
      `${collection}sleep`,
      timed(nights, (place) => {
        const { id, startMs, endMs, zone, level, isNap } = nights[place]!
        const [start, end] = [local(startMs, zone), local(endMs, zone)]
        const values = { interval: 300, items: [null, level + 40, level + 41], timestamp: start }
        return {
          id,
          type: isNap ? 'late_nap' : 'long_sleep',
          bedtime_start: start,
          bedtime_end: end,
          hrv: values,
          average_breath: 14 + level / 10,
          lowest_heart_rate: 40 + level,
          time_in_bed: (endMs - startMs) / 1000,
          sleep_phase_5_min: '42231',
        }
      }),
    ],
    [
      `${collection}workout`,
      timed(workouts, (place) => {
        const { id, startMs, endMs, zone, level } = workouts[place]!
        return {
          id,
          activity: 'running',
          start_datetime: local(startMs, zone),
          end_datetime: local(endMs, zone),
          calories: level,
          distance: level * 10,
        }
      }),
    ],
    [
      `${collection}daily_activity`,
      days.map(({ zone, level }, place) => {
        const day = utc(START + place * DAY).slice(0, 10)
        const ms = START + place * DAY + 4 * HOUR - zone * MIN
        return {
          ms,
          day,
          document: {
            id: `day-${place}`,
            day,
            timestamp: local(ms, zone),
            steps: level * 100,
            active_calories: level,
            total_calories: level + 1500,
            score: level,
          },
        }
      }),
    ],
  ])
  for (const [name, fields] of Object.entries(DAILY)) {
    // Of some days nothing is told.
    const told = days.map((day, place) => ({ ...day, place })).filter(({ level }) => level % 4 !== 0)
    documents.set(
      `${collection}${name}`,
      told.map(({ level, place }) => {
        const day = utc(START + place * DAY).slice(0, 10)
        return { ms: START + place * DAY, day, document: { id: `${name}-${place}`, day, ...fields(level) } }
      }),
    )
  }
  return {
    documents,
    answer({ path, query = {} }, { documents }, page) {
      const [from, until] = [query.start_date ?? '', (query.end_date ?? '').slice(0, 10)]
      const found = (documents.get(path) ?? []).filter(({ day }) => day >= from && day <= until)
      const at = Number(query.next_token ?? 0)
      const more = at + page < found.length
      return {
        data: found.slice(at, at + page).map(({ document }) => document),
        next_token: more ? String(at + page) : null,
      }
    },
  }
}

/** What Oura's documents of a date say. */
const DAILY: Record<string, (level: number) => Document> = {
  daily_sleep: (level) => ({ score: level }),
  daily_readiness: (level) => ({ score: level, temperature_deviation: level / 100 }),
  daily_stress: () => ({ day_summary: 'normal' }),
  daily_resilience: () => ({ level: 'solid' }),
  daily_spo2: (level) => ({ spo2_percentage: { average: 90 + level / 20 }, breathing_disturbance_index: level }),
  daily_cardiovascular_age: (level) => ({ vascular_age: 30 + level / 10 }),
}

/** Most recoveries come with the morning, some when the phone was found again. */
const madeAt = (endMs: number, level: number) => endMs + (level % 3 === 0 ? 20 * HOUR : 20 * MIN)

function whoop(days: readonly Day[]): Shelf {
  const common = (startMs: number, endMs: number, zone: number) => ({
    start: utc(startMs),
    end: utc(endMs),
    timezone_offset: local(0, zone).slice(-6),
    score_state: 'SCORED',
    updated_at: utc(endMs + HOUR),
  })
  const nights = nightsOf(days)
  const documents = new Map([
    [
      '/v2/activity/sleep',
      nights.map(({ id, startMs, endMs, zone, level, isNap }) => ({
        ms: startMs,
        day: '',
        document: {
          id,
          nap: isNap,
          ...common(startMs, endMs, zone),
          score: {
            respiratory_rate: 12 + level / 10,
            sleep_performance_percentage: level,
            stage_summary: { total_light_sleep_time_milli: 3_600_000 },
          },
        } as Document,
      })),
    ],
    [
      '/v2/recovery',
      nights
        .filter(({ isNap }) => !isNap)
        .map(({ id, endMs, level }) => ({
          ms: madeAt(endMs, level),
          day: '',
          document: {
            sleep_id: id,
            created_at: utc(madeAt(endMs, level)),
            score_state: 'SCORED',
            score: { recovery_score: level, resting_heart_rate: 40 + level, hrv_rmssd_milli: 20 + level },
          } as Document,
        })),
    ],
    [
      '/v2/activity/workout',
      workoutsOf(days).map(({ id, startMs, endMs, zone, level }) => ({
        ms: startMs,
        day: '',
        document: {
          id,
          sport_name: 'running',
          ...common(startMs, endMs, zone),
          score: { strain: level / 5, kilojoule: level * 41.84 },
        } as Document,
      })),
    ],
  ])
  return {
    documents,
    answer({ path, query = {} }, { documents }, page) {
      const [from, until] = [Date.parse(query.start!), Date.parse(query.end!)]
      const found = (documents.get(path) ?? []).filter(({ ms }) => ms >= from && ms < until).sort((a, b) => b.ms - a.ms)
      const at = Number(query.nextToken ?? 0)
      const more = at + page < found.length
      return {
        records: found.slice(at, at + page).map(({ document }) => document),
        ...(more && { next_token: String(at + page) }),
      }
    },
  }
}

/** The parts that a pull of windows brings, in order. */
function pull(id: string, shelf: Shelf, windows: readonly Window[], page: number): TestPart[] {
  const parts: TestPart[] = []
  for (const { name, first, next } of cloudProviders.get(id)?.streams ?? []) {
    for (const window of windows) {
      let request = first(window, { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 })
      while (request && shelf.documents.has(request.path)) {
        const json = shelf.answer(request, shelf, page)
        parts.push({ stream: name, at: utc(AT), args: request.args ?? null, body: json })
        request = next?.({ status: 200, headers: {}, json: JSON.parse(JSON.stringify(json)) }, request) ?? null
      }
    }
  }
  return parts
}

/** Rows by their keys; of one key they are the same, whichever part brings them. */
function merged(batches: readonly Batch[]): Map<string, string> {
  const rows = new Map<string, string>()
  const put = (key: string, row: string) => {
    const known = rows.get(key)
    if (known !== undefined && known !== row) throw new Error(`${key} is ${known} and ${row}`)
    rows.set(key, row)
  }
  for (const batch of batches) {
    const { samples, sources: _, spans: __, ...events } = rowsOf(batch)
    for (const line of samples as string[]) put(line.split('Z ')[0] as string, line)
    for (const [kind, list] of Object.entries(events)) {
      for (const one of list as { externalId: string; category?: string }[])
        put([kind, one.category, one.externalId].join(' '), JSON.stringify(one))
    }
  }
  return rows
}

/** What a batch says is gone, though another batch has it. */
function wronglyGone(batches: readonly Batch[]): string[] {
  const wrong: string[] = []
  for (const { events } of batches) {
    for (const { what, loMs, hiMs } of events.spans) {
      const within = (ms: number) => ms >= loMs && ms < hiMs
      const own = new Set(
        timesOf(
          batches.filter((one) => one.events === events),
          what,
        ),
      )
      wrong.push(
        ...timesOf(batches, what)
          .filter((ms) => within(ms) && !own.has(ms))
          .map((ms) => `${JSON.stringify(what)} ${utc(ms)}`),
      )
    }
  }
  return wrong
}

const timesOf = (batches: readonly Batch[], what: Span['what']): number[] =>
  batches.flatMap(({ samples, events }) => {
    if (typeof what === 'number')
      return samples.filter(({ seriesId }) => seriesId === what).flatMap(({ timeMs }) => [...timeMs])
    if (typeof what === 'string') return events[what].map(({ startMs }) => startMs)
    return events.scores.filter(({ category }) => category === what.score).map(({ timeMs }) => timeMs)
  })

const anyPull = fc.record({
  days: anyDays,
  page: fc.integer({ min: 1, max: 9 }),
  cuts: fc.array(fc.nat(DAYS), { maxLength: 4 }),
  overlap: fc.integer({ min: 0, max: 4 }),
  order: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 }),
  size: fc.integer({ min: 1, max: 12 }),
})

for (const [id, shelfOf] of [
  ['oura', oura],
  ['whoop', whoop],
] as const) {
  t.test(`${id}: the rows do not depend on windows, pages and parcels`, async (t) => {
    const property = fc.property(anyPull, ({ days, page, cuts, overlap, order, size }) => {
      const shelf = shelfOf(days)
      const whole = [batchOf(id, pull(id, shelf, [ALL], 1_000))]
      const edges = [
        ALL.fromMs,
        ...[...new Set(cuts)].sort((a, b) => a - b).map((day) => START + day * DAY),
        ALL.untilMs,
      ]
      const windows = edges.slice(1).map((untilMs, place) => ({ fromMs: edges[place]! - overlap * DAY, untilMs }))
      const parts = pull(id, shelf, windows, page)
        .map((part, place) => ({ part, place: order[place % order.length]! * 1_000 + ((place * 7) % 1_000) }))
        .sort((a, b) => a.place - b.place)
        .map(({ part }) => part)
      const parcels = Array.from({ length: Math.ceil(parts.length / size) }, (_, nth) =>
        batchOf(id, parts.slice(nth * size, (nth + 1) * size)),
      )
      const [expected, got] = [merged(whole), merged(parcels)]
      const rejected = [...whole, ...parcels].reduce((sum, batch) => sum + batch.rejected, 0)
      const same = got.size === expected.size && [...got].every(([key, row]) => expected.get(key) === row)
      return same && rejected === 0 && expected.size > 0 && wronglyGone([...whole, ...parcels]).length === 0
    })
    fc.assert(property, { seed: 15, numRuns: runs(20, 2_000) })
    t.pass()
  })
}

t.test('a recovery is at the end of its sleep, in the zone of that', async (t) => {
  const property = fc.property(anyDays, fc.integer({ min: 1, max: 9 }), (days, page) => {
    const batch = batchOf('whoop', pull('whoop', whoop(days), [ALL], page))
    const expected = nightsOf(days)
      .filter(({ isNap }) => !isNap)
      .map(({ endMs, zone, level }) => `${utc(endMs)} ${40 + level} ${zone}`)
    const resting = batch.samples.filter(({ seriesId }) => storedSeries(seriesId)?.series.type === 'resting_heart_rate')
    const got = resting.flatMap(({ timeMs, value, zoneMin }) =>
      Array.from(timeMs, (ms, place) => `${utc(ms)} ${value[place]} ${zoneMin[place]}`),
    )
    const scored = batch.events.scores.filter(({ category }) => category === 'recovery')
    const ends = new Map(nightsOf(days).map((night) => [night.id, night.endMs]))
    return (
      JSON.stringify(got.sort()) === JSON.stringify(expected.sort()) &&
      scored.length === expected.length &&
      scored.every(({ night, timeMs }) => night !== null && ends.get(night) === timeMs)
    )
  })
  fc.assert(property, { seed: 15, numRuns: runs(20, 2_000) })
  t.pass()
})
