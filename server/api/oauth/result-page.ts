import type { Context } from 'koa'
import { htmlOf, PAGE_HEADERS, PAGE_TYPE, type Page, wantsPage } from '../../http/page.ts'
import { Reply } from '../../http/reply.ts'

/** The same as JSON, or to a browser as a page that a person can read. */
export function resultPage<Result extends object>(ctx: Context, page: Page, result: Result): Reply | Result {
  return wantsPage(ctx) ? new Reply(200, PAGE_TYPE, htmlOf(page), PAGE_HEADERS) : result
}
