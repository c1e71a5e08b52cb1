// The tables of docs/sizing.md are what its figures and its arithmetic give.
import { readFile } from 'node:fs/promises'
import t from 'tap'

const page = await readFile(new URL('../docs/sizing.md', import.meta.url), 'utf8')
const ENGINES = [0, 1] as const
type Engine = (typeof ENGINES)[number]

const HALF_A_DAY_S = 43_200
const UPLOADS = 96
const PAGES = 100
const CORES_OF_PRIMARY = 8

/** Rows of the table whose head begins with these words, without the head. */
function table(head: string): string[][] {
  const [, ...lines] =
    page
      .slice(page.indexOf(`| ${head}`))
      .split('\n\n')[0]
      ?.split('\n') ?? []
  return lines.slice(1).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** A figure of one user, in the unit of its line. */
function figure(name: string, engine: Engine): number {
  const row = table('one user').find(([cell]) => cell?.startsWith(name))
  const value = Number(row?.[1 + engine])
  if (!(value > 0)) throw new Error(`docs/sizing.md has no figure "${name}"`)
  return value
}

/** Bytes, as `1 TB`. */
const bytesOf = (text = '') => Number.parseFloat(text) * (text.endsWith('TB') ? 1e12 : 1e9)
const numberOf = (text = '') => Number(text.replaceAll(',', ''))

/** Rounded down to two digits. */
function twoDigits(users: number): string {
  const unit = 10 ** Math.max(0, String(Math.floor(users)).length - 2)
  return (Math.floor(users / unit + 1e-9) * unit).toLocaleString('en')
}

const byDisk = (disk: number, years: number, engine: Engine) =>
  ((disk / 1e6) * 2) / 3 / (figure('disk besides', engine) + years * figure('disk for each year', engine))

const byMemory = (memory: number, processes: number, engine: Engine) =>
  (memory / 1e6 - 1000 - 500 * processes) / figure('memory for the last month', engine)

const daySeconds = (engine: Engine) =>
  (UPLOADS * (figure('CPU of an upload', engine) + figure('CPU of its rollups', engine)) +
    PAGES * figure('CPU of a page', engine)) /
  1000

const byCores = (cores: number, engine: Engine) => (cores * HALF_A_DAY_S) / daySeconds(engine)

/** Users of a primary with or without replicas, and the seconds of CPU that their pages take in the database. */
function ofPrimary(pages: number, engine: Engine, kind: 'with' | 'without') {
  const writes = UPLOADS * (figure('of that in the database', engine) + figure('CPU of its rollups', engine))
  const users =
    (CORES_OF_PRIMARY * HALF_A_DAY_S * 1000) / (writes + pages * figure(`of that on the primary, ${kind} `, engine))
  return { users, pageSeconds: (users * pages * figure('of that on the primary, without ', engine)) / 1000 }
}

t.test('users by disk', async (t) => {
  const rows = table('disk ')
  t.ok(rows.length >= 4)
  for (const [disk = '', ...users] of rows)
    t.strictSame(
      users,
      ENGINES.flatMap((engine) => [1, 5].map((years) => twoDigits(byDisk(bytesOf(disk), years, engine)))),
      disk,
    )
})

t.test('users by memory', async (t) => {
  const rows = table('memory ')
  t.ok(rows.length >= 4)
  for (const [memory = '', processes, ...users] of rows)
    t.strictSame(
      users,
      ENGINES.map((engine) => twoDigits(byMemory(bytesOf(memory), numberOf(processes), engine))),
      memory,
    )
})

t.test('users by cores, and the CPU of a day', async (t) => {
  const rows = table('cores ')
  t.ok(rows.length >= 4)
  for (const [cores = '', ...users] of rows)
    t.strictSame(
      users,
      ENGINES.map((engine) => twoDigits(byCores(numberOf(cores), engine))),
      cores,
    )
  const [plain, timescale] = ENGINES.map((engine) => daySeconds(engine).toFixed(1))
  t.match(page, `${plain} s a day on plain PostgreSQL and ${timescale} s on TimescaleDB`)
})

t.test('users of a primary, by pages a day', async (t) => {
  const rows = table('pages a day')
  t.ok(rows.length >= 3)
  for (const [pages, ...cells] of rows)
    t.strictSame(
      cells,
      ENGINES.flatMap((engine) => {
        const [none, replicas] = (['without', 'with'] as const).map((kind) => ofPrimary(numberOf(pages), engine, kind))
        const needed = Math.ceil((replicas?.pageSeconds ?? 0) / (CORES_OF_PRIMARY * HALF_A_DAY_S))
        return [twoDigits(none?.users ?? 0), twoDigits(replicas?.users ?? 0), String(needed)]
      }),
      `${pages} pages`,
    )
})

t.test('a user’s disk and memory, of the bytes of a sample', async (t) => {
  const bytes = (name: string, engine: Engine) => {
    const row = table('bytes per sample').find(([cell]) => cell === name)
    return Number(row?.[1 + engine])
  }
  const [year, month] = [457_000, 37_600]
  const plain = (year * (bytes('sample with its key, as a row', 0) + bytes('all its rollups, as rows', 0))) / 1e6
  t.equal(Math.round(plain), figure('disk for each year', 0))
  t.match(page, /\| sample, compressed +\| – +\| 8 to 10 +\|\n.*\n\| all its rollups, compressed +\| – +\| 6 to 7 /)
  t.equal(Math.round((year * (10 + 6.5)) / 1e5) / 10, figure('disk for each year', 1))
  const rows = (month * bytes('sample with its key, as a row', 0) * 1.87) / 1e6
  t.equal(Math.round(rows), figure('memory for the last month', 0))
  const minutes = (month * bytes('sample with its key, as a row', 1)) / 1e6
  t.equal(Math.round(rows + minutes), figure('memory for the last month', 1))
  t.equal(1.5 + 1.5, figure('disk besides', 0))
  t.equal(Math.round(1.5 + 12 + minutes), figure('disk besides', 1))
})

t.test('the examples', async (t) => {
  const examples = [...page.matchAll(/^\*\*Example, .*$/gm)].map(([text]) => text)
  t.equal(examples.length, 2)
  for (const [engine, years] of [
    [0, 2],
    [1, 5],
  ] as const) {
    const [disk, memory, cores] = [byDisk(500e9, years, engine), byMemory(16e9, 4, engine), byCores(4, engine)]
    for (const users of [disk, memory, cores]) t.match(examples[engine], `= ${twoDigits(users)}`)
    t.match(examples[engine], `So ${twoDigits(memory)} users are served from memory, and ${twoDigits(disk)} fit.`)
  }
})
