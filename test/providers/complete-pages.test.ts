// What a page says is not there, is not: whatever is asked of a provider, nothing that it has is removed.
import fc from 'fast-check'
import t from 'tap'
import type { Batch, Span } from '../../server/batch/columns.ts'
import { seriesByName, storedSeries } from '../../server/catalogue/series.ts'
import { streams as fitbit } from '../../server/providers/fitbit/streams.ts'
import { streams as google, objects } from '../../server/providers/google_health/streams.ts'
import { localDate, localInstant, zoneMinAt } from '../../server/providers/local-time.ts'
import { streams as oura } from '../../server/providers/oura/streams.ts'
import type { Json } from '../../server/providers/part.ts'
import type { Request, Stream, StreamState, Window } from '../../server/providers/provider.ts'
import { streams as whoop } from '../../server/providers/whoop/streams.ts'
import { batchOf } from '../support/parcels.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const HOUR = 60 * MIN
const START = Date.UTC(2026, 1, 1)
const AT = '2026-04-20T12:00:00Z'
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }

interface Thing {
  readonly id: string
  readonly startMs: number
  readonly endMs: number
}

/** Days that there is something of. */
const DAYS = 30

const anyThings = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: DAYS * 24 }), fc.integer({ min: 20, max: 14 * 60 })), {
    ...{ minLength: 5, maxLength: 40, size: 'max' },
    selector: ([hour]) => hour,
  })
  .map((list) =>
    list.map(([hour, minutes], place): Thing => {
      const startMs = START + hour * HOUR
      return { id: `thing-${place}`, startMs, endMs: startMs + minutes * MIN }
    }),
  )

const anyWindow = fc
  .tuple(fc.integer({ min: 0, max: DAYS * 24 * 60 }), fc.integer({ min: 1, max: 20 * 24 * 60 }))
  .map(([at, length]): Window => ({ fromMs: START + at * MIN, untilMs: START + (at + length) * MIN }))

const anyZone = fc.constantFrom('+01:00', '+05:45', '-10:00', '+14:00', '-12:00', 'America/New_York')

/** What there is, is not on the page, and lies where the page is said to be complete. */
const wronglyMissed = ({ events }: Batch, all: readonly Thing[]): string[] => {
  const listed = new Set([...events.nights, ...events.workouts].map(({ externalId }) => externalId))
  return all
    .filter(
      ({ id, startMs }) => !listed.has(id) && events.spans.some(({ loMs, hiMs }) => loMs <= startMs && startMs < hiMs),
    )
    .map(({ id }) => id)
}

/** The pages of Google, the newest first and fewer items than were asked for: as parts, each a batch of its own. */
function pagesOf(
  stream: Stream,
  request: Request | null,
  serve: (request: Request) => readonly object[],
  size: number,
) {
  const parts: { args: Json; body: Json }[] = []
  for (let asked = request; asked && parts.length < 60; ) {
    const all = serve(asked)
    const from = Number(asked.query?.pageToken ?? 0)
    const more = from + size < all.length ? { nextPageToken: String(from + size) } : {}
    const body = { dataPoints: all.slice(from, from + size), ...more } as unknown as Json
    parts.push({ args: asked.args ?? null, body })
    asked = stream.next!({ status: 200, headers: {}, json: body }, asked)
  }
  return parts
}

const between = (filter: string): [string, string] => {
  const [from, until] = [...filter.matchAll(/"([^"]+)"/g)].map(([, text]) => text)
  return [from as string, until as string]
}

const pointOf = (type: 'sleep' | 'exercise', { id, startMs, endMs }: Thing, zone: string) => {
  const interval = {
    startTime: new Date(startMs).toISOString(),
    endTime: new Date(endMs).toISOString(),
    startUtcOffset: `${zoneMinAt(zone, startMs)! * 60}s`,
  }
  return { dataPointName: id, [type]: { interval } }
}

/** What Google finds by a filter: nights by their ends, exercises by the civil date of their start. */
const found = (type: 'sleep' | 'exercise', things: readonly Thing[], zone: string) => (request: Request) => {
  const [from, until] = between(request.query!.filter!)
  const keyOf = ({ startMs, endMs }: Thing) =>
    type === 'sleep' ? new Date(endMs).toISOString() : localDate(startMs, zone)
  return things
    .filter((one) => keyOf(one) >= from && keyOf(one) < until)
    .toSorted((a, b) => b.startMs - a.startMs)
    .map((one) => pointOf(type, one, zone))
}

const anySize = fc.integer({ min: 1, max: 12 })

t.test('pages of Google, of pulls and after deletions', async (t) => {
  let spans = 0
  for (const type of ['sleep', 'exercise'] as const) {
    const stream = google.find(({ name }) => name === type)!
    const property = fc.property(
      anyThings,
      anyWindow,
      anyZone,
      anySize,
      fc.boolean(),
      (things, window, zone, size, isDeletion) => {
        const request = isDeletion ? objects[type]!.request({ ...window }, STATE) : stream.first(window, STATE)
        return pagesOf(stream, request, found(type, things, zone), size).every((part) => {
          const batch = batchOf('google_health', [{ stream: type, at: AT, ...part }])
          spans += batch.events.spans.length
          return wronglyMissed(batch, things).length === 0
        })
      },
    )
    fc.assert(property, { seed: 18, numRuns: runs(80, 4_000) })
  }
  t.ok(spans > 100, 'there are pages that are complete')
})

t.test('what Google says was deleted goes, if all that is left is on one page', async (t) => {
  const property = fc.property(anyThings, anyWindow, anyZone, (things, window, zone) => {
    const { request } = objects.sleep!
    const [part] = pagesOf(
      google.find(({ name }) => name === 'sleep')!,
      request({ ...window }, STATE),
      found('sleep', things, zone),
      100,
    )
    const { events } = batchOf('google_health', [{ stream: 'sleep', at: AT, ...part! }])
    const covered = events.spans.filter(({ what }) => what === 'nights').map(({ loMs, hiMs }) => [loMs, hiMs] as const)
    // Each instant of the span, whatever there was, lies in one of them.
    return Array.from(
      { length: 50 },
      (_, step) => window.fromMs + (step * (window.untilMs - window.fromMs)) / 50,
    ).every((ms) => covered.some(([loMs, hiMs]) => loMs <= ms && ms < hiMs))
  })
  fc.assert(property, { seed: 18, numRuns: runs(80, 1_000) })
  t.pass()
})

const local = (ms: number, zone: string) => new Date(ms + zoneMinAt(zone, ms)! * MIN).toISOString().slice(0, 23)

/** The dates of a path, both included. */
const datesIn = (path: string) => /(\d{4}-\d\d-\d\d)\/(\d{4}-\d\d-\d\d)\.json$/.exec(path)!.slice(1) as [string, string]

t.test('lists of Fitbit, by the dates of a clock', async (t) => {
  const [sleep, weight] = ['sleep', 'weight'].map((name) => fitbit.find((one) => one.name === name)!) as [
    Stream,
    Stream,
  ]
  let spans = 0
  const property = fc.property(anyThings, anyWindow, anyZone, (all, window, zone) => {
    // What a clock shows twice is one thing to Fitbit.
    const things = all.filter(({ startMs }) => localInstant(local(startMs, zone), zone)?.ms === startMs)
    const inDates = (date: string, [first, last]: readonly [string, string]) => date >= first && date <= last
    const nights = sleep.first(window, { ...STATE, zone })!
    const weighings = weight.first(window, { ...STATE, zone })!
    const logs = things
      .filter(({ endMs }) => inDates(localDate(endMs, zone), datesIn(nights.path)))
      .toSorted((a, b) => b.startMs - a.startMs)
      .map(({ id, startMs, endMs }) => ({ logId: id, startTime: local(startMs, zone), duration: endMs - startMs }))
    const rows = things
      .filter(({ startMs }) => inDates(localDate(startMs, zone), datesIn(weighings.path)))
      .toSorted((a, b) => a.startMs - b.startMs)
      .map(({ startMs }) => ({ date: localDate(startMs, zone), time: local(startMs, zone).slice(11, 19), weight: 70 }))
    const at = { at: AT, zone }
    const ofNights = batchOf('fitbit', [{ stream: 'sleep', ...at, args: nights.args ?? null, body: { sleep: logs } }])
    const ofWeights = batchOf('fitbit', [
      { stream: 'weight', ...at, args: weighings.args ?? null, body: { weight: rows } },
    ])
    spans += ofNights.events.spans.length + ofWeights.events.spans.length
    const weighed = new Set(
      ofWeights.samples
        .filter(({ seriesId }) => storedSeries(seriesId)?.series.type === 'weight')
        .flatMap(({ timeMs }) => [...timeMs]),
    )
    const missed = things.filter(
      ({ startMs }) =>
        !weighed.has(startMs) && ofWeights.events.spans.some(({ loMs, hiMs }) => loMs <= startMs && startMs < hiMs),
    )
    return missed.length === 0 && wronglyMissed(ofNights, things).length === 0
  })
  fc.assert(property, { seed: 18, numRuns: runs(100, 4_000) })
  t.ok(spans > 100, 'there are lists that are complete')
})

/** Pages of a list that says `next_token`, in the order of `all`: as parts, each a batch of its own. */
function listOf(stream: Stream, request: Request | null, name: string, all: readonly object[], size: number) {
  const parts: { stream: string; at: string; args: Json; body: Json }[] = []
  for (let asked = request, from = 0; asked && parts.length < 60; from += size) {
    const more = from + size < all.length ? { next_token: String(from + size) } : {}
    const body = { [name]: all.slice(from, from + size), ...more } as unknown as Json
    parts.push({ stream: stream.name, at: AT, args: asked.args ?? null, body })
    asked = stream.next!({ status: 200, headers: {}, json: body }, asked)
  }
  return parts
}

const isoIn = (ms: number, zone: string) => {
  const minutes = zoneMinAt(zone, ms)!
  const two = (number: number) => String(Math.trunc(number)).padStart(2, '0')
  const size = Math.abs(minutes)
  return `${local(ms, zone).slice(0, 19)}${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`
}

/** Where people were, one after the other. */
const anyJourney = fc.array(anyZone, { minLength: 1, maxLength: 4 })

t.test("Oura's periods and workouts, by the dates of wherever the person was", async (t) => {
  let spans = 0
  for (const name of ['sleep', 'workout']) {
    const stream = oura.find((one) => one.name === name)!
    const [start, end] = name === 'sleep' ? ['bedtime_start', 'bedtime_end'] : ['start_datetime', 'end_datetime']
    const property = fc.property(anyThings, anyWindow, anyJourney, anySize, (things, window, zones, size) => {
      const request = stream.first(window, STATE)!
      const documents = things
        .map((one, place) => ({ ...one, zone: zones[place % zones.length]! }))
        .map(({ id, startMs, endMs, zone }) => ({
          ...{ id, startMs, type: 'long_sleep', day: localDate(name === 'sleep' ? endMs : startMs, zone) },
          ...{ [start!]: isoIn(startMs, zone), [end!]: isoIn(endMs, zone) },
        }))
        .filter(({ day }) => day >= request.query!.start_date! && day <= request.query!.end_date!.slice(0, 10))
        .toSorted((a, b) => a.startMs - b.startMs)
      return listOf(stream, request, 'data', documents, size).every((part) => {
        const batch = batchOf('oura', [part])
        spans += batch.events.spans.length
        return wronglyMissed(batch, things).length === 0
      })
    })
    fc.assert(property, { seed: 18, numRuns: runs(80, 4_000) })
  }
  t.ok(spans > 100, `${spans} spans are complete`)
})

t.test("WHOOP's sleeps and workouts, which may begin before the window", async (t) => {
  let spans = 0
  for (const name of ['sleep', 'workout']) {
    const stream = whoop.find((one) => one.name === name)!
    const property = fc.property(anyThings, anyWindow, anySize, fc.boolean(), (things, window, size, byEnd) => {
      const request = stream.first(window, STATE)!
      const [from, until] = [Date.parse(request.query!.start!), Date.parse(request.query!.end!)]
      const records = things
        .filter(({ startMs, endMs }) => (byEnd ? endMs : startMs) >= from && startMs < until)
        .toSorted((a, b) => b.startMs - a.startMs)
        .map(({ id, startMs, endMs }) => ({
          ...{ id, start: new Date(startMs), end: new Date(endMs), timezone_offset: 'Z' },
          ...{ score_state: 'SCORED', score: { respiratory_rate: 15 } },
        }))
      return listOf(stream, request, 'records', records, size).every((part) => {
        const batch = batchOf('whoop', [part])
        spans += batch.events.spans.length
        return wronglyMissed(batch, things).length === 0
      })
    })
    fc.assert(property, { seed: 18, numRuns: runs(80, 4_000) })
  }
  t.ok(spans > 100, `${spans} spans are complete`)
})

t.test('points of Google, on any number of pages: all of them stay, and what lies between them goes', async (t) => {
  const anyStarts = fc.uniqueArray(fc.integer({ min: 0, max: 4 * 24 * 60 }), { minLength: 1, maxLength: 60 })
  const at = (minute: number) => START + minute * MIN
  const property = fc.property(anyStarts, anyWindow, anySize, fc.boolean(), (minutes, window, size, isDeletion) => {
    const { fromMs, untilMs } = {
      fromMs: window.fromMs,
      untilMs: Math.min(window.untilMs, window.fromMs + 3 * 24 * HOUR),
    }
    const serve = (request: Request) => {
      const [from, until] = between(request.query!.filter!).map(Date.parse) as [number, number]
      const listed = minutes.map(at).filter((ms) => ms >= from && ms < until)
      return listed
        .sort((a, b) => b - a)
        .map((ms) => ({ steps: { interval: { startTime: new Date(ms).toISOString() } } }))
    }
    const stream = google.find(({ name }) => name === 'steps')!
    const request = isDeletion
      ? objects.steps!.request({ fromMs, untilMs }, STATE)
      : stream.first({ fromMs, untilMs }, STATE)
    const parts = pagesOf(stream, request, serve, size)
    const steps = seriesByName.get('steps')!.id
    const spans = parts.flatMap((part): (Span | 'wrong')[] => {
      const starts = (part.body as unknown as { dataPoints: { steps: { interval: { startTime: string } } }[] })
        .dataPoints
      const onPage = new Set(starts.map((one) => Date.parse(one.steps.interval.startTime)))
      const batch = batchOf('google_health', [{ stream: 'steps', at: AT, ...part }])
      const found = batch.events.spans.filter(({ what }) => what === steps)
      const isWrong = found.some(({ loMs, hiMs }) =>
        minutes.map(at).some((ms) => ms >= loMs && ms < hiMs && !onPage.has(ms)),
      )
      return isWrong ? ['wrong'] : found
    })
    if (spans.includes('wrong')) return false
    const listed = minutes.map(at).filter((ms) => ms >= fromMs && ms < untilMs)
    const [lo, hi] = isDeletion ? [fromMs, untilMs] : [Math.min(...listed), Math.max(...listed)]
    const isGone = (ms: number) => spans.some((one) => one !== 'wrong' && one.loMs <= ms && ms < one.hiMs)
    const others = Array.from({ length: 50 }, (_, place) => lo + Math.floor(((hi - lo) * place) / 50))
    return others.every((ms) => !(ms < hi) || minutes.some((minute) => at(minute) === ms) || isGone(ms))
  })
  fc.assert(property, { seed: 21, numRuns: runs(200, 5_000) })
  t.pass()
})
