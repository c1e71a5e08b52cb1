import type { Database, Queryable } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { Gate } from '../../gate.ts'
import { jsonDepth, MAX_JSON_DEPTH } from '../../http/json.ts'
import type { Metrics } from '../../metrics.ts'
import type { InboundRequest, Keys, Notices, Reply } from '../../providers/notices.ts'
import type { Form } from '../../providers/provider.ts'
import { LARGE_NOTICE_BYTES, type NoticeBodies } from './bodies.ts'
import { Inbox } from './inbox.ts'
import { confirmSecret, KeyRing, type Known, readKeys, type SecretMeans } from './keys.ts'
import { openReminder, remedyFor } from './no-secret.ts'
import { slotsOf } from './slots.ts'

/** Larger bodies are not parsed before the answer. */
const PARSED_BYTES = 64 * 1024

/**
 * Notices that are verified and stored at the same time while others are being answered: a flood of them would fill every
 * turn of the event loop, of which a read takes several. Alone, more at once are stored with fewer statements.
 */
const BESIDE_OTHERS = 16
/** Whoever waits longer has most likely given up, and sends it again. */
const TURN_MS = 10_000

/** What receiving works with. */
export interface ReceiveMeans extends SecretMeans {
  /** For one statement each. */
  readonly db: Pick<Database, keyof Queryable>
  /** How providers notify, by slug. */
  readonly notifying: ReadonlyMap<string, Notices>
  /** For whoever opens them in this process. */
  readonly bodies: NoticeBodies
  readonly metrics: Pick<Metrics, 'notices'>
  /** Whether anybody but providers is being answered. */
  readonly hasOthers: () => boolean
}

/** Receives what providers send. */
export interface Receiver {
  /** How a provider notifies; undefined: it does not, or not to us. */
  noticesOf(provider: string): Notices | undefined
  /**
   * Verifies a notice and stores it; returns the answer once it is.
   * @throws AppError bad_signature, bad_request
   */
  receive(provider: string, notices: Notices, request: Omit<InboundRequest, 'nowSeconds'>): Promise<Reply>
  /** Answers a challenge. @throws AppError unsupported */
  challenge(provider: string, notices: Notices, query: Form): Promise<Reply>
}

const ACCEPTED: Reply = { status: 200, json: { status: 'accepted' } }

/** Opens the way in for notices. */
export function openReceiver(means: ReceiveMeans): Receiver {
  const { db, notifying, metrics } = means
  const inbox = new Inbox(db, means.bodies)
  const noticesOf = (provider: string) => notifying.get(provider)
  const ring = new KeyRing((provider) => readKeys(db, means, provider, noticesOf(provider) as Notices))
  const turns = openTurns(means.hasOthers)
  const isTime = openReminder()
  const count = (provider: string, outcome: string) => metrics.notices.labels(provider, outcome).inc()
  return {
    noticesOf,
    receive: (provider, notices, request) =>
      turns.run('', async () => {
        const whole = { ...request, nowSeconds: Date.now() / 1000 }
        const { verdict, isEnabled, keys } = await verified(ring, provider, (keys) => notices.verify(whole, keys))
        if (verdict === 'refused') {
          const remedy = remedyFor(provider, notices, keys)
          count(provider, remedy === undefined ? 'refused' : 'no_secret')
          if (remedy !== undefined && isTime(provider))
            means.log.error({ provider, remedy }, 'notices cannot be verified')
          throw errors.badSignature()
        }
        if (typeof verdict === 'object') return verdict
        if (!notices.isForm && !isJson(request.body)) {
          count(provider, 'not_json')
          throw errors.badRequest('Invalid JSON body')
        }
        // An operator does not want it: the provider is not to send it again.
        if (isEnabled) await inbox.add(received(provider, notices, verdict, request.body))
        count(provider, isEnabled ? 'accepted' : 'dropped')
        return notices.accepted === undefined ? ACCEPTED : { status: notices.accepted, json: null }
      }),
    async challenge(provider, notices, query) {
      const { challenge } = notices
      if (!challenge) throw errors.noChallenge(provider)
      const { keys } = await ring.get(provider)
      if (!keys) throw errors.badSignature()
      let answer = challenge(query, keys)
      // It may be about a token that was just made.
      if (answer.status >= 400) answer = challenge(query, (await ring.again(provider)).keys ?? keys)
      const { confirms, status, json } = answer
      const value = confirms === undefined ? undefined : keys.own[confirms]
      if (confirms !== undefined && value !== undefined) {
        await confirmSecret(db, means, { provider, name: confirms, value })
        ring.forget(provider)
      }
      count(provider, status < 300 ? 'challenged' : 'refused')
      return { status, json }
    },
  }
}

function received(provider: string, { accounts }: Notices, verdict: 'signed' | 'unsigned', body: Uint8Array) {
  const slots = body.length > LARGE_NOTICE_BYTES ? [] : slotsOf(accounts(body))
  return { provider, signed: verdict === 'signed', body, slots }
}

/** The memory of bodies bounds how many wait. */
function openTurns(hasOthers: () => boolean): Gate {
  const most = () => (hasOthers() ? BESIDE_OTHERS : Number.POSITIVE_INFINITY)
  return new Gate({
    what: 'notices',
    get capacity() {
      return most()
    },
    get perKey() {
      return most()
    },
    ...{ waiting: Number.POSITIVE_INFINITY, waitMs: TURN_MS, retrySeconds: 5 },
  })
}

type Verdict = ReturnType<Notices['verify']>

/** A notice that is refused is verified once more, with secrets that may just have been stored. */
async function verified(
  ring: KeyRing,
  provider: string,
  verify: (keys: Keys) => Verdict,
): Promise<Known & { verdict: Verdict }> {
  const judge = ({ keys }: Known): Verdict => (keys ? verify(keys) : 'refused')
  const known = await ring.get(provider)
  const verdict = judge(known)
  // Without a client there is nothing that another process could have stored.
  if (verdict !== 'refused' || !known.keys) return { ...known, verdict }
  const now = await ring.again(provider)
  return { ...now, verdict: judge(now) }
}

/** Of a large body only the ends are looked at: it is read in a thread. */
function isJson(body: Uint8Array): boolean {
  if (body.length > PARSED_BYTES) {
    const text = (part: Uint8Array) => Buffer.from(part).toString('latin1')
    return /^\s*[[{]/.test(text(body.subarray(0, 64))) && /[\]}]\s*$/.test(text(body.subarray(-64)))
  }
  if (jsonDepth(body) > MAX_JSON_DEPTH) return false
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return true
  } catch {
    return false
  }
}
