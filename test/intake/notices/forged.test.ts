// Notices as simulated providers sign them, then forged, altered, repeated and late: what is not proven changes nothing,
// and what is proven is stored once.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { livePerson } from '../../../simulator/truth/person.ts'
import { persona } from '../../../simulator/truth/personas.ts'
import { oneEngine } from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'
import { done, nextDay, startTold, storedOf, TOLD, type Told } from './days-told.ts'

interface Sent {
  number: number
  provider: string
  topic: string
  url: string
  body: string
  headers: Record<string, string>
  attempts: { status: number | null }[]
}

const DAY_MS = 86_400_000
/** From one workout to the next, with what is told late, at most. */
const DAYS = 7
/** So many notices of each topic are repeated. */
const REPEATED = runs(3, 1_000)

oneEngine(t, 'notices that are forged, altered, repeated or late', async (t, engine) => {
  const at = Date.now()
  const told = await startTold(t, engine, { people: 1, days: workoutsBefore(at), at })
  const { simulator } = told
  const all = await untilAllTell(told, 0)
  // The service may not know yet, for ten seconds, that Strava sends its key.
  const withoutKey = forgeries(find(all, 'strava'), find(all, 'oura'), find(all, 'oura'))['without the key'] as Sent
  t.ok(await waitUntil(async () => (await send(withoutKey)) === 401, 60_000, 500))
  await done(told)

  await t.test('what is forged or altered is refused: nothing is stored, and nothing is asked for', async (t) => {
    const before = await worldOf(told)
    const wrong: string[] = []
    for (const one of TOLD.map((provider) => find(all, provider))) {
      const other = all.find(({ provider }) => provider !== one.provider) as Sent
      const another = all.find((each) => each.provider === one.provider && each.body !== one.body) ?? other
      const forged = Object.entries(forgeries(one, other, another))
      const statuses = await Promise.all(forged.map(([, each]) => send(each)))
      for (const [place, status] of statuses.entries())
        if (status !== 401) wrong.push(`${one.provider} ${one.topic}, ${forged[place]?.[0]}: ${status}`)
    }
    t.strictSame(wrong, [])
    await done(told)
    t.strictSame(await worldOf(told), before)
  })

  await t.test('what is repeated is taken, and is stored once', async (t) => {
    const { asked: _, ...before } = await worldOf(told)
    t.ok(before.rows.length > 100 && before.events > 0, `${before.rows.length} rows, ${before.events} events`)
    const statuses = new Set<number>()
    for (const one of firstOfEach(all))
      for (const status of await Promise.all([send(one), send(one)])) statuses.add(status)
    t.strictSame(statuses, new Set([200]))
    await done(told)
    const { asked: __, ...after } = await worldOf(told)
    t.strictSame(after, before)
  })

  await t.test('what was signed two hours ago is refused; signed anew, it is stored', async (t) => {
    const before = await worldOf(told)
    simulator.wait(-7_200)
    const newest = await untilAllTell(told, Math.max(...all.map((one) => one.number)))
    const first = new Set(newest.map(({ provider, attempts }) => `${provider} ${attempts[0]?.status}`))
    // Polar's signature says nothing of when.
    t.strictSame([...first].sort(), ['oura 401', 'polar 200', 'strava 401', 'whoop 401'])
    t.strictSame(withoutPolar(await worldOf(told)), withoutPolar(before))
    simulator.wait(7_200)
    await simulator.control('POST', 'notices')
    await done(told)
    const retried = (await noticesOf(told)).filter(({ number }) => newest.some((one) => one.number === number))
    t.strictSame(new Set(retried.map(({ attempts }) => attempts.at(-1)?.status)), new Set([200]))
    t.ok(withoutPolar(await worldOf(told)).length > withoutPolar(before).length)
  })
})

/** How many days before that instant the person begins to work out twice, which is what Strava tells. */
function workoutsBefore(at: number): number {
  const lastDay = Math.floor(at / DAY_MS)
  const span = { firstDay: lastDay - 200, lastDay }
  const person = livePerson(persona(7, 0, span), span)
  const told = (ago: number) => person.day(lastDay - ago).workout?.deletedMs === null
  for (let ago = 2 * DAYS; ago < 200; ago += 1) if (told(ago) && (told(ago - 2) || told(ago - 3))) return ago + 1
  throw new Error('nobody works out')
}

/** Lets days pass until each provider has told something after this number. */
async function untilAllTell(told: Told, after: number): Promise<Sent[]> {
  for (let day = 0; day < DAYS; day += 1) {
    await nextDay(told)
    const newest = (await noticesOf(told)).filter(({ number }) => number > after)
    if (TOLD.every((provider) => find(newest, provider))) return newest
  }
  throw new Error('somebody tells nothing')
}

const find = (all: readonly Sent[], name: string) => all.find(({ provider }) => provider === name) as Sent

/** The first notices of each topic of each provider. */
function firstOfEach(all: readonly Sent[]): Sent[] {
  const seen = new Map<string, number>()
  return all.filter(({ provider, topic }) => {
    const count = (seen.get(`${provider} ${topic}`) ?? 0) + 1
    seen.set(`${provider} ${topic}`, count)
    return count <= REPEATED
  })
}

const noticesOf = async ({ simulator }: Told): Promise<Sent[]> => (await simulator.control('GET', 'notices')).body

/** The same notice as others would send it: `other` is one of another provider, `another` says something else. */
function forgeries(one: Sent, other: Sent, another: Sent): Record<string, Sent> {
  const signature = Object.fromEntries(Object.entries(one.headers).filter(([name]) => name !== 'content-type'))
  const signed = (change: (value: string) => string): Sent => {
    const changed = Object.entries(signature).map(([name, value]) => [name, change(value)])
    return { ...one, headers: { ...one.headers, ...Object.fromEntries(changed) } }
  }
  const unsigned = { 'content-type': 'application/json' }
  return {
    'no signature': { ...one, headers: unsigned },
    'an empty one': signed(() => ''),
    'cut off': signed((value) => value.slice(0, -1)),
    'longer by a digit': signed((value) => `${value}0`),
    'another digit': signed((value) => value.replace(/[\da-f](?=[^\da-f]*$)/i, (last) => (last === '0' ? '1' : '0'))),
    'of another provider': { ...one, headers: { ...unsigned, ...other.headers } },
    'of another notice': { ...one, body: another.body },
    'about somebody else': { ...one, body: one.body.replace(/("(?:user_id|owner_id)":"?)\w/, '$19') },
    'with a further field': { ...one, body: one.body.replace(/}$/, ',"more":1}') },
    // Oura signs the body as JSON writes it again.
    ...(one.provider !== 'oura' && { 'with a space': { ...one, body: `${one.body} ` } }),
    ...(one.provider === 'whoop' && { 'in lower case': signed((value) => value.toLowerCase()) }),
    ...(one.provider === 'strava' && {
      'without the key': { ...one, url: one.url.replace(/\?.*/, '') },
    }),
    // All but Polar sign the time, too.
    ...(one.provider !== 'polar' && { 'a second later': signed((value) => later(value)) }),
  }
}

/** The time of a signature that says one, moved by a second. */
const later = (value: string) =>
  value.replace(
    /^(t=)?(\d{10,13})(?=,|$)/,
    (_, before = '', time) => `${before}${Number(time) + (time.length > 10 ? 1_000 : 1)}`,
  )

async function send({ url, body, headers }: Sent): Promise<number> {
  const answer = await fetch(url, { method: 'POST', body, headers })
  await answer.text()
  return answer.status
}

/** All that is stored of everybody, and what providers were asked. */
async function worldOf({ app, simulator, users }: Told) {
  const rows: string[] = []
  for (const [person, user] of users) rows.push(...(await storedOf(app, user)).map((line) => `${person} ${line}`))
  const { events, notices } = await app.db.one<{ events: number; notices: number }>(
    'select (select count(*) from event) as events, (select count(*) from notification) as notices',
  )
  return { rows, events, notices, asked: (await simulator.control('GET', 'log')).body.length as number }
}

const withoutPolar = ({ rows }: { rows: readonly string[] }) => rows.filter((row) => !/polar/i.test(row))
