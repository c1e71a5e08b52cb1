import Router from '@koa/router'
import type { Context, Next } from 'koa'
import { ASSETS_PATH, type Console } from '../console-build.ts'
import { errors } from '../errors.ts'
import { wantsPage } from './page.ts'
import { fixedAnswer } from './static.ts'

/**
 * Nothing from elsewhere, nothing inline, no frame, no form that a browser sends by itself, and no text that a script
 * turns into markup.
 */
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
}

const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' }

/** A year: the name of a file changes with its content. */
const MAX_AGE_SECONDS = 31_536_000

type Answers = { page: Answer; assets: ReadonlyMap<string, Answer> }
type Answer = (ctx: Context) => Promise<void>

/** Serves the web console: one page at `/console` and every address below it, and the files that it loads. */
export function consoleRouter(console: Console): Router {
  const router = new Router({ sensitive: true })
  let kept: { files: object; answers: Answers } | undefined
  async function answers(): Promise<Answers> {
    const files = await console.files().catch(() => {
      throw errors.noConsole()
    })
    if (kept?.files !== files) kept = { files, answers: answersOf(files) }
    return kept.answers
  }
  const get = (path: string, answer: (ctx: Context, next: Next) => Promise<unknown>) =>
    router.get(path, (ctx, next) => answer(ctx as unknown as Context, next))
  get('/', leadBrowsers)
  get(`${ASSETS_PATH}:name`, async (ctx) => {
    ctx.set(HEADERS)
    const answer = (await answers()).assets.get(ctx.params.name)
    if (!answer) throw errors.noRoute()
    await answer(ctx)
  })
  for (const path of ['/console', '/console/{*below}']) {
    get(path, async (ctx) => {
      ctx.set(HEADERS)
      await (await answers()).page(ctx)
    })
  }
  return router
}

function answersOf({ page, assets }: Awaited<ReturnType<Console['files']>>): Answers {
  const answer = (name: string, content: Buffer) =>
    fixedAnswer({
      type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
      maxAgeSeconds: MAX_AGE_SECONDS,
      immutable: true,
      read: () => content,
    })
  return {
    page: fixedAnswer({ type: 'text/html', maxAgeSeconds: 0, read: () => page }),
    assets: new Map(Array.from(assets, ([name, content]) => [name, answer(name, content)])),
  }
}

/** Whoever types the address of the service into a browser wants the console; probes and programs get JSON. */
async function leadBrowsers(ctx: Context, next: Next): Promise<void> {
  if (!wantsPage(ctx)) return next()
  ctx.redirect('/console')
  ctx.status = 303
}
