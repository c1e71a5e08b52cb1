import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { type Caller, createTurns } from './hash-turns.ts'

/** Fewest characters of a new password (contract 11). */
export const MIN_PASSWORD_LENGTH = 12

/** What a new hash costs (contract 11): N = 2^15, r = 8, p = 3, which takes 32 MiB and about 0.2 s. Tests lower it. */
export const HASH_COST = { ln: 15, r: 8, p: 3 }
const SALT_BYTES = 16
const KEY_BYTES = 32

/** Hashes that run at the same time: more would take memory and the threads that file access needs. */
const MAX_RUNNING = 2
/** Hashes that may wait for a turn, some seconds' worth. */
const MAX_WAITING = 40

/** All hashes of this process take turns here. */
export const inHashTurn = createTurns(MAX_RUNNING, MAX_WAITING)

/** The service itself, which hashes during its start. */
const OURSELVES: Caller = { network: '', known: true, gone: () => false }

function derive(password: string, salt: Buffer, { ln, r, p }: typeof HASH_COST, caller: Caller): Promise<Buffer> {
  const options: ScryptOptions = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r }
  return inHashTurn(
    caller,
    () =>
      new Promise((resolve, reject) => {
        // The same password typed on another system may be composed differently (Unicode).
        scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
          error ? reject(error) : resolve(key),
        )
      }),
  )
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
const phc = (salt: Buffer, key: Buffer) =>
  `$scrypt$ln=${HASH_COST.ln},r=${HASH_COST.r},p=${HASH_COST.p}$${base64(salt)}$${base64(key)}`

/** Compared if there is no account, so that the answer takes equally long: no password matches it. */
const nobody = () => phc(randomBytes(SALT_BYTES), randomBytes(KEY_BYTES))

/**
 * Hashes a password with scrypt into a PHC string, which carries its parameters and salt.
 * @throws AppError overloaded, client_left
 */
export async function hashPassword(password: string, caller = OURSELVES): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return phc(salt, await derive(password, salt, HASH_COST, caller))
}

/**
 * Whether the password matches the hash; without a hash (no such account) false after the same work.
 * @throws AppError overloaded, client_left; Error when the stored text is not one of our hashes.
 */
export async function verifyPassword(
  password: string,
  stored: string | undefined,
  caller = OURSELVES,
): Promise<boolean> {
  const [, ln, r, p, salt = '', key = ''] =
    /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored ?? nobody()) ?? []
  if (!key) throw new Error('a stored password hash is damaged')
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  const derived = await derive(password, Buffer.from(salt, 'base64'), cost, caller)
  const expected = Buffer.from(key, 'base64')
  return expected.length === derived.length && timingSafeEqual(expected, derived)
}
