// Ids of sources: those of a user fall into one group of hashes, and numbers are used up by new sources only.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { migrate } from '../../server/db/migrate.ts'
import { reportScattered, scatteredUsers } from '../../server/sources/groups.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, oneEngine, startImports } from '../support/sdk.ts'
import { compiledFile, onDatabase, startService, THIS_RUN } from '../support/service.ts'
import { runs } from '../support/thorough.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Users that each of four statements adds. */
const EACH = runs(1_000, 2_500)
const NOON = Date.UTC(2026, 1, 24, 12)

/** PostgreSQL's hash of an int4, after its published algorithm (Jenkins' lookup3, of one word), as a group. */
function groupOf(id: number): number {
  const rotate = (value: number, by: number) => (value << by) | (value >>> (32 - by))
  let a = (0x9e3779b9 + 4 + 3923095) | 0
  let b = a
  let c = a
  a = (a + id) | 0
  c ^= b
  c = (c - rotate(b, 14)) | 0
  a ^= c
  a = (a - rotate(c, 11)) | 0
  b ^= a
  b = (b - rotate(a, 25)) | 0
  c ^= b
  c = (c - rotate(b, 16)) | 0
  a ^= c
  a = (a - rotate(c, 4)) | 0
  b ^= a
  b = (b - rotate(a, 14)) | 0
  c ^= b
  c = (c - rotate(b, 24)) | 0
  return (c >> 26) + 32
}

/** Adds sources of so many users, as many to each as `counts` says, in any order. */
async function addSources(app: TestApp, users: number, sources: number): Promise<void> {
  await app.db.query(
    `with person as (insert into app_user (id) select gen_random_uuid() from generate_series(1, $1) returning id)
     insert into data_source (user_id, provider, source)
     select p.id, 'apple', n::text
     from person p
     cross join generate_series(1, $2) n
     where n = 1 or random() < 0.5
     order by random()`,
    [users, sources],
  )
}

/** The groups of each user's sources. */
async function groupsOfUsers(app: TestApp): Promise<Map<string, Set<number>>> {
  const groups = new Map<string, Set<number>>()
  for (const [user, id] of await app.db.rows<[string, number]>('select user_id, id from data_source')) {
    groups.set(user, (groups.get(user) ?? new Set()).add(groupOf(id)))
  }
  return groups
}

oneEngine(t, 'the sources of a user are in one group', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await t.test('of thousands of users, added at the same time', async (t) => {
    await Promise.all(Array.from({ length: 4 }, () => addSources(app, EACH, 3)))
    const groups = await groupsOfUsers(app)
    t.equal(groups.size, 4 * EACH)
    t.strictSame(
      [...groups].filter(([, own]) => own.size > 1),
      [],
    )
    const users = Array.from({ length: 64 }, () => 0)
    for (const [group = 0] of groups.values()) users[group] = (users[group] ?? 0) + 1
    // As many on average as there are users for each of 64 groups, with a standard deviation of about the root.
    const mean = (4 * EACH) / 64
    const far = 5.3 * Math.sqrt(mean)
    t.ok(Math.min(...users) > mean - far && Math.max(...users) < mean + far, `every group has its part: ${users}`)
  })

  await t.test('later ones, too', async (t) => {
    await app.db.query(`insert into data_source (user_id, provider) select id, 'garmin' from app_user`)
    t.strictSame(
      [...(await groupsOfUsers(app)).values()].filter((own) => own.size > 1),
      [],
    )
    t.strictSame(await scatteredUsers(app.databaseUrl, 10), { users: 0, first: [] })
  })

  await t.test('no number is left out', async (t) => {
    const [left] = await app.db.rows<[number]>(
      `select count(*)::int4
       from generate_series(1, (select min(last_value) from pg_sequences where sequencename like 'source\\_id\\_%')) n
       where not exists (select from data_source d where d.id = n)`,
    )
    t.strictSame(left, [0])
  })
})

oneEngine(t, 'uploads draw an id for new sources only', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const drawn = async () =>
    (
      await app.db.rows(`select sequencename, last_value from pg_sequences where last_value is not null order by 1`)
    ).filter(([name]) => String(name).startsWith('source_id_'))
  await importBody(app, user, body([heartRate(NOON, 60)]))
  const first = await drawn()
  t.equal(first.length, 1)
  for (let minute = 1; minute < 4; minute += 1)
    await importBody(app, user, body([heartRate(NOON + minute * 60_000, 61)]))
  t.strictSame(await drawn(), first)
})

oneEngine(t, 'a database with ids from before starts, and says what it has', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const { db, databaseUrl } = app
  const aligned = await createUser(app)
  const scattered = await createUser(app)
  // As it was before: one sequence, and the first 700 numbers used.
  await db.query('drop trigger source_id_given on data_source')
  await db.query(`select set_config('client_min_messages', 'warning', false)`)
  for (let place = 0; place < 64; place += 1) await db.query(`drop sequence source_id_${place}`)
  await db.query('alter table data_source alter column id add generated always as identity (start 1)')
  await db.query(`select setval('data_source_id_seq', 700)`)
  await db.query(`delete from schema_migration where name in ('routines', 'migrations/0220-source-groups.sql')`)
  await db.query(
    `insert into data_source (id, user_id, provider, source) overriding system value
     values (1, $1, 'apple', 'a'), (1000, $2, 'apple', 'a'), (1001, $2, 'apple', 'b')`,
    [aligned, scattered],
  )
  await migrate(databaseUrl)
  t.strictSame(
    await db.rows(`select distinct start_value from pg_sequences where sequencename like 'source\\_id\\_%'`),
    [[1002]],
  )

  await t.test('a new source of a user with one joins it', async (t) => {
    const added = await db.one<{ id: number }>(
      `insert into data_source (user_id, provider, source) values ($1, 'apple', 'b') returning id`,
      [aligned],
    )
    t.ok(added.id > 1001)
    t.equal(groupOf(added.id), groupOf(1))
  })

  await t.test('the log has a line, once', async (t) => {
    const lines: string[] = []
    await reportScattered(databaseUrl, (line) => lines.push(line))
    t.strictSame(lines, ['1 user with sources in several groups of hashes: "npm run sources" lists them'])
    const service = await startService(t, { ...onDatabase(databaseUrl), LOG_LEVEL: 'info' })
    t.equal(await service.stop(), 0)
    t.equal(service.output().split('npm run sources').length, 2)
  })

  await t.test('the command lists them', async (t) => {
    const { PATH = '', HOME = '' } = process.env
    const env = { PATH, HOME, ...THIS_RUN, ...onDatabase(databaseUrl) }
    const args = compiledFile('server/list-sources.ts')
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env })
    const groups = [groupOf(1000), groupOf(1001)].sort((a, b) => a - b).join(', ')
    t.equal(stdout, `The sources of 1 user are in several groups:\n${scattered}  2 sources in groups ${groups}\n`)
  })
})
