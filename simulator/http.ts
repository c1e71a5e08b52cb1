import type { IncomingMessage, ServerResponse } from 'node:http'

/** An answer before it is sent: `json` is written as JSON, `html` and `file` as they are; none: no body. */
export interface Reply {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly json?: unknown
  readonly html?: string
  readonly file?: { readonly type: string; readonly text: string }
}

/** Largest body of a request. */
const LIMIT_BYTES = 1_048_576

/** The body of a request as text; undefined when it is too large. */
export async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes <= LIMIT_BYTES) chunks.push(chunk)
  }
  return bytes <= LIMIT_BYTES ? Buffer.concat(chunks).toString() : undefined
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return { status, json: body, headers }
}

export function redirect(location: string): Reply {
  return { status: 302, headers: { location } }
}

/** A page for people: `body` is markup, `title` text. */
export function page(status: number, title: string, body: string): Reply {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escaped(title)}</title>
<style>body{font:16px system-ui;max-width:36rem;margin:3rem auto;padding:0 1rem}label{display:block;margin:.4rem 0}
button{font:inherit;padding:.4rem 1rem;margin:1rem .5rem 0 0}code{background:#eee}</style>
<h1>${escaped(title)}</h1>\n${body}\n</html>\n`
  return { status, html, headers: { 'cache-control': 'no-store' } }
}

/** Text as it stands in markup and in quoted attributes. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

/** The bytes of an answer and their type. */
export function bodyOf({ json: value, html, file }: Reply): { bytes: Buffer; type: string } | undefined {
  if (html !== undefined) return { bytes: Buffer.from(html), type: 'text/html; charset=utf-8' }
  if (file) return { bytes: Buffer.from(file.text), type: file.type }
  if (value === undefined) return undefined
  return { bytes: Buffer.from(JSON.stringify(value)), type: 'application/json' }
}

/** Sends an answer; `atMs` is the time that its Date header names. */
export function send(response: ServerResponse, reply: Reply, atMs: number): void {
  response.sendDate = false
  response.setHeader('date', new Date(atMs).toUTCString())
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
  const body = bodyOf(reply)
  if (body) {
    response.setHeader('content-type', body.type)
    response.setHeader('content-length', body.bytes.length)
  } else if (reply.status !== 204) response.setHeader('content-length', 0)
  response.writeHead(reply.status).end(body?.bytes)
}
