// A developer's server that keeps what it was told, in the form in which it is compared with what is stored.
import type { Test } from 'tap'
import { random } from '../../../simulator/random.ts'
import { startReceiver } from '../webhooks.ts'
import { sampleLine } from './gone.ts'

/** Of a hundred events, so many are refused once: each costs the five seconds until it comes again. */
const REFUSED_PERCENT = 0.2

// biome-ignore lint/suspicious/noExplicitAny: each kind of event has a shape of its own
type Data = any

export interface Inbox {
  readonly origin: string
  /** What was told in events of anything but samples, by id; of samples their kind. */
  readonly events: ReadonlyMap<string, string>
  /** Ids that came with another body. */
  readonly changed: readonly string[]
  /** Lines of the samples that were told (gone.ts). */
  readonly samples: ReadonlySet<string>
  readonly refused: () => number
}

/** Starts it; now and then it refuses an event, which comes again. */
export async function openInbox(t: Test, seed: number): Promise<Inbox> {
  const next = random(`inbox/${seed}`)
  const events = new Map<string, string>()
  const changed: string[] = []
  const samples = new Set<string>()
  const refused = new Set<string>()
  const receiver = await startReceiver(t, ({ id, body }, response, calls) => {
    calls.length = 0
    if (!events.has(id) && !refused.has(id) && next() * 100 < REFUSED_PERCENT) {
      refused.add(id)
      return void response.writeHead(500).end()
    }
    const { type, data } = JSON.parse(body) as { type: string; data: Data }
    const kept = data.samples ? `${type} ${body.length}` : body
    const known = events.get(id)
    if (known !== undefined && known !== kept) changed.push(id)
    if (known === undefined) {
      events.set(id, kept)
      note(data)
    }
    response.end('ok')
  })
  const note = ({ user_id: user, provider, samples: told }: Data) => {
    for (const { type: series, timestamp, value, zone_offset: zone, source, is_daily_total: daily } of told ?? [])
      samples.add(
        sampleLine({ user, provider, series, atMs: Date.parse(timestamp), value, zone, device: source.device, daily }),
      )
  }
  return { origin: receiver.origin, events, changed, samples, refused: () => refused.size }
}
