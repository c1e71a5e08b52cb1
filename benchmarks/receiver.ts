// Process that receives webhooks: it answers 200 at once, and never at /hang. The first message makes it listen and is
// answered with the port; `reset` clears the calls; `count` is answered with the calls once there are that many.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Question = { listen: true } | { reset: true } | { count: number }

/** Bytes kept of a body. */
const KEPT = 200

/** The arrival of each call, in epoch ms, and the start of its body. */
let calls: { path: string; at: number; body: string }[] = []
let expected = Number.POSITIVE_INFINITY

const server = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => {
    if (body.length < KEPT) body += chunk.toString('utf8', 0, KEPT)
  })
  request.on('end', () => {
    if (request.url === '/hang') return
    calls.push({ path: request.url ?? '', at: performance.timeOrigin + performance.now(), body })
    response.end('ok')
    answer()
  })
})
server.keepAliveTimeout = 60_000

function answer(): void {
  if (calls.length < expected) return
  expected = Number.POSITIVE_INFINITY
  process.send?.(calls)
}

process.on('message', (question: Question) => {
  if ('listen' in question) {
    server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  } else if ('reset' in question) {
    calls = []
    process.send?.(true)
  } else {
    expected = question.count
    answer()
  }
})
process.once('disconnect', () => process.exit())
