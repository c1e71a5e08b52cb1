// Garmin's past: nothing of Garmin can be pulled, so what it did not tell comes once somebody asks for it.
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { pausesPass, settled } from './settled.ts'
import { askForPast, type World } from './world.ts'

const PATIENCE_MS = 120_000
/** What was asked for is told within a minute of the people's lives. */
const TOLD_MS = 60_000
/** So long nothing comes any more before a request for the past has ended: 300 s. */
const SILENCE = `interval '301 seconds'`

/** An operator asks for the last 30 days of everybody. */
export async function tellGarminsPast(world: World, nowMs: number): Promise<void> {
  const { db, service, simulator, members } = world
  const theirs = members.filter(({ providers }) => providers.includes('garmin'))
  if (theirs.length === 0) return
  for (const { user } of theirs) await askForPast(service, { user, provider: 'garmin', days: 30 })
  const isAsked = async () => {
    // Otherwise it takes minutes: 16 requests of an account in one, 36 of all.
    await db.query(`delete from rate_budget where provider = 'garmin'`)
    await pausesPass(db)
    return (await db.query('select from backfill_part where asked_at is null')).length === 0
  }
  if (!(await waitUntil(isAsked, PATIENCE_MS, 200))) throw new Error('something of the past was not asked for')
  await world.moveTo(nowMs + TOLD_MS)
  await simulator.control('POST', 'notices')
  const isOpened = async () => {
    await pausesPass(db)
    return (await db.query(`select from notification where state = 'waiting' limit 1`)).length === 0
  }
  if (!(await waitUntil(isOpened, PATIENCE_MS, 200))) throw new Error('some notices are not opened')
  await db.query(`
    update backfill_part set asked_at = asked_at - ${SILENCE}, last_item_at = last_item_at - ${SILENCE}`)
  await settled(db)
}
