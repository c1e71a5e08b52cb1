import { random, shuffled } from './random.ts'

/** What can go wrong; a status such as `429` or `500` is a kind, too. */
export const faultKinds = [
  ...(['slow', 'reset', 'half', 'html', 'big', 'deep', 'text_numbers', 'duplicate', 'shuffle', 'next_itself'] as const),
  ...(['next_elsewhere', 'clock', 'early', 'silent', 'revoked', 'rotated_lost', 'half_streams', 'rpc'] as const),
] as const
export type FaultKind = (typeof faultKinds)[number] | 'status'

/** A fault and where it strikes: every part that is named has to fit. */
export interface Fault {
  readonly id: number
  readonly kind: FaultKind
  /** Of kind `status`. */
  readonly status: number
  readonly provider: string | null
  /** Part of the path below the provider's segment; that of a notice is `/notices/` and its topic. */
  readonly path: string | null
  readonly person: string | null
  /** How many requests go well first; how many go wrong then (null: all). */
  readonly skip: number
  readonly times: number | null
  /** Of `slow`: how long the answer takes. */
  readonly ms: number
  /** Of `clock`: by how much the provider's clock is wrong; of `early`: how late data is; of `429`: how long to wait. */
  readonly seconds: number
  /** Of `rpc`: what an answer of status 200 says in its field `status`. */
  readonly code: number
  /** Of `big`. */
  readonly bytes: number
  /** Of `half_streams`: those that are refused; null: those whose name has an even number of letters. */
  readonly streams: readonly string[] | null
  /** Requests that fitted so far. */
  hits: number
}

/** What a request is judged by; the person is known once its token was read. */
interface Subject {
  readonly provider: string
  readonly path: string
  readonly person: string | null
}

/** Where nothing is said. */
const SECONDS: Record<string, number> = { clock: 3600, early: 60 }

const NUMBERS = ['skip', 'times', 'ms', 'seconds', 'bytes', 'code'] as const
const TEXTS = ['provider', 'path', 'person'] as const

/** The faults that are switched on. */
export class Faults {
  #faults: Fault[] = []
  #last = 0

  /**
   * Switches a fault on.
   * @throws Error naming what is unknown or of the wrong kind
   */
  add(given: Record<string, unknown>, providers: readonly string[]): Fault {
    const { kind, ...more } = given
    const status = typeof kind === 'number' || /^[45]\d\d$/.test(String(kind)) ? Number(kind) : 0
    if (status === 0 && !faultKinds.some((known) => known === kind))
      throw new Error(`Unknown kind: ${kind}. Known: 400 to 599, ${faultKinds.join(', ')}`)
    for (const [name, value] of Object.entries(more)) check(name, value)
    if (more.provider && !providers.includes(String(more.provider)))
      throw new Error(`Unknown provider: ${more.provider}. Known: ${providers.join(', ')}`)
    const defaults = { provider: null, path: null, person: null, skip: 0, times: null, ms: 5000, streams: null }
    const sizes = { seconds: SECONDS[String(kind)] ?? 30, bytes: 40 * 2 ** 20, code: 601 }
    const found = status === 0 ? (kind as FaultKind) : 'status'
    const fault: Fault = { id: ++this.#last, kind: found, status, hits: 0, ...defaults, ...sizes, ...more }
    this.#faults.push(fault)
    return fault
  }

  list(): readonly Fault[] {
    return this.#faults
  }

  /** Switches off the fault with this id, or all; answers how many. */
  remove(id: number | null): number {
    const before = this.#faults.length
    this.#faults = this.#faults.filter((fault) => id !== null && fault.id !== id)
    return before - this.#faults.length
  }

  /** The faults that strike a request or a notice, which counts for them; of these kinds only, if they are named. */
  strike(subject: Subject, kinds?: readonly FaultKind[]): Fault[] {
    return this.#faults.filter((fault) => {
      if (kinds ? !kinds.includes(fault.kind) : fault.kind === 'silent') return false
      if (fault.provider !== null && fault.provider !== subject.provider) return false
      if (fault.path !== null && !subject.path.includes(fault.path)) return false
      if (fault.person !== null && fault.person !== subject.person) return false
      fault.hits++
      return fault.hits > fault.skip && (fault.times === null || fault.hits <= fault.skip + fault.times)
    })
  }
}

function check(name: string, value: unknown): void {
  const isText = TEXTS.some((known) => known === name)
  const isNumber = NUMBERS.some((known) => known === name)
  const isList = name === 'streams' && Array.isArray(value) && value.every((one) => typeof one === 'string')
  if (!isText && !isNumber && name !== 'streams')
    throw new Error(`Unknown: ${name}. Known: kind, streams, ${[...TEXTS, ...NUMBERS].join(', ')}`)
  if (isText ? typeof value !== 'string' : isNumber ? !Number.isInteger(value) : !isList)
    throw new Error(`Not a value of ${name}: ${JSON.stringify(value)}`)
}

type Body = Record<string, unknown>

/** A body after the faults that change what it says; `records` are the names that its list may have. */
export function spoiled(body: unknown, faults: readonly Fault[], records: readonly string[]): unknown {
  return faults.reduce((before, fault) => spoil(before, fault, records), body)
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function spoil(body: unknown, fault: Fault, records: readonly string[]): unknown {
  const { kind, bytes } = fault
  if (kind === 'text_numbers') return JSON.parse(JSON.stringify(body, textForNumber))
  const padding = () => 'x'.repeat(bytes)
  if (Array.isArray(body)) return kind === 'big' ? [...body, padding()] : spoilList(body, fault)
  if (!isObject(body)) return body
  if (kind === 'big') return { ...body, padding: padding() }
  const name = records.find((known) => Array.isArray(body[known]))
  if (name !== undefined) return { ...body, [name]: spoilList(body[name] as unknown[], fault) }
  return kind === 'deep' ? { ...body, deep: [nested(500)] } : spoilBelow(body, fault, records)
}

/** Lists of records further down, where an answer has none at its top. */
function spoilBelow(body: Body, fault: Fault, records: readonly string[]): Body {
  const below = (value: unknown) => (isObject(value) ? spoil(value, fault, records) : value)
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, below(value)]))
}

function spoilList(list: unknown[], { kind, hits }: Fault): unknown[] {
  if (kind === 'deep') return [...list, nested(500)]
  if (kind === 'duplicate') return list.flatMap((record) => [record, record])
  return kind === 'shuffle' ? shuffled(list, random(`shuffle/${hits}`)) : list
}

function textForNumber(_: string, value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

function nested(depth: number): unknown {
  let value: unknown = []
  for (let i = 1; i < depth; i++) value = [value]
  return { deep: value }
}
