import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { awaitsContinue, listen } from '../../server/http/server.ts'

t.test('a client that no longer waits for 100 Continue is known by what it has sent', async (t) => {
  const known: boolean[] = []
  let answer = () => {}
  const server = createServer((request, response) => {
    answer = () => {
      known.push(awaitsContinue(request))
      request.resume().on('end', () => response.end('refused'))
    }
  })
  await listen(server, 0, '127.0.0.1')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const head = 'POST / HTTP/1.1\r\nHost: us\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n'
  const socket = connect(port, '127.0.0.1', () => socket.write(head))
  const text = new Promise<string>((resolve) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    socket.on('close', () => resolve(text))
  })
  const [request] = (await once(server, 'request')) as [IncomingMessage]
  t.equal(awaitsContinue(request), true)
  socket.write('abc')
  t.ok(await waitUntil(async () => request.readableLength === 3, 10_000, 5))
  answer()
  t.match(await text, /200 OK[\s\S]*refused/)
  t.strictSame(known, [false])
})

t.test('requests that cannot be read are answered like all others, with a reason', async (t) => {
  const server = createServer((_, response) => response.end('read'))
  await listen(server, 0, '127.0.0.1')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const answerTo = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let answer = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(text))
      socket.setEncoding('utf8').on('data', (part) => {
        answer += part
      })
      socket.on('error', reject).on('close', () => resolve(answer))
    })
  const tooLong = await answerTo(`GET /?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: us\r\n\r\n`)
  const [head = '', body = ''] = tooLong.split('\r\n\r\n')
  t.match(head, /^HTTP\/1\.1 431 /)
  t.match(head, `Content-Length: ${body.length}`)
  t.match(head, /nosniff/)
  t.match(JSON.parse(body), { detail: /16 KiB/ })
  const noHttp = await answerTo('HELO us\r\n\r\n')
  t.match(noHttp, /^HTTP\/1\.1 400 /)
  t.match(JSON.parse(noHttp.split('\r\n\r\n')[1] ?? ''), { detail: /HTTP\/1\.1/ })
  const expecting = await answerTo('POST / HTTP/1.1\r\nHost: us\r\nExpect: coffee\r\nContent-Length: 3\r\n\r\nabc')
  t.match(expecting, /^HTTP\/1\.1 417 /)
  t.match(JSON.parse(expecting.split('\r\n\r\n')[1] ?? ''), { detail: /100-continue/ })
  t.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'read')
})
