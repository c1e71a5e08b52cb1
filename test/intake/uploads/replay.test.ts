// Which uploads are kept, for how long, and their import by the current rules.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { replay, type Selection } from '../../../server/intake/uploads/replay.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { eventVersions, storedEvents } from '../../support/events.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  record,
  rowVersions,
  startImports,
  steps,
  storedSamples,
  upload,
  waitForAll,
  waitForBatch,
} from '../../support/sdk.ts'
import { compiledFile, onDatabase, THIS_RUN } from '../../support/service.ts'
import { sleepBody, sleepIds, sleepVersions, stage } from '../../support/sleep.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const NOON = Date.UTC(2026, 1, 24, 12)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The output of a replay. */
async function replayed(app: TestApp, selection: Partial<Selection>, write = false): Promise<string> {
  const lines: string[] = []
  const all = { batch: null, user: null, from: null, to: null, ...selection }
  const means = { db: app.db, threads: app.threads(), settings: app.deps.config }
  await replay(means, all, write, (line) => lines.push(line))
  return lines.join('\n')
}

const AS_OPERATORS_DO = ['npm', 'run', '--silent', 'replay', '--']
const COMPILED_BEFORE = [process.execPath, ...compiledFile('server/replay.ts')]

/** Runs the command in a separate process; returns its output, or its message when it fails. */
async function command(databaseUrl: string, args: string[], [file = '', ...first] = COMPILED_BEFORE) {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, ...THIS_RUN, ...onDatabase(databaseUrl) }
  try {
    const { stdout } = await run(file, [...first, ...args], { cwd: ROOT, env })
    return { out: stdout, error: '' }
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return { out: stdout, error: stderr }
  }
}

oneEngine(t, 'stored uploads are imported again after it was shown what that changes', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const values = async () => (await storedSamples(app.db, user)).map(({ type, value }) => `${type} ${value}`)
  const first = await importBody(app, user, body([heartRate(NOON, 60), heartRate(NOON + 1000, 61), steps(NOON, 10)]))
  await importBody(app, user, body([heartRate(NOON + 1000, 71)]))
  // As an older mapping would have stored it: one value wrong, one record not read at all.
  await app.db.query(
    `update sample set value = 6 where value = 60 and source_id in (select id from data_source where user_id = $1)`,
    [user],
  )
  await app.db.query(
    `delete from sample where value = 10 and source_id in (select id from data_source where user_id = $1)`,
    [user],
  )
  const before = await rowVersions(app.db, user)

  await t.test('what it would change is shown, and nothing is changed', async (t) => {
    const { out } = await command(app.databaseUrl, ['--user', user])
    t.match(out, /^2 uploads\. No longer kept: 0 bodies\.$/m)
    // The second upload wins at its instant again.
    t.match(out, /^heart_rate +0 +3 +2026-02-24 +2026-02-24$/m)
    t.match(out, /^steps +1 +0 +2026-02-24 +2026-02-24$/m)
    t.match(out, /^unchanged 0, deleted 0, rejected 0$/m)
    t.match(out, /Nothing was written/)
    t.strictSame(await rowVersions(app.db, user), before)
    t.equal((await waitForAll(app, user)).length, 2)
  })

  await t.test('days are those of arrival', async (t) => {
    t.match(await replayed(app, { user, to: '2020-01-01' }), /^0 uploads\./)
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
    t.match(await replayed(app, { user, from: tomorrow }), /^0 uploads\./)
    const today = new Date(first.received_at as string).toISOString().slice(0, 10)
    t.match(await replayed(app, { user, from: today, to: tomorrow }), /^2 uploads\./)
  })

  await t.test('it is written when asked for, beside the running service', async (t) => {
    const out = await replayed(app, { user }, true)
    t.match(out, /Imported 2 uploads again\./)
    t.strictSame(await values(), ['heart_rate 60', 'steps 10', 'heart_rate 71'])
    const batches = await waitForAll(app, user)
    t.strictSame(
      batches.map(({ replay_of }) => replay_of),
      [null, null, batches[0]?.batch_id, batches[1]?.batch_id],
    )
    t.match(await replayed(app, { user }), /^2 uploads\./, 'those of the replay are no new ones')
  })

  await t.test('a single upload too, which then has the last word', async (t) => {
    const out = await replayed(app, { batch: first.batch_id }, true)
    t.match(out, /^heart_rate +0 +1 /m)
    t.strictSame(await values(), ['heart_rate 60', 'steps 10', 'heart_rate 61'])
  })

  await t.test('a disconnected provider stays so', async (t) => {
    await app.db.query(`update connection set status = 'revoked' where user_id = $1`, [user])
    await replayed(app, { user }, true)
    const [connection] = (await app.request('GET', `/api/v1/users/${user}/connections`)).body
    t.equal(connection.status, 'revoked')
    await importBody(app, user, body([heartRate(NOON + 2000, 62)]))
    const [again] = (await app.request('GET', `/api/v1/users/${user}/connections`)).body
    t.equal(again.status, 'active')
  })
})

oneEngine(t, 'nights and cycles of an older rule become those of today', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const light = (fromHour: number, untilHour: number, fields = {}) =>
    stage('light', NOON + fromHour * HOUR_MS, NOON + untilHour * HOUR_MS, fields)
  const scored = { values: [{ type: 'sleepScore', value: 70, unit: 'score' }] }
  const given = { id: 'part', parentId: 'given' }
  const flow = (day: number) => record('HKCategoryTypeIdentifierMenstrualFlow', NOON + day * DAY_MS, 3)
  const uploads = [
    sleepBody([light(-14, -10, scored), light(-9, -5)]),
    // Sleep of the day that ends with that night, the beginning of the next night, and one the platform defines.
    sleepBody([light(0, 1), light(10, 14)]),
    sleepBody([light(34, 40, given)], { provider: 'samsung' }),
    body([flow(0), flow(1), flow(28), flow(29)]),
  ]
  const [user, fresh] = [await createUser(app), await createUser(app)]
  for (const each of [user, fresh]) for (const content of uploads) await importBody(app, each, content)
  const versions = async () => [await sleepVersions(app.db, user), await eventVersions(app.db, user)]
  const revision = () => app.db.query('select revision from app_user where id = $1', [user])
  const [main = '', nap = '', next = '', ofPlatform = ''] = await sleepIds(app.db, user)

  await t.test('ordinary uploads leave them, also when the same ones come again', async (t) => {
    // A night in two parts and without its score, a wrong nap, a missing night, another total; a missing cycle, and
    // another period.
    await app.db.query(
      `insert into sleep (user_id, source_id, session, start_at, end_at, asleep_s, in_bed_s, stages)
       select user_id, source_id, session, end_at - interval '4 hours', end_at, 14400, 14400, '[]' from sleep where id = $1`,
      [main],
    )
    await app.db.query(`update sleep set end_at = end_at - interval '5 hours', asleep_s = 14400 where id = $1`, [main])
    await app.db.query('delete from health_score where sleep_id = $1', [main])
    await app.db.query('update sleep set is_nap = false where id = $1', [nap])
    await app.db.query('delete from sleep where id = $1', [next])
    await app.db.query('update sleep set efficiency_percent = 1 where id = $1', [ofPlatform])
    await app.db.query(`delete from menstrual_cycle where user_id = $1 and external_id = 'cycle-apple-2026-03-24'`, [
      user,
    ])
    await app.db.query('update menstrual_cycle set period_length = 9 where user_id = $1', [user])
    const damaged = await versions()
    for (const content of uploads) t.match(await importBody(app, user, content), { inserted: 0, updated: 0 })
    t.strictSame(await versions(), damaged, 'the same uploads once more derive nothing again')
  })

  await t.test('it is shown', async (t) => {
    const damaged = await versions()
    const told = await replayed(app, { user })
    t.match(told, /^sleep sessions +1 +4 +2026-02-23 +2026-02-26$/m)
    t.match(told, /^menstrual cycles +1 +1 +2026-02-24 +2026-03-26$/m)
    t.match(told, /^unchanged 18, deleted 0, rejected 0$/m, 'stages and observations are what they were')
    t.strictSame(await versions(), damaged)
  })

  await t.test('it is written, and known to those who ask whether something changed', async (t) => {
    const before = await revision()
    await replayed(app, { user }, true)
    t.strictSame(await storedEvents(app.db, user), await storedEvents(app.db, fresh))
    const ids = await sleepIds(app.db, user)
    t.strictSame(ids.toSpliced(2, 1), [main, nap, ofPlatform], 'what is still there is the same session')
    t.strictNotSame(await revision(), before)
    t.notMatch(await replayed(app, { user }), /sessions|cycles/, 'and nothing is left to change')
  })
})

t.test('what cannot be done is said', async (t) => {
  const url = 'postgresql://nobody@127.0.0.1:9/none'
  const user = '0b0c9d4e-6d3b-4f0e-9a55-2f4f3f1f6c11'
  t.match((await command(url, [], AS_OPERATORS_DO)).error, /Give --user or --batch[\s\S]*npm run replay/)
  t.match((await command(url, ['--user', user, '--all'])).error, /Unknown option '--all'/)
  t.match((await command(url, ['--user', user])).error, /Could not replay: .*ECONNREFUSED/)
})

oneEngine(t, 'bodies are kept for a while', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const jobs = await startImports(t, app)
  const user = await createUser(app)
  const content = body([heartRate(NOON, 60)])
  const { batch_id: id } = await importBody(app, user, content)
  const path = `/api/v1/sdk/users/${user}/sync/batches/${id}`
  const kept = async () => (await app.request('GET', path)).body.body_kept
  const forget = (days: number) =>
    app.db.one<{ gone: number }>('select forget_bodies(now() - make_interval(days => $1), 10) as gone', [days])
  const arrived = (days: number) =>
    app.db.query('update upload set received_at = now() - make_interval(days => $2) where id = $1', [id, days])

  t.strictSame(await forget(30), { gone: 0 })
  t.equal(await kept(), true)
  await arrived(31)
  await app.db.query(`update upload set status = 'queued' where id = $1`, [id])
  t.strictSame(await forget(30), { gone: 0 }, 'what waits for its import is needed')
  await app.db.query(`update upload set status = 'failed', received_at = now() - interval '2 days' where id = $1`, [id])
  t.strictSame(await forget(1), { gone: 0 }, 'what failed is nowhere else')
  await arrived(31)
  await jobs.enqueue('prune', 'prune')
  await t.resolves(untilNot(kept), 'the nightly job removes what is too old')
  t.strictSame(await app.db.query('select 1 from upload_body where user_id = $1', [user]), [])

  t.match(await app.request('POST', `${path}/import`), {
    status: 409,
    body: { detail: 'The body of this upload is no longer kept.' },
  })
  t.match(await replayed(app, { user }), /^0 uploads\. No longer kept: 1 body\./)
  const again = await importBody(app, user, content)
  t.match(again, { unchanged: 1, inserted: 0, body_kept: true }, 'the same body may come again')
})

oneEngine(t, 'without retention no body outlives its import', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const first = await upload(app, user, body([heartRate(NOON, 60)]))
  await startImports(t, app, 2, 0)
  t.match(await waitForBatch(app, user, first.body.batch_id), { status: 'success', inserted: 1 })
  const none = async () => (await app.db.query('select 1 from upload_body where user_id = $1', [user])).length > 0
  await t.resolves(untilNot(none))
  t.match(await importBody(app, user, body([heartRate(NOON, 60)])), { status: 'success', unchanged: 1 })
})

/** Waits until a condition no longer holds. */
async function untilNot(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000
  while (await condition()) if (Date.now() > deadline) throw new Error('not in time')
}
