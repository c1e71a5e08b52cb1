// A month of people who have connected several providers, with phones and webhooks, while everything goes wrong that
// providers get wrong: in the end what is stored is what is true, and what was told is what is stored.
import t from 'tap'
import { type Remembered, remember, untold, untrue } from '../support/mixed/compared.ts'
import { liveDay } from '../support/mixed/days.ts'
import { leftOf, settled } from '../support/mixed/settled.ts'
import { KINDS, weatherOf } from '../support/mixed/weather.ts'
import { DAY_MS, type Size, startWorld } from '../support/mixed/world.ts'
import { eachEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'
import { shown } from './pulls/whole-way.ts'

const env = process.env.MIXED?.split(',').map(Number) ?? []
const SIZE: Size = { people: env[0] ?? runs(3, 10), past: 4, days: env[1] ?? runs(3, 21), quiet: env[2] ?? 9, seed: 18 }
const kinds = process.env.MIXED_KINDS === undefined ? KINDS : process.env.MIXED_KINDS.split(',').filter(Boolean)

eachEngine(t, 'a month of everything, with every fault', async (t, engine) => {
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1000)
  const world = await startWorld(t, engine, SIZE)
  await settled(world.db)
  t.comment(`connected: ${seconds()} s`)
  const weather = kinds.length > 0 ? weatherOf(kinds, SIZE.seed) : null
  const remembered: Remembered = new Set()
  const memory: number[] = []
  const days = SIZE.days + SIZE.quiet
  for (let day = 1; day <= days; day += 1) {
    const on = await liveDay(world, day, day <= SIZE.days ? weather : null)
    const nowMs = world.consentMs + day * DAY_MS
    await remember(world, remembered, nowMs)
    memory.push(Math.round(await world.service.rssMiB()))
    t.comment(`day ${day}: ${seconds()} s, ${memory.at(-1)} MiB; ${on.join(', ')}`)
  }
  const nowMs = world.consentMs + days * DAY_MS
  t.strictSame(shown(await untrue(world, remembered, nowMs)), [], 'what is stored is true')
  t.strictSame(shown(await untold(world)), [], 'what was told is what is stored')
  const left = Object.entries(await leftOf(world.db)).filter(([, count]) => count > 0)
  t.strictSame(left, [], 'nothing is left')
  t.comment(`${seconds()} s; service said: ${world.service.output().slice(0, 2000)}`)
})
