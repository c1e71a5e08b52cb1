// A day of the people's lives, and what their service makes of it.
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { connectPerson, pullsUntil } from '../people.ts'
import { dayPasses, enqueue, pausesPass, pull, settled } from './settled.ts'
import type { Weather } from './weather.ts'
import { DAY_MS, knownForLong, type World } from './world.ts'

const HALF_MS = DAY_MS / 2
/** How long faults last that keep things from ending. */
const STORM_MS = 4_000

/**
 * The day of that number since the consents; faults are on until noon. Returns them, in words.
 * @throws Error when it does not end
 */
export async function liveDay(world: World, day: number, weather: Weather | null): Promise<string[]> {
  const { db, simulator, consentMs, moveTo } = world
  const startMs = consentMs + (day - 1) * DAY_MS
  await dayPasses(db)
  const on = (await weather?.rain(world, day)) ?? []
  // Otherwise tokens last longer than the day does here.
  if (on.some((one) => /token|revoked/.test(one))) await simulator.control('POST', 'expire', {})
  await moveTo(startMs + HALF_MS)
  await pullsUntil(db, startMs + HALF_MS)
  await simulator.control('POST', 'notices')
  await pull(db)
  await world.phones.send(world, startMs + HALF_MS)
  if (weather) await stormPasses(world)
  await simulator.control('DELETE', 'faults')
  await settled(db)
  const again = await reconnect(world)
  if (again > 0) on.push(`${again} connected again`)
  await moveTo(startMs + DAY_MS)
  await pullsUntil(db, startMs + DAY_MS)
  await simulator.control('POST', 'notices')
  await pull(db)
  await settled(db)
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

/** Whoever has lost their connection connects again, as the event that tells of it has them do; answers how many. */
async function reconnect({ db, service, members }: World): Promise<number> {
  const lost = await db.query<{ user: string; provider: string }>(
    `select user_id as user, provider from connection where status <> 'active'`,
  )
  for (const { user, provider } of lost) {
    const person = members.find((one) => one.user === user)?.person ?? ''
    await connectPerson(service, { user, provider, person })
  }
  if (lost.length === 0) return 0
  await knownForLong(db)
  await enqueue(db, 'subscribe_accounts')
  await settled(db)
  return lost.length
}
