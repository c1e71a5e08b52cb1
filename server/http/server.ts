import type { Server } from 'node:http'
import { ConfigError } from '../config.ts'

/**
 * Time that running requests get to finish, out of the 19 s until the process ends: a phone on a slow network would use
 * all of it.
 */
const DRAIN_MS = 12_000
const POLL_MS = 100

/** Listens on a port. @throws ConfigError when it is in use */
export function listen(server: Server, port: number, host: string): Promise<void> {
  // A phone on a slow network may take minutes for 32 MiB; headers have to come at once.
  server.requestTimeout = 300_000
  server.headersTimeout = 20_000
  server.keepAliveTimeout = 65_000
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE'
      reject(
        taken ? new ConfigError('PORT', `${port} is in use on ${host}: stop what listens there or set another`) : error,
      )
    })
    server.listen(port, host, resolve)
  })
}

/**
 * Lets running requests finish; a connection is closed as soon as it is idle, kept alive or not. `cutOff` is called if
 * some do not finish in time and are cut off.
 */
export async function closeServer(server: Server, cutOff: () => void): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const idle = setInterval(() => server.closeIdleConnections(), POLL_MS)
  const late = setTimeout(() => {
    cutOff()
    server.closeAllConnections()
  }, DRAIN_MS)
  await closed
  clearInterval(idle)
  clearTimeout(late)
}
