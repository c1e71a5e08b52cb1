// merge=segments: what counts when several devices measured at once, and what it costs. Which rows these must be is in summaries-activity.test.ts and summaries-weeks.test.ts.
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, eachEngine, importBody, iso, PHONE, startImports, steps } from '../support/sdk.ts'
import { addSources, DAY_MS, dateText, MINUTE_MS, summary, type Written, write } from '../support/summaries.ts'

const DEVICES = [
  { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
  { provider: 'apple', device: 'iPhone17,1', source: 'Phone', type: 'phone' },
]
const START = Date.UTC(2025, 10, 1)
const [HEART_RATE, STEPS] = [1, 80]
const firstDay = START / DAY_MS

/** A watch that is off for two hours a day, and a phone that never is: a heart rate and steps every five minutes. */
async function filled(app: TestApp, days: number): Promise<{ user: string; watch: number; phone: number }> {
  const user = await createUser(app)
  const [watch = 0, phone = 0] = await addSources(app.db, user, DEVICES)
  const samples = Array.from({ length: days * 288 }, (_, n): Written[] => {
    const ms = START + n * 5 * MINUTE_MS
    const off = n % 288 >= 240 && n % 288 < 264
    const of = (sourceId: number, value: number) => [
      { sourceId, seriesId: HEART_RATE, ms, value: value + 60, zone: 0 },
      { sourceId, seriesId: STEPS, ms, value, zone: 0 },
    ]
    return [...(off ? [] : of(watch, n % 50)), ...of(phone, n % 70)]
  }).flat()
  await write(app.db, user, samples)
  return { user, watch, phone }
}

const catchUp = async (app: TestApp) => {
  while (await refreshRollups(app.db));
}

eachEngine(t, 'merge=segments', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const day = Date.parse('2026-05-04T00:00:00Z')
  const asked = {
    start_date: dateText(day / DAY_MS),
    end_date: dateText(day / DAY_MS),
    merge: 'segments',
    explain: true,
  }

  await t.test('counts once what two devices counted at once, however long their records are', async (t) => {
    const user = await createUser(app)
    const walk = (hour: number, from: number, until: number, value: number, fields = {}) => {
      const at = (minute: number) => day + (hour * 60 + minute) * MINUTE_MS
      return steps(at(from), value, { endDate: iso(at(until)), ...fields })
    }
    await importBody(
      app,
      user,
      body([
        walk(10, 0, 10, 1000),
        walk(10, 3, 8, 900, { source: PHONE }),
        walk(12, 20, 28, 30, { source: PHONE }),
        walk(12, 35, 44, 400, { source: PHONE }),
        walk(12, 24, 29, 500),
      ]),
    )
    for (const state of ['behind', 'up to date']) {
      const { body: answer } = await summary(app, user, 'activity', asked)
      t.match(answer.data[0], { steps: 1900, source: { device_type: 'watch' } }, state)
      t.match(answer.data[0].sources, [
        { used: true, counted: { steps: 1500 }, dropped: { steps: null } },
        { used: true, counted: { steps: 400 }, dropped: { steps: 930 } },
      ])
      await catchUp(app)
    }
    const none = await summary(app, user, 'activity', { ...asked, merge: 'none' })
    t.equal(none.body.data[0].steps, 1500)
  })

  await t.test('reads no samples but those of the gaps that it fills', async (t) => {
    const { user, watch, phone } = await filled(app, 5)
    await catchUp(app)
    const ask = async () => {
      await app.db.query('update app_user set revision = revision + 1 where id = $1', [user])
      const range = {
        start_date: dateText(firstDay),
        end_date: dateText(firstDay + 5),
        merge: 'segments',
        explain: true,
      }
      return (await summary(app, user, 'activity', range)).body.data
    }
    const before = await ask()
    t.equal(before.length, 5)
    const [{ sources }] = before
    t.equal(sources[0].counted.heart_rate_samples, 264)
    t.strictSame([sources[1].counted.heart_rate_samples, sources[1].dropped.heart_rate_samples], [24, 264])
    const gap = `date_part('hour', ts at time zone 'UTC') in (20, 21)`
    await app.db.query(`delete from sample where source_id = $1 or (source_id = $2 and not ${gap})`, [watch, phone])
    t.strictSame(await ask(), before, 'most of the samples are gone without a word')
    await app.db.query('delete from sample where source_id = $1', [phone])
    const after = await ask()
    t.strictSame(after[0].heart_rate, before[0].heart_rate, 'what adds up is in the rollups')
    t.ok(after[0].active_minutes < before[0].active_minutes, 'minutes of a part of a day are not')
  })
})
