import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { json, type Reply } from '../http.ts'
import type { OAuthRequest } from '../oauth/rules.ts'

export const PROJECT = '100200300400'
const EMAIL = 'pulsebase@simulated.iam.gserviceaccount.com'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const TOKEN_SECONDS = 3600
const EXPONENT = 65_537n

/** The prime so many odd numbers after one that a name always has. */
function prime(name: string, steps: bigint): bigint {
  const part = (i: number) => createHash('sha512').update(`pulsebase simulator ${name} ${i}`).digest('hex')
  return (BigInt(`0x${part(0)}${part(1)}`) | (3n << 1022n) | 1n) + 2n * steps
}

function inverse(number: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [number % modulus, modulus, 1n, 0n]
  while (a > 1n) {
    const quotient = a / b
    ;[a, b] = [b, a % b]
    ;[x, y] = [y, x - quotient * y]
  }
  return ((x % modulus) + modulus) % modulus
}

let made: KeyObject | undefined

/** The same RSA key in every simulator, so that one process can print what another accepts. It opens nothing else. */
function privateKey(): KeyObject {
  if (made) return made
  const [p, q] = [prime('first prime', 769n), prime('second prime', 690n)]
  const d = inverse(EXPONENT, (p - 1n) * (q - 1n))
  const text = (value: bigint) => {
    const hex = value.toString(16)
    return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
  }
  const numbers = { n: p * q, e: EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const jwk = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, text(value)]))
  made = createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' })
  return made
}

/** Where the key of the service account is, which a service reads at its start. */
export function options(): Record<string, string> {
  const key = {
    ...{ type: 'service_account', project_id: 'pulsebase-simulated', private_key_id: 'simulated' },
    private_key: privateKey().export({ type: 'pkcs8', format: 'pem' }),
    ...{ client_email: EMAIL, client_id: '1', token_uri: TOKEN_URL },
  }
  const folder = join(tmpdir(), `pulsebase-simulator-${userInfo().username}`)
  const file = join(folder, 'service-account.json')
  const text = `${JSON.stringify(key, null, 2)}\n`
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (contentOf(file) !== text) writeFileSync(file, text, { mode: 0o600 })
  return { GOOGLE_HEALTH_PROJECT_ID: PROJECT, GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE: file }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Tokens of the application itself, with the instant at which each is over. */
export type ServiceTokens = Map<string, number>

/** A token for a signed statement; undefined when the request is for something else. */
export function exchange(request: OAuthRequest, tokens: ServiceTokens): Reply | undefined {
  const { form, method, nowMs } = request
  if (method !== 'POST' || form.get('grant_type') !== GRANT_TYPE) return undefined
  const problem = problemOf(form.get('assertion') ?? '', request)
  if (problem) return json(400, { error: 'invalid_grant', error_description: problem })
  const token = `ya29.c.${randomBytes(30).toString('base64url')}`
  tokens.set(token, nowMs + TOKEN_SECONDS * 1000)
  request.remember(token)
  return json(200, { access_token: token, expires_in: TOKEN_SECONDS - 1, token_type: 'Bearer' })
}

function problemOf(assertion: string, { nowMs, address }: OAuthRequest): string | undefined {
  const [head = '', body = '', signature = ''] = assertion.split('.')
  const key = createPublicKey(privateKey())
  const signed = verify('RSA-SHA256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))
  if (!signed || decoded(head)?.alg !== 'RS256') return 'Invalid JWT Signature.'
  const { iss, scope, aud, iat, exp } = decoded(body) ?? {}
  if (iss !== EMAIL) return 'Invalid grant: account not found'
  if (!String(scope).split(' ').includes(SCOPE)) return 'Invalid scope'
  if (aud !== TOKEN_URL && aud !== `${address}/token`) return 'Invalid JWT: the audience is not this address'
  const [from, to] = [Number(iat) * 1000, Number(exp) * 1000]
  const isNow = from <= nowMs + 60_000 && to > nowMs && to - from <= 3_600_000
  return isNow ? undefined : 'Invalid JWT: Token must be a short-lived token (60 minutes)'
}

function decoded(part: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
  } catch {
    return undefined
  }
}
