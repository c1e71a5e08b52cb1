import { textAt, valueAt } from '../answers.ts'
import type { Answer, Verdict } from '../provider.ts'

// Withings answers everything with the HTTP status 200; what happened is a number in the body (docs/providers.md).

/** That number; undefined when the answer has none, or another HTTP status, which then counts. */
export function statusOf({ status, json }: Answer): number | undefined {
  const own = status === 200 ? valueAt(json, 'status') : undefined
  return typeof own === 'number' ? own : undefined
}

/** The access token, or the client, is not accepted. */
const refused: ReadonlySet<number> = new Set([100, 101, 102, 200, 401])

/** What the scopes or the plan do not permit. */
const denied: ReadonlySet<number> = new Set([214, 277, 2553, 2555])

/** Parameters that cannot be, what is not implemented, and a bad state: the same again fails again. */
const wrong: readonly (readonly [first: number, last: number])[] = [
  ...([
    [201, 213],
    [216, 218],
    [220, 221],
    [223, 223],
    [225, 225],
    [227, 230],
    [234, 236],
    [238, 238],
  ] as const),
  ...([
    [240, 252],
    [254, 254],
    [260, 267],
    [271, 272],
    [275, 276],
    [283, 288],
    [290, 290],
    [293, 295],
  ] as const),
  ...([
    [297, 297],
    [300, 304],
    [321, 321],
    [323, 353],
    [380, 382],
    [400, 400],
    [501, 511],
    [523, 524],
  ] as const),
  ...([
    [532, 532],
    [2554, 2554],
  ] as const),
]

const TOO_MANY = 601
const TIMEOUT = 522

/** Withings states neither the window of the limit nor a time to wait. */
const WAIT_SECONDS = 60
const TOKEN_WAIT_SECONDS = 10

/** The meaning of an answer. */
export function judge(answer: Answer): Verdict | undefined {
  const status = statusOf(answer)
  // Withings says in the body what is not there: an address that is not found says nothing about a night.
  if (status === undefined && (answer.status === 404 || answer.status === 410))
    return { later: true, afterSeconds: null }
  if (status === undefined) return answer.status === 200 ? 'wrong' : undefined
  if (status === 0) return undefined
  if (refused.has(status)) return 'auth'
  if (denied.has(status)) return 'denied'
  if (status === TOO_MANY) return { later: true, afterSeconds: WAIT_SECONDS, limited: true }
  return wrong.some(([first, last]) => status >= first && status <= last)
    ? 'wrong'
    : { later: true, afterSeconds: null }
}

/** What an answer says instead of data. */
export function problem(answer: Answer): string | undefined {
  const status = statusOf(answer)
  if (status === undefined || status === 0) return undefined
  return [`status ${status}`, textAt(answer.json, 'error')].filter((part) => part !== undefined).join(': ')
}

/** The same number for refresh tokens and codes that do not work; so it is for what is said of the client. */
const INVALID = 503

/** An answer to a token request, as RFC 6749 has it. */
export function openTokens(answer: Answer): Answer {
  const status = statusOf(answer)
  if (status === undefined) return answer
  if (status === 0) return { ...answer, json: valueAt(answer.json, 'body') }
  const said = problem(answer) ?? ''
  const error = (name: string) => ({ ...answer, status: 400, json: { error: name, error_description: said } })
  if (status === TOO_MANY || status === TIMEOUT) {
    const headers = { ...answer.headers, 'retry-after': String(TOKEN_WAIT_SECONDS) }
    return { ...error('temporarily_unavailable'), status: status === TOO_MANY ? 429 : 503, headers }
  }
  if (!refused.has(status) && status !== INVALID) return error('invalid_request')
  // A wrong client would end the connections of everybody.
  return error(/client|signature/i.test(said) ? 'invalid_client' : 'invalid_grant')
}
