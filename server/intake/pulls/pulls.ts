import { providerByName } from '../../catalogue/providers.ts'
import type { Database } from '../../db/database.ts'
import { listen } from '../../db/listen.ts'
import { endPauses } from '../../oauth/pauses.ts'
import type { Http } from '../../provider-client/http.ts'
import type { AccountMeans } from './account.ts'
import { RetiredApis } from './retired.ts'
import { type Claimed, everyLane, release, serveTurn, type TurnMeans } from './turn.ts'

/**
 * Grants served at a time by one process, those of one provider, and those whose history is asked for. Who waits for an
 * answer takes no place but that of its provider, so that some slow ones cost the others nothing.
 */
const PLACES = 16
const PROVIDER_PLACES = 6
const HISTORY_PLACES = 4

/** After so many requests in a row without an answer, one grant of the provider at a time is enough to see it come back. */
const SILENT = 5

/** How long a turn keeps its place without an answer: longer than answers usually take. */
const WAITING_MS = 1_500

/** How often it is looked for what is due. */
const LOOK_MS = 1_000

/** How long a grant is left alone whose turn failed, mostly since the database did. */
const FAILED_MS = 10_000

/** How long stopping waits for turns; their leases end with the process. */
const STOP_MS = 15_000

export interface PullsMeans extends AccountMeans {
  readonly db: Database
  /** Id of this process among the living. */
  processId(): number
}

const CLAIM_SQL = `
  select grant_id as "grantId", provider, lane, fence from claim_grants($1, $2, $3, $4, $5, $6)`

/** Starts asking providers: claims grants that have something to do, and serves each one turn at a time. */
export function startPulls(means: PullsMeans): Pulls {
  const pulls = new Pulls(means)
  pulls.start()
  return pulls
}

/** The part of a process that asks providers for what is due. */
export class Pulls {
  readonly #means: PullsMeans
  readonly #turnMeans: TurnMeans
  readonly #serving = new Map<Claimed, Waiting>()
  readonly #turns = new Set<Promise<void>>()
  /** Requests in a row that a provider did not answer. */
  readonly #silent = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #listening: Promise<() => Promise<void>> = Promise.resolve(async () => {})
  #looking = false
  #wanted = false
  #stopped = false

  constructor(means: PullsMeans) {
    this.#means = means
    const silent = this.#silent
    this.#turnMeans = {
      ...{ ...means, log: means.parts.log },
      stopping: () => this.#stopped,
      answered: (provider, did) => void silent.set(provider, did ? 0 : (silent.get(provider) ?? 0) + 1),
      retired: new RetiredApis(),
    }
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), LOOK_MS)
    const { db, parts } = this.#means
    // The clock does so, too: another process may still have had the former settings.
    void endPauses(parts).catch((error) => parts.log.warn({ err: error }, 'cannot look for pauses that are over'))
    const look = () => void this.#look()
    const listening = { channel: 'sync_task', notified: look, opened: look, lost() {} }
    // Without it, what is asked for waits for the next look.
    this.#listening = listen(db, parts.log, listening).catch(() => async () => {})
  }

  /** Starts no further turns, and waits a while for those under way: their leases end with the process. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await (await this.#listening)()
    let timeout: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timeout = setTimeout(resolve, STOP_MS)
    })
    await Promise.race([Promise.all(this.#turns), late])
    clearTimeout(timeout)
  }

  async #look(): Promise<void> {
    this.#wanted = true
    if (this.#looking) return
    this.#looking = true
    try {
      // Whoever asks meanwhile may have come too late for this look.
      while (this.#wanted && !this.#stopped) {
        this.#wanted = false
        await this.#claim()
      }
    } catch (error) {
      this.#means.parts.log.warn({ err: error }, 'cannot look for what is due at providers')
    } finally {
      this.#looking = false
    }
  }

  async #claim(): Promise<void> {
    const providers = [...this.#means.parts.clients.keys()]
    const busy = [...this.#serving].flatMap(([lease, waiting]) => (waiting.isLong ? [] : [lease]))
    const places = PLACES - busy.length
    if (places <= 0 || providers.length === 0) return
    const history = busy.filter(({ lane }) => lane === 'history').length
    const processId = this.#means.processId()
    const claimed = await this.#means.db.query<Omit<Claimed, 'processId'>>(CLAIM_SQL, [
      ...[processId, providers, providers.map((name) => providerByName.get(name)?.enabledByDefault ?? true)],
      ...[providers.map((name) => this.#room(name)), places, Math.max(0, HISTORY_PLACES - history)],
    ])
    for (const one of claimed) this.#serve({ ...one, processId })
  }

  #room(provider: string): number {
    const most = (this.#silent.get(provider) ?? 0) >= SILENT ? 1 : PROVIDER_PLACES
    const taken = [...this.#serving.keys()].filter((one) => one.provider === provider).length
    return Math.max(0, most - taken)
  }

  #serve(lease: Claimed): void {
    const waiting = new Waiting()
    this.#serving.set(lease, waiting)
    const { parts } = this.#turnMeans
    const send: Http['send'] = (request) => waiting.until(parts.http.send(request))
    const means = { ...this.#turnMeans, parts: { ...parts, http: { ...parts.http, send } } }
    const turn = serveTurn(means, lease)
      .catch((error) => this.#giveBack(lease, error))
      .finally(() => {
        this.#serving.delete(lease)
        this.#turns.delete(turn)
        void this.#look()
      })
    this.#turns.add(turn)
  }

  async #giveBack(lease: Claimed, error: unknown): Promise<void> {
    const { provider, grantId: grant } = lease
    this.#means.parts.log.warn({ err: error, provider, grant }, 'a turn failed')
    // Otherwise the lease ends by itself.
    await release(this.#means.db, lease, everyLane(Date.now() + FAILED_MS)).catch(() => {})
  }
}

/** What a turn waits for. */
class Waiting {
  #requests = 0
  /** When the last one was sent or answered, by the clock of the process. */
  #movedMs = 0

  /** Whether all that it does for a while now is wait for answers. */
  get isLong(): boolean {
    return this.#requests > 0 && performance.now() - this.#movedMs > WAITING_MS
  }

  async until<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#moved(1)
    try {
      return await answer
    } finally {
      this.#moved(-1)
    }
  }

  #moved(requests: number): void {
    this.#requests += requests
    this.#movedMs = performance.now()
  }
}
