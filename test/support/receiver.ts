import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Json } from './simulator.ts'

/** What an application that listens has got. */
export interface Received {
  readonly method: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Undefined where it is no JSON. */
  readonly body: Json
}

export interface Receiver {
  readonly url: string
  /** Notices, without challenges and pings. */
  readonly notices: Received[]
  readonly others: Received[]
  /** Answers instead of 200; -1: none at all. */
  status: number
  /** What it answers to a request, where that depends on it. */
  judge?: (received: Received) => number
  /** How it answers challenges. */
  word(query: URLSearchParams): string | null
}

/** An application that listens, and repeats the words of challenges. */
export async function listen(t: Test): Promise<Receiver> {
  const receiver: Receiver = {
    ...{ url: '', notices: [], others: [], status: 200 },
    word: (query) => query.get('challenge') ?? query.get('hub.challenge'),
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { searchParams: query } = new URL(request.url ?? '/', 'http://localhost')
    const isJson = request.headers['content-type'] === 'application/json'
    const body = text !== '' && isJson ? JSON.parse(text) : undefined
    const received = { method: request.method ?? '', query, headers: request.headers, text, body }
    const isNotice = request.method === 'POST' && body?.event !== 'PING'
    ;(isNotice ? receiver.notices : receiver.others).push(received)
    if (receiver.status === -1) return
    const word = receiver.word(query)
    const repeated = query.has('hub.challenge') ? { 'hub.challenge': word } : { challenge: word }
    const status = receiver.judge?.(received) ?? receiver.status
    response.writeHead(status).end(request.method === 'GET' ? JSON.stringify(repeated) : '{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(receiver, { url: `http://localhost:${(server.address() as AddressInfo).port}/hook?k=secret` })
}
