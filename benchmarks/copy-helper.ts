// Process that loads a CSV file the way psql's \copy does, for machines without psql; answers with the seconds it took.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { withClient } from './bench.ts'

process.once('message', async ({ table, csv }: { table: string; csv: string }) => {
  await withClient(process.env.DATABASE_URL ?? '', async (db) => {
    const started = performance.now()
    await pipeline(createReadStream(csv), db.query(copyFrom(`copy ${table} from stdin (format csv)`)))
    process.send?.((performance.now() - started) / 1000)
  })
})
