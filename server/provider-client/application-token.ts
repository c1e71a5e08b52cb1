import { textAt, valueAt } from '../providers/answers.ts'
import { type CallOptions, callOf } from './call.ts'
import type { OAuthClient } from './clients.ts'

/** A token is replaced so long before its end. */
const SPARE_MS = 60_000
/** How long one is used of which nothing is said. */
const USUAL_SECONDS = 300

/** An operator has to set something before the application can have a token, or the provider gives it none. */
export class NoApplicationToken extends Error {
  override readonly name = 'NoApplicationToken'
}

const known = new WeakMap<OAuthClient, { readonly token: string; readonly untilMs: number }>()

/**
 * The token of an application, kept until shortly before its end; undefined: the provider wants none (`Api.application`).
 * @throws NoApplicationToken, whose message is for operators and without secrets; NoAnswer
 */
export async function applicationToken(options: Omit<CallOptions, 'token' | 'permit'>): Promise<string | undefined> {
  const { client, oauth } = options
  const { application } = client.provider.api
  if (!application) return undefined
  const kept = known.get(client)
  if (kept && kept.untilMs > Date.now()) return kept.token
  const request = application(client.settings, oauth.tokenUrl, Math.floor(Date.now() / 1000))
  if (typeof request === 'string') throw new NoApplicationToken(request)
  const { status, json } = await callOf({ ...options, token: null })({ ...request, as: 'nobody' })
  const token = textAt(json, 'access_token')
  if (status < 200 || status > 299 || token === undefined) {
    const said = [textAt(json, 'error'), textAt(json, 'error_description')].filter((one) => one !== undefined)
    throw new NoApplicationToken(
      `no token for the application from ${client.name}, status ${status}: ${said.join(': ').slice(0, 300)}`,
    )
  }
  const seconds = Number(valueAt(json, 'expires_in')) || USUAL_SECONDS
  known.set(client, { token, untilMs: Date.now() + seconds * 1000 - SPARE_MS })
  return token
}
