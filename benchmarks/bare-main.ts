// Process that takes what is posted to it and inserts each body by a statement of its own, to compare the inbox with. The
// first message makes it listen and is answered with the port.
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import pg from 'pg'

/** The size of the API's pool (server/main.ts). */
const CONNECTIONS = 12

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: CONNECTIONS })
const app = new Koa()

app.use(async (ctx) => {
  const chunks: Buffer[] = []
  for await (const chunk of ctx.req) chunks.push(chunk)
  await pool.query({ name: 'insert', text: 'insert into bare (body) values ($1)', values: [Buffer.concat(chunks)] })
  ctx.body = { status: 'accepted' }
})

process.on('message', async () => {
  await pool.query('create table if not exists bare (id int8 generated always as identity primary key, body bytea)')
  const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
})
process.once('disconnect', () => process.exit())
