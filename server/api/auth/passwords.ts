import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { normalised } from '../../text.ts'
import { type Caller, createTurns } from './hash-turns.ts'

/** Fewest characters of a new password (contract 11). */
export const MIN_PASSWORD_LENGTH = 12

/** Parameters of scrypt: N = 2^ln. */
export interface HashCost {
  readonly ln: number
  readonly r: number
  readonly p: number
}

/** What a new hash costs (contract 11): N = 2^15, r = 8, p = 3, which takes 32 MiB and about 0.2 s. */
const HASH_COST: HashCost = { ln: 15, r: 8, p: 3 }
const SALT_BYTES = 16
const KEY_BYTES = 32

/** Hashes that run at the same time: more would take memory and the threads that file access needs. */
const MAX_RUNNING = 2
/** Hashes that may wait for a turn, some seconds' worth. */
const MAX_WAITING = 40

/** The service itself, which hashes during its start. */
const OURSELVES: Caller = { network: '', known: true, gone: () => false }

/** Hashes of passwords: PHC strings of scrypt, which carry their cost and salt. All of a process take turns. */
export interface Passwords {
  /** Hashes a password at today's cost. @throws AppError overloaded, client_left */
  hash(password: string, caller?: Caller): Promise<string>
  /**
   * Whether the password matches the hash, of whatever cost; without a hash (no such account) false after the same work.
   * @throws AppError overloaded, client_left; Error when the stored text is not one of our hashes.
   */
  verify(password: string, stored: string | undefined, caller?: Caller): Promise<boolean>
  /** Whether a hash was made at another cost than new ones. */
  isOutdated(stored: string): boolean
  /** Does `work` when it is the caller's turn. @throws AppError overloaded, client_left */
  inTurn<T>(caller: Caller, work: () => Promise<T>): Promise<T>
}

/** Makes the hashes of a process; `cost` is that of new ones. */
export function createPasswords(cost: HashCost = HASH_COST): Passwords {
  const inTurn = createTurns(MAX_RUNNING, MAX_WAITING)
  /** Compared if there is no account, so that the answer takes equally long: no password matches it. */
  const nobody = () => phc(cost, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES))
  return {
    async hash(password, caller = OURSELVES) {
      const salt = randomBytes(SALT_BYTES)
      return phc(cost, salt, await inTurn(caller, () => derive(password, salt, cost)))
    },
    async verify(password, stored, caller = OURSELVES) {
      const { salt, key: expected, ...its } = parse(stored ?? nobody())
      const derived = await inTurn(caller, () => derive(password, salt, its))
      return expected.length === derived.length && timingSafeEqual(expected, derived)
    },
    isOutdated: (stored) => !stored.startsWith(prefix(cost)),
    inTurn,
  }
}

function derive(password: string, salt: Buffer, { ln, r, p }: HashCost): Promise<Buffer> {
  const options: ScryptOptions = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r }
  return new Promise((resolve, reject) => {
    // The same password typed on another system may be composed differently (Unicode).
    scrypt(normalised(password, 'NFKC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
const prefix = ({ ln, r, p }: HashCost) => `$scrypt$ln=${ln},r=${r},p=${p}$`
const phc = (cost: HashCost, salt: Buffer, key: Buffer) => `${prefix(cost)}${base64(salt)}$${base64(key)}`

function parse(stored: string): HashCost & { salt: Buffer; key: Buffer } {
  const [, ln, r, p, salt = '', key = ''] = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored) ?? []
  if (!key) throw new Error('a stored password hash is damaged')
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  return { ...cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') }
}
