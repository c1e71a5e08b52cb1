// The weeks of docs/reading.md: their tables are written by hand, and are what the API answers.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { oura, phoneOnly, runner, samsung, twoWriters } from '../support/golden-weeks.ts'
import { createUser, importBody, oneEngine, startImports } from '../support/sdk.ts'
import { summary } from '../support/summaries.ts'

const PAGE = await readFile(new URL('../../docs/reading.md', import.meta.url), 'utf8')
const WEEKS: Record<string, () => object[]> = {
  'Samsung with a watch': samsung,
  'Oura through Apple Health': oura,
  'Apple Watch and a running app': runner,
  'Health Connect with two writers': twoWriters,
  'A phone only': phoneOnly,
}

type Row = Record<string, unknown>
const nameOf = (source: unknown) => {
  const { device_name, source: writer } = source as { device_name: string | null; source: string | null }
  return device_name ?? writer
}

/** Columns of the tables: where their values stand in the rows of a day. */
const COLUMNS: Record<string, (day: { activity?: Row; sleep?: Row; recovery?: Row }) => unknown> = {
  steps: ({ activity }) => activity?.steps,
  meters: ({ activity }) => activity?.distance_meters,
  ascent: ({ activity }) => activity?.elevation_meters,
  floors: ({ activity }) => activity?.floors_climbed,
  'active kcal': ({ activity }) => activity?.active_calories_kcal,
  'total kcal': ({ activity }) => activity?.total_calories_kcal,
  'active minutes': ({ activity }) => activity?.active_minutes,
  'heart rate': ({ activity }) => (activity?.heart_rate as Row | null)?.avg_bpm,
  'activity of': ({ activity }) => activity && nameOf(activity.source),
  asleep: ({ sleep }) => sleep?.duration_minutes,
  'in bed': ({ sleep }) => sleep?.time_in_bed_minutes,
  naps: ({ sleep }) => sleep?.nap_duration_minutes,
  'night of': ({ sleep }) => sleep && nameOf(sleep.source),
  resting: ({ recovery }) => recovery?.resting_heart_rate_bpm,
}

/** The table below a heading of the page, as lists of cells. */
function tableBelow(heading: string): string[][] {
  const [, after = ''] = PAGE.split(`### ${heading}\n`)
  const [section = ''] = after.split('\n##')
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  const rows = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  return rows.filter((_, place) => place !== 1)
}

oneEngine(t, 'weeks that the page shows', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  for (const [heading, uploads] of Object.entries(WEEKS))
    await t.test(heading, async (t) => {
      const user = await createUser(app)
      for (const one of uploads()) t.match(await importBody(app, user, one), { status: 'success', dropped_count: 0 })
      const read = async (name: string) =>
        (await summary(app, user, name, { start_date: '2026-03-01', end_date: '2026-03-10' })).body.data as Row[]
      const [activity, sleep, recovery] = [await read('activity'), await read('sleep'), await read('recovery')]
      const [[first, ...names] = [], ...rows] = tableBelow(heading)
      t.equal(first, 'date')
      const found = rows.map(([date]) => {
        const of = (list: Row[]) => list.find((row) => row.date === date)
        const day = { activity: of(activity), sleep: of(sleep), recovery: of(recovery) }
        return names.slice(0, -1).map((name) => String(COLUMNS[name]?.(day as never) ?? '–'))
      })
      t.strictSame(
        found,
        rows.map((cells) => cells.slice(1, -1)),
      )
      const dates = [...activity, ...sleep, ...recovery].map(({ date }) => date)
      t.strictSame(
        [...new Set(dates)].sort(),
        rows.map(([date]) => date),
        'no other day has anything',
      )
    })
})
