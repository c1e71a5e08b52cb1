// Process that receives webhooks: it answers 200 at once, or never below /hang. A message {mark} has it forget what it
// counted, {count} is answered when so many calls have come, with the time of each (epoch ms) where `times` is asked for.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Question = { listen: true } | { reset: true } | { count: number; path?: string }

/** Times of calls by path, epoch ms to a fraction, and what the first bytes of their bodies say. */
let calls: { path: string; at: number; body: string }[] = []
let waiting: { count: number; path: string | undefined } | undefined

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (chunk) => {
    if (body.length < 200) body += chunk.slice(0, 200)
  })
  request.on('end', () => {
    if (request.url === '/hang') return
    calls.push({ path: request.url ?? '', at: performance.timeOrigin + performance.now(), body })
    response.end('ok')
    answerWhenThere()
  })
})
server.keepAliveTimeout = 60_000

const wanted = (path: string | undefined) => (path ? calls.filter((call) => call.path === path) : calls)

function answerWhenThere(): void {
  if (!waiting || calls.length < waiting.count) return
  const found = wanted(waiting.path)
  if (found.length < waiting.count) return
  waiting = undefined
  process.send?.(found)
}

process.on('message', (question: Question) => {
  if ('listen' in question) {
    server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  } else if ('reset' in question) {
    calls = []
    process.send?.(true)
  } else {
    waiting = { count: question.count, path: question.path }
    answerWhenThere()
  }
})
process.once('disconnect', () => process.exit())
