import { parseArgs } from 'node:util'
import { logIn, openApi, Refused } from './client.ts'
import { addSimulated, removeSimulated } from './providers.ts'
import { addDemo, removeDemo } from './run.ts'

const USAGE = `npm run demo -- --password <text> [--url <address>] [--email <email>] [--providers] [--clear]

Adds three invented people with a year of data to a running Pulsebase; run again, it adds what is new since then.

  --url <address>      of Pulsebase; API_BASE_URL, else http://localhost:8000
  --email <email>      login of a developer; ADMIN_EMAIL, else admin@localhost
  --password <text>    the one that the first start printed; ADMIN_PASSWORD
  --providers          also connects three people of the simulator, which goes on until Ctrl-C; the service has to be
                       started with the variables of the simulator (docs/demo.md)
  --clear              removes the three people and everything of theirs; with --providers those of the simulator, too
  --help               prints this`

/** A command that cannot be executed; the message is for the developer. */
class UsageError extends Error {}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const options = {
  ...{ url: text, email: text, password: text, clear: flag, providers: flag },
  help: { type: 'boolean', short: 'h' },
} as const

function asked(args: string[]) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`)
  }
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

async function demo(args: string[]): Promise<void> {
  const given = asked(args)
  if (given.help) return say(USAGE)
  const { API_BASE_URL, ADMIN_EMAIL, ADMIN_PASSWORD } = process.env
  const url = (given.url || API_BASE_URL || 'http://localhost:8000').replace(/\/+$/, '')
  const password = given.password || ADMIN_PASSWORD
  if (!password) throw new UsageError(`--password is missing: the one that the first start printed.\n\n${USAGE}`)
  const api = openApi(url, await logIn(url, given.email || ADMIN_EMAIL || 'admin@localhost', password))
  const started = Date.now()
  const seconds = () => ((Date.now() - started) / 1_000).toFixed(1)
  if (given.clear) {
    const removed = (await removeDemo(api)) + (given.providers ? await removeSimulated(api) : 0)
    return say(removed > 0 ? `Removed: ${removed} people, in ${seconds()} s.` : 'There is no demo data.')
  }
  let said = 0
  const onProgress = (share: number) => {
    const tenth = Math.floor(share * 10)
    if (tenth > said) say(`${tenth * 10} %  ${seconds()} s`)
    said = Math.max(said, tenth)
  }
  const added = await addDemo({ api, onProgress })
  for (const { name, userId } of added.people) say(`${name}  ${url}/api/v1/users/${userId}`)
  say(`${added.items} items in ${added.uploads} uploads, in ${seconds()} s. Remove them with --clear.`)
  if (given.providers) process.exitCode = await addSimulated(api, url)
}

function reasonOf(error: Error): string {
  if (error instanceof UsageError) return error.message
  if (error instanceof Refused) return `Refused: ${error.message}`
  return `Failed: ${(error.cause as Error | undefined)?.message || error.message}`
}

demo(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`${reasonOf(error)}\n`)
  process.exitCode = 1
})
