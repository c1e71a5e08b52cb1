import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { deviceTypeRanks, deviceTypes } from '../catalogue/devices.ts'
import { providers } from '../catalogue/providers.ts'
import { seriesTypes } from '../catalogue/series.ts'
import { CONNECTION_OPTIONS, connectionTo } from './database.ts'

const SQL_FOLDER = fileURLToPath(new URL('../../sql/', import.meta.url))
const LOCK_KEY = 7_234_901

interface SqlFile {
  name: string
  text: string
}

/** Files of a folder by name; those of `routines` are in folders by subject, whose names do not count. */
async function sqlFiles(folder: string, options: { recursive?: boolean } = {}): Promise<SqlFile[]> {
  const names = (await readdir(SQL_FOLDER + folder, options)).filter((name) => name.endsWith('.sql'))
  names.sort((a, b) => (basename(a) < basename(b) ? -1 : 1))
  return Promise.all(
    names.map(async (name) => ({
      name: `${folder}/${name}`,
      text: await readFile(`${SQL_FOLDER}${folder}/${name}`, 'utf8'),
    })),
  )
}

/**
 * Brings the database to this version of the code: `sql/migrations` and the engine's own folder run once, in order,
 * never edited; `sql/routines` and the engine's own run again whenever one of them changed. `sql/engine.sql` names the
 * engine's folder, so no TypeScript asks which engine runs. Processes that start at the same time wait for the first
 * one. Throws when an applied file was edited or a statement fails, of which nothing of the file is kept,
 * and when the database is not in UTF-8 or somebody else's.
 */
export async function migrate(url: string, log: (message: string) => void = () => {}): Promise<void> {
  const client = new pg.Client({ ...connectionTo(url, CONNECTION_OPTIONS), application_name: 'pulsebase migrate' })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY])
    const migrations = await sqlFiles('migrations')
    await checkUsable(client, migrations)
    await client.query(`
      create table if not exists schema_migration (
        name text primary key,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`)
    const engineSql = await readFile(`${SQL_FOLDER}engine.sql`, 'utf8')
    const answers = (await client.query(engineSql)) as unknown as pg.QueryResult<{ engine: string }>[]
    const engine = [answers].flat().at(-1)?.rows[0]?.engine ?? 'plain'
    await applyOnce(client, [...migrations, ...(await sqlFiles(engine))], log)
    await applyRoutines(client, engine, log)
    await writeSeriesTypes(client)
    await addPriorities(client)
  } finally {
    await client.end()
  }
}

/** Before anything is changed: every name and note must be storable, and tables that have our names be ours. */
async function checkUsable(client: pg.Client, files: readonly SqlFile[]): Promise<void> {
  const own = files.flatMap(({ text }) => [...text.matchAll(/^create table (\w+)/gm)].map(([, name]) => name))
  const { rows } = await client.query<{ encoding: string; foreign: string | null }>(
    `select current_setting('server_encoding') as encoding, (
       select string_agg(c.relname, ', ' order by c.relname)
       from pg_class c
       where to_regclass('schema_migration') is null and c.relkind in ('r', 'p') and c.relname = any ($1)
         and c.relnamespace = current_schema()::regnamespace
     ) as foreign`,
    [own],
  )
  const [{ encoding, foreign } = { encoding: '', foreign: null }] = rows
  if (encoding !== 'UTF8') {
    throw new Error(
      `The database has the encoding ${encoding}, which cannot store every name: create one with encoding 'UTF8'.`,
    )
  }
  if (foreign) throw new Error(`The database has tables of something else (${foreign}): give Pulsebase one of its own.`)
}

const checksum = (text: string) => createHash('sha256').update(text).digest('hex')

async function applyOnce(client: pg.Client, files: SqlFile[], log: (message: string) => void): Promise<void> {
  const applied = await client.query<{ name: string; checksum: string }>('select name, checksum from schema_migration')
  const known = new Map(applied.rows.map((row) => [row.name, row.checksum]))
  const names = new Set(['routines', ...files.map((file) => file.name)])
  const newer = [...known.keys()].filter((name) => !names.has(name))
  if (newer.length > 0) {
    throw new Error(`The database was migrated by a newer version (sql/${newer[0]}). Start that version instead.`)
  }
  for (const file of files) {
    const sum = checksum(file.text)
    const before = known.get(file.name)
    if (before === sum) continue
    if (before) throw new Error(`sql/${file.name} was changed after it had been applied. Add a new migration instead.`)
    await inTransaction(client, file, async () => {
      await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [file.name, sum])
    })
    log(`applied sql/${file.name}`)
  }
}

async function applyRoutines(client: pg.Client, engine: string, log: (message: string) => void): Promise<void> {
  const files = [...(await sqlFiles('routines', { recursive: true })), ...(await sqlFiles(`${engine}/routines`))]
  const sum = checksum(files.map((file) => file.text).join('\n'))
  const current = await client.query('select 1 from schema_migration where name = $1 and checksum = $2', [
    'routines',
    sum,
  ])
  if (current.rowCount) return
  const all = { name: 'routines', text: files.map((file) => file.text).join('\n') }
  await inTransaction(client, all, async () => {
    await client.query(
      `insert into schema_migration (name, checksum) values ('routines', $1)
       on conflict (name) do update set checksum = excluded.checksum, applied_at = now()`,
      [sum],
    )
  })
  log('applied sql/routines')
}

async function inTransaction(client: pg.Client, file: SqlFile, record: () => Promise<void>): Promise<void> {
  await client.query('begin')
  try {
    await client.query(file.text)
    await record()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`sql/${file.name} failed: ${(error as Error).message}`, { cause: error })
  }
}

/** Mirrors the catalogue into `series_type`, for people and tools that read the database directly. */
async function writeSeriesTypes(client: pg.Client): Promise<void> {
  await client.query(
    `insert into series_type (id, type, unit, aggregation, category)
     select * from unnest($1::int2[], $2::text[], $3::text[], $4::text[], $5::text[])
     on conflict (id) do update
     set type = excluded.type, unit = excluded.unit, aggregation = excluded.aggregation, category = excluded.category
     where (series_type.type, series_type.unit, series_type.aggregation, series_type.category)
       is distinct from (excluded.type, excluded.unit, excluded.aggregation, excluded.category)`,
    [
      seriesTypes.map((series) => series.id),
      seriesTypes.map((series) => series.type),
      seriesTypes.map((series) => series.unit),
      seriesTypes.map((series) => series.aggregation),
      seriesTypes.map((series) => series.category),
    ],
  )
}

/** Gives providers and device types without a priority their default; keeps priorities that an operator set. */
async function addPriorities(client: pg.Client): Promise<void> {
  const ranked = providers.filter(({ sentinel }) => !sentinel)
  await client.query(
    `insert into provider_priority (provider, priority)
     select * from unnest($1::text[], $2::int4[])
     on conflict (provider) do nothing`,
    [ranked.map(({ provider }) => provider), ranked.map(({ rank }) => rank)],
  )
  await client.query(
    `insert into device_type_priority (device_type, priority)
     select * from unnest($1::text[], $2::int4[])
     on conflict (device_type) do nothing`,
    [deviceTypes, deviceTypes.map((type) => deviceTypeRanks[type])],
  )
}
