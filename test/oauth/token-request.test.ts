// What is sent to a token endpoint, and what its answers mean, in the form of RFC 6749 and in others.
import t from 'tap'
import { requestTokens } from '../../server/oauth/token-request.ts'
import type { OAuthClient } from '../../server/provider-client/clients.ts'
import type { HttpRequest } from '../../server/provider-client/http.ts'
import { cloudProviders } from '../../server/providers/index.ts'

/** Asks the token endpoint of a provider that answers so; returns what was sent, and what it means. */
async function asked(id: string, json: unknown, status = 200) {
  const provider = cloudProviders.get(id)!
  const settings = { clientId: 'id', clientSecret: 'hush', more: {} }
  const oauth = provider.oauth(settings)
  const sent: HttpRequest[] = []
  const http = {
    async send(request: HttpRequest) {
      sent.push(request)
      return { status, headers: {}, json, body: Buffer.from(JSON.stringify(json) ?? '') }
    },
  }
  const answer = await requestTokens({
    ...{ http: http as never, client: { id, provider, settings } as unknown as OAuthClient, oauth },
    ...{ form: { grant_type: 'refresh_token', refresh_token: 'ref-1' }, asked() {} },
  })
  return { form: Object.fromEntries(new URLSearchParams(sent[0]!.body)), answer }
}

t.test('an answer in an envelope is opened before it is read', async (t) => {
  const body = {
    ...{ userid: 70012345, access_token: 'acc-1', refresh_token: 'ref-2', expires_in: 10800, csrf_token: 'x' },
    scope: 'user.info,user.metrics',
  }
  const { form, answer } = await asked('withings', { status: 0, body })
  t.strictSame(form, {
    ...{ action: 'requesttoken', grant_type: 'refresh_token', refresh_token: 'ref-1' },
    ...{ client_id: 'id', client_secret: 'hush' },
  })
  t.strictSame(answer, {
    kind: 'tokens',
    tokens: {
      ...{ access: 'acc-1', accessSeconds: 10800, refresh: 'ref-2', scope: 'user.info,user.metrics' },
      answer: body,
    },
  })
  const said = async (json: unknown, status?: number) => {
    const { answer: one } = await asked('withings', json, status)
    if (one.kind === 'refusal') return [one.refusal.error, one.text]
    return one.kind === 'later' ? ['later', one.afterSeconds] : one.kind
  }
  t.strictSame(await said({ status: 503, body: {}, error: 'Invalid Params: invalid refresh_token ref-1' }), [
    'invalid_grant',
    'invalid_grant: status 503: Invalid Params: invalid refresh_token [cut]',
  ])
  t.strictSame((await said({ status: 503, error: 'Invalid Params: invalid client_secret' }))[0], 'invalid_client')
  t.strictSame(await said({ status: 601, body: {} }), ['later', 10])
  t.strictSame(await said({ status: 522 }), ['later', 10])
  t.strictSame(await said(undefined, 503), ['later', null])
  t.strictSame((await said({ status: 0, body: {} }))[0], null, 'no tokens, and nothing about the grant')
  t.strictSame((await said('<html>'))[0], null)
})

t.test('without one, an answer is read as it is', async (t) => {
  const { form, answer } = await asked('ultrahuman', { access_token: 'acc-1', refresh_token: 'r', expires_in: 86399 })
  t.strictSame(form, {
    ...{ grant_type: 'refresh_token', refresh_token: 'ref-1', client_id: 'id', client_secret: 'hush' },
  })
  t.match(answer, { kind: 'tokens', tokens: { access: 'acc-1', accessSeconds: 86399, refresh: 'r', scope: null } })
  t.match(await asked('ultrahuman', { error: 'invalid_grant' }, 401), {
    answer: { kind: 'refusal', refusal: { status: 401, error: 'invalid_grant' } },
  })
})
