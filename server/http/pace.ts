import type { IncomingMessage } from 'node:http'
import { type AppError, errors } from '../errors.ts'
import type { Limits } from '../limits.ts'

/**
 * Waits for the reader of a request's body while the client sends at a usable pace.
 * @throws AppError the result of `tooSlow`, by default 408, once it does not
 */
export async function atPace<T>(
  req: IncomingMessage,
  { bytes, windowMs, totalMs }: Limits['bodyPace'],
  read: Promise<T>,
  tooSlow: () => AppError = errors.bodyTooSlow,
): Promise<T> {
  const started = performance.now()
  let before = req.socket.bytesRead
  let timer: NodeJS.Timeout | undefined
  const slow = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const { bytesRead } = req.socket
      if (bytesRead - before < bytes || performance.now() - started > totalMs) reject(tooSlow())
      before = bytesRead
    }, windowMs)
  })
  try {
    return await Promise.race([read, slow])
  } finally {
    clearInterval(timer)
  }
}
