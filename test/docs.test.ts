// The pages of the documentation: everything they link to exists, and so does every section that the code cites.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { providers } from '../server/catalogue/providers.ts'
import { seriesTypes } from '../server/catalogue/series.ts'
import { paceTypes, workoutTypes } from '../server/catalogue/workouts.ts'
import { sports as fitbitSports } from '../server/providers/fitbit/workouts.ts'
import { sports as garminSports } from '../server/providers/garmin/workouts.ts'
import { sports as googleSports } from '../server/providers/google_health/workouts.ts'
import { workoutNames } from '../server/providers/oura/workouts.ts'
import { sports as polarSports } from '../server/providers/polar/workouts.ts'
import { sports as sensorbioSports } from '../server/providers/sensorbio/workouts.ts'
import { sports as stravaSports } from '../server/providers/strava/workouts.ts'
import { sports as suuntoSports } from '../server/providers/suunto/workouts.ts'
import { sports } from '../server/providers/whoop/workouts.ts'
import { sports as withingsSports } from '../server/providers/withings/workouts.ts'
import { wireWorkoutTypes } from '../server/providers/workout-types.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const pages = ['README.md', ...(await readdir(`${ROOT}docs`)).filter(isPage).map((name) => `docs/${name}`)]

/** The pages whose sections are cited by number. */
const CITED = ['contract', 'sdk-types', 'sdk-payload'] as const

const NUMBER = String.raw`\d+(?:\.\d+)*`
const CITATION = new RegExp(
  String.raw`\b(contract|sdk-types|sdk-payload) (${NUMBER}(?:(?:, | and | to )${NUMBER}(?!\w))*)(?:, appendi(?:x|ces) ([AB])(?: and ([AB]))?)?`,
  'gi',
)
const APPENDIX = /\bsdk-payload appendi(?:x|ces) ([AB])(?: and ([AB]))?/gi

/** Each file is read once. */
const contents = new Map<string, Promise<string>>()

t.test('what the pages point to is there', async (t) => {
  const missing: string[] = []
  for (const page of pages) {
    const content = await text(page)
    for (const [, path = '', anchor] of content.matchAll(/\]\((?!http)([^)#]*)(#[^)]*)?\)/g)) {
      const target = path === '' ? page : join(page, '..', path)
      if (!(await exists(target)) || (anchor && !anchors(await text(target)).has(anchor)))
        missing.push(`${page} → ${path}${anchor ?? ''}`)
    }
    for (const [, path = ''] of content.matchAll(/`((?:server|workers|sql|test|docs|\.ci)\/[\w./-]*)`/g)) {
      if (!(await exists(path))) missing.push(`${page} → ${path}`)
    }
  }
  t.strictSame(missing, [])
})

t.test('every section and decision that is cited exists', async (t) => {
  const known = new Set<string>()
  for (const page of CITED) {
    const content = await text(`docs/${page}.md`)
    for (const [, section] of content.matchAll(/^#{2,4} (?:Appendix )?([\dA-Z.]*[\dA-Z])\.? /gm))
      known.add(`${page} ${section}`)
  }
  for (const [, decision] of (await text('docs/contract.md')).matchAll(/^\| (D-\d\d) +\|/gm)) known.add(`${decision}`)

  const cited = new Map<string, string>()
  for (const file of await sources()) for (const name of citations(await text(file))) cited.set(name, file)
  t.ok(cited.size > 100, 'citations are found')
  t.strictSame(
    [...cited].filter(([name]) => !known.has(name)).map(([name, file]) => `${file}: ${name}`),
    [],
  )
})

t.test('nothing is cited that a reader does not have', async (t) => {
  const elsewhere =
    /house decisions?\b|\bW-\d\d\b|\(design\b|design\.md|\bspecification \(?"|\bspec\/|\(specification\b/i
  const found: string[] = []
  for (const file of (await sources()).filter((name) => name !== 'test/docs.test.ts'))
    if (elsewhere.test(await text(file))) found.push(file)
  t.strictSame(found, [])
})

t.test('a citation of a section that does not exist is noticed', async (t) => {
  const comment = `
    // Which source counts (contract 12.1, 12.3 and 99; D-99): see sdk-types 2 to 6,
    // 7.1; sdk-payload 9.1, appendices A and B. Contract 10.6's vector, 40 of them.`
  t.strictSame([...citations(comment)].sort(), [
    ...['D-99', 'contract 10.6', 'contract 12.1', 'contract 12.3', 'contract 99'],
    ...['sdk-payload 9.1', 'sdk-payload A', 'sdk-payload B', 'sdk-types 2', 'sdk-types 6', 'sdk-types 7.1'],
  ])
})

t.test('every text of an error is in the contract', async (t) => {
  const contract = await text('docs/contract.md')
  const missing: string[] = []
  let found = 0
  for (const file of (await sources()).filter((name) => name.startsWith('server/'))) {
    const thrown = /errors\s*\.(?:badRequest|missing|conflict|forbidden)\(\s*(?:'([^']+)'|`([^`]+)`)/g
    for (const [, plain, template] of (await text(file)).matchAll(thrown)) {
      found += 1
      // The longest part without a value.
      const [part = ''] = (plain ?? template ?? '').split(/\$\{[^}]*\}/).sort((a, b) => b.length - a.length)
      if (!contract.includes(part.trim())) missing.push(`${file}: ${part}`)
    }
  }
  t.ok(found > 30, 'texts are found')
  t.strictSame(missing, [])
})

t.test('a message counts with its noun: one sample, two samples', async (t) => {
  const wrong: string[] = []
  // Constants are no 1, and verbs and SQL are no nouns.
  const uncounted =
    /\$\{(?![A-Z_\d]+\}|counted\()[^{}]*\} (?!as\b|is\b|has\b|was\b|rows unbounded\b|belongs\b|holds\b)\w+s\b|\b(?:record|type|failure|item|sample|upload|row)\(s\)/g
  for (const file of (await sources()).filter((name) => /^(server|workers|sql)\//.test(name)))
    for (const [found] of (await text(file)).matchAll(uncounted)) wrong.push(`${file}: ${found}`)
  t.strictSame(wrong, [])
})

t.test('the tables of the contract are those of the catalogue', async (t) => {
  t.strictSame(
    await rows('contract', '2.6'),
    seriesTypes.map(({ id, type, unit, aggregation, lowest, highest, event }) =>
      [id, type, unit, aggregation, lowest, highest, event].map(String),
    ),
    'docs/contract.md, 2.6: series types',
  )
  const yes = (can: boolean) => (can ? 'yes' : '–')
  t.strictSame(
    await rows('contract', '2.1'),
    providers
      .filter(({ sentinel }) => !sentinel)
      .map((one) => [
        ...[one.provider, one.name, yes(one.hasCloudApi), yes(one.restPull), yes(one.clientSdk), yes(one.fileImport)],
        [one.webhookStream && 'stream', one.webhookPing && 'ping', one.webhookCallback && 'callback']
          .filter(Boolean)
          .join(', ') || '–',
        ...[String(one.maxHistoricalDays), yes(one.liveSyncConfigurable), String(one.defaultLiveSyncMode)],
        String(one.rank),
      ]),
    'docs/contract.md, 2.1: providers',
  )
  const names = [...(await section('contract', '2.5')).matchAll(/`([^`]+)`/g)].map(([, name]) => name)
  t.strictSame(names, [...workoutTypes, ...paceTypes], 'docs/contract.md, 2.5: types of workouts')
})

t.test('what platforms call a workout is what docs/sdk-types.md says', async (t) => {
  const documented = (await rows('sdk-types', '8.5')).flatMap(([type, names = '']) =>
    names.split(', ').map((name) => [name, type]),
  )
  t.strictSame(documented, [...wireWorkoutTypes])
})

t.test('what cloud providers call a workout is what docs/providers.md says', async (t) => {
  const list = (names: readonly unknown[]) => names.join(', ')
  t.strictSame(
    await rows('providers', 'Workouts of Oura'),
    workoutNames.map(([type, ...names]) => [type, list(names)]),
  )
  t.strictSame(
    await rows('providers', 'Workouts of WHOOP'),
    sports.map(([type, ...own]) => [type, list(own.map((sport) => sport.join(' ')))]),
  )
  t.strictSame(
    await rows('providers', 'Workouts of Suunto'),
    suuntoSports.map(([type, ...own]) => [type, list(own.map((sport) => sport.join(' ')))]),
  )
  t.strictSame(
    await rows('providers', 'Workouts of Withings'),
    withingsSports.map(([type, ...own]) => [type, list(own.map((sport) => sport.join(' ')))]),
  )
  for (const [name, own] of [
    ['Fitbit', fitbitSports],
    ['Garmin', garminSports],
    ['Google Health', googleSports],
    ['Polar', polarSports],
    ['Sensor Bio', sensorbioSports],
    ['Strava', stravaSports],
  ] as const) {
    t.strictSame(
      await rows('providers', `Workouts of ${name}`),
      own.map(([type, ...names]) => [type, list(names)]),
    )
  }
})

function isPage(name: string): boolean {
  return name.endsWith('.md')
}

function text(file: string): Promise<string> {
  const content = contents.get(file) ?? readFile(join(ROOT, file), 'utf8')
  contents.set(file, content)
  return content
}

function exists(path: string): Promise<boolean> {
  return stat(join(ROOT, path)).then(
    () => true,
    () => false,
  )
}

/** Every file whose comments or sentences may cite a section. */
async function sources(): Promise<string[]> {
  const folders = ['server', 'workers', 'simulator', 'demo', 'sql', 'test', 'benchmarks']
  const below = async (folder: string) => {
    const entries = await readdir(ROOT + folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile() && /\.(ts|sql)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
  }
  const files = (await Promise.all(folders.map(below))).flat()
  return [...files.filter((name) => name !== 'test/docs.test.ts'), ...pages]
}

/** The sections and decisions that a text cites, such as `contract 12.4`; a citation may continue on the next line. */
function citations(content: string): Set<string> {
  const lines = content.replaceAll(/\n[ \t]*(?:\/\/|\*|--)?[ \t]*/g, ' ')
  const found = new Set<string>()
  for (const [, page = '', numbers = '', ...appendices] of lines.matchAll(CITATION)) {
    for (const one of numbers.split(/, | and | to /)) found.add(`${page.toLowerCase()} ${one}`)
    for (const one of appendices.slice(0, 2)) if (one) found.add(`sdk-payload ${one}`)
  }
  for (const [, ...appendices] of lines.matchAll(APPENDIX))
    for (const one of appendices.slice(0, 2)) if (one) found.add(`sdk-payload ${one}`)
  for (const [decision] of lines.matchAll(/\bD-\d\d\b/g)) found.add(decision)
  return found
}

/** The text below the heading with a number or a title, up to the next heading. */
async function section(page: string, number: string): Promise<string> {
  const found = (await text(`docs/${page}.md`))
    .split(/^#+ /m)
    .find((one) => /^[ \n]/.test(one.slice(number.length)) && one.startsWith(number))
  if (!found) throw new Error(`docs/${page}.md has no section ${number}`)
  return found
}

/** The cells of the table of a section, without its head and backticks. */
async function rows(page: string, number: string): Promise<string[][]> {
  const lines = (await section(page, number)).split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

/** Anchors of a page's headings, as GitHub generates them. */
function anchors(content: string): Set<string> {
  const titles = [...content.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title)
  const slugs = titles.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
  return new Set(slugs.map((slug) => `#${slug}`))
}
