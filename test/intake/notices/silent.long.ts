// A month in which providers tell nothing, and a watch that is not synced for ten days: pulls find all of it.
import t, { type Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { startOpeningNotices } from '../../support/notices.ts'
import { dayOfPulls } from '../../support/people.ts'
import { eachEngine } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { checked, type Lived, POLAR_DAYS, shown, startLives } from '../pulls/whole-way.ts'
import { nothingLeft, sent, subscribeToAll, TOLD } from './days-told.ts'

const DAY_MS = 86_400_000
const PAST_DAYS = 20
const SILENT_DAYS = 28
const AWAY_DAYS = 10
/** The first pull of a week reaches back far enough. */
const BACK_DAYS = 8
const PATIENCE_MS = 300_000

eachEngine(t, 'what providers do not tell for a month, and watches for ten days', async (t: Test, engine: Engine) => {
  const after = 1 + SILENT_DAYS + AWAY_DAYS + BACK_DAYS
  const lived = await startLives(t, engine, { people: 4, days: PAST_DAYS, after })
  const { simulator } = lived
  await startOpeningNotices(t, lived.app)
  await subscribeToAll(lived)
  let day = 1
  await daysGoBy(lived, day, 1)
  for (const provider of TOLD) await simulator.control('POST', 'faults', { kind: 'silent', provider, path: '/notices' })
  const before = await sent(lived)

  day += SILENT_DAYS
  await daysGoBy(lived, day, SILENT_DAYS)
  t.equal(await sent(lived), before, 'nothing was told')
  t.strictSame(shown((await wrongAfter(lived, day)).wrong), [], 'a month that nobody told of')
  t.strictSame(await missedOf(lived), [...TOLD].sort(), 'and it was counted')
  const kept = await rowsOf(lived)

  const person = [...lived.users.keys()][1] as string
  const { body: fault } = await simulator.control('POST', 'faults', {
    ...{ kind: 'early', person, seconds: AWAY_DAYS * 86_400 },
  })
  for (let away = 1; away <= AWAY_DAYS; away += 1) await daysGoBy(lived, ++day, 1)
  const hidden = (await wrongAfter(lived, day)).wrong
  t.ok(hidden.length > 100, `${hidden.length} lines have not come`)
  t.strictSame(shown(hidden.filter((line) => !line.startsWith(`${person} `))), [], 'those of the others have')
  await simulator.control('DELETE', `faults/${fault.id}`)
  for (let back = 1; back <= BACK_DAYS; back += 1) await daysGoBy(lived, ++day, 1)
  t.strictSame(shown((await wrongAfter(lived, day)).wrong), [], 'and have come once the watch was synced')

  const grown = Object.entries(await rowsOf(lived)).filter(([table, rows]) => rows > (kept[table] ?? 0))
  t.strictSame(
    grown.map(([table]) => table),
    [],
    'only runs, answers and data grow with the days',
  )
})

/** The last of them is one on which providers are asked. */
async function daysGoBy({ app, simulator, pulling, consentMs }: Lived, day: number, days: number): Promise<void> {
  await dayOfPulls(app, consentMs + day * DAY_MS)
  await app.db.query(
    `update stream_cursor
     set reached_week_at = reached_week_at - make_interval(days => $1),
         reached_month_at = reached_month_at - make_interval(days => $1)`,
    [days - 1],
  )
  await simulator.control('POST', 'clock', { advance_days: days })
  await simulator.control('POST', 'notices')
  await pulling.pullNow()
  // Tasks of notices may be due later.
  if (!(await waitUntil(() => nothingLeft(app), PATIENCE_MS, 50))) throw new Error('something is left')
}

function wrongAfter(lived: Lived, day: number): ReturnType<typeof checked> {
  const nowMs = lived.consentMs + day * DAY_MS
  const fromMs = Math.floor(lived.consentMs / DAY_MS) * DAY_MS + (2 - PAST_DAYS) * DAY_MS
  return checked(
    lived,
    { fromMs, untilMs: nowMs + DAY_MS, nowMs },
    lived.consentMs + (1 + SILENT_DAYS - POLAR_DAYS) * DAY_MS,
  )
}

/** The providers of which a pull found what no notice had told of. */
async function missedOf({ app }: Lived): Promise<unknown[]> {
  const { values } = await app.deps.metrics.noticesMissed.get()
  return values.flatMap(({ value, labels }) => (value > 0 ? [labels.provider] : [])).sort()
}

/** How many rows each table has, but for those of data, of answers that are kept, and of runs. */
async function rowsOf({ app }: Lived): Promise<Record<string, number>> {
  const tables = await app.db.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> all ($1)`,
    [GROWING],
  )
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as rows from ${name}`)
  const rows = await app.db.query<{ name: string; rows: number }>(counts.join(' union all '))
  return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]))
}

// Also what is left for jobs that do not run here.
const GROWING = [
  ...[
    'sample',
    'sample_origin',
    'zone_run',
    'workout',
    'sleep',
    'sleep_part',
    'health_score',
    'rollup_dirty',
    'score_due',
    'event',
  ],
  ...['upload', 'upload_body', 'sync_run', 'sync_run_type', 'sync_run_report', 'sync_event'],
]
