// Activities of Strava, and nights, days and heart rates of Polar, asked for as the folders say, are those of simulated
// people, of whom some travel and one lives at +05:45.
import t from 'tap'
import { type Batch, NO_ZONE } from '../../server/batch/columns.ts'
import { storedSeries } from '../../server/catalogue/series.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import type {
  Answer,
  ObjectKind,
  Provider,
  Request,
  Stream,
  StreamState,
  Window,
} from '../../server/providers/provider.ts'
import { encodeParcel, type ParcelPart, readParcel } from '../../workers/parcel.ts'
import { allow, ask, CALLBACK, type Json, type Playing, play, START } from '../support/simulator.ts'
import { runs } from '../support/thorough.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const PEOPLE = runs(4, 20)
const DAYS = runs(12, 24)
const SPAN: Window = { fromMs: START - DAYS * DAY_MS, untilMs: START }

/** A person's access to a provider. */
interface Access {
  simulator: Playing
  id: 'strava' | 'polar'
  provider: Provider
  token: string
}

async function access(simulator: Playing, id: Access['id'], person: string): Promise<Access> {
  const provider = cloudProviders.get(id)!
  const { env } = simulator
  const variable = (name: string) => env[`${id.toUpperCase()}_${name}`] ?? ''
  const { scopes, separator, client, enrol } = provider.oauth({ more: {} })
  const granted = await allow(simulator, id, { auto: person, scope: scopes.join(separator) })
  const [clientId, clientSecret] = [variable('CLIENT_ID'), variable('CLIENT_SECRET')]
  const ofClient = client === 'body' ? { client_id: clientId, client_secret: clientSecret } : {}
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const { body } = await ask(variable('TOKEN_URL'), {
    method: 'POST',
    headers: client === 'basic' ? { authorization: basic } : {},
    body: new URLSearchParams({
      ...{ grant_type: 'authorization_code', code: granted.get('code') ?? '', redirect_uri: CALLBACK },
      ...ofClient,
    }),
  })
  const one = { simulator, id, provider, token: body.access_token }
  const call = Object.assign((request: Request) => asking(one, request), {
    ...{ settings: { clientId, clientSecret, more: {} }, tokenUrl: variable('TOKEN_URL'), nowSeconds: START / 1000 },
  })
  const account = { id: String(body.x_user_id), username: null, zone: null, ref: person }
  const refused = await enrol?.(account, call)
  if (refused !== undefined) throw new Error(refused)
  return one
}

async function asking({ simulator, id, token }: Access, request: Request): Promise<Answer> {
  const url = new URL(`${simulator.env[`${id.toUpperCase()}_API_URL`]}${request.path}`)
  for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const method = request.method ?? 'GET'
  const init =
    request.json === undefined ? { method, headers } : { method, headers, body: JSON.stringify(request.json) }
  const { status, headers: said, body } = await ask(url.href, init)
  return { status, headers: Object.fromEntries(said as never), json: body === '' ? undefined : body }
}

/** Everything that the folder asks for, and what follows from it, as a batch. */
async function batchOf(one: Access, names: readonly string[]): Promise<Batch> {
  const { provider, id } = one
  const state = { scope: null, zone: null as string | null, options: {}, isHistory: false, grantedMs: 0 }
  const parts: ParcelPart[] = []
  const ask = async (stream: string, of: Stream | ObjectKind, first: Request | null): Promise<void> => {
    for (let request = first; request; ) {
      const answer = await asking(one, request)
      if (answer.status !== 200 && answer.status !== 204 && !(answer.status === 404 && of.emptyOn404))
        throw new Error(`${request.path}: ${answer.status}`)
      const told = 'zone' in of ? of.zone?.(answer, request) : undefined
      state.zone = told ?? state.zone
      const body = Buffer.from(JSON.stringify(answer.json ?? null))
      if (answer.status === 200) parts.push({ stream, args: request.args ?? null, atMs: START, zone: state.zone, body })
      for (const wish of of.follow?.(answer, request, state as StreamState) ?? []) {
        const kind = wish.kind === 'object' ? provider.objects?.[wish.object] : undefined
        if (kind && wish.kind === 'object') await ask(kind.stream, kind, kind.request(wish.args, state))
      }
      request = of.next?.(answer, request) ?? null
    }
  }
  for (const stream of provider.streams ?? []) {
    if (!names.includes(stream.name)) continue
    const step = stream.windowDays * DAY_MS
    for (let fromMs = SPAN.fromMs; fromMs < SPAN.untilMs; fromMs += step)
      await ask(stream.name, stream, stream.first({ fromMs, untilMs: Math.min(fromMs + step, SPAN.untilMs) }, state))
  }
  const result = readParcel({ bytes: encodeParcel(parts), encoding: 'identity', provider: id })
  if (!result.ok) throw new Error(result.code)
  return result.batch
}

const ms = (text: string) => Date.parse(text)
const iso = (at: number) => new Date(at).toISOString()
const within = (at: number, marginDays = 0) =>
  at >= SPAN.fromMs + marginDays * DAY_MS && at < SPAN.untilMs - marginDays * DAY_MS

/** What one set has that another lacks. */
const lacking = (name: string, one: ReadonlySet<string>, other: ReadonlySet<string>) =>
  [...one].flatMap((line) => (other.has(line) ? [] : [`${name}: ${line}`]))

/** Samples of a series: instant, value and minutes east of UTC. */
const samplesOf = (batch: Batch, type: string, isDay = false) =>
  batch.samples
    .filter(
      ({ seriesId }) =>
        storedSeries(seriesId)?.series.type === type && !!storedSeries(seriesId)?.isDailyTotal === isDay,
    )
    .flatMap(({ timeMs, value, zoneMin }) =>
      [...timeMs].map((at, i) => ({ at, value: value[i] as number, zone: zoneMin[i] === NO_ZONE ? null : zoneMin[i] })),
    )

const people = async (simulator: Playing): Promise<{ key: string; truth: Json }[]> => {
  const { body } = await simulator.control('GET', 'people')
  const from = iso(SPAN.fromMs).slice(0, 10)
  return Promise.all(
    body.map(async ({ key }: { key: string }) => ({
      key,
      truth: (await simulator.control('GET', `truth?person=${key}&from=${from}&minutes=true`)).body,
    })),
  )
}

/** The dates between nights in different zones. */
function travelDates({ sleeps }: Json): Set<string> {
  const nights = sleeps.filter(({ ids }: Json) => ids.polar !== null)
  return new Set(
    nights.flatMap(({ date, end_offset: offset }: Json, place: number) => {
      const next = nights[place + 1]
      if (!next || next.start_offset === offset) return []
      const dates: string[] = []
      for (let at = ms(date); at <= ms(next.date); at += DAY_MS) dates.push(iso(at).slice(0, 10))
      return dates
    }),
  )
}

const start = (t: import('tap').Test) => play(t, { people: PEOPLE, days: DAYS + 5 })

t.test('Strava: the activities are those of the person, with the calories of their details', async (t) => {
  const simulator = await start(t)
  await simulator.control('POST', 'settings', { provider: 'strava', limits: [1e6, 1e6, 1e6, 1e6] })
  const wrong: string[] = []
  let count = 0
  for (const { key, truth } of await people(simulator)) {
    const batch = await batchOf(await access(simulator, 'strava', key), ['activities'])
    if (batch.rejected > 0) wrong.push(`${key}: ${JSON.stringify(batch.rejections.slice(0, 3))}`)
    const line = (id: string, from: number, until: number, kcal: number | null) =>
      `${key} ${id} ${iso(from)} ${iso(until)} ${kcal}`
    const told = new Set(
      batch.events.workouts
        .filter(({ partial }) => !partial)
        .map(({ externalId, startMs, endMs, caloriesKcal }) => line(externalId ?? '', startMs, endMs, caloriesKcal)),
    )
    const expected = new Set<string>(
      truth.workouts
        .filter(({ ids, start }: Json) => ids.strava !== null && within(ms(start)))
        .map(({ ids, start, end, active_kcal: kcal }: Json) =>
          line(ids.strava, ms(start), ms(end), Math.round(kcal * 10) / 10),
        ),
    )
    count += expected.size
    wrong.push(...lacking('missing', expected, told), ...lacking('not true', told, expected))
  }
  t.strictSame(wrong, [])
  t.ok(count > PEOPLE * DAYS * 0.2, `${count} activities`)
})

t.test('Polar: nights, days and heart rates are where the person was', async (t) => {
  const simulator = await start(t)
  await simulator.control('POST', 'settings', { provider: 'polar', limits: [1e6, 1e6] })
  const wrong: string[] = []
  let [count, heartRates] = [0, 0]
  for (const { key, truth } of await people(simulator)) {
    const one = await access(simulator, 'polar', key)
    const batch = await batchOf(one, ['sleep', 'activities', 'continuous_heart_rate'])
    if (batch.rejected > 0) wrong.push(`${key}: ${JSON.stringify(batch.rejections.slice(0, 3))}`)
    const nights = new Set(
      batch.events.nights
        .filter(({ startMs }) => within(startMs, 1))
        .map(({ externalId, startMs, endMs, asleepS, lightS, deepS, remS }) =>
          [externalId, iso(startMs), iso(endMs), asleepS, lightS, deepS, remS].join(' '),
        ),
    )
    const expected = new Set<string>(
      truth.sleeps
        .filter(({ ids, start }: Json) => ids.polar !== null && within(Math.floor(ms(start) / 1000) * 1000, 1))
        .map(({ date, start, end, seconds: { light, deep, rem } }: Json) =>
          [`polar:sleep:${date}`, iso(ms(start)), iso(ms(end)), light + deep + rem, light, deep, rem].join(' '),
        ),
    )
    wrong.push(...lacking(`${key} missing`, expected, nights), ...lacking(`${key} not true`, nights, expected))
    const steps = new Map(samplesOf(batch, 'steps', true).map(({ at, value }) => [iso(at).slice(0, 10), value]))
    for (const { date, steps: walked } of truth.calendar_days)
      if (within(ms(date), 2) && steps.get(date) !== walked)
        wrong.push(`${key} ${date}: ${walked} steps, not ${steps.get(date)}`)
    const beats = new Map<number, number>()
    for (const { start, heart_rate: minutes } of truth.minutes)
      for (const [minute, bpm] of minutes.entries()) beats.set(ms(start) + minute * MINUTE_MS, bpm)
    const travels = travelDates(truth)
    for (const { at, value, zone } of samplesOf(batch, 'heart_rate')) {
      // Those of the nights are at other seconds.
      if (at % MINUTE_MS !== 8_000 || !within(at, 2)) continue
      // Nobody tells at what time of day the clocks of a traveller changed.
      if (travels.has(iso(at + (zone ?? 0) * MINUTE_MS).slice(0, 10))) continue
      heartRates += 1
      if (beats.get(at - 8_000) !== value) wrong.push(`${key} ${iso(at)}: not ${value}`)
    }
    count += expected.size
  }
  t.strictSame(wrong.slice(0, 30), [])
  t.ok(count > PEOPLE * DAYS * 0.5, `${count} nights`)
  t.ok(heartRates > PEOPLE * DAYS * 100, `${heartRates} heart rates`)
})
