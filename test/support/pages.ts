// What a folder asks of the simulator, without a service: every answer as a part of a parcel.
import type { ProviderName } from '../../server/catalogue/providers.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import type { Provider, Request, Stream, StreamState, Window } from '../../server/providers/provider.ts'
import type { ParcelPart } from '../../workers/parcel.ts'
import { ask, type Playing, register, tokens } from './simulator.ts'

const DAY_MS = 86_400_000

/** Somebody who has connected a provider of the simulator. */
export interface Account {
  readonly simulator: Playing
  readonly id: ProviderName
  readonly token: string
}

/** A person of the simulator allows a provider to be read. */
export async function accountOf(simulator: Playing, id: ProviderName, person: string): Promise<Account> {
  const { access_token: token } = await tokens(simulator, id, { auto: person })
  if (id === 'polar') await register(simulator, token, person)
  return { simulator, id, token }
}

/** How streams are asked for; `zone`: of the person. */
export interface Asked extends Window {
  /** When they are asked. */
  readonly nowMs: number
  readonly zone: string | null
}

/** Every answer to what a folder asks for, and to what follows from the answers. */
export async function partsOf(account: Account, asked: Asked): Promise<ParcelPart[]> {
  const state: StreamState = {
    ...{ scope: null, zone: asked.zone, options: {}, isHistory: false, grantedMs: 0, isPull: false },
    ...{ granularity: 'raw', settings: {} },
  }
  const parts: ParcelPart[] = []
  for (const stream of folderOf(account).streams ?? []) {
    if (stream.noticesOnly) continue
    const asking = { account, stream, asked, state }
    for (const window of windowsOf(stream, asked)) parts.push(...(await pagesOf(asking, stream.first(window, state))))
  }
  return parts
}

const folderOf = ({ id }: Account) => cloudProviders.get(id) as Provider

interface Asking {
  readonly account: Account
  readonly stream: Pick<Stream, 'name' | 'next' | 'follow' | 'zone'>
  readonly asked: Asked
  readonly state: StreamState
}

async function pagesOf(asking: Asking, first: Request | null): Promise<ParcelPart[]> {
  const { account, stream, asked, state } = asking
  const parts: ParcelPart[] = []
  for (let request = first; request; ) {
    const answer = await answerTo(account, request)
    if (answer.status === 204) return parts
    if (answer.status !== 200) throw new Error(`${request.path}: ${answer.status} ${JSON.stringify(answer.json)}`)
    const zone = stream.zone?.(answer, request) ?? asked.zone
    const body = Buffer.from(JSON.stringify(answer.json))
    parts.push({ stream: stream.name, args: request.args ?? null, atMs: asked.nowMs, zone, body })
    for (const wish of stream.follow?.(answer, request, state) ?? []) {
      const kind = wish.kind === 'object' ? folderOf(account).objects?.[wish.object] : undefined
      if (!kind || wish.kind !== 'object') continue
      const { next, follow, stream: name } = kind
      const detail = { ...asking, stream: { name, ...(next && { next }), ...(follow && { follow }) } }
      parts.push(...(await pagesOf(detail, kind.request(wish.args, state))))
    }
    request = stream.next?.(answer, request) ?? null
  }
  return parts
}

async function answerTo({ simulator, id, token }: Account, { path, query, method = 'GET', form, json }: Request) {
  const url = `${simulator.env[`${id.toUpperCase()}_API_URL`]}${path}?${new URLSearchParams(query)}`
  const key = simulator.env.SUUNTO_SUBSCRIPTION_KEY ?? ''
  const headers = { authorization: `Bearer ${token}`, 'ocp-apim-subscription-key': key }
  const sent = form ? new URLSearchParams(form) : json === undefined ? undefined : JSON.stringify(json)
  const answer = await ask(url, { method, headers, ...(sent !== undefined && { body: sent }) })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), json: answer.body }
}

function windowsOf({ windowDays, historyDays }: Stream, { fromMs, untilMs }: Window): Window[] {
  if (historyDays === 0) return [{ fromMs, untilMs }]
  const windows: Window[] = []
  for (let at = fromMs; at < untilMs; at += windowDays * DAY_MS)
    windows.push({ fromMs: at, untilMs: Math.min(untilMs, at + windowDays * DAY_MS) })
  return windows
}
