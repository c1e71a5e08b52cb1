// A day of the people's lives, and what their service makes of it.
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { connectPerson } from '../people.ts'
import { dayPasses, enqueue, pausesPass, pull, settled } from './settled.ts'
import type { Weather } from './weather.ts'
import { DAY_MS, knownForLong, pullsOf, type World } from './world.ts'

const HALF_MS = DAY_MS / 2
/** How long faults last that keep things from ending. */
const STORM_MS = 4_000

/** The day of that number since the consents; faults are on until noon. @throws Error when it does not end */
const timed = async <T>(name: string, work: Promise<T>): Promise<T> => {
  const at = performance.now()
  const found = await work
  if (process.env.MIXED_DEBUG) console.error(`${name}: ${Math.round(performance.now() - at)} ms`)
  return found
}

export async function liveDay(world: World, day: number, weather: Weather | null): Promise<string[]> {
  const { db, simulator, consentMs, moveTo } = world
  const startMs = consentMs + (day - 1) * DAY_MS
  await dayPasses(db)
  const on = (await weather?.rain(world, day)) ?? []
  if (on.some((one) => one.startsWith('rotated_lost'))) await simulator.control('POST', 'expire', {})
  await timed(`moveTo(startMs + HALF_MS)`, moveTo(startMs + HALF_MS))
  await pullsOf(db, startMs + HALF_MS)
  await timed(`simulator.control(POST, notices)`, simulator.control('POST', 'notices'))
  await timed(`pull(db)`, pull(db))
  if (weather) await timed(`stormPasses(world)`, stormPasses(world))
  await simulator.control('DELETE', 'faults')
  await timed(`settled(db)`, settled(db))
  await timed(`reconnect(world)`, reconnect(world))
  await timed(`moveTo(startMs + DAY_MS)`, moveTo(startMs + DAY_MS))
  await pullsOf(db, startMs + DAY_MS)
  await timed(`simulator.control(POST, notices)`, simulator.control('POST', 'notices'))
  await timed(`pull(db)`, pull(db))
  await timed(`settled(db)`, settled(db))
  return on
}

/** Things are tried, and tried again, while the faults last. */
async function stormPasses({ db }: World): Promise<void> {
  const isOver = async () => {
    await pausesPass(db)
    return (await db.query('select from sync_task limit 1')).length === 0
  }
  await waitUntil(isOver, STORM_MS, 400)
}

/** Whoever has lost their connection connects again, as the event that tells of it has them do. */
async function reconnect({ db, service, members }: World): Promise<void> {
  const lost = await db.query<{ user: string; provider: string }>(
    `select user_id as user, provider from connection where status <> 'active'`,
  )
  for (const { user, provider } of lost) {
    const person = members.find((one) => one.user === user)?.person ?? ''
    await connectPerson(service, { user, provider, person })
  }
  if (lost.length === 0) return
  await knownForLong(db)
  await enqueue(db, 'subscribe_accounts')
  await timed(`settled(db)`, settled(db))
}
