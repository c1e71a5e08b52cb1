// Nights with known bedtimes, the measurements in them, and their scores.
import type { Database, Transaction } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import type { Jobs } from '../../server/queue.ts'
import type { TestAnswer, TestApp } from './app.ts'
import { importBody, iso, record, type SdkRecord, WATCH } from './sdk.ts'
import { stage } from './sleep.ts'

export const MIN_MS = 60_000
export const HOUR_MS = 60 * MIN_MS
export const DAY_MS = 24 * HOUR_MS

/** 00:00 UTC of today: only recent days are scored. */
export const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS

/** 23:00 at +01:00 of the evening before the day this many days ago. */
export const eleven = (daysAgo: number): number => TODAY - daysAgo * DAY_MS - 2 * HOUR_MS

/**
 * The stages of a night that began `late` minutes after eleven: 4 h light sleep, half an hour awake, 90 min deep, 90 min
 * REM. Seven hours asleep.
 */
export function night(daysAgo: number, late = 0, fields: SdkRecord = {}): SdkRecord[] {
  let at = eleven(daysAgo) + late * MIN_MS
  return (
    [
      ['light', 240],
      ['awake', 30],
      ['deep', 90],
      ['rem', 90],
    ] as const
  ).map(([name, minutes]) => {
    const startMs = at
    at += minutes * MIN_MS
    return stage(name, startMs, at, { id: `${daysAgo} ${name}`, zoneOffset: '+01:00', ...fields })
  })
}

/** Variability (RMSSD, ms) as Health Connect sends it. */
export const variability = (ms: number, value: number, fields: SdkRecord = {}): SdkRecord =>
  record('HEART_RATE_VARIABILITY', ms, value, { id: `v${iso(ms)}`, unit: 'ms', source: WATCH, ...fields })

/** A page of scores. */
export function getScores(
  app: TestApp,
  user: string,
  query: Record<string, string | number> = {},
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) text.set(name, String(value))
  return app.request('GET', `/api/v1/users/${user}/health-scores?${text}`, { headers })
}

/** The scores, which must fit on one page, the earliest first. */
export async function allScores(
  app: TestApp,
  user: string,
  query: Record<string, string | number> = {},
  // biome-ignore lint/suspicious/noExplicitAny: items as the API writes them
): Promise<any[]> {
  const { status, body } = await getScores(app, user, { limit: 1000, ...query })
  if (status !== 200 || body.pagination.has_more) throw new Error(`${status} ${JSON.stringify(body).slice(0, 300)}`)
  return body.data.toReversed()
}

/** Uploads a body, and waits until it is imported and the ingest lock of its user is free. */
export async function send(app: TestApp, user: string, content: unknown): Promise<void> {
  await importBody(app, user, content)
  const idle = () => app.db.query('select 1 from graphile_worker.jobs where key = $1', [`import:${user}`])
  if (!(await waitUntil(async () => (await idle()).length === 0, 10_000, 5))) throw new Error('the import goes on')
}

/** Runs a job through the queue, and waits for its end. */
export async function runJob(app: TestApp, jobs: Jobs, name: string): Promise<void> {
  await jobs.enqueue(name, `test:${name}`)
  const done = () =>
    app.db
      .query('select 1 from graphile_worker.jobs where key = $1', [`test:${name}`])
      .then(({ length }) => length === 0)
  if (!(await waitUntil(done, 10_000))) throw new Error(`${name} was not done in time`)
}

/** The versions of a user's scores and of the user: any write, even of the same values, changes this. */
export const scoreVersions = (db: Database, user: string): Promise<unknown[]> =>
  db.query(
    `select id::text, xmin::text from health_score where user_id = $1
     union all select 'user', xmin::text from app_user where id = $1 order by 1`,
    [user],
  )

/** The same database, and the statements that its transactions run. */
export function watched(db: Database): { db: Database; statements: string[] } {
  const statements: string[] = []
  const watch = (tx: Transaction): Transaction => {
    const noted = (run: (text: string, params?: readonly never[]) => Promise<unknown>) =>
      ((text: string, params?: readonly never[]) => {
        statements.push(text)
        return run(text, params)
      }) as never
    return { ...tx, query: noted(tx.query), rows: noted(tx.rows), one: noted(tx.one) }
  }
  return { db: { ...db, transaction: (work) => db.transaction((tx) => work(watch(tx))) }, statements }
}
