import { Client } from 'undici'

/** A request; GET unless given. */
export interface Request {
  path: string
  headers: Record<string, string>
  method?: 'GET' | 'POST'
  body?: Buffer
}

/** The results of a loop of requests. */
export interface Load {
  count: number
  seconds: number
  latenciesMs: number[]
}

interface LoopOptions {
  connections: number
  seconds: number
  /** The expected status of every answer. */
  status?: number
}

/**
 * Sends requests back to back for some seconds, one at a time on each connection. Bodies are not looked at: the
 * generator shares the machine with the measured service.
 * @throws Error at the first answer of another status.
 */
export async function requestLoop(
  origin: string,
  next: () => Request,
  { connections, seconds, status = 200 }: LoopOptions,
): Promise<Load> {
  const clients = Array.from({ length: connections }, () => new Client(origin, { pipelining: 1 }))
  const latenciesMs: number[] = []
  const started = performance.now()
  const end = started + seconds * 1000
  try {
    await Promise.all(
      clients.map(async (client) => {
        for (let at = performance.now(); at < end; ) {
          await send(client, next(), status)
          const now = performance.now()
          latenciesMs.push(now - at)
          at = now
        }
      }),
    )
    return { count: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
  } finally {
    await Promise.all(clients.map((client) => client.close()))
  }
}

/**
 * Sends each request once, in their order, one at a time on each connection.
 * @throws Error at the first answer of another status.
 */
export async function sendEach(
  origin: string,
  requests: AsyncGenerator<Request>,
  { connections, status = 200 }: Omit<LoopOptions, 'seconds'>,
): Promise<Load> {
  const clients = Array.from({ length: connections }, () => new Client(origin, { pipelining: 1 }))
  const latenciesMs: number[] = []
  const started = performance.now()
  try {
    await Promise.all(
      clients.map(async (client) => {
        for (let next = await requests.next(); !next.done; next = await requests.next()) {
          const at = performance.now()
          await send(client, next.value, status)
          latenciesMs.push(performance.now() - at)
        }
      }),
    )
    return { count: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
  } finally {
    await Promise.all(clients.map((client) => client.close()))
  }
}

/** Sends a request; resolves with its body, rejects if the answer has another status than `expected`. */
export function send(
  client: Client,
  { path, headers, method = 'GET', body }: Request,
  expected: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    client.dispatch(
      { method, path, headers, ...(body && { body }) },
      {
        onRequestStart() {},
        onResponseStart(_, status) {
          if (status !== expected) reject(new Error(`${method} ${path} was answered ${status}`))
        },
        onResponseData() {},
        onResponseEnd() {
          resolve()
        },
        onResponseError(_, error) {
          reject(error)
        },
      },
    )
  })
}

/** Cycles through a list forever. */
export function inTurn<Item>(items: readonly Item[]): () => Item {
  let index = -1
  return () => {
    index = (index + 1) % items.length
    return items[index] as Item
  }
}
