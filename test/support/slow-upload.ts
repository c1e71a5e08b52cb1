// An upload that arrives slowly, for tests of what happens meanwhile.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { TestAnswer } from './app.ts'

/** Sends half of an upload over a keep-alive connection, and returns a function that sends the rest. */
export async function beginUpload(url: string, apiKey: string, userId: string, content: string) {
  const agent = new Agent({ keepAlive: true })
  const bytes = Buffer.from(content)
  const sent = request(`${url}/api/v1/sdk/users/${userId}/sync`, {
    method: 'POST',
    agent,
    headers: { 'X-Service-API-Key': apiKey, 'Content-Type': 'application/json', 'Content-Length': bytes.length },
  })
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  const half = Math.floor(bytes.length / 2)
  await new Promise<void>((resolve, reject) => sent.write(bytes.subarray(0, half), (e) => (e ? reject(e) : resolve())))
  return {
    async finish(): Promise<Pick<TestAnswer, 'status' | 'body'>> {
      sent.end(bytes.subarray(half))
      const [answer] = await answered
      let text = ''
      for await (const chunk of answer.setEncoding('utf8')) text += chunk
      return { status: answer.statusCode ?? 0, body: JSON.parse(text) }
    },
  }
}
