// The pages of simulated providers, asked for as the folders say, become what is true of their people.
import t from 'tap'
import { type Batch, NO_ZONE } from '../../server/batch/columns.ts'
import { storedSeries } from '../../server/catalogue/series.ts'
import * as folders from '../../server/providers/folders.ts'
import { openNotices } from '../../workers/notices.ts'
import { encodeParcel, type ParcelPart, readParcel } from '../../workers/parcel.ts'
import { type Account, accountOf, partsOf } from '../support/pages.ts'
import { listen, type Receiver } from '../support/receiver.ts'
import { play, START } from '../support/simulator.ts'
import { runs } from '../support/thorough.ts'
import { differences, Told } from '../support/truth.ts'
import { linesOf } from '../support/truth-of-all.ts'

const DAY_MS = 86_400_000
const PEOPLE = runs(2, 20)
const DAYS = runs(5, 60)
const PROVIDERS = Object.keys(linesOf) as (keyof typeof linesOf)[]
/** How far back these tell, whatever is asked; the first day may not be whole. */
const REACHES: Partial<Record<(typeof PROVIDERS)[number], number>> = { polar: 26, garmin: 28 }

t.test('of everybody, value by value', async (t) => {
  const simulator = await play(t, { people: PEOPLE, days: DAYS + 5 })
  for (const provider of PROVIDERS)
    await simulator.control('POST', 'settings', {
      ...{ provider, limits: [1e6, 1e6, 1e6, 1e6, 1e6], access_seconds: 1e6 },
      // Polar shows nothing that was uploaded before the registration.
      ...(provider === 'polar' && { own: { old_exercises: true } }),
      ...(provider === 'garmin' && { own: { heart_rate_seconds: 60, delay_seconds: 0, spread_seconds: 0 } }),
    })
  const asked = { fromMs: START - DAYS * DAY_MS, untilMs: START }
  const span = { fromMs: asked.fromMs + 2 * DAY_MS, untilMs: START + DAY_MS, nowMs: START }
  const past = await listen(t)
  const wrong: string[] = []
  let lines = 0
  for (const { key } of (await simulator.control('GET', 'people')).body) {
    const from = new Date(asked.fromMs).toISOString().slice(0, 10)
    const truth = (await simulator.control('GET', `truth?person=${key}&from=${from}&minutes=true`)).body
    for (const id of PROVIDERS) {
      const reached = START - (REACHES[id] ?? DAYS) * DAY_MS
      const compared = { ...span, fromMs: Math.max(span.fromMs, reached) }
      const account = await accountOf(simulator, id, key)
      const parts = await (id === 'garmin'
        ? sentParts(account, past)
        : partsOf(account, { ...asked, nowMs: START, zone: truth.sleeps.at(-1).end_offset }))
      const told = new Told(id, compared)
      for (const list of id === 'google_health' ? byStream(parts) : [parts]) {
        const result = readParcel({ bytes: encodeParcel(list), encoding: 'identity', provider: id })
        if (!result.ok) throw new Error(result.code)
        const { rejected, rejections } = result.batch
        if (rejected > 0) wrong.push(`${key} ${id}: ${JSON.stringify(rejections.slice(0, 5))}`)
        tell(told, result.batch)
      }
      lines += told.lines.size
      const found = differences(told.lines, linesOf[id](truth, { ...compared, aloneMs: START - 30 * DAY_MS }))
      wrong.push(...found.slice(0, 15).map((line) => `${key} ${id}: ${line}`))
      if (found.length > 15) wrong.push(`${key} ${id}: and ${found.length - 15} more`)
    }
  }
  t.strictSame(wrong, [])
  t.ok(lines > PEOPLE * DAYS * 200, `${lines} lines`)
})

/** Everything that Garmin sends of somebody's past, of whom nothing was asked before, as parts of a parcel. */
async function sentParts({ simulator, token }: Account, past: Receiver): Promise<ParcelPart[]> {
  const { cloud, notices } = folders.garmin
  const backfill = cloud.backfill as NonNullable<typeof cloud.backfill>
  if (past.notices.length === 0)
    await simulator.control('POST', 'subscriptions', { provider: 'garmin', url: past.url, with_secret: true })
  const first = past.notices.length
  const window = { fromMs: START - backfill.days * DAY_MS, untilMs: START }
  for (const { type } of backfill.types) {
    const { path, query } = backfill.request(type, window)
    const { status, body } = await simulator.get('garmin', `${path}?${new URLSearchParams(query)}`, token)
    if (status !== 202) throw new Error(`${type}: ${status} ${JSON.stringify(body)}`)
  }
  await simulator.control('POST', 'notices')
  const bodies = past.notices.slice(first).map(({ text }) => ({ body: Buffer.from(text), atMs: START }))
  return openNotices(notices, { bodies, subscriptionIds: [], wantsSamples: false }).flatMap((opened) => {
    if (opened === 'malformed') throw new Error(opened)
    return opened.flatMap((one): ParcelPart[] =>
      one.kind === 'data' && one.body
        ? [{ stream: one.stream, args: one.args ?? null, atMs: START, zone: null, body: one.body }]
        : [],
    )
  })
}

/** Minutes of weeks are more than a parcel holds. */
const byStream = (parts: readonly ParcelPart[]) =>
  [...new Set(parts.map(({ stream }) => stream))].map((name) => parts.filter(({ stream }) => stream === name))

/** Adds the lines about a batch. */
function tell(told: Told, { samples, events }: Batch): void {
  const zone = (minutes: number | null | undefined) => (minutes === NO_ZONE ? null : (minutes ?? null))
  const offset = (minutes: number | null) => {
    if (minutes === null) return null
    const size = Math.abs(minutes)
    const text = (number: number) => String(number).padStart(2, '0')
    return `${minutes < 0 ? '-' : '+'}${text(Math.trunc(size / 60))}:${text(size % 60)}`
  }
  for (const { seriesId, timeMs, value, zoneMin } of samples)
    timeMs.forEach((at, i) => {
      const { series, isDailyTotal: isTotal } = storedSeries(seriesId) as NonNullable<ReturnType<typeof storedSeries>>
      told.sample({ type: series.type, isTotal }, at, zone(zoneMin[i]), value[i] as number)
    })
  for (const {
    startMs,
    endMs,
    zoneMin,
    isNap,
    asleepS,
    efficiencyPercent: efficiency,
    stages,
    ...of
  } of events.nights) {
    const { awakeS: awake, lightS: light, deepS: deep, remS: rem } = of
    const parts = light === null ? null : { awake: awake ?? 0, light, deep: deep ?? 0, rem: rem ?? 0 }
    const times = { startMs, endMs, offset: offset(zoneMin), isNap: isNap ?? false }
    told.sleep({ ...times, asleepS, efficiency, stages, parts })
  }
  for (const { startMs, endMs, zoneMin, type, ...measured } of events.workouts) {
    const { caloriesKcal: kcal, distanceMeters: distance } = measured
    told.workout({ startMs, endMs, offset: offset(zoneMin), type, kcal, distance })
  }
  for (const { startMs, endMs, type } of events.activities) told.activity({ startMs, endMs, type })
  const cycles = events.wholeCycles.toSorted((a, b) => (a.lastUpdatedMs ?? 0) - (b.lastUpdatedMs ?? 0))
  for (const one of new Map(cycles.map((cycle) => [cycle.externalId, cycle])).values()) {
    const { startMs, cycleLength: length, predictedCycleLength: predicted, periodLength: period } = one
    told.cycle({ startMs, length, predicted, period })
  }
  for (const { category, timeMs: atMs, zoneMin, value, qualifier } of events.scores)
    told.score({ category, atMs, zoneMin, value, qualifier })
}
