// The pages of simulated providers, asked for as the folders say, become what is true of their people.
import t from 'tap'
import { type Batch, NO_ZONE } from '../../server/batch/columns.ts'
import { storedSeries } from '../../server/catalogue/series.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import type { Provider, Request, Stream, Window } from '../../server/providers/provider.ts'
import { encodeParcel, type ParcelPart, readParcel } from '../../workers/parcel.ts'
import { type Json, type Playing, play, register, START, tokens } from '../support/simulator.ts'
import { runs } from '../support/thorough.ts'
import { differences, type Span, Told } from '../support/truth.ts'
import { linesOf } from '../support/truth-of-all.ts'

const DAY_MS = 86_400_000
const PEOPLE = runs(4, 20)
const DAYS = runs(12, 60)
const PROVIDERS = ['oura', 'whoop', 'strava', 'polar'] as const

t.test('of everybody, value by value', async (t) => {
  const simulator = await play(t, { people: PEOPLE, days: DAYS + 5 })
  for (const provider of PROVIDERS)
    await simulator.control('POST', 'settings', {
      ...{ provider, limits: [1e6, 1e6, 1e6, 1e6].slice(provider === 'strava' ? 0 : 2), access_seconds: 1e6 },
      // Polar shows nothing that was uploaded before the registration.
      ...(provider === 'polar' && { own: { old_exercises: true } }),
    })
  const asked = { fromMs: START - DAYS * DAY_MS, untilMs: START }
  const span = { fromMs: asked.fromMs + 2 * DAY_MS, untilMs: START + DAY_MS, nowMs: START }
  const wrong: string[] = []
  let lines = 0
  for (const { key } of (await simulator.control('GET', 'people')).body) {
    const from = new Date(asked.fromMs).toISOString().slice(0, 10)
    const truth = (await simulator.control('GET', `truth?person=${key}&from=${from}&minutes=true`)).body
    for (const id of PROVIDERS) {
      const compared = id === 'polar' ? { ...span, fromMs: Math.max(span.fromMs, START - 26 * DAY_MS) } : span
      const parts = await partsOf(simulator, id, truth, asked)
      const result = readParcel({ bytes: encodeParcel(parts), encoding: 'identity', provider: id })
      if (!result.ok) throw new Error(result.code)
      if (result.batch.rejected > 0) wrong.push(`${key} ${id}: ${JSON.stringify(result.batch.rejections.slice(0, 5))}`)
      const told = toldBy(result.batch, id, compared)
      lines += told.size
      const found = differences(told, linesOf[id](truth, { ...compared, aloneMs: START - 30 * DAY_MS }))
      wrong.push(...found.slice(0, 15).map((line) => `${key} ${id}: ${line}`))
      if (found.length > 15) wrong.push(`${key} ${id}: and ${found.length - 15} more`)
    }
  }
  t.strictSame(wrong, [])
  t.ok(lines > PEOPLE * DAYS * 200, `${lines} lines`)
})

/** Every answer to what a folder asks for, as parts of a parcel. */
async function partsOf(simulator: Playing, id: string, { person, sleeps }: Json, span: Window): Promise<ParcelPart[]> {
  const state = { ...STATE, zone: sleeps.at(-1).end_offset }
  const { access_token: token } = await tokens(simulator, id, { auto: person.key })
  if (id === 'polar') await register(simulator, token, person.key)
  const provider = cloudProviders.get(id) as Provider
  const parts: ParcelPart[] = []
  for (const stream of provider.streams ?? [])
    for (const window of windowsOf(stream, span))
      parts.push(...(await pagesOf({ simulator, id, token, stream }, stream.first(window, state))))
  return parts
}

const STATE = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }

interface Asking {
  simulator: Playing
  id: string
  token: string
  stream: Pick<Stream, 'name' | 'next' | 'follow'>
}

async function pagesOf(asking: Asking, first: Request | null): Promise<ParcelPart[]> {
  const { simulator, id, token, stream } = asking
  const objects = cloudProviders.get(id)?.objects ?? {}
  const parts: ParcelPart[] = []
  for (let request = first; request; ) {
    const path = `${request.path}?${new URLSearchParams(request.query)}`
    const { status, headers, body } = await simulator.get(id, path, token)
    if (status === 204) return parts
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    const answer = { status, headers: Object.fromEntries(headers), json: body }
    const bytes = Buffer.from(JSON.stringify(body))
    parts.push({ stream: stream.name, args: request.args ?? null, atMs: START, zone: null, body: bytes })
    for (const wish of stream.follow?.(answer, request, STATE) ?? []) {
      const kind = wish.kind === 'object' ? objects[wish.object] : undefined
      if (kind && wish.kind === 'object') {
        const detail = { ...asking, stream: { name: kind.stream, ...(kind.next && { next: kind.next }) } }
        parts.push(...(await pagesOf(detail, kind.request(wish.args, STATE))))
      }
    }
    request = stream.next?.(answer, request) ?? null
  }
  return parts
}

function windowsOf({ windowDays, historyDays }: Stream, { fromMs, untilMs }: Window): Window[] {
  if (historyDays === 0) return [{ fromMs, untilMs }]
  const windows: Window[] = []
  for (let at = fromMs; at < untilMs; at += windowDays * DAY_MS)
    windows.push({ fromMs: at, untilMs: Math.min(untilMs, at + windowDays * DAY_MS) })
  return windows
}

/** The lines about a batch. */
function toldBy({ samples, events }: Batch, provider: string, span: Span): Set<string> {
  const told = new Told(provider, span)
  const zone = (minutes: number | null | undefined) => (minutes === NO_ZONE ? null : (minutes ?? null))
  const offset = (minutes: number | null) => {
    if (minutes === null) return null
    const size = Math.abs(minutes)
    const text = (number: number) => String(number).padStart(2, '0')
    return `${minutes < 0 ? '-' : '+'}${text(Math.trunc(size / 60))}:${text(size % 60)}`
  }
  for (const { seriesId, timeMs, value, zoneMin } of samples)
    timeMs.forEach((at, i) => {
      told.sample(storedSeries(seriesId)?.series.type ?? '', at, zone(zoneMin[i]), value[i] as number)
    })
  for (const { startMs, endMs, zoneMin, isNap, asleepS, efficiencyPercent: efficiency, stages } of events.nights)
    told.sleep({ ...{ startMs, endMs, offset: offset(zoneMin), isNap: isNap ?? false }, asleepS, efficiency, stages })
  for (const { startMs, endMs, zoneMin, type, ...measured } of events.workouts) {
    const { caloriesKcal: kcal, distanceMeters: distance } = measured
    told.workout({ startMs, endMs, offset: offset(zoneMin), type, kcal, distance })
  }
  for (const { category, timeMs: atMs, zoneMin, value, qualifier } of events.scores)
    told.score({ category, atMs, zoneMin, value, qualifier })
  return told.lines
}
