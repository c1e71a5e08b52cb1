import { callOf } from '../../server/provider-client/call.ts'
import type { OAuthClient } from '../../server/provider-client/clients.ts'
import type { Http, HttpRequest, Received } from '../../server/provider-client/http.ts'
import type { Answer, Call, Form, Provider, Request } from '../../server/providers/provider.ts'

/** A `call` that notes what was asked and answers in order. */
export function recorder(answers: readonly Answer[], tokenUrl: string): { call: Call; asked: Request[] } {
  const asked: Request[] = []
  const call = Object.assign(
    async (request: Request) => {
      asked.push(request)
      return answers[asked.length - 1]!
    },
    { settings: { clientId: 'id', clientSecret: 'secret', more: {} }, tokenUrl, nowSeconds: 0 },
  )
  return { call, asked }
}

/** A client of a provider, as operators configure it. */
export const clientOf = (provider: Provider, more: Form = {}): OAuthClient =>
  ({
    ...{
      id: provider.id,
      name: provider.id,
      provider,
      apiUrl: provider.api.url,
      oauth: () => provider.oauth({ more }),
    },
    settings: { clientId: 'id', clientSecret: 'secret', more },
  }) as unknown as OAuthClient

/** A client for HTTP that notes what is sent and answers in order, with 200 and {} after that. */
export function sender(answers: readonly Answer[] = []): { http: Http; sent: HttpRequest[] } {
  const sent: HttpRequest[] = []
  const http = {
    async send(request: HttpRequest): Promise<Received> {
      sent.push(request)
      const { status = 200, headers = {}, json = {} } = answers[sent.length - 1] ?? {}
      return { status, headers, json, body: Buffer.from(JSON.stringify(json)) }
    },
    async close() {},
  }
  return { http, sent }
}

/** What is sent for these requests to a provider. */
export async function sentFor(
  provider: Provider,
  requests: readonly Request[],
  tokens: { token: string | null; applicationToken?: string },
): Promise<HttpRequest[]> {
  const { http, sent } = sender()
  const client = clientOf(provider)
  const call = callOf({ http, client, oauth: client.oauth(null), ...tokens })
  for (const request of requests) await call(request)
  return sent
}
