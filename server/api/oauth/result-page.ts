import type { Context } from 'koa'
import { Reply } from '../../http/route.ts'

/** Nothing is loaded, nothing runs, and it is never in a frame. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'"

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const encoded = (text: string) => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string)

/** The same as JSON, or to a browser as a page that a person can read. */
export function resultPage<Result extends { message: string }>(
  ctx: Context,
  title: string,
  result: Result,
): Reply | Result {
  if (!ctx.get('accept').includes('text/html')) return result
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${encoded(title)}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:20vh auto;padding:0 1.5rem}h1{font-size:1.5rem}</style>
<h1>${encoded(title)}</h1>
<p>${encoded(result.message)}</p>
<p>You can close this window.</p>
</html>
`
  return new Reply(200, 'text/html; charset=utf-8', page, { 'Content-Security-Policy': PAGE_POLICY, Vary: 'Accept' })
}
