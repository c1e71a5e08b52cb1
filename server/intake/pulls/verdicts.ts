import type { Answer, Api, Stream, Verdict } from '../../providers/provider.ts'

// What an answer means for what was asked (contract 12.10, "Provider HTTP").

/** Statuses after which the same request may succeed. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429])

const FIRST_DELAY_SECONDS = 15
const MAX_DELAY_SECONDS = 3_600

/** The longest wait that a provider can ask for, in seconds. */
const MAX_ASKED_SECONDS = 86_400

/** The meaning of an answer: as the folder judges it, else by its status. */
export function verdictOf(
  api: Pick<Api, 'judge'>,
  answer: Answer,
  { emptyOn404 }: Pick<Stream, 'emptyOn404'> = {},
): Verdict {
  return api.judge?.(answer) ?? byStatus(answer, emptyOn404 === true)
}

function byStatus({ status, headers, json }: Answer, emptyOn404: boolean): Verdict {
  if (status === 204) return 'empty'
  if (status >= 200 && status < 300) return json === undefined ? 'wrong' : 'ok'
  if (LATER.has(status) || status >= 500) return { later: true, afterSeconds: retryAfter(headers['retry-after']) }
  switch (status) {
    case 401:
      return 'auth'
    case 403:
      return 'denied'
    case 404:
      return emptyOn404 ? 'empty' : 'missing'
    case 410:
      return 'missing'
    default:
      return 'wrong'
  }
}

/** Seconds to wait, from a header Retry-After: a number, or a date (RFC 9110, 10.2.3); null: not said. */
export function retryAfter(header: string | undefined, nowMs = Date.now()): number | null {
  const text = header?.trim() ?? ''
  if (text === '') return null
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1000
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_ASKED_SECONDS) : null
}

/** Seconds until the next attempt after so many failures in a row: 15 s doubled up to an hour, give or take a fifth. */
export function delaySeconds(failures: number, afterSeconds: number | null, random = Math.random()): number {
  if (afterSeconds !== null) return afterSeconds
  const seconds = Math.min(FIRST_DELAY_SECONDS * 2 ** Math.max(0, failures - 1), MAX_DELAY_SECONDS)
  return seconds * (0.8 + 0.4 * random)
}
