import { type Logger as PinoLogger, pino } from 'pino'

/** The structured log: JSON lines on standard output. */
export type Logger = PinoLogger

/** Opens the log; credentials are cut out wherever they would appear, bodies are never logged. */
export function openLog(level: string): Logger {
  return pino({
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
      ],
      censor: '[cut]',
    },
  })
}
