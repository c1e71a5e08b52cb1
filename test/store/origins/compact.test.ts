// Many lists of origins are merged to few, with the same content.
import fc from 'fast-check'
import t from 'tap'
import type { Deletion } from '../../../server/batch/columns.ts'
import { NO_RECORD, type Origin, originHash } from '../../../server/batch/origins.ts'
import type { Transaction } from '../../../server/db/database.ts'
import { compactLists, LISTS_PER_SIZE, type ListSize, toMerge } from '../../../server/store/origins/compact.ts'
import { deleteSamples } from '../../../server/store/origins/delete-samples.ts'
import { originFilter } from '../../../server/store/origins/filter.ts'
import { newList, recordsAt, storeLists } from '../../../server/store/origins/lists.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'

const START = Date.UTC(2026, 0, 1)
const SERIES = 1

t.test('which lists are merged', async (t) => {
  const sizes = (...bytes: number[]): ListSize[] =>
    bytes.map((size, seq) => ({ seq, bytes: size, filtered: size >= 2048 }))
  const many = (count: number, bytes: number) => Array<number>(count).fill(bytes)
  const merged = (...bytes: number[]) => toMerge(sizes(...bytes)).map(({ seq }) => seq)
  const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at)
  t.strictSame(
    [
      merged(...many(16, 100)),
      merged(...many(17, 100)),
      merged(9000, ...many(17, 100)),
      merged(...many(9, 100), 9000, ...many(9, 100)),
      merged(...many(17, 9000), 100, 100),
      merged(90_000, ...many(16, 9000), 100, 9000, 100),
      merged(...many(30, 90_000)),
    ],
    [[], upTo(0, 16), upTo(1, 17), [], upTo(0, 18), upTo(1, 19), []],
  )
  t.strictSame(
    toMerge([{ seq: 4, bytes: 90_000, filtered: false }]).map(({ seq }) => seq),
    [4],
    'a long one of a version without filters gets one',
  )
})

/** A source of a new user. */
async function createSource(app: TestApp): Promise<{ user: string; sourceId: number }> {
  const user = await createUser(app)
  const { id } = await app.db.one<{ id: number }>(
    `insert into data_source (user_id, provider) values ($1, 'apple') returning id`,
    [user],
  )
  return { user, sourceId: id }
}

const entry = (minute: number, id: number): Origin => ({
  timeMs: START + minute * 60_000,
  ...(id === 0 ? NO_RECORD : originHash(`record ${id}`, null)),
})

/** Stores a list and merges, as an import does. */
async function store(tx: Transaction, sourceId: number, origins: readonly Origin[]): Promise<void> {
  const lists = [newList({ sourceId, seriesId: SERIES }, origins)]
  await storeLists(tx, lists)
  await compactLists(tx, lists)
}

oneEngine(t, 'lists of records', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('a filter lets through what a list has and hardly anything else', async (t) => {
    const records = Array.from({ length: 20_000 }, (_, n) => originHash(`record ${n}`, null))
    const filter = originFilter(records.slice(0, 10_000).map(({ record }) => record))
    const { known, others } = await app.db.one<{ known: number; others: number }>(
      `select count(*) filter (where n <= 10000) as known, count(*) filter (where n > 10000) as others
       from unnest($1::int8[]) with ordinality r (record, n)
       where may_have_record('', $2, record)`,
      [records.map(({ record }) => record), filter],
    )
    t.equal(known, 10_000)
    t.ok(others < 150, `${others} of 10,000 others`)
  })

  await t.test('merged, they state what the latest of them stated', async (t) => {
    const statement = fc.uniqueArray(fc.tuple(fc.nat(40), fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 })), {
      selector: ([minute]) => minute,
      minLength: 1,
      maxLength: 6,
    })
    const wrong: unknown[] = []
    await fc.assert(
      fc.asyncProperty(fc.array(statement, { minLength: 60, maxLength: 90, size: 'max' }), async (statements) => {
        const { sourceId } = await createSource(app)
        const latest = new Map<number, readonly number[]>()
        await app.db.transaction(async (tx) => {
          for (const one of statements) {
            const sorted = one.sort(([a], [b]) => a - b).map(([minute, ids]) => [minute, [...new Set(ids)]] as const)
            for (const [minute, ids] of sorted) latest.set(minute, ids)
            const entries = sorted.flatMap(([minute, ids]) =>
              (ids.length > 0 ? ids : [0]).map((id) => entry(minute, id)),
            )
            await store(tx, sourceId, entries)
          }
          const minutes = Array.from({ length: 41 }, (_, minute) => minute)
          const timeMs = minutes.map((minute) => START + minute * 60_000)
          const [found = []] = await recordsAt(tx, [{ sourceId, seriesId: SERIES, timeMs }])
          const stated = found.map((records) => records.map(({ record }) => record))
          const expected = minutes.map((minute) => (latest.get(minute) ?? []).map((id) => entry(0, id).record))
          if (JSON.stringify(stated) !== JSON.stringify(expected)) wrong.push({ statements, stated, expected })
          const lists = await tx.query('select from sample_origin where source_id = $1', [sourceId])
          if (lists.length > LISTS_PER_SIZE + 1) wrong.push({ lists: lists.length })
        })
      }),
      { seed: 5, numRuns: runs(2, 6) },
    )
    t.strictSame(wrong, [])
  })

  await t.test('deletions read few of them, however many uploads there were', async (t) => {
    const { user, sourceId } = await createSource(app)
    const read: number[] = []
    const target = { userId: user, provider: 'apple', scope: null, sourceIds: [] }
    // The first reads pieces of filters, the second whole filters.
    const asked: [name: string, deletions: Deletion[], most: number][] = [
      ['one', [{ externalId: 'record 20000', seriesId: null }], 4],
      ['hundreds', Array.from({ length: 300 }, (_, n) => ({ externalId: `gone ${n}`, seriesId: null })), 6],
      ['those of another type', manyOf(5_000, SERIES + 1), 0],
      ['those of what is no sample', manyOf(5_000, 'none'), 0],
    ]
    const tooMany: string[] = []
    const lists = await app.db.transaction(async (tx) => {
      // Months of a phone that sends 300 heart rates a day.
      for (let day = 0; day < runs(90, 180); day += 1)
        await store(
          tx,
          sourceId,
          Array.from({ length: 300 }, (_, n) => entry(day * 1440 + n, 1 + day * 300 + n)),
        )
      const reading = {
        ...tx,
        query: async <Row>(text: string, params: never): Promise<Row[]> => {
          const rows = await tx.query<Row & { ids?: Buffer }>(text, params)
          for (const { ids } of rows) if (ids) read.push(ids.length)
          return rows
        },
      }
      for (const [name, deletions, most] of asked) {
        read.length = 0
        await deleteSamples(reading, target, deletions)
        if (read.length > most || (name === 'one' && read.length === 0)) tooMany.push(`${name}: ${read.length} lists`)
        if (read.some((bytes) => bytes > 100_000)) tooMany.push(`${name}: ${read} bytes`)
      }
      return (await tx.query('select from sample_origin where source_id = $1', [sourceId])).length
    })
    t.ok(lists <= 2 * LISTS_PER_SIZE + 10, `${lists} lists`)
    t.strictSame(tooMany, [])
  })
})

const manyOf = (count: number, seriesId: Deletion['seriesId']): Deletion[] =>
  Array.from({ length: count }, (_, n) => ({ externalId: `record ${n}`, seriesId }))
