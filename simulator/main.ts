import { simulate, UsageError } from './command.ts'

// Whoever reads the output, such as head, may have enough of it.
process.stdout.on('error', () => process.exit(0))

const say = (line: string) => process.stdout.write(`${line}\n`)

simulate(process.argv.slice(2), say).then(
  ({ simulator, failed }) => {
    process.exitCode = failed ? 1 : 0
    if (!simulator) return
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void simulator.close())
  },
  (error: Error & { cause?: Error }) => {
    const reason = error instanceof UsageError ? error.message : `Failed: ${error.cause?.message ?? error.message}`
    process.stderr.write(`${reason}\n`)
    process.exit(1)
  },
)
