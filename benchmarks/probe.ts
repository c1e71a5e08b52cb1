// Process that reads, or uploads, at a fixed rate while the benchmark does something else, a separate one, so that it does
// not measure the generator's event loop. Messages: what to ask, {start}, {stop}; stop is answered with the latencies in ms
// since start, everything else with true.
import { Client } from 'undici'
import { inTurn, send } from './requests.ts'

/** What is asked. */
export interface Plan {
  origin: string
  headers: Record<string, string>
  paths: string[]
  perSecond: number
  /** Posted, each to all paths in turn; without them it reads. */
  bodies?: Buffer[]
}

let probe: { start(): void; stop(): Promise<number[]> } | undefined

process.on('message', async (message: Plan | { start: true } | { stop: true }) => {
  if ('stop' in message) process.send?.(await probe?.stop())
  else {
    if ('start' in message) probe?.start()
    else probe = prepare(message)
    process.send?.(true)
  }
})

process.once('disconnect', () => process.exit())

function prepare({ origin, headers, paths, perSecond, bodies }: Plan) {
  const next = inTurn(paths)
  const body = bodies && inTurn(bodies.flatMap((one) => paths.map(() => one)))
  // One connection for each request that may wait: a slow answer never holds back the next request.
  const clients = Array.from({ length: 20 }, () => new Client(origin, { pipelining: 1 }))
  const client = inTurn(clients)
  let latencies: number[] = []
  let open: Promise<void>[] = []
  let timer: NodeJS.Timeout | undefined
  const ask = async () => {
    const at = performance.now()
    await send(client(), { path: next(), headers, ...(body && { method: 'POST', body: body() }) }, body ? 202 : 200)
    latencies.push(performance.now() - at)
  }
  return {
    start() {
      latencies = []
      open = []
      timer = setInterval(() => open.push(ask()), 1000 / perSecond)
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(open)
      return latencies
    },
  }
}
