import { parseArgs } from 'node:util'
import { connectPeople } from './connect.ts'
import { type Simulator, startSimulator } from './server.ts'
import { environment } from './world.ts'

const USAGE = `npm run simulate -- [--port 8900] [--people 20] [--days 400] [--seed 7]
npm run --silent simulate -- --env [--port 8900]
npm run simulate -- --connect <address of Pulsebase> --key <API key> [--history 60]

Plays the cloud providers that Pulsebase connects to, for people who are made up.

  --port, --people, --days, --seed   where it listens; how many people, with how many days of data, made from which seed
  --env                              prints the variables that point Pulsebase at it, and ends
  --connect, --key                   makes the people users of a running Pulsebase, connects them and waits for their
                                     data; starts a simulator unless one listens at the port
  --history                          days that are asked for when Pulsebase does not ask for more on its own
  --help                             prints this`

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const help = { type: 'boolean', short: 'h' } as const
const options = {
  ...{ port: text, people: text, days: text, seed: text, history: text, connect: text, key: text },
  ...{ env: flag, help },
} as const

/** A command that cannot be executed; the message is for the developer. */
class UsageError extends Error {}

function asked(args: string[]) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`)
  }
}

function whole(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^\d{1,5}$/.test(text)) throw new UsageError(`--${name} takes a whole number, not ${text}.`)
  return Number(text)
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const given = asked(process.argv.slice(2))
  if (given.help) return say(USAGE)
  const port = whole('port', given.port, 8900)
  if (given.env) {
    for (const [name, value] of Object.entries(environment(`http://localhost:${port}`))) say(`${name}=${value}`)
    return
  }
  if (given.connect !== undefined && !given.key) throw new UsageError('--connect needs --key, an API key of Pulsebase.')
  const people = whole('people', given.people, 20)
  const wanted = { people, days: whole('days', given.days, 400), seed: whole('seed', given.seed, 7) }
  const simulator = await started({ port, ...wanted }, given.connect !== undefined)
  if (simulator) untilStopped(simulator)
  if (given.connect === undefined) return
  const service = given.connect.replace(/\/+$/, '')
  const historyDays = whole('history', given.history, 60)
  const failed = await connectPeople({
    ...{ service, key: given.key ?? '', simulator: `http://localhost:${port}`, historyDays, say },
  })
  if (simulator) return say('The simulator goes on, so that their data stays current. Ctrl-C ends it.')
  process.exitCode = failed > 0 ? 1 : 0
}

/** Undefined: one that listens at the port is used. */
async function started(wanted: Parameters<typeof startSimulator>[0] & { port: number }, mayRun: boolean) {
  try {
    const simulator = await startSimulator(wanted)
    say(`Simulated providers at ${simulator.url} (control: ${simulator.url}/_control)`)
    return simulator
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    if (mayRun) return undefined
    throw new UsageError(`Port ${wanted.port} is taken. Give another one: --port.`)
  }
}

function untilStopped(simulator: Simulator): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void simulator.close().then(() => process.exit(0)))
  }
}

main().catch((error: Error & { cause?: Error }) => {
  const reason =
    error instanceof UsageError ? error.message : `Could not go on: ${error.cause?.message ?? error.message}`
  process.stderr.write(`${reason}\n`)
  process.exit(1)
})
