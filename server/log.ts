import { format } from 'node:util'
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino'

/** The structured log: JSON lines on standard output. */
export type Logger = PinoLogger

/**
 * Opens the log; credentials are removed wherever they would appear, bodies are never logged. `destination` is standard
 * output by default.
 */
export function openLog(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    redact: {
      paths: [
        'authorization',
        '*.authorization',
        'req.headers',
        '*.password',
        '*.token',
        '*.access_token',
        '*.refresh_token',
        '*.client_secret',
        '*.clientSecret',
        '*.key',
        '*.connectionString',
        // Where the database quotes the row or the text it could not store, which may contain measurements.
        'err.detail',
        'err.where',
        // The driver attaches its connection, with the queries under way and their values.
        'err.client',
        // Text of a request that could not be parsed: its key, and possibly measurements.
        'err.rawPacket',
      ],
      censor: '[cut]',
    },
  }
  return destination ? pino(options, destination) : pino(options)
}

/**
 * Logs Node's warnings, what libraries print, and uncaught errors like everything else, instead of as text on standard error;
 * `stop` ends the process after such an error, since its state is unknown.
 */
export function logProcess(log: Logger, stop: () => void): void {
  // Node's own listener prints them.
  process.removeAllListeners('warning')
  process.on('warning', (err) => log.warn({ err }, 'warning'))
  for (const method of ['warn', 'error', 'trace'] as const) {
    console[method] = (...printed: unknown[]) => {
      const err = printed.find((one) => one instanceof Error)
      if (err) log.warn({ err }, 'a library reports an error')
      else log.warn(format(...printed))
    }
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (err: unknown) => {
      log.fatal({ err }, 'uncaught error: stopping')
      stop()
    })
  }
}
