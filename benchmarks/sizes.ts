import type { Client } from 'pg'
import { type Bench, figure, type Measure, withClient, withDatabase, withService } from './bench.ts'
import { settle, storeHistory } from './history.ts'

/** The disk space that samples and rollups take. */
export const ids = ['S1', 'S2']

/** Users whose year is stored. */
const USERS = 3

interface Sizes {
  live: number
  archive: number
}

/** A year of users who wear a watch (docs/sizing.md), as rows and, if the engine has it, in the columnstore. */
export async function run(bench: Bench): Promise<Measure[]> {
  const measures = await withDatabase(bench, 'sizes', (url) =>
    withService(bench, { url, name: 'sizes' }, (service) =>
      withClient(url, async (db) => {
        let samples = 0
        for (let user = 0; user < USERS; user += 1) samples += (await storeHistory(service, db, 1)).samples
        await settle(db)
        const rows = measured('rows', await sizes(db), samples, { sample: 95, year: 58 })
        if (!(await compressAll(db))) return rows
        return [...rows, ...measured('columnstore', await sizes(db), samples, { sample: 10, year: 18 })]
      }),
    ),
  )
  return measures.filter(({ id }) => bench.wanted(id))
}

/** What one kind of storage takes, with the targets in bytes of a sample and MB of a year. */
function measured(
  kind: string,
  { live, archive }: Sizes,
  samples: number,
  most: Record<'sample' | 'year', number>,
): Measure[] {
  return [
    {
      id: 'S1',
      what: `bytes of a sample with its key, ${kind}`,
      values: [live / samples],
      unit: 'B',
      target: { at: 'most', value: most.sample },
      beside: [],
    },
    {
      id: 'S2',
      what: `bytes of all rollups ÷ of samples, ${kind}`,
      values: [archive / live],
      target: { at: 'most', value: 0.4 },
      beside: [`rollups ${figure(archive / samples)} B per sample`],
    },
    {
      id: 'S2',
      what: `samples and rollups of a user and year, without bodies, ${kind}`,
      values: [(live + archive) / USERS / 1e6],
      unit: 'MB',
      target: { at: 'most', value: most.year },
      beside: [],
    },
  ]
}

async function sizes(db: Client): Promise<Sizes> {
  const { rows } = await db.query<Record<keyof Sizes, string>>(
    `select live_data_bytes + live_index_bytes as live, archive_data_bytes + archive_index_bytes as archive
     from storage_report()`,
  )
  return { live: Number(rows[0]?.live), archive: Number(rows[0]?.archive) }
}

/** Compresses every chunk; false if the engine has none. */
async function compressAll(db: Client): Promise<boolean> {
  let any = false
  for (;;) {
    const { rows } = await db.query<{ done: boolean }>(`select compress_next('-10 years') as done`)
    if (!rows[0]?.done) return any
    any = true
  }
}
