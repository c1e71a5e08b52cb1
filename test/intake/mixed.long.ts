// A month of people who have connected several providers, with phones and webhooks, while everything goes wrong that
// providers get wrong: in the end what is stored is what is true, and what was told is what is stored.
// Run with: npm run test:long
import t from 'tap'
import { type Remembered, remember, untold, untrue } from '../support/mixed/compared.ts'
import { liveDay } from '../support/mixed/days.ts'
import { tellGarminsPast } from '../support/mixed/past.ts'
import { leftOf, settled } from '../support/mixed/settled.ts'
import { KINDS, weatherOf } from '../support/mixed/weather.ts'
import { DAY_MS, type Size, startWorld } from '../support/mixed/world.ts'
import { eachEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'
import { shown } from './pulls/whole-way.ts'

/** On eight quiet days pulls reach back a week, and what is closed for a day is asked for again. */
const SIZE: Size = { people: runs(3, 10), past: 4, days: runs(7, 21), quiet: 8, seed: 18 }
/** How much more memory the service may have in the last quarter of the days than in the one before, by their medians. */
const GROWTH = 0.15

eachEngine(t, 'a month of everything, with every fault', async (t, engine) => {
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1000)
  const world = await startWorld(t, engine, SIZE)
  const { db, service, consentMs } = world
  await settled(db)
  t.comment(`connected after ${seconds()} s`)
  const weather = weatherOf(KINDS, SIZE.seed)
  const remembered: Remembered = new Set()
  const memory: number[] = []
  const days = SIZE.days + SIZE.quiet
  for (let day = 1; day <= days; day += 1) {
    const on = await liveDay(world, day, day <= SIZE.days ? weather : null)
    await remember(world, remembered, consentMs + day * DAY_MS)
    memory.push(Math.round(await service.rssMiB()))
    t.comment(`day ${day} after ${seconds()} s, ${memory.at(-1)} MiB: ${on.join(', ')}`)
  }
  const nowMs = consentMs + days * DAY_MS
  await tellGarminsPast(world, nowMs)
  t.strictSame(
    KINDS.filter((kind) => !weather.seen.has(kind)),
    [],
    'every fault was on',
  )
  t.strictSame(shown(await untrue(world, remembered, nowMs)), [], 'what is stored is what is true')
  t.strictSame(shown(await untold(world)), [], 'what was told is what is stored')
  t.strictSame(await leftOver(db), [], 'nothing is left')
  t.ok(service.alive(), 'the service is the one that was started')
  const [before, after] = [memory.slice(days / 2, (days * 3) / 4), memory.slice((days * 3) / 4)].map(median)
  t.ok((after ?? 0) <= (before ?? 0) * (1 + GROWTH), `memory is flat: ${before} MiB, then ${after} MiB`)
  t.ok(world.inbox.refused() > 0, `${world.inbox.events.size} events, ${world.inbox.refused()} of them refused once`)
  t.comment(`${seconds()} s`)
})

const leftOver = async (db: Parameters<typeof leftOf>[0]) => {
  const notices = await db.query('select provider, state, attempts from notification limit 5')
  return [...Object.entries(await leftOf(db)).filter(([, count]) => count > 0), ...notices]
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
