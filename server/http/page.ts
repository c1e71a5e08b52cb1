import type { Context } from 'koa'
import type { AppError } from '../errors.ts'

/** What a person reads in a browser. */
export interface Page {
  readonly title: string
  readonly paragraphs: readonly string[]
}

/** The page of a route for a request of a person that failed; without anything that the request contained. */
export type FailurePage = (error: AppError, ctx: Context) => Page

/** Nothing is loaded, nothing runs, and it is never in a frame. */
export const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'",
}

/** The content type of a page. */
export const PAGE_TYPE = 'text/html; charset=utf-8'

/**
 * Whether the client wants a page rather than JSON, as browsers do: it accepts text/html, and not JSON first. Programs
 * that accept everything, or say nothing, get JSON.
 */
export function wantsPage(ctx: Context): boolean {
  ctx.vary('Accept')
  return ctx.accepts('application/json', 'text/html') === 'text/html'
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const encoded = (text: string) => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string)

/** The HTML of a page. */
export function htmlOf({ title, paragraphs }: Page): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${encoded(title)}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:20vh auto;padding:0 1.5rem}h1{font-size:1.5rem}</style>
<h1>${encoded(title)}</h1>
${paragraphs.map((text) => `<p>${encoded(text)}</p>`).join('\n')}
</html>
`
}
