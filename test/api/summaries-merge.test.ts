// merge=segments: which samples count if several devices measured at once, and what a page costs if much of its range
// is empty. The expected rows are in summaries-activity.test.ts and summaries-weeks.test.ts.
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, eachEngine, importBody, iso, oneEngine, PHONE, startImports, steps } from '../support/sdk.ts'
import { addSources, DAY_MS, dateText, MINUTE_MS, summary, type Written, write } from '../support/summaries.ts'
import { runs } from '../support/thorough.ts'

const DEVICES = [
  { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
  { provider: 'apple', device: 'iPhone17,1', source: 'Phone', type: 'phone' },
]
const START = Date.UTC(2025, 10, 1)
const [HEART_RATE, STEPS] = [1, 80]
const firstDay = START / DAY_MS

/** A watch that is off for two hours a day, and a phone that never is: a heart rate and steps every few minutes. */
async function filled(app: TestApp, days: number, minutes: number) {
  const user = await createUser(app)
  const [watch = 0, phone = 0] = await addSources(app.db, user, DEVICES)
  const samples = Array.from({ length: (days * DAY_MS) / (minutes * MINUTE_MS) }, (_, n): Written[] => {
    const ms = START + n * minutes * MINUTE_MS
    const off = [20, 21].includes(new Date(ms).getUTCHours())
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

oneEngine(t, 'merge=segments', async (t, engine) => {
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
    const { user, watch, phone } = await filled(app, 5, 5)
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

/** Database pages that a page of days reads. */
async function cost(app: TestApp, user: string, [from, end]: [number, number], backward: boolean, merged: boolean) {
  const explain = () =>
    app.db.one<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, timing off, format json)
       select d.day
       from (
         select array_agg(k.source_id order by k.source_id, k.series_id) as sources,
                array_agg(k.series_id order by k.source_id, k.series_id) as series,
                array_agg(k.source_id order by k.source_id, k.series_id) as ranks
         from source_series k join data_source s on s.id = k.source_id
         where s.user_id = $1
       ) k
       cross join lateral sampled_days(k.sources, k.series, k.ranks, $2, $3, 21, $4, $5, '{}') d`,
      [user, from, end, backward, merged],
    )
  // The first one fills caches of plans.
  await explain()
  const [{ Plan: plan }] = (await explain())['QUERY PLAN']
  return { rows: plan['Actual Rows'], pages: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0) }
}

eachEngine(t, 'a page of days', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const DAYS = runs(100, 200)
  const { user } = await filled(app, DAYS, runs(15, 5))
  const [low, high] = [firstDay, firstDay + DAYS]
  const behind = new Map<boolean, number>()
  for (const state of ['behind', 'up to date']) {
    if (state === 'up to date') await catchUp(app)
    for (const merged of [false, true]) {
      await t.test(`costs what it shows, ${merged ? 'merged, ' : ''}while rollups are ${state}`, async (t) => {
        const few = await cost(app, user, [low, low + 21], false, merged)
        const start = await cost(app, user, [low, high], false, merged)
        const lead = await cost(app, user, [low - 2500, high], false, merged)
        const end = await cost(app, user, [low, high], true, merged)
        const trail = await cost(app, user, [low, high + 2500], true, merged)
        t.strictSame([few.rows, start.rows, lead.rows, end.rows, trail.rows], [21, 21, 21, 21, 21])
        const told = JSON.stringify({ few, start, lead, end, trail })
        if (state === 'behind') behind.set(merged, few.pages)
        t.ok(few.pages <= (behind.get(merged) ?? 0) + 100, `no more than from the samples: ${told}`)
        t.ok(start.pages < few.pages * 1.5 + 200, `as much as of a short range: ${told}`)
        t.ok(lead.pages < start.pages * 1.5 + 100, `nothing for years before the first day: ${told}`)
        t.ok(trail.pages < end.pages * 1.5 + 100, `nor for years after the last one: ${told}`)
      })
    }
  }

  await t.test('shows every day there is, however far apart they are', async (t) => {
    const ids = await addSources(app.db, user, [{ provider: 'garmin', device: 'F', source: 'g', type: 'watch' }])
    const apart = [-3000, -2000, -1999, -700, 700, 701, 2000]
      .map((n) => firstDay + n)
      .filter((n) => n * DAY_MS < Date.now())
    await write(
      app.db,
      user,
      apart.map((n) => ({ sourceId: ids[0] as number, seriesId: STEPS, ms: n * DAY_MS, value: 7, zone: 0 })),
    )
    for (const merge of ['none', 'segments']) {
      for (const sort_order of ['asc', 'desc']) {
        const query = { start_date: '1990-01-01', end_date: '2100-01-01', limit: 1000, merge, sort_order }
        const { body: page } = await summary(app, user, 'activity', query)
        const days = page.data.map(({ date }: { date: string }) => Date.parse(date) / DAY_MS)
        const wanted = [...apart, ...Array.from({ length: DAYS }, (_, n) => firstDay + n)].sort((a, b) => a - b)
        t.strictSame(days, sort_order === 'asc' ? wanted : wanted.reverse())
      }
    }
  })
})
