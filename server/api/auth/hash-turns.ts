import type { Context } from 'koa'
import { type AppError, errors } from '../../errors.ts'
import { clientNetwork } from '../../http/client-address.ts'

/** A caller of work that only a few callers may do at once. */
export interface Caller {
  /** The network it calls from; callers of one network share its turns. */
  network: string
  /** Whether we know it, so that strangers cannot keep it waiting. */
  known: boolean
  /** Whether nobody waits for the answer any more. */
  gone(): boolean
}

/** Whoever sent this request. */
export const callerOf = (ctx: Context, known: boolean): Caller => ({
  network: clientNetwork(ctx.ip),
  known,
  gone: () => ctx.req.socket.destroyed,
})

interface Place extends Caller {
  go(): void
  refuse(error: AppError): void
}

/** The places of each network, in the order in which the networks get their turns. */
type Lines = Map<string, readonly Place[]>

interface Queue {
  known: Lines
  strangers: Lines
}

const linesOf = (queue: Queue, caller: Caller) => (caller.known ? queue.known : queue.strangers)
const lineOf = (queue: Queue, caller: Caller) => linesOf(queue, caller).get(caller.network) ?? []
const placesOf = ({ known, strangers }: Queue) => [...known.values(), ...strangers.values()].flat()

function leave(queue: Queue, place: Place, error: AppError): void {
  const left = lineOf(queue, place).filter((other) => other !== place)
  if (left.length > 0) linesOf(queue, place).set(place.network, left)
  else linesOf(queue, place).delete(place.network)
  place.refuse(error)
}

function dropGone(queue: Queue): void {
  for (const place of placesOf(queue)) if (place.gone()) leave(queue, place, errors.clientLeft())
}

/** Takes the next turn; its network goes to the end. */
function next(queue: Queue): Place | undefined {
  dropGone(queue)
  for (const lines of [queue.known, queue.strangers]) {
    for (const [network, [place, ...rest]] of lines) {
      lines.delete(network)
      if (rest.length > 0) lines.set(network, rest)
      return place
    }
  }
  return undefined
}

/** The place that a newcomer may take from another caller, if any. */
function takenFor(queue: Queue, caller: Caller): Place | undefined {
  const overStrangers = caller.known && queue.strangers.size > 0
  const lines = overStrangers ? queue.strangers : linesOf(queue, caller)
  const longest = [...lines.values()].reduce((most, line) => (line.length > most.length ? line : most), [])
  return overStrangers || longest.length > lineOf(queue, caller).length + 1 ? longest.at(-1) : undefined
}

const overloaded = () => errors.overloaded('Too many logins at once; please retry.', 5)

/**
 * Lets `atOnce` callers work at the same time and `places` wait: known callers first, then the other networks in turn,
 * so that none waits behind another's flood. A caller that hangs up loses its place. When all places are taken, a
 * newcomer takes the last one of the network that holds most, if that has more than the newcomer's would; a known
 * caller takes one of the strangers'. Whoever loses its place is answered 503.
 */
export function createTurns(atOnce: number, places: number) {
  let running = 0
  const queue: Queue = { known: new Map(), strangers: new Map() }
  const isFull = () => placesOf(queue).length >= places

  function wait(caller: Caller): Promise<void> {
    if (isFull()) dropGone(queue)
    if (isFull()) {
      const taken = takenFor(queue, caller)
      if (!taken) throw overloaded()
      leave(queue, taken, overloaded())
    }
    return new Promise((go, refuse) => {
      linesOf(queue, caller).set(caller.network, [...lineOf(queue, caller), { ...caller, go, refuse }])
    })
  }

  /** Does `work` when its turn comes. @throws AppError overloaded, client_left */
  return async function inTurn<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    if (running < atOnce) running += 1
    else await wait(caller)
    try {
      if (caller.gone()) throw errors.clientLeft()
      return await work()
    } finally {
      // The turn is handed over directly, so that no newcomer overtakes.
      const place = next(queue)
      if (place) place.go()
      else running -= 1
    }
  }
}
