// What each stream of each provider becomes: bodies as providers document them, with invented values, and the rows.
// GOLDEN=update writes the rows as they are now and says what is different; read the difference before committing it.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Batch } from '../../server/batch/columns.ts'
import { storedSeries } from '../../server/catalogue/series.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import { batchOf, rowsOf, type TestPart } from '../support/parcels.ts'

interface Golden {
  parts: TestPart[]
  rows: unknown
}

const UPDATE = process.env.GOLDEN === 'update'
const FOLDER = fileURLToPath(new URL('.', import.meta.url))

for (const [id, provider] of cloudProviders) {
  t.test(`${id}: the parcels of every stream become these rows`, async (t) => {
    const folder = `${FOLDER}${id}/golden/`
    const files = await filesOf(folder)
    const covered = new Set<string>()
    const brought = new Set<string>()
    const different: string[] = []
    for (const file of files) {
      const golden: Golden = JSON.parse(await readFile(folder + file, 'utf8'))
      for (const { stream } of golden.parts) covered.add(stream)
      const batch = batchOf(id, golden.parts)
      for (const one of broughtBy(batch)) brought.add(one)
      const rows = JSON.parse(JSON.stringify(rowsOf(batch)))
      const lines = difference(golden.rows, rows)
      if (UPDATE && lines.length > 0) {
        await writeFile(folder + file, `${JSON.stringify({ ...golden, rows }, null, 2)}\n`)
        console.log([`${id}/${file}`, ...lines].join('\n'))
      } else different.push(...lines.map((line) => `${file} ${line}`))
    }
    t.strictSame(different, [])
    const streams = (provider.streams ?? []).map(({ name }) => name)
    t.strictSame(
      streams.filter((name) => !covered.has(name)),
      [],
      `every stream has one in test/providers/${id}/golden/`,
    )
    const told = Object.entries(provider.brings).flatMap(([kind, names]) =>
      names.map((name: string) => `${kind} ${name}`),
    )
    t.strictSame([...brought].sort(), told.sort(), 'the folder names what they bring, and nothing else')
  })
}

/** The golden files of a provider; none where it has no such folder yet, which the streams without one say better. */
async function filesOf(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return files.sort()
}

/** What `Provider.brings` has to name, `kind name`: every series, field and category that a batch has a value of. */
function broughtBy({ samples, events }: Batch): string[] {
  const series = [...samples, ...events.currents].map(({ seriesId }) => storedSeries(seriesId)?.series.type)
  const filled = (kind: string, items: readonly object[], besides: readonly string[]) =>
    items
      .flatMap((item) => Object.entries(item))
      .flatMap(([name, value]) => (value === null || besides.includes(name) ? [] : [`${kind} ${name}`]))
  return [
    ...series.map((name) => `series ${name}`),
    ...filled('workouts', events.workouts, [...OF_EVENTS, 'type', 'durationSeconds', 'partial']),
    ...filled('nights', events.nights, [...OF_EVENTS, 'rank', 'isNap', 'stages']),
    ...events.nutrients.map(({ seriesId }) => `meals ${storedSeries(seriesId)?.series.type}`),
    ...events.scores.map(({ category }) => `scores ${category}`),
  ]
}

/** What every workout and night has. */
const OF_EVENTS = ['source', 'externalId', 'startMs', 'endMs', 'zoneMin', 'version', 'atMs']

/** Lines that only one of two documents has. */
function difference(before: unknown, after: unknown): string[] {
  const [old, now] = [before, after].map((rows) =>
    (JSON.stringify(rows, null, 1) ?? '').split('\n').map((line) => line.replace(/,$/, '')),
  )
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  const lines = [
    ...(old ?? []).filter((line) => !now?.includes(line)).map((line) => `- ${line}`),
    ...(now ?? []).filter((line) => !old?.includes(line)).map((line) => `+ ${line}`),
  ]
  return lines.length > 0 ? lines : ['the order differs']
}
