// Weeks of people, uploaded as by phones: every summary equals what straight-line code computes from the uploaded bodies, by
// the rules of docs/reading.md and contract 12.1 to 12.6. It stays the same when samples are archived, first up to the middle
// of a week. `npm run test:long` takes three hundred weeks.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type Life, lifeOf } from '../support/lives.ts'
import { mergedActivity, strictActivity } from '../support/recomputed/activity.ts'
import { bodyOf } from '../support/recomputed/body.ts'
import { DAY, type Facts } from '../support/recomputed/facts.ts'
import { nightsOf, recoveryRows, sleepRows } from '../support/recomputed/nights.ts'
import type { Priorities } from '../support/recomputed/ranking.ts'
import { factsOf } from '../support/recomputed/reading.ts'
import { createUser, eachEngine, importBody, startImports } from '../support/sdk.ts'
import { type Engine, engines } from '../support/servers.ts'
import { alike, dateText, seeded, summary, walk } from '../support/summaries.ts'
import { runs } from '../support/thorough.ts'

const SEED = 20_261_141
/** A change of the clock lies in the second one, which needs no other engine. */
const weeksOn = ({ name }: Engine) => runs(name === engines()[0]?.name ? 2 : 1, 300)
/** People who upload at a time. */
const AT_ONCE = 4
/** Ends of months of the archive: within the weeks of March, within those of the autumn, and after all of them. */
const ARCHIVED_UNTIL = [Date.parse('2025-03-13'), Date.parse('2025-11-08'), Date.parse('2026-02-06')]

interface Week {
  seed: number
  user: string
  life: Life
  facts: Facts
  wanted: Record<string, Row[]>
}

type Row = Record<string, unknown>

eachEngine(t, 'summaries of uploaded weeks', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const weeks: Week[] = []
  const count = weeksOn(engine)
  const uploading = async (place: number) => {
    for (let week = place; week < count; week += AT_ONCE) weeks.push(await uploaded(app, SEED + week))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, place) => uploading(place)))

  await t.test('follow from the uploads', async (t) => {
    const wrong: string[] = []
    for (const week of weeks) wrong.push(...(await compare(app, week, 3)), ...(await compareBody(app, week)))
    t.strictSame(wrong, [])
    const rows = Object.fromEntries(
      ['merged', 'strict', 'sleep', 'recovery'].map((name) => [
        name,
        weeks.reduce((all, { wanted }) => all + (wanted[name]?.length ?? 0), 0),
      ]),
    )
    t.comment(JSON.stringify(rows))
    t.ok(Object.values(rows).every((found) => found >= count * 3))
  })

  for (const untilMs of ARCHIVED_UNTIL)
    await t.test(`stay when everything before ${dateText(untilMs / DAY)} is archived`, async (t) => {
      await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 30 } })
      while (await archive(app.db, untilMs + 30 * DAY));
      const left = await app.db.one<{ n: number }>('select count(*) as n from sample where ts < $1', [
        new Date(untilMs),
      ])
      t.equal(left.n, 0)
      const wrong: string[] = []
      for (const week of weeks) if (week.life.firstDay * DAY < untilMs) wrong.push(...(await compare(app, week, 50)))
      t.strictSame(wrong, [])
    })
})

/** Uploads a week and computes the expected summaries. */
async function uploaded(app: TestApp, seed: number): Promise<Week> {
  const random = seeded(seed)
  const life = lifeOf(seed, Date.now())
  const { firstDay, endDay, birthDate, priorities, devices, uploads } = life
  const user = await createUser(app)
  if (birthDate) await app.request('PUT', `/api/v1/users/${user}/personal-record`, { body: { birth_date: birthDate } })
  for (const one of uploads) {
    const { status, dropped } = await importBody(app, user, one)
    if (status !== 'success') throw new Error(`upload: ${status} ${JSON.stringify(dropped.slice(0, 3))}`)
    if (random() < 0.3) await refreshRollups(app.db)
  }
  const facts = factsOf(devices, uploads)
  const age = ageOf(birthDate, firstDay * DAY)
  const asked = { firstDay, endDay, priorities, largestHeartRate: age === null ? 190 : Math.max(100, 220 - age) }
  const nights = nightsOf(facts, priorities)
  const wanted = {
    merged: mergedActivity(facts, asked),
    strict: strictActivity(facts, asked),
    sleep: sleepRows(nights, firstDay, endDay),
    recovery: recoveryRows(facts, nights, asked),
  }
  return { seed, user, life, facts, wanted }
}

function ageOf(birthDate: string | null, ms: number): number | null {
  if (!birthDate) return null
  const years = new Date(ms).getUTCFullYear() - Number(birthDate.slice(0, 4))
  return new Date(ms).toISOString().slice(5, 10) < birthDate.slice(5) ? years - 1 : years
}

async function setPriorities(app: TestApp, { providers, types }: Priorities): Promise<void> {
  const put = async (kind: string, name: string, numbers: Record<string, number>) => {
    const priorities = Object.entries(numbers).map(([key, priority]) => ({ [name]: key, priority }))
    const { status } = await app.request('PUT', `/api/v1/priorities/${kind}`, {
      auth: 'developer',
      body: { priorities },
    })
    if (status !== 200) throw new Error(`priorities: ${status}`)
  }
  await put('providers', 'provider', providers)
  await put('device-types', 'device_type', types)
}

/** The differences on each day of a week, read in pages of `limit` days. */
async function compare(app: TestApp, { seed, user, life, wanted }: Week, limit: number): Promise<string[]> {
  const { firstDay, endDay, priorities } = life
  await setPriorities(app, priorities)
  const range = { start_date: dateText(firstDay), end_date: dateText(endDay - 1), limit }
  const read = {
    merged: await walk(app, user, 'activity', { ...range, sort_order: 'desc' }),
    strict: await walk(app, user, 'activity', { ...range, merge: 'none' }),
    sleep: await walk(app, user, 'sleep', range),
    recovery: await walk(app, user, 'recovery', range),
  }
  read.merged.rows.reverse()
  const wrong = Object.entries(read).flatMap(([name, { rows }]) => {
    const right = wanted[name] as Row[]
    const dates = [...new Set([...rows, ...right].map((row) => row.date as string))]
    return dates.flatMap((date) => {
      const [found, expected] = [rows, right].map((list: Row[]) => list.find((row) => row.date === date))
      return differences(found, expected).map((one) => `week ${seed}, ${name} of ${date}${one}`)
    })
  })
  const numbers = read.merged.rows.flatMap((row) => Object.values(row)).filter((one) => typeof one === 'number')
  return [...wrong, ...numbers.filter(noisy).map((one) => `week ${seed}: the digits of ${one}`)]
}

const noisy = (value: number) => Number(Number(value.toPrecision(12)).toFixed(9)) !== value

/** The paths at which two answers differ. */
function differences(found: unknown, wanted: unknown): string[] {
  if (alike(found, wanted)) return []
  const isObject = (one: unknown) => typeof one === 'object' && one !== null
  if (!isObject(found) || !isObject(wanted)) return [`: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`]
  const [one, other] = [found as Row, wanted as Row]
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) =>
    differences(one[key], other[key]).map((path) => `.${key}${path}`),
  )
}

async function compareBody(app: TestApp, { seed, user, life, facts }: Week): Promise<string[]> {
  const [days, hours] = [1 + (seed % 7), 1 + (seed % 24)]
  const { body } = await summary(app, user, 'body', { average_period: days, latest_window_hours: hours })
  const nowMs = body === null ? Date.now() : Date.parse(body.averaged.period_end)
  const age = ageOf(life.birthDate, nowMs)
  const wanted = bodyOf(facts, { nowMs, days, hours, age, priorities: life.priorities })
  return differences(body, wanted).map((one) => `week ${seed}, body${one}`)
}
