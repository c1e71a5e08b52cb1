import { setTimeout as delay } from 'node:timers/promises'

/** An answer that is no success. */
export class Refused extends Error {
  readonly status: number
  constructor(status: number, detail: string) {
    super(`${status} ${detail.slice(0, 300)}`)
    this.status = status
  }
}

/** What a request has besides its path. */
export interface Asking {
  /** Bytes are sent as they are, everything else as JSON. */
  readonly body?: object
  /** Of a phone; without it, the developer's. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Calls a service as a developer. */
export interface Api {
  /** @throws Refused, TypeError if the service cannot be reached */
  call<T>(method: string, path: string, asking?: Asking): Promise<T>
}

/** Times that a service may say it is busy, and the longest wait for it. */
const ATTEMPTS = 8
const LONGEST_WAIT_S = 20

/** Opens the API at an address, which may end with a slash; whoever says 503 is asked again after the time it names. */
export function openApi(service: string, developerToken: string): Api {
  const base = `${service.replace(/\/+$/, '')}/api/v1`
  return {
    async call(method, path, { body, token = developerToken, headers = {} } = {}) {
      const sent = {
        method,
        headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }), ...headers },
        ...(body && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
      }
      for (let attempt = 1; ; attempt++) {
        const answer = await fetch(base + path, sent)
        const text = await answer.text()
        if (answer.ok) return text === '' ? undefined : JSON.parse(text)
        if (answer.status !== 503 || attempt === ATTEMPTS) throw new Refused(answer.status, detailOf(text))
        await delay(Math.min(LONGEST_WAIT_S, Number(answer.headers.get('retry-after')) || attempt) * 1_000)
      }
    },
  }
}

/** Logs in as a developer, and returns the access token. @throws Refused */
export async function logIn(service: string, username: string, password: string): Promise<string> {
  const body = new URLSearchParams({ username, password })
  const answer = await fetch(`${service.replace(/\/+$/, '')}/api/v1/auth/login`, { method: 'POST', body })
  const text = await answer.text()
  if (!answer.ok) throw new Refused(answer.status, detailOf(text))
  return (JSON.parse(text) as { access_token: string }).access_token
}

function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown }
    return typeof detail === 'string' ? detail : JSON.stringify(detail ?? text)
  } catch {
    return text
  }
}
