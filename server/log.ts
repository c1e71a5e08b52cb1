import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino'

/** The structured log: JSON lines on standard output. */
export type Logger = PinoLogger

/**
 * Opens the log; credentials are cut out wherever they would appear, bodies are never logged. `destination` is standard
 * output unless given.
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
        '*.key',
        '*.connectionString',
        // Where the database quotes the row or the text it could not store, and so what was measured.
        'err.detail',
        'err.where',
      ],
      censor: '[cut]',
    },
  }
  return destination ? pino(options, destination) : pino(options)
}
