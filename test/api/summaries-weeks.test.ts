// Weeks of people, uploaded as phones do it: every summary is what straight-line code makes of the uploaded records
// (contract 12.1 to 12.6). `npm run test:long` takes two hundred weeks.
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { activityRows } from '../support/activity-model.ts'
import { startTestApp } from '../support/app.ts'
import { bodyRow } from '../support/body-model.ts'
import { recoveryRow, sameRow, sleepRow } from '../support/night-model.ts'
import { createUser, eachEngine, importBody, startImports } from '../support/sdk.ts'
import { alike, dateText, seeded, summary, walk } from '../support/summaries.ts'
import { runs } from '../support/thorough.ts'
import { bodyOf, DEVICES, readWeek, weekOf } from '../support/weeks.ts'

const SEED = 20_261_140
const WEEKS = runs(2, 200)

eachEngine(t, 'summaries of uploaded weeks', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const compared = { activity: 0, merged: 0, sleep: 0, recovery: 0, body: 0 }

  for (let week = 0; week < WEEKS; week += 1) {
    await t.test(`week ${SEED + week}`, async (t) => {
      const random = seeded(SEED + week)
      const uploaded = weekOf(SEED + week, Date.now())
      const { firstDay, endDay, birthDate, uploads } = uploaded
      const user = await createUser(app)
      if (birthDate) {
        await app.request('PUT', `/api/v1/users/${user}/personal-record`, { body: { birth_date: birthDate } })
      }
      for (const one of uploads) {
        const { status, dropped_count } = await importBody(app, user, bodyOf(one))
        if (status !== 'success' || dropped_count > 0) throw new Error(`upload: ${status}, ${dropped_count} dropped`)
        if (random() < 0.3) await refreshRollups(app.db)
      }
      const born = birthDate?.split('-').map(Number)
      const first = new Date(firstDay * 86_400_000)
      const birthday = born && Date.UTC(first.getUTCFullYear(), (born[1] as number) - 1, born[2])
      const age =
        born && first.getUTCFullYear() - (born[0] as number) - (first.getTime() < (birthday as number) ? 1 : 0)
      const model = readWeek(uploaded, age === undefined ? 190 : Math.max(100, 220 - age))
      const days = Array.from({ length: endDay - firstDay }, (_, n) => firstDay + n)
      const range = { start_date: dateText(firstDay), end_date: dateText(endDay - 1) }
      const limit = () => [1, 2, 3, 7, 50][Math.floor(random() * 5)] as number

      for (const merged of [false, true]) {
        const desc = random() < 0.5
        const query = {
          ...range,
          limit: limit(),
          ...(!merged && { merge: 'none' }),
          sort_order: desc ? 'desc' : 'asc',
        }
        const { rows } = await walk(app, user, 'activity', query)
        const wanted = activityRows(model, firstDay, endDay, merged)
        if (desc) wanted.reverse()
        if (!alike(rows, wanted)) t.strictSame(rows, wanted, JSON.stringify(query))
        compared[merged ? 'merged' : 'activity'] += rows.length
      }
      for (const name of ['sleep', 'recovery'] as const) {
        const { rows } = await walk(app, user, name, { ...range, limit: limit() })
        const wanted = days
          .map((day) => (name === 'sleep' ? sleepRow(model, day)?.row : recoveryRow(model, day)))
          .filter((row) => row !== undefined)
        const right =
          rows.length === wanted.length && rows.every((row, n) => sameRow(row, wanted[n] as object as typeof row))
        if (!right) t.strictSame(rows, wanted, name)
        compared[name] += rows.length
      }
      const asked = { average_period: 1 + Math.floor(random() * 7), latest_window_hours: 1 + Math.floor(random() * 24) }
      const { body } = await summary(app, user, 'body', asked)
      const nowMs = body === null ? Date.now() : Date.parse(body.averaged.period_end)
      const { average_period, latest_window_hours } = asked
      const wanted = bodyRow(DEVICES, model.samples, {
        nowMs,
        days: average_period,
        hours: latest_window_hours,
        birthDate,
      })
      if (!alike(body, wanted)) t.strictSame(body, wanted, `body ${JSON.stringify(asked)}`)
      compared.body += body === null ? 0 : 1
      t.pass('every row is what the uploads say')
    })
  }
  t.comment(JSON.stringify(compared))
  t.ok(compared.activity >= WEEKS * 5 && compared.sleep >= WEEKS * 3 && compared.recovery >= WEEKS * 4)
  t.ok(compared.merged >= compared.activity && compared.body > WEEKS / 4)
})
