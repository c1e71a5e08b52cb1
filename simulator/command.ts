import { parseArgs } from 'node:util'
import { connectPeople } from './connect.ts'
import { type Simulator, startSimulator } from './server.ts'
import { environment } from './world.ts'

const USAGE = `npm run simulate -- [--port 8900] [--people 20] [--days 400] [--seed 7]
npm run --silent simulate -- --env [--port 8900]
npm run simulate -- --connect <address of Pulsebase> --key <API key> [--people 10] [--providers 3] [--history 60]

Plays the cloud providers that Pulsebase connects to, for people who are made up.

  --port, --people, --days, --seed   where it listens; how many people, with how many days of data, made from which seed
  --env                              prints the variables that point Pulsebase at it, and ends
  --connect, --key                   makes ten people users of a running Pulsebase, connects each to three providers and
                                     waits for their data; starts a simulator unless one listens at the port
  --providers                        to how many providers each of them is connected
  --history                          days that are asked for when Pulsebase does not ask for more on its own
  --help                             prints this`

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const help = { type: 'boolean', short: 'h' } as const
const options = {
  ...{ port: text, people: text, days: text, seed: text, history: text, connect: text, key: text, providers: text },
  ...{ env: flag, help },
} as const

/** A command that cannot be executed; the message is for the developer. */
export class UsageError extends Error {}

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

/** What a command came to: a simulator that goes on, and whether something failed. */
interface Outcome {
  readonly simulator?: Simulator | undefined
  readonly failed?: boolean
}

/**
 * Does what the arguments of `npm run simulate` ask for.
 * @throws UsageError; errors of the network
 */
export async function simulate(args: string[], say: (line: string) => void): Promise<Outcome> {
  const given = asked(args)
  const port = whole('port', given.port, 8900)
  if (given.help) say(USAGE)
  if (given.env)
    for (const [name, value] of Object.entries(environment(`http://localhost:${port}`))) say(`${name}=${value}`)
  if (given.help || given.env) return {}
  if (given.connect !== undefined && !given.key) throw new UsageError('--connect needs --key, an API key of Pulsebase.')
  const connected = whole('people', given.people, 10)
  const each = whole('providers', given.providers, 3)
  const historyDays = whole('history', given.history, 60)
  const people = given.connect === undefined ? whole('people', given.people, 20) : Math.max(connected, 1)
  const wanted = { port, people, days: whole('days', given.days, 400), seed: whole('seed', given.seed, 7) }
  const simulator = await started(wanted, given.connect !== undefined, say)
  if (given.connect === undefined) return { simulator }
  const service = given.connect.replace(/\/+$/, '')
  const url = simulator?.url ?? `http://localhost:${port}`
  const counts = { historyDays, people: connected, each }
  const asking = connectPeople({ service, key: given.key ?? '', simulator: url, ...counts, say })
  const failed = await asking.catch(async (error) => {
    await simulator?.close()
    throw error
  })
  if (simulator) say('The simulator goes on, so that their data stays current. Ctrl-C ends it.')
  return { simulator, failed: failed > 0 }
}

/** Undefined: one that listens at the port is used. */
async function started(
  wanted: { port: number; people: number; days: number; seed: number },
  mayRun: boolean,
  say: (line: string) => void,
): Promise<Simulator | undefined> {
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
