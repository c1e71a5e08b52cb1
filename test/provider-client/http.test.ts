// The client that providers are asked with: what it accepts, refuses, and never repeats.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { callOf, excerpt, ForbiddenAddress } from '../../server/provider-client/call.ts'
import { type OAuthClient, oauthClients } from '../../server/provider-client/clients.ts'
import { NoAnswer, openHttp } from '../../server/provider-client/http.ts'
import type { Request } from '../../server/providers/provider.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../support/certificate.ts'
import { connectorOf } from '../support/oauth-provider.ts'

const MIB = 2 ** 20

async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function clientAt(origin: string): OAuthClient {
  const providers = { polar: { clientId: 'our id', clientSecret: 'our secret' } }
  const clients = oauthClients(new Map([['polar', connectorOf('polar', origin)]]), {
    providers,
    apiBaseUrl: 'http://us',
  })
  return clients.get('polar') as OAuthClient
}

t.test('answers are taken as they are, and what cannot be read is refused', async (t) => {
  const deep = '['.repeat(500) + ']'.repeat(500)
  const answers: Record<string, RequestListener> = {
    '/json': (_, response) => response.writeHead(200, { 'X-Left': '7' }).end('{"a":[1,null,12345678901234567890]}'),
    '/html': (_, response) => response.end('<html>busy</html>'),
    '/empty': (_, response) => response.writeHead(204).end(),
    '/deep': (_, response) => response.end(deep),
    '/elsewhere': (_, response) => response.writeHead(302, { location: '/json' }).end(),
    '/gzip': (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"z":1}')),
    '/deflate': (_, response) => response.writeHead(200, { 'content-encoding': 'deflate' }).end(deflateSync('{"z":3}')),
    '/raw': (_, response) => response.writeHead(200, { 'content-encoding': 'deflate' }).end(deflateRawSync('{"z":4}')),
    '/br': (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync('{"z":2}')),
    '/damaged': (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('{"z":1}'),
    '/bomb': (_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(40 * MIB), { level: 1 })),
    '/large': (_, response) => response.end(Buffer.alloc(33 * MIB, ' ')),
    '/half': (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"a":', () => response.socket?.destroySoon())
    },
    '/reset': (_, response) => response.socket?.resetAndDestroy(),
    '/silent': () => {},
  }
  const origin = await serve(t, (request, response) => answers[request.url ?? '']?.(request, response))
  const http = openHttp()
  const hasty = openHttp(1_000)
  const get = async (path: string, at = origin) => {
    try {
      const { status, json, headers } = await (path === '/silent' ? hasty : http).send({
        method: 'GET',
        url: new URL(at + path),
        headers: {},
      })
      return { status, json, left: headers['x-left'] }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      return { failed: error.message, sent: error.sent }
    }
  }
  const tooLarge = { failed: `the answer is larger than ${32 * MIB} bytes`, sent: true }
  const expected: Record<string, object> = {
    '/json': { status: 200, json: { a: [1, null, '12345678901234567890'] }, left: '7' },
    '/html': { status: 200, json: undefined, left: undefined },
    '/empty': { status: 204, json: undefined, left: undefined },
    '/deep': { status: 200, json: undefined, left: undefined },
    '/elsewhere': { status: 302, json: undefined, left: undefined },
    '/gzip': { status: 200, json: { z: 1 }, left: undefined },
    '/deflate': { status: 200, json: { z: 3 }, left: undefined },
    '/raw': { status: 200, json: { z: 4 }, left: undefined },
    '/br': { status: 200, json: { z: 2 }, left: undefined },
    '/damaged': { failed: 'the answer is damaged', sent: true },
    '/bomb': tooLarge,
    '/large': tooLarge,
    '/half': { failed: 'the connection ended in the middle of the answer', sent: true },
    '/reset': { failed: 'the connection ended before the answer', sent: true },
    '/silent': { failed: 'there was no complete answer in time', sent: true },
  }
  const found: Record<string, object> = {}
  for (const path of Object.keys(expected)) found[path] = await get(path)
  t.strictSame(found, expected)
  const nobody = createServer().listen(0, '127.0.0.1')
  await once(nobody, 'listening')
  const { port } = nobody.address() as AddressInfo
  await new Promise((resolve) => nobody.close(resolve))
  t.strictSame(await get('/', `http://127.0.0.1:${port}`), { failed: 'the connection was refused', sent: false })
  await http.close()
  await hasty.close()
})

t.test('requests that a provider does not answer keep no other one waiting', async (t) => {
  const origin = await serve(t, (request, response) => void (request.url === '/' && response.end('{}')))
  const http = openHttp()
  const get = (path: string) => http.send({ method: 'GET', url: new URL(origin + path), headers: {} })
  const silent = Array.from({ length: 60 }, () => get('/silent').catch((error: Error) => error.name))
  t.equal((await get('/')).status, 200)
  t.equal(await Promise.race([...silent, 'none of them has ended']), 'none of them has ended')
})

/** A server that speaks HTTP/2, and HTTP/1.1 too if `older`; answers say which one it was. */
async function serveSecurely(t: Test, older: boolean): Promise<string> {
  const answer = (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const sent = { version: request.httpVersion, host: request.headers[':authority'] ?? request.headers.host }
    if (request.url === '/large') response.end(Buffer.alloc(33 * MIB, ' '))
    else if (request.url === '/empty') response.writeHead(204).end()
    else if (request.url !== '/silent') response.writeHead(200, { 'X-Left': '7' }).end(JSON.stringify(sent))
  }
  const server = createSecureServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY, allowHTTP1: older }, answer)
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => sessions.add(session))
  server.on('secureConnection', (socket) => sessions.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('HTTP/2 where it is wanted and offered', async (t) => {
  const rejects = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  // The certificate is our own, and of another name.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => {
    if (rejects === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = rejects
  })
  const [only, both] = [await serveSecurely(t, false), await serveSecurely(t, true)]
  const [http, hasty] = [openHttp(), openHttp(500)]
  const get = async (address: string, how: { http2?: boolean; ownConnection?: boolean }) => {
    const client = address.endsWith('/silent') ? hasty : http
    const headers = { accept: 'application/json' }
    return client.send({ method: 'GET', url: new URL(address), headers, ...how }).then(
      ({ status, json, headers: got }) => [status, (json as { version?: string })?.version, got['x-left']].join(' '),
      (error: Error) => (error instanceof NoAnswer ? error.message : error.name),
    )
  }
  const got = [
    await get(`${only}/`, { http2: true }),
    await get(`${only}/`, { http2: true, ownConnection: true }),
    await get(`${only}/empty`, { http2: true }),
    await get(`${only}/large`, { http2: true }),
    await get(`${only}/silent`, { http2: true }),
    await get(`${only}/`, { http2: true }),
    await get(`${both}/`, { http2: false }),
  ]
  t.strictSame(got, [
    ...['200 2.0 7', '200 2.0 7', '204  ', `the answer is larger than ${32 * MIB} bytes`],
    ...['there was no complete answer in time', '200 2.0 7', '200 1.1 7'],
  ])
  t.match(await get(`${both}/`, { http2: true }), /^200 (2\.0|1\.1) 7$/, 'as the server prefers')
  t.equal(await get(`${only}/`, {}), 'the connection ended before the answer', 'without it there is no answer')
  await http.close()
  await hasty.close()
})

t.test('a token goes to the provider alone, and where the request says', async (t) => {
  const seen: string[] = []
  const origin = await serve(t, (request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      seen.push([request.method, request.url, request.headers.authorization ?? '-', body].join(' '))
      response.end('{}')
    })
  })
  const http = openHttp()
  const client = clientAt(origin)
  const permits: string[] = []
  const call = callOf({
    ...{ http, client, oauth: { tokenUrl: `${origin}/token` }, token: 'the token' },
    permit: async ({ path }) => void permits.push(path),
  })
  const requests: Request[] = [
    { path: '/v1/a b?c=1', query: { d: 'ü&' } },
    { path: `${origin}/next?page=2` },
    { path: '/q', token: { in: 'query', name: 'access_token' } },
    { path: '/f', method: 'POST', token: { in: 'form', name: 'token' }, form: { a: '1' } },
    { path: '/j', method: 'POST', json: { a: 1 }, as: 'nobody' },
    { path: '/app', method: 'POST', form: {}, as: 'application' },
  ]
  for (const request of requests) await call(request)
  t.strictSame(seen, [
    'GET /v1/a%20b?c=1&d=%C3%BC%26 Bearer the token ',
    'GET /next?page=2 Bearer the token ',
    'GET /q?access_token=the+token - ',
    'POST /f - a=1&token=the+token',
    'POST /j - {"a":1}',
    'POST /app - client_id=our+id&client_secret=our+secret',
  ])
  t.strictSame(
    permits,
    requests.map(({ path }) => path),
    'each asks for a permit',
  )
  const foreign = ['http://127.0.0.1:1/next', `http://user:word@${new URL(origin).host}/`, '//evil', 'data:x', 'next']
  for (const path of foreign.filter((one) => !one.startsWith('//')))
    await t.rejects(call({ path }), ForbiddenAddress, path)
  await call({ path: '//evil' })
  t.match(seen.at(-1), 'GET //evil', 'a path stays below the address of the API')
  await http.close()
})

t.test('what is repeated of an answer holds no secret, however it is spelt or cut', async (t) => {
  const secret = 'a+b/c=~'
  t.equal(excerpt(`say ${secret} or ${encodeURIComponent(secret)}.`, [secret, null, '']), 'say [cut] or [cut].')
  t.equal(excerpt(`${'x'.repeat(96)}${secret}${'y'.repeat(10)}`, [secret], 100), `${'x'.repeat(96)}[cut`)
})
