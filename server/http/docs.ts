import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import Router from '@koa/router'
import type { Context } from 'koa'
import { providers } from '../catalogue/providers.ts'
import { openApiDocument, type Served } from './openapi.ts'
import type { Route } from './route.ts'
import { fixedAnswer } from './static.ts'

const swaggerFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** The files of the API reference that are served, with their types; nothing comes from another host. */
const ASSETS = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
  ['favicon-32x32.png', 'image/png'],
])

/** Requests from the form go to the origin of the page, whatever address the description names. */
const START_SCRIPT = `window.onload = async () => {
  const spec = await (await fetch('/openapi.json')).json()
  SwaggerUIBundle({
    spec: { ...spec, servers: [{ url: location.origin }] },
    dom_id: '#reference',
    deepLinking: true,
    tryItOutEnabled: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    filter: true,
    persistAuthorization: true,
  })
}
`

/** Everything from this origin, and never in a frame, where a click could be stolen. */
const PAGE_POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pulsebase API reference</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`

/** A letter on a disc: our own drawing, so that no provider's trade mark is shipped. */
function providerIcon(name: string, index: number): string {
  const hue = (index * 137) % 360
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48" role="img" aria-label="${name}"><circle cx="24" cy="24" r="24" fill="hsl(${hue} 55% 42%)"/><text x="24" y="32" font-family="sans-serif" font-size="24" fill="#fff" text-anchor="middle">${name[0]}</text></svg>`
}

/** Serves `/openapi.json`, the API reference at `/docs`, and the provider icons. */
export function docsRouter(routes: readonly Route[], served: Served): Router {
  const router = new Router({ sensitive: true })
  const get = (path: string, answer: (ctx: Context) => unknown) => router.get(path, (ctx) => answer(ctx as never))
  const document = () => JSON.stringify(openApiDocument(routes, served))
  get('/openapi.json', fixedAnswer({ type: 'application/json', maxAgeSeconds: 0, read: document }))
  router.get('/docs', (ctx) => {
    ctx.set('Content-Security-Policy', PAGE_POLICY)
    ctx.type = 'text/html'
    ctx.body = PAGE
  })
  get('/docs/start.js', fixedAnswer({ type: 'text/javascript', maxAgeSeconds: 0, read: () => START_SCRIPT }))
  for (const [file, type] of ASSETS) {
    const read = () => readFile(join(swaggerFolder, file))
    get(`/docs/${file}`, fixedAnswer({ type, maxAgeSeconds: 86_400, read }))
  }
  for (const [index, provider] of providers.entries()) {
    router.get(`/static/provider-icons/${provider.provider}.svg`, (ctx) => {
      ctx.type = 'image/svg+xml'
      ctx.set('Cache-Control', 'public, max-age=86400')
      ctx.body = providerIcon(provider.name, index)
    })
  }
  return router
}
