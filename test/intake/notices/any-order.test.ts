// Property: notices that carry data, in any order, repeated, and opened a few or many at once, end in the rows of the ordered
// ones. Of those that only name something, days.test.ts shows the same.
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, openAll, openMeans } from '../../support/notices.ts'
import { createUser, oneEngine, startImports } from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'
import { storedOf } from './days-told.ts'

const KEY = 'unguessable'
const SECRET = 'shared'
const PROVIDERS = {
  garmin: { clientId: 'consumer', clientSecret: 'hush', more: { WEBHOOK_PATH_SECRET: KEY } },
  suunto: { clientId: 'watch', clientSecret: 'hush', more: { WEBHOOK_SECRET: SECRET } },
}
const PEOPLE = ['anna', 'bert']
const NOTICES = runs(26, 1_000)
const DAY_S = 86_400
const FIRST_S = Date.UTC(2026, 2, 1) / 1000

interface Sent {
  readonly provider: 'garmin' | 'suunto'
  readonly body: string
}

/** A day of a person, as their watches tell of it: each state of it in the order in which it becomes known. */
function dayOf(userId: string, day: number): Sent[] {
  const startTimeInSeconds = FIRST_S + day * DAY_S
  const of = (summaryId: string, later = 0) => ({
    ...{ userId, summaryId: `${summaryId}-${day}`, startTimeInSeconds: startTimeInSeconds + later },
    startTimeOffsetInSeconds: 0,
  })
  const calendarDate = new Date(startTimeInSeconds * 1000).toISOString().slice(0, 10)
  const daily = (hours: number) => ({
    ...{
      ...of('d'),
      calendarDate,
      durationInSeconds: hours * 3_600,
      steps: hours * 400 + day,
      averageStressLevel: hours,
    },
    timeOffsetHeartRateSamples: Object.fromEntries(Array.from({ length: hours }, (_, at) => [at * 3_600, 50 + at])),
  })
  const night = (validation: string, hours: number) => ({
    ...{ ...of('n', 3_600), calendarDate, durationInSeconds: hours * 3_600, validation },
    ...{ timeOffsetSleepRespiration: { 60: 14.5 }, overallSleepScore: { value: hours * 10, qualifierKey: 'GOOD' } },
  })
  const workout = (distanceInMeters: number) => ({
    ...{ ...of('w', 40_000), activityId: day, activityType: 'RUNNING', durationInSeconds: 1_800, distanceInMeters },
  })
  const epoch = (slot: number, activityType: string, steps: number) => ({
    ...{ ...of(`e-${slot}-${activityType}`, slot * 900), activityType, durationInSeconds: 900, steps },
  })
  const moving = (from: number) => ({
    epochs: [from, from + 1].flatMap((slot) => [epoch(slot, 'WALKING', 100 + slot), epoch(slot, 'RUNNING', 10)]),
  })
  return [
    ...[{ sleeps: [night('AUTO_TENTATIVE', 4)] }, { dailies: [daily(6)] }, { sleeps: [night('ENHANCED_FINAL', 7)] }],
    ...[{ dailies: [daily(12)] }, moving(48), moving(50), { activities: [workout(5_000)] }, { dailies: [daily(18)] }],
    ...[{ manuallyUpdatedActivities: [workout(5_200)] }, { dailies: [daily(24)] }],
  ]
    .map((said): Sent => ({ provider: 'garmin', body: JSON.stringify(said) }))
    .concat(suuntoOf(userId, startTimeInSeconds * 1000))
}

function suuntoOf(username: string, startMs: number): Sent[] {
  const at = (hours: number) => new Date(startMs + hours * 3_600_000).toISOString().replace('Z', '+00:00')
  const night = { BedtimeStart: at(1), BedtimeEnd: at(8), SleepId: startMs / 1_000, Duration: 25_200, HRMin: 0.8 }
  const rows = {
    SLEEP: [{ timestamp: at(1), entryData: night }],
    ACTIVITY: [9, 10].map((hour) => ({ timestamp: at(hour), entryData: { HR: 1.2, StepCount: hour * 10 } })),
    RECOVERY: [{ timestamp: at(8), entryData: { Balance: 0.7, StressState: 1 } }],
  }
  return Object.entries(rows).map(([name, samples]) => ({
    provider: 'suunto',
    body: JSON.stringify({ type: `SUUNTO_247_${name}_CREATED`, username, samples }),
  }))
}

const perDay = PEOPLE.flatMap((person) => dayOf(person, 0)).length
const ordered = Array.from({ length: Math.ceil(NOTICES / perDay) }, (_, day) => day).flatMap((day) =>
  PEOPLE.flatMap((person) => dayOf(person, day)),
)

/** All of them, some again, in any order and cut anywhere. */
const anyMix = fc
  .shuffledSubarray(ordered, { maxLength: ordered.length / 2 })
  .chain((again) => {
    const all = [...ordered, ...again]
    return fc.tuple(
      fc.shuffledSubarray(all, { minLength: all.length }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 5, maxLength: 20 }),
    )
  })
  .map(([all, sizes]) => {
    const piles: Sent[][] = []
    for (let at = 0, nth = 0; at < all.length; nth += 1) {
      const size = sizes[nth % sizes.length] as number
      piles.push(all.slice(at, at + size))
      at += size
    }
    return piles
  })

const connect = async ({ db }: TestApp, user: string, account: string) => {
  for (const provider of Object.keys(PROVIDERS)) {
    await db.query(
      `with granted as (
         insert into provider_grant (provider, account_id, granted_at) values ($3, $2, now() - interval '1 hour')
         returning id
       )
       insert into connection (user_id, provider, grant_id, provider_user_id) select $1, $3, id, $2 from granted`,
      [user, account, provider],
    )
  }
}

async function send(app: TestApp, { provider, body }: Sent): Promise<void> {
  const proof = {
    garmin: { headers: { 'garmin-client-id': 'consumer' }, query: `?k=${KEY}` },
    suunto: { headers: { 'x-hmac-sha256-signature': createHmac('sha256', SECRET).update(body).digest('hex') } },
  }
  const { status } = await notify(app, provider, body, proof[provider])
  if (status !== 200) throw new Error(`answered ${status}`)
}

oneEngine(
  t,
  'notices with data end in the same rows in any order, repeated, and however they are cut',
  async (t, engine) => {
    /** Everybody's rows once all of these have come, pile by pile; what is sent at once has no order. */
    const rowsAfter = async (name: string, piles: readonly (readonly Sent[])[]) => {
      const rows: string[][] = []
      await t.test(`${name}: ${piles.flat().length} notices, opened in ${piles.length}`, async (t) => {
        const app = await startTestApp(t, engine, { providers: PROVIDERS })
        await startImports(t, app)
        const users = await Promise.all(PEOPLE.map(() => createUser(app)))
        for (const [place, user] of users.entries()) await connect(app, user, PEOPLE[place] as string)
        const means = openMeans(t, app)
        for (const pile of piles) {
          await Promise.all(pile.map((one) => send(app, one)))
          for (const provider of new Set(pile.map((one) => one.provider))) await openAll(means, provider)
        }
        t.ok(await waitUntil(async () => (await app.db.one<{ n: number }>(LEFT_SQL)).n === 0, 120_000, 20))
        rows.push(...(await Promise.all(users.map((user) => storedOf(app, user)))))
      })
      return rows
    }
    const right = await rowsAfter(
      'in order',
      ordered.map((one) => [one]),
    )
    t.ok(right.flat().length > ordered.length, `${right.flat().length} rows`)
    const seed = Math.floor(Math.random() * 2 ** 31)
    for (const piles of fc.sample(anyMix, { numRuns: runs(1, 3), seed }))
      t.strictSame(await rowsAfter(`seed ${seed}`, piles), right)
  },
)

const LEFT_SQL = `
  select (select count(*) from upload where status = 'queued') + (select count(*) from notification) as n`
