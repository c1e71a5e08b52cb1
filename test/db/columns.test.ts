// Results as columns: the same values as the driver's rows, however the bytes arrive.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket, connect as tcp } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Database, openDatabase } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

/** Passes on what a database server sends in pieces of these sizes, in turn, each on its own. */
async function inPieces(url: string, sizes: readonly number[]): Promise<{ url: string; close(): void }> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const proxy = createServer({ noDelay: true }, (client) => {
    const server = tcp(Number(target.port), target.hostname)
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {}).setNoDelay()
    }
    client.on('data', (bytes) => server.write(bytes))
    let turn = 0
    server.on('data', (bytes) => {
      for (let at = 0; at < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] as number
        client.write(bytes.subarray(at, at + size))
        at += size
      }
    })
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const through = new URL(url)
  through.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    url: through.href,
    close() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const ALL_TYPES = `
  select f.n::float8, f.n::int8 * 5000000000, f.n::int4 * 100000, f.n::int2, f.n % 2 = 0, repeat('ä' || f.n, f.n % 7), null::int4
  from unnest($1::int4[]) with ordinality f (n, place)
  order by f.place`

const expected = (numbers: readonly number[]) => [
  numbers,
  numbers.map((n) => n * 5_000_000_000),
  numbers.map((n) => n * 100_000),
  numbers,
  numbers.map((n) => n % 2 === 0),
  numbers.map((n) => `ä${n}`.repeat(Math.max(0, n % 7))),
  numbers.map(() => null),
]

oneEngine(t, 'columns', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const open = (address: string) =>
    openDatabase({ url: address, name: 'pulsebase test', maxConnections: 1, statementTimeoutMs: 10_000, onError() {} })
  const db = open(url)
  t.teardown(() => db.end())

  await t.test('hold what the rows of the driver hold, null and nothing included', async (t) => {
    const floats = [0, -0, 1.5, -1e300, 5e-324, Number.MAX_SAFE_INTEGER]
    const sql = 'select v, v::text from unnest($1::float8[]) v'
    const rows = await db.rows<[number, string]>(sql, [floats])
    t.strictSame(await db.columns(sql, [floats]), [rows.map(([v]) => v), rows.map(([, text]) => text)])
    t.strictSame(await db.columns(sql, [[]]), [[], []], 'without rows as many columns')
    t.strictSame(await db.columns(sql, [[1, null]]), [
      [1, null],
      ['1', null],
    ])
    t.strictSame(await db.columns('select 1 where $1', [false]), [[]])
  })

  await t.test('however the bytes arrive, and between other statements', async (t) => {
    const small = fc.integer({ min: 1, max: 40 })
    const numbers = fc.array(fc.integer({ min: -3_000, max: 3_000 }), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(fc.array(small, { minLength: 1, maxLength: 9 }), numbers, numbers, async (sizes, one, other) => {
        const proxy = await inPieces(url, sizes)
        const slow = open(proxy.url)
        try {
          t.strictSame(await slow.columns(ALL_TYPES, [one]), expected(one))
          t.strictSame(
            await slow.rows('select n from unnest($1::int4[]) n', [other]),
            other.map((n) => [n]),
          )
          t.strictSame(await slow.columns(ALL_TYPES, [other]), expected(other), 'prepared before')
        } finally {
          await slow.end()
          proxy.close()
        }
      }),
      { numRuns: runs(8, 200) },
    )
  })

  await t.test('of a large result, in a transaction, beside notices', async (t) => {
    const [numbers, texts] = await db.transaction(async (tx) => {
      await tx.query(`do $$ begin raise notice 'between'; end $$`)
      const found = tx.columns<[number[], string[]]>(`select n, repeat('x', n) from generate_series(1, 2000) n`)
      const after = tx.query<{ n: number }>('select 7 as n')
      t.strictSame(await after, [{ n: 7 }])
      return found
    })
    t.equal(numbers.length, 2_000)
    t.ok(texts.every((text, index) => text.length === numbers[index]))
    const [[whole]] = await db.columns<[string[]]>(`select repeat('y', 5000000)`)
    t.equal(whole?.length, 5_000_000)
  })

  await t.test('a failed statement fails alone', async (t) => {
    const other = open(url)
    await fails(t, db, other)
    await other.end()
  })
})

async function fails(t: Test, db: Database, other: Database): Promise<void> {
  const inverse = 'select 1.0::float8 / n from unnest($1::int4[]) n'
  await t.rejects(db.columns(inverse, [[4, 2, 0]]), { code: '22012' })
  t.strictSame(await db.columns(inverse, [[4, 2]]), [[0.25, 0.5]])
  await t.rejects(db.columns('select nothing'), { code: '42703' })
  await t.rejects(db.columns('select now()'), /type 1184, which columns cannot have: select now\(\)/)
  await t.rejects(db.columns('select now()'), /type 1184/, 'each time')
  await db.transaction(async (tx) => {
    await tx.query('savepoint here')
    await t.rejects(tx.columns(inverse, [[0]]), { code: '22012' })
    await tx.query('rollback to here')
    t.strictSame(await tx.columns(inverse, [[1]]), [[1]])
  })
  const running = t.rejects(db.columns('select 1 from pg_sleep(60)'), { code: '57P01' })
  const found = () =>
    other.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)' and pid <> pg_backend_pid()`,
    )
  t.ok(await waitUntil(async () => (await found()).length === 1, 10_000, 10))
  await running
  t.strictSame(await db.columns(inverse, [[1]]), [[1]], 'on a new connection')
}
