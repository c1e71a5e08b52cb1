import type { Answer, Api, Stream, Verdict } from '../../providers/provider.ts'
import { retryAfterSeconds } from '../../webhooks/schedule.ts'

// What an answer means for what was asked (contract 12.10, "Provider HTTP").

/** Statuses after which the same request may succeed. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429])

/** Before the second attempt: when the provider does not say how long to wait, and when it does. */
const FIRST_DELAY_SECONDS = 15
const FIRST_ASKED_SECONDS = 1
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
  if (LATER.has(status) || status >= 500) return { later: true, afterSeconds: retryAfter(headers) }
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

/**
 * Seconds to wait, from a header Retry-After: a number, or a date by the provider's own clock (RFC 9110, 10.2.3); null: not
 * said.
 */
export function retryAfter({ 'retry-after': header, date }: Answer['headers'], nowMs = Date.now()): number | null {
  const text = header?.trim() ?? ''
  const seconds = /^\d+\.\d+$/.test(text) ? Number(text) : retryAfterSeconds(text, date, nowMs)
  return seconds === undefined ? null : Math.min(seconds, MAX_ASKED_SECONDS)
}

/**
 * Seconds until the next attempt after so many failures in a row: 15 s doubled up to an hour, give or take a fifth. What the
 * provider asks for counts instead, but never less than 1 s doubled: it may ask for nothing again and again.
 */
export function delaySeconds(failures: number, afterSeconds: number | null, random = Math.random()): number {
  const first = afterSeconds === null ? FIRST_DELAY_SECONDS : FIRST_ASKED_SECONDS
  const seconds = Math.min(first * 2 ** Math.max(0, failures - 1), MAX_DELAY_SECONDS) * (0.8 + 0.4 * random)
  return Math.max(seconds, afterSeconds ?? 0)
}
