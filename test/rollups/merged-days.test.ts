// Merged days against straight-line code: records of several sources, of all lengths, in several zones, entered by hand or
// measured, while rollups are behind, up to date, archived in part and archived.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createUser, eachEngine } from '../support/sdk.ts'
import { addSources, DAY_MS, localDay, MINUTE_MS, seeded, type Written, write } from '../support/summaries.ts'
import { runs } from '../support/thorough.ts'

const QUARTER_MS = 15 * MINUTE_MS
/** What is archived ends with a multiple of 30 days. */
const FLOOR_MS = 690 * 30 * DAY_MS
const BASE = FLOOR_MS - 3 * DAY_MS
const DAYS = 6
const SEED = 20_261_122

const DEVICES = [
  { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
  { provider: 'apple', device: 'iPhone17,1', source: 'Phone', type: 'phone' },
  { provider: 'garmin', device: 'F', source: 'garmin', type: 'watch' },
]
/** What each device measured, then what was entered by hand on two; two devices are as good as each other. */
const ENTRIES = [
  { device: 0, rank: 0, manual: false },
  { device: 1, rank: 7, manual: false },
  { device: 2, rank: 7, manual: false },
  { device: 1, rank: 7, manual: true },
  { device: 0, rank: 0, manual: true },
]

const mean = (values: number[]) => sum(values) / values.length

/** Types whose minutes are counted: those with 30 steps; and with at least 60 bpm, and with more than 100. */
const TYPES = [
  {
    ...{ id: 80, lasts: true, from: 0, marks: [1, 2] },
    reached: [() => true, (values: number[]) => sum(values) >= 30 - 1e-9],
  },
  {
    ...{ id: 1, lasts: false, from: 50, marks: [21, 102] },
    reached: [(values: number[]) => mean(values) >= 60, (values: number[]) => mean(values) > 100],
  },
]
type Type = (typeof TYPES)[number]

interface Lasting {
  /** Place among the entries. */
  place: number
  ms: number
  value: number
  /** As it is stored; 0 = none. */
  lastsS: number
  zone: number | null
}

function randomRecords(random: () => number, type: Type): Lasting[] {
  const pick = <T>(...all: T[]): T => all[Math.floor(random() * all.length)] as T
  return ENTRIES.flatMap(({ manual }, place) => {
    const found = new Map<number, Lasting>()
    const density = manual ? 4 : pick(10, 60, 200)
    const zones = pick<(number | null)[]>([0], [60, 60, 60, -300], [null, 330])
    for (let n = 0; n < density; n += 1) {
      const hour = pick(0, 5, 8, 9, 10, 17, 22, 23)
      const ms =
        BASE + Math.floor(random() * DAYS) * DAY_MS + hour * 60 * MINUTE_MS + Math.floor(random() * 3600) * 1000
      const lasts = type.lasts ? pick(0, 0, 20, 60, 61, 300, 540, 900, 901, pick(1800, 3600, 40_000, 86_400)) : 0
      const stays = (ms % QUARTER_MS) + lasts * 1000 <= QUARTER_MS
      found.set(ms, {
        place,
        ms,
        value: type.from + Math.floor(random() * (type.lasts ? 400 : 120)),
        lastsS: lasts > 60 || !stays ? lasts : 0,
        zone: pick(...zones),
      })
    }
    return [...found.values()].sort((a, b) => a.ms - b.ms)
  })
}

const quarterOf = (ms: number) => Math.floor(ms / QUARTER_MS)

/** What of a record lies in each unit of time that it touches, by number of the unit. */
function pieces({ ms, value, lastsS }: Lasting, unitMs: number): Map<number, number> {
  const parts = new Map<number, number>()
  if (lastsS === 0) return parts.set(Math.floor(ms / unitMs), value)
  const end = ms + lastsS * 1000
  for (let unit = Math.floor(ms / unitMs); unit * unitMs < end; unit += 1) {
    const covered = Math.min(end, (unit + 1) * unitMs) - Math.max(ms, unit * unitMs)
    parts.set(unit, (value * covered) / (lastsS * 1000))
  }
  return parts
}

/** Quarter hours by number since 1970. */
interface Reached {
  all: Set<number>
  /** Into which records that start in one quarter hour bring more than a trace. */
  firm: Set<number>
}

function reachedBy(records: Lasting[], heartRate: boolean): Reached {
  const amounts = new Map<string, number>()
  for (const one of records)
    for (const [quarter, amount] of pieces(one, QUARTER_MS)) {
      const key = `${quarterOf(one.ms)} ${quarter}`
      amounts.set(key, (amounts.get(key) ?? 0) + amount)
    }
  const all = [...amounts].map(([key, amount]) => ({ key: key.split(' ').map(Number) as [number, number], amount }))
  const carrying = new Set(all.filter(({ key: [start, at] }) => at > start).map(({ key: [start] }) => start))
  const least = (start: number) => (carrying.has(start) ? 5 - 1e-6 : 1e-9)
  const firm = all.filter(({ key: [start, at], amount }) => heartRate || (at - start <= 4 && amount >= least(start)))
  const quarters = (some: typeof all) => new Set(some.map(({ key: [, at] }) => at))
  return { all: quarters(all), firm: quarters(firm) }
}

interface Told {
  counted: [n: number, total: number] | null
  dropped: [n: number, total: number] | null
  /** Minutes that reached the one mark of the type, and the other; null = nobody knows. */
  minutes: [number, number] | null
}

const sum = (values: number[]) => values.reduce((all, one) => all + one, 0)

/** What each entry adds up to on each day, as `place day`. */
function expected(records: Lasting[], { id, reached: marks }: Type): Map<string, Told> {
  const zones = new Map(records.map((one) => [`${one.place} ${quarterOf(one.ms)}`, one.zone]))
  const dated = records.map((one) => {
    return {
      ...one,
      day: localDay(quarterOf(one.ms) * QUARTER_MS, zones.get(`${one.place} ${quarterOf(one.ms)}`) ?? null),
    }
  })
  const reached = ENTRIES.map((_, place) =>
    reachedBy(
      dated.filter((one) => one.place === place),
      id === 1,
    ),
  )
  const on = (place: number, day: number) => dated.filter((one) => one.place === place && one.day === day)
  const order = (place: number, quarter: number) => {
    const { manual, rank } = ENTRIES[place] as (typeof ENTRIES)[number]
    const { firm } = reached[place] as Reached
    return [Number(manual), Number(!firm.has(quarter)), rank, -on(place, Math.floor(quarter / 96)).length, place]
  }
  const isBetter = (a: number, b: number, quarter: number) => {
    const [left, right] = [order(a, quarter), order(b, quarter)]
    const at = left.findIndex((one, index) => one !== right[index])
    return (left[at] as number) < (right[at] as number)
  }
  const told = new Map<string, Told>()
  for (const key of new Set(dated.map(({ place, day }) => `${place} ${day}`))) {
    const [place = 0, day = 0] = key.split(' ').map(Number)
    const own = on(place, day)
    const isFree = (quarter: number) =>
      reached.every((other, one) => one === place || !other.all.has(quarter) || isBetter(place, one, quarter))
    const whole = sum(own.map(({ value }) => value))
    const parts = own.flatMap((one) => [...pieces(one, QUARTER_MS)])
    const free = parts.filter(([quarter]) => isFree(quarter))
    const n = own.filter(({ ms }) => isFree(quarterOf(ms))).length
    const total = free.length === parts.length ? whole : sum(free.map(([, amount]) => amount))
    const rest = whole - total
    const long = own.some((one) => one.lastsS > 900 && [...pieces(one, QUARTER_MS).keys()].some(isFree))
    const minutes = new Map<number, number[]>()
    for (const one of own)
      for (const [minute, amount] of pieces(one, MINUTE_MS))
        if (isFree(quarterOf(minute * MINUTE_MS))) minutes.set(minute, [...(minutes.get(minute) ?? []), amount])
    told.set(key, {
      counted: free.length > 0 ? [n, total] : null,
      dropped: n < own.length || Math.abs(rest) > 1e-9 * whole ? [own.length - n, rest] : null,
      minutes: long ? null : (marks.map((mark) => [...minutes.values()].filter(mark).length) as [number, number]),
    })
  }
  return told
}

type Listed = [place: number, counted: 0 | 1, n: number, total: number, lowest: number, highest: number]

/** The same as the database has it. */
async function found(app: TestApp, sources: number[], type: Type): Promise<Map<string, Told>> {
  const arrays = [
    ENTRIES.map(({ device }) => sources[device] as number),
    ENTRIES.map(({ manual }) => type.id + (manual ? 5000 : 0)),
    ENTRIES.map(({ rank }) => rank),
  ]
  const first = BASE / DAY_MS - 2
  const days = await app.db.rows<[day: number, parts: Listed[]]>(
    "select day, parts from sampled_days($1, $2, $3, $4, $5, 100, false, true, '{}')",
    [...arrays, first, first + DAYS + 5],
  )
  const told = new Map<string, Told>()
  for (const [day, parts] of days) {
    for (const [place, counted, n, total] of parts) {
      const one = told.get(`${place} ${day}`) ?? { counted: null, dropped: null, minutes: [0, 0] }
      told.set(`${place} ${day}`, { ...one, [counted ? 'counted' : 'dropped']: [n, total] })
    }
  }
  const asked = [...told]
    .filter(([, one]) => one.counted)
    .map(([key, one]) => [...key.split(' ').map(Number), one.dropped !== null] as const)
  const minutes = await app.db.rows<[day: number, place: number, reached: [number, number] | null]>(
    'select day, place, reached::float8[] from minutes_reached($1, $2, $3, $4, $5, $6, true, $7)',
    [
      ...arrays,
      asked.map(([place]) => (place as number) + 1),
      asked.map(([, , inPart]) => inPart as boolean),
      asked.map(([, day]) => `{[${day},${(day as number) + 1})}`),
      type.marks,
    ],
  )
  for (const [day, place, reached] of minutes) {
    const one = told.get(`${place - 1} ${day}`) as Told
    one.minutes = reached
  }
  return told
}

const alike = (a: [number, number] | null, b: [number, number] | null) =>
  a === null || b === null ? a === b : a[0] === b[0] && Math.abs(a[1] - b[1]) <= 1e-6

/** What is told otherwise than expected. */
function differences(told: Map<string, Told>, wanted: Map<string, Told>): unknown[] {
  // A day on which nothing counts is none.
  const days = new Set([...wanted].filter(([, one]) => one.counted).map(([key]) => key.split(' ')[1]))
  const keys = new Set([...told.keys(), ...[...wanted.keys()].filter((key) => days.has(key.split(' ')[1]))])
  return [...keys].flatMap((key) => {
    const [has, should] = [told.get(key), wanted.get(key)]
    const right =
      has &&
      should &&
      alike(has.counted, should.counted) &&
      alike(has.dropped, should.dropped) &&
      (!should.counted || alike(has.minutes, should.minutes))
    return right ? [] : [{ key, has, should }]
  })
}

eachEngine(t, 'merged days', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const weeks: { sources: number[]; wanted: Map<string, Told>; seed: number; type: Type }[] = []
  for (let seed = SEED; seed < SEED + runs(6, 100); seed += 1) {
    const type = TYPES[seed % 2] as Type
    const user = await createUser(app)
    const sources = await addSources(app.db, user, DEVICES)
    const records = randomRecords(seeded(seed), type)
    const samples = records.map(({ place, ms, value, lastsS, zone }): Written => {
      const { device, manual } = ENTRIES[place] as (typeof ENTRIES)[number]
      const seriesId = type.id + (manual ? 5000 : 0)
      return { sourceId: sources[device] as number, seriesId, ms, value, zone, lastsS }
    })
    await write(app.db, user, samples)
    weeks.push({ sources, wanted: expected(records, type), seed, type })
  }
  const check = async () => {
    const wrong: unknown[] = []
    for (const { sources, wanted, seed, type } of weeks)
      wrong.push(...differences(await found(app, sources, type), wanted).map((one) => ({ seed, one })))
    return wrong.slice(0, 3)
  }
  t.strictSame(await check(), [], 'while rollups are behind')
  while (await refreshRollups(app.db));
  t.strictSame(await check(), [], 'while they are up to date')
  await app.db.query('update archival set archive_after_days = 1')
  while (await archive(app.db, FLOOR_MS + 2 * DAY_MS));
  t.strictSame(await check(), [], 'when half of it is archived')
  while (await archive(app.db, FLOOR_MS + 40 * DAY_MS));
  t.strictSame(await check(), [], 'when all of it is archived')
  t.equal((await app.db.one<{ n: number }>('select count(*) as n from sample')).n, 0)
})
