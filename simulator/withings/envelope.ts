import { json, type Reply } from '../http.ts'

/** What is a success, and what is not, by `status` of a body; HTTP says 200 to all of it. */
export const statuses = {
  ok: 0,
  parameters: 503,
  token: 401,
  client: 213,
  scope: 277,
  action: 2554,
  callback: 293,
  noSubscription: 294,
  tooMany: 601,
} as const

export function success(body: unknown): Reply {
  return json(200, { status: statuses.ok, body })
}

/** A refusal; some of them have a list for a body. */
export function refusal(status: number, error: string): Reply {
  return json(200, { status, body: status === statuses.token ? [] : {}, error })
}
