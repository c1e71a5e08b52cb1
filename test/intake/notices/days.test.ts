// Days of people whose providers tell of them: out of order and twice, or not at all.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { daysPass } from '../../support/people.ts'
import { oneEngine } from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'
import { done, nextDay, sent, startTold, storedOf, TOLD } from './days-told.ts'

const DAYS = runs(2, 20)

oneEngine(t, 'notices in any order, each twice, end in the rows of the ordered ones', async (t, engine) => {
  const at = Date.now()
  const world = { people: runs(1, 2), days: DAYS, at }
  const ordered = await startTold(t, engine, world)
  const mixed = await startTold(t, engine, world)
  for (const provider of TOLD) {
    for (const kind of ['shuffle', 'duplicate'])
      await mixed.simulator.control('POST', 'faults', { kind, provider, path: '/notices' })
  }
  for (let day = 0; day < DAYS; day += 1) await Promise.all([nextDay(ordered), nextDay(mixed)])
  const different: string[] = []
  for (const [person, user] of ordered.users) {
    const [one, other] = [await storedOf(ordered.app, user), await storedOf(mixed.app, mixed.users.get(person) ?? '')]
    t.ok(one.length > 100, `${person} has data`)
    const [left, right] = [new Set(one), new Set(other)]
    different.push(...one.filter((line) => !right.has(line)).map((line) => `- ${line}`))
    different.push(...other.filter((line) => !left.has(line)).map((line) => `+ ${line}`))
  }
  t.strictSame(
    different.slice(0, 20).map((line) => line.slice(0, 300)),
    [],
  )
  t.ok((await sent(mixed)) > 1.5 * (await sent(ordered)), 'they came twice')
})

oneEngine(t, 'what providers do not tell is found, and counted', async (t, engine) => {
  const told = await startTold(t, engine, { people: 1, days: 3, at: Date.now() })
  const { app, simulator } = told
  await nextDay(told)
  const missed = async () => {
    const { values } = await app.deps.metrics.noticesMissed.get()
    return values.flatMap(({ value, labels }) => (value > 0 ? [labels.provider] : [])).sort()
  }
  await daysPass(app, 1)
  await told.pullNow()
  await done(told)
  t.strictSame(await missed(), [], 'what is told is not missed')
  for (const provider of TOLD) await simulator.control('POST', 'faults', { kind: 'silent', provider, path: '/notices' })
  const before = await sent(told)
  await nextDay(told)
  await nextDay(told)
  t.equal(await sent(told), before, 'nothing was told')
  // By our clock they connected just now; of what was before no notice would tell.
  await daysPass(app, 4)
  await told.pullNow()
  await done(told)
  // They are counted a moment after what was missed is stored.
  const found = async () => {
    const all = await missed()
    return ['oura', 'polar', 'whoop'].every((provider) => all.includes(provider))
  }
  t.ok(await waitUntil(found, 10_000, 20), `missed of ${await missed()}`)
  const soon = await app.db.query(
    `select from provider_grant where missed_at is not null and next_pull_at > now() + interval '2 hours'`,
  )
  t.strictSame(soon, [], 'and these accounts are pulled every hour')
})
